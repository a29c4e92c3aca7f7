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

"""Claims of workers in the rows of ``leases``.

Any number of processes claim leases that are due, the oldest first. Claims
expire, so that another process can claim the leases of a process that died.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import claimed_rows
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition

_s = tables.leases.c
_l = tables.lease_reservations.c
_r = tables.reservations.c
_h = tables.hosts.c


@dataclasses.dataclass(frozen=True)
class Claim(claimed_rows.Taken):
    """A lease that one worker works on.

    :ivar due_at: the value when the lease was claimed.
    :ivar attempts: the number of failures of the next step.
    """

    due_at: datetime.datetime
    attempts: int


def _takeable(now: datetime.datetime) -> sa.ColumnElement[bool]:
    return sa.and_(_s.due_at <= now,
                   claimed_rows.unclaimed(tables.leases, now))


def read_due(connection: sa.Connection, now: datetime.datetime,
             limit: int) -> list[str]:
    """Return the ids of leases that are due and not claimed.

    They are ordered by the time at which they became due.
    """
    # SELECT id FROM leases WHERE due_at <= ? AND (nobody's claim)
    #   ORDER BY due_at, id LIMIT ?
    return list(connection.execute(
        sa.select(_s.id).where(_takeable(now)).order_by(_s.due_at, _s.id)
        .limit(limit)).scalars())


def take(connection: sa.Connection, lease_ids: Collection[str], token: str,
         now: datetime.datetime,
         until: datetime.datetime) -> list[Claim]:
    """Claim leases, except for leases that others claimed first.

    :param token: a token that is never used again.
    """
    # SELECT id, claimed_by, due_at, attempts FROM leases
    #   WHERE id IN (...) AND claimed_by = ? ORDER BY due_at, id
    if not claimed_rows.take(connection, tables.leases, lease_ids, token,
                             _takeable(now), until):
        return []
    return store.read(Claim, connection.execute(
        sa.select(_s.id, _s.claimed_by.label('token'), _s.due_at, _s.attempts)
        .where(_s.id.in_(lease_ids), _s.claimed_by == token)
        .order_by(_s.due_at, _s.id)))


def lock(connection: sa.Connection, lease_id: str,
         now: datetime.datetime) -> bool:
    """Keep a lease from being claimed until the end of the transaction.

    :returns: whether a worker has claimed it already.
    """
    # SELECT claimed_until FROM leases WHERE id = ? FOR UPDATE
    until = connection.execute(
        sa.select(_s.claimed_until).where(_s.id == lease_id)
        .with_for_update()).scalar()
    return until is not None and until > now


def keep(connection: sa.Connection, lease_id: str, token: str) -> bool:
    """Keep a lease from being claimed by others until the transaction ends.

    :param token: the claim of the worker.
    :returns: ``False`` if another worker has the lease by now.
    """
    # UPDATE leases SET claimed_by = claimed_by WHERE id = ? AND claimed_by = ?
    return bool(connection.execute(
        sa.update(tables.leases)
        .where(_s.id == lease_id, _s.claimed_by == token)
        .values(claimed_by=_s.claimed_by)).rowcount)


def extend(connection: sa.Connection, claims: Collection[Claim],
           until: datetime.datetime) -> frozenset[Claim]:
    """Extend claims, and return the claims that are still valid."""
    if not claims:
        return frozenset()
    # UPDATE leases SET claimed_until = ?
    #   WHERE id IN (...) AND (id, claimed_by) IN ((?, ?), ...)
    mine = claimed_rows.held_by(tables.leases, claims)
    if connection.execute(
            sa.update(tables.leases).where(mine)
            .values(claimed_until=until)).rowcount == len(claims):
        return frozenset(claims)
    held = set(connection.execute(
        sa.select(_s.id, _s.claimed_by).where(mine)).tuples())
    return frozenset(claim for claim in claims
                     if (claim.id, claim.token) in held)


def give_back(connection: sa.Connection, claim: Claim,
              due_at: datetime.datetime | None, generation: int,
              now: datetime.datetime, waiting: str | None = None,
              attempts: int = 0) -> bool:
    """Release a lease, and write the time when it is due next.

    :param due_at: the time when it is due next; ``None``: never.
    :param generation: the generation of the lease for which ``due_at`` was
        computed; if the lease has changed since, it is due at once.
    :param waiting: the reason why the next step has to wait.
    :returns: ``False`` if another worker had claimed the lease already.
    """
    # UPDATE leases SET claimed_by = NULL, ...,
    #   due_at = CASE WHEN generation <> ? THEN now
    #                 WHEN due_at = ? THEN ? ELSE due_at END
    #   WHERE id = ? AND claimed_by = ?
    # If due_at has changed, another process woke the lease.
    due = sa.case((_s.generation != generation, sa.bindparam(
        'now', now, type_=_s.due_at.type)),
        (_s.due_at == claim.due_at, sa.bindparam(
            'next', due_at, type_=_s.due_at.type)),
        else_=_s.due_at)
    return bool(connection.execute(
        sa.update(tables.leases)
        .where(_s.id == claim.id, _s.claimed_by == claim.token)
        .values(due_at=due, claimed_by=None, claimed_until=None,
                waiting=waiting, attempts=attempts)).rowcount)


def drop(connection: sa.Connection,
         claims: Collection[claimed_rows.Taken]) -> None:
    """Release leases that no worker works on."""
    claimed_rows.drop(connection, tables.leases, claims)


def wake(connection: sa.Connection, node_uuids: Collection[str],
         now: datetime.datetime) -> None:
    """Make leases due that have, or wait for, one of some nodes.

    Claimed leases are included, since their workers may have read the nodes
    before; give_back() then keeps this time.
    """
    if not node_uuids:
        return
    # SELECT DISTINCT lease_id FROM lease_reservations JOIN reservations ...
    #   WHERE node_uuid IN (...) AND starts_at <= ?
    # A separate query, since MariaDB would otherwise read all leases.
    concerned = connection.execute(
        sa.select(_l.lease_id).distinct()
        .join_from(tables.reservations, tables.lease_reservations,
                   _r.lease_reservation_id == _l.id)
        .where(_r.node_uuid.in_(node_uuids), _r.starts_at <= now)
    ).scalars().all()
    if not concerned:
        return
    make_due(connection, concerned, now)


def make_due(connection: sa.Connection, lease_ids: Collection[str],
             now: datetime.datetime) -> None:
    """Make leases due.

    Claimed leases are included, as in :func:`wake`.
    """
    # UPDATE leases SET due_at = ?
    #   WHERE id IN (...) AND (due_at > ? OR claimed_until > ?)
    connection.execute(
        sa.update(tables.leases)
        .where(_s.id.in_(sorted(lease_ids)),
               sa.or_(_s.due_at > now, _s.claimed_until > now))
        .values(due_at=now))


@dataclasses.dataclass(frozen=True)
class Short:
    """A booking whose lease has started, but does not have the node yet.

    :ivar uuid: the uuid of the booking.
    """

    lease_id: str
    uuid: str
    node_uuid: str
    ends_at: datetime.datetime


def read_short(connection: sa.Connection, now: datetime.datetime,
               until: datetime.datetime) -> list[Short]:
    """Return the bookings of leases that wait for their nodes.

    Leases that are due by a time are left out, unless a worker has claimed
    them.
    """
    # SELECT lease_id, uuid, node_uuid, expires_at FROM reservations
    #   JOIN lease_reservations ON ... JOIN leases ON ...
    #   WHERE state = 'planned' AND starts_at <= ? AND expires_at > ?
    #     AND (due_at > ? OR claimed_until > ?)
    return store.read(Short, connection.execute(
        sa.select(_l.lease_id, _r.uuid, _r.node_uuid,
                  _r.expires_at.label('ends_at'))
        .join_from(tables.reservations, tables.lease_reservations,
                   _r.lease_reservation_id == _l.id)
        .join(tables.leases, _l.lease_id == _s.id)
        .where(_r.state == leases.BookingState.PLANNED.value,
               _r.starts_at <= now, _r.expires_at > now,
               sa.or_(_s.due_at > until, _s.claimed_until > now))))


def read_awaited(connection: sa.Connection, now: datetime.datetime) -> bool:
    """Return whether a lease waits for a node to be free."""
    # SELECT reservations.id FROM reservations JOIN nodes ON ...
    #   WHERE state = 'planned' AND starts_at <= ? AND expires_at > ?
    #     OR state = 'ending' AND provision_state IN (...) LIMIT 1
    return connection.execute(
        sa.select(_r.id).join_from(
            tables.reservations, tables.nodes,
            _r.node_uuid == tables.nodes.c.uuid)
        .where(sa.or_(
            sa.and_(_r.state == leases.BookingState.PLANNED.value,
                    _r.starts_at <= now, _r.expires_at > now),
            sa.and_(_r.state == leases.BookingState.ENDING.value,
                    tables.nodes.c.provision_state.in_(
                        node_condition.PASSING))))
        .limit(1)).first() is not None


def count_waiting(connection: sa.Connection,
                  until: datetime.datetime) -> int:
    """Return the number of waiting leases that are due by a time.

    :returns: at most 10,000.
    """
    # SELECT COUNT(*) FROM (SELECT id FROM leases
    #   WHERE due_at <= ? AND waiting IS NOT NULL LIMIT 10000)
    some = (sa.select(_s.id).where(_s.due_at <= until, _s.waiting.is_not(None))
            .limit(10_000).subquery())
    return connection.execute(
        sa.select(sa.func.count()).select_from(some)).scalar_one()


def read_concerned(connection: sa.Connection,
                   node_uuids: Collection[str] | None = None
                   ) -> frozenset[str]:
    """Return nodes that are hosts, or that a lease still has.

    :param node_uuids: the nodes to consider; ``None``: all.
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
    """Flags of a lease reservation, and of its lease."""

    lease_id: str
    missing: bool
    degraded: bool


def read_flags(connection: sa.Connection,
               reservation_ids: Collection[str]) -> dict[str, Flags]:
    """Return the flags of live leases.

    :param reservation_ids: lease reservations to return in any case.
    :returns: by the id of the lease reservation; reservations are included if
        they or their leases are flagged.
    """
    # SELECT id, lease_id, missing_resources, degraded
    #   FROM lease_reservations JOIN leases ON ... WHERE status IN (...)
    #   AND (degraded OR missing_resources OR id IN (...))
    live = [status.value for status in leases.LeaseStatus
            if not status.over and status is not leases.LeaseStatus.ERROR]
    flagged = sa.or_(_s.degraded, _l.missing_resources)
    if reservation_ids:
        flagged = sa.or_(flagged, _l.id.in_(reservation_ids))
    return {row.id: Flags(row.lease_id, row.missing_resources, row.degraded)
            for row in connection.execute(
                sa.select(_l.id, _l.lease_id, _l.missing_resources,
                          _s.degraded)
                .join_from(tables.lease_reservations, tables.leases,
                           _l.lease_id == _s.id)
                .where(_s.status.in_(live), flagged))}


def count(connection: sa.Connection
          ) -> dict[leases.LeaseStatus, tuple[int, int]]:
    """Count leases by status: all leases, and leases with a reason to wait.

    TERMINATED leases are left out, since they are kept for months.
    """
    # SELECT status, COUNT(*), COUNT(waiting) FROM leases
    #   WHERE status IN (...) GROUP BY status
    return {leases.LeaseStatus(status): (every, waiting)
            for status, every, waiting in connection.execute(
                sa.select(_s.status, sa.func.count(),
                          sa.func.count(_s.waiting))
                .where(_s.status.in_(db_leases.KEPT)).group_by(_s.status))}
