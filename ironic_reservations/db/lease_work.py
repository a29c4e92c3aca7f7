#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""Who works on which lease: claims in the rows of ``leases``.

Any number of processes take leases that are due, the oldest first.  A claim
ends by itself, so that the leases of a process that died are taken by
another one.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import claimed_rows
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import tables
from ironic_reservations.model import leases

_s = tables.leases.c
_l = tables.lease_reservations.c
_r = tables.reservations.c
_h = tables.hosts.c


@dataclasses.dataclass(frozen=True)
class Taken:
    """A lease that somebody has taken, or may have.

    :ivar token: by whom, in the row.
    """

    lease_id: str
    token: str


@dataclasses.dataclass(frozen=True)
class Claim(Taken):
    """A lease that one worker works on.

    :ivar due_at: as it was when the lease was taken.
    :ivar attempts: how often the next step was tried in vain.
    """

    due_at: datetime.datetime
    attempts: int


def _takeable(now: datetime.datetime) -> sa.ColumnElement[bool]:
    return sa.and_(_s.due_at <= now, sa.or_(_s.claimed_until.is_(None),
                                            _s.claimed_until <= now))


def read_due(connection: sa.Connection, now: datetime.datetime,
             limit: int) -> list[str]:
    """Read which leases wait for somebody, the oldest first."""
    # SELECT id FROM leases WHERE due_at <= ? AND (nobody's claim)
    #   ORDER BY due_at, id LIMIT ?
    return list(connection.execute(
        sa.select(_s.id).where(_takeable(now)).order_by(_s.due_at, _s.id)
        .limit(limit)).scalars())


def take(connection: sa.Connection, lease_ids: Collection[str], token: str,
         now: datetime.datetime,
         until: datetime.datetime) -> list[Claim]:
    """Claim leases, those that nobody was quicker to.

    :param token: of these claims, and of no others ever.
    """
    # UPDATE leases SET claimed_by = ?, claimed_until = ?
    #   WHERE id IN (...) AND due_at <= ? AND (nobody's claim)
    # NOTE: the database looks at each row again once it has its lock, so
    # that of two processes one gets it.
    if not connection.execute(
            sa.update(tables.leases)
            .where(_s.id.in_(lease_ids), _takeable(now))
            .values(claimed_by=token, claimed_until=until)).rowcount:
        return []
    return [Claim(row[0], token, row[1], row[2])
            for row in connection.execute(
                sa.select(_s.id, _s.due_at, _s.attempts)
                .where(_s.id.in_(lease_ids), _s.claimed_by == token)
                .order_by(_s.due_at, _s.id))]


def extend(connection: sa.Connection, claims: Collection[Claim],
           until: datetime.datetime) -> frozenset[Claim]:
    """Keep claims for longer; gives those that still hold."""
    if not claims:
        return frozenset()
    # UPDATE leases SET claimed_until = ?
    #   WHERE id IN (...) AND (id, claimed_by) IN ((?, ?), ...)
    mine = claimed_rows.held_by(tables.leases, _held(claims))
    if connection.execute(
            sa.update(tables.leases).where(mine)
            .values(claimed_until=until)).rowcount == len(claims):
        return frozenset(claims)
    held = {(row[0], row[1]) for row in connection.execute(
        sa.select(_s.id, _s.claimed_by).where(mine))}
    return frozenset(claim for claim in claims
                     if (claim.lease_id, claim.token) in held)


def give_back(connection: sa.Connection, claim: Claim,
              due_at: datetime.datetime | None, generation: int,
              now: datetime.datetime, waiting: str | None = None,
              attempts: int = 0) -> bool:
    """Let go of a lease, and say when it has to be looked at next.

    :param generation: of the lease that ``due_at`` was worked out for; if
        somebody has changed it meanwhile, it is looked at again at once.
    :param waiting: what keeps the next step from being done.
    :returns: ``False`` if it was another's already.
    """
    # UPDATE leases SET claimed_by = NULL, ...,
    #   due_at = CASE WHEN generation <> ? THEN now
    #                 WHEN due_at = ? THEN ? ELSE due_at END
    #   WHERE id = ? AND claimed_by = ?
    # NOTE: where due_at is not what it was, somebody woke the lease.
    due = sa.case((_s.generation != generation, sa.bindparam(
        'now', now, type_=_s.due_at.type)),
        (_s.due_at == claim.due_at, sa.bindparam(
            'next', due_at, type_=_s.due_at.type)),
        else_=_s.due_at)
    return bool(connection.execute(
        sa.update(tables.leases)
        .where(_s.id == claim.lease_id, _s.claimed_by == claim.token)
        .values(due_at=due, claimed_by=None, claimed_until=None,
                waiting=waiting, attempts=attempts)).rowcount)


def drop(connection: sa.Connection, claims: Collection[Taken]) -> None:
    """Let go of leases that nobody works on.

    What another one has taken since stays with it.
    """
    claimed_rows.drop(connection, tables.leases, _held(claims))


def _held(claims: Collection[Taken]) -> list[claimed_rows.Held]:
    return [(claim.lease_id, claim.token) for claim in claims]


def wake(connection: sa.Connection, node_uuids: Collection[str],
         now: datetime.datetime) -> None:
    """Have the leases looked at that have, or wait for, one of some nodes."""
    if not node_uuids:
        return
    # UPDATE leases SET due_at = ? WHERE due_at > ? AND id IN
    #   (SELECT lease_id FROM lease_reservations JOIN reservations ...
    #      WHERE node_uuid IN (...) AND starts_at <= ?)
    concerned = (
        sa.select(_l.lease_id)
        .join_from(tables.reservations, tables.lease_reservations,
                   _r.lease_reservation_id == _l.id)
        .where(_r.node_uuid.in_(node_uuids), _r.starts_at <= now))
    connection.execute(
        sa.update(tables.leases)
        .where(_s.due_at > now, _s.id.in_(concerned)).values(due_at=now))


def read_concerned(connection: sa.Connection,
                   node_uuids: Collection[str] | None = None
                   ) -> frozenset[str]:
    """Read which nodes are hosts, or have not been taken back from a lease.

    :param node_uuids: among which; ``None``: among all.
    """
    # SELECT node_uuid FROM hosts UNION SELECT node_uuid FROM reservations
    #   WHERE state IN ('bound', 'ending')
    hosts = sa.select(_h.node_uuid)
    held = sa.select(_r.node_uuid).where(_r.state.in_((
        leases.BookingState.BOUND.value, leases.BookingState.ENDING.value)))
    if node_uuids is not None:
        hosts = hosts.where(_h.node_uuid.in_(node_uuids))
        held = held.where(_r.node_uuid.in_(node_uuids))
    return frozenset(connection.execute(sa.union(hosts, held)).scalars())


@dataclasses.dataclass(frozen=True)
class Flags:
    """What is flagged of one reservation, and of its lease."""

    lease_id: str
    missing: bool
    degraded: bool


def read_flags(connection: sa.Connection,
               reservation_ids: Collection[str]) -> dict[str, Flags]:
    """Read the flags of live leases.

    :param reservation_ids: lease reservations to read in any case.
    :returns: by the id of the lease reservation, these and all those of
        leases where something is flagged.
    """
    live = [status.value for status in leases.LeaseStatus
            if not status.over and status is not leases.LeaseStatus.ERROR]
    flagged = sa.or_(_s.degraded, _l.missing_resources)
    if reservation_ids:
        flagged = sa.or_(flagged, _l.id.in_(reservation_ids))
    return {row[0]: Flags(row[1], row[2], row[3])
            for row in connection.execute(
                sa.select(_l.id, _l.lease_id, _l.missing_resources,
                          _s.degraded)
                .join_from(tables.lease_reservations, tables.leases,
                           _l.lease_id == _s.id)
                .where(_s.status.in_(live), flagged))}


def count(connection: sa.Connection
          ) -> dict[leases.LeaseStatus, tuple[int, int]]:
    """Count leases by their status; also those of them that wait.

    Those that are over are left out: they are kept for months.
    """
    # SELECT status, COUNT(*), COUNT(waiting) FROM leases
    #   WHERE status IN (...) GROUP BY status
    return {leases.LeaseStatus(row[0]): (row[1], row[2])
            for row in connection.execute(
                sa.select(_s.status, sa.func.count(),
                          sa.func.count(_s.waiting))
                .where(_s.status.in_(db_leases.KEPT)).group_by(_s.status))}
