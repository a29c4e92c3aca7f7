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

"""Plan the nodes of a lease, for its new terms."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import datetime

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.engine.leases.replan import attempt as attempts
from ironic_reservations.engine.leases.replan import pending as replan_pending
from ironic_reservations.engine.leases.replan import refused as refused_module
from ironic_reservations.engine.leases.replan import started as replan_started
from ironic_reservations.model import leases
from ironic_reservations.model import limits

Refused = refused_module.Refused
Replanned = attempts.Replanned


def started(lease: leases.Lease, now: datetime.datetime) -> bool:
    """Return whether the nodes of a lease are bound."""
    return lease.start <= now or any(booking.begun
                                     for booking in lease.bookings)


def climb(engine: Engine, rungs: ladder.Ladder, before: leases.Lease | None,
          after: leases.Lease, changes: leases.LeaseChange,
          project: ceiling.Ceiling, asked: ladder.Asked,
          outrun: Collection[str] = ()) -> Replanned | Refused:
    """Plan a lease with new terms, together with all other leases.

    :param rungs: the ladder of the request.
    :param before: the lease as it was read; ``None``: it is new.
    :param after: the lease with its new terms and its present bookings.
    :param project: the usage of its project without the lease.
    :param asked: the request, with the starts that the lease may have.
    :param outrun: uuids of nodes that a new lease gets only if necessary.
    :returns: the plan, or the refusal.
    :raises LeaseRefused: the lease cannot keep one of its nodes.
    :raises LeaseLimit: its project may not have it at any start.
    :raises LeaseFrozen: nodes cannot be removed from it any more.
    :raises Conflict: the lease, or a lease whose dates may move, has been
        moved since it was read.
    """
    is_compared = rungs.is_compared()
    is_started = before is not None and started(before, asked.now)

    def plan(terms: ladder.Terms,
             found: Replanned | Refused | errors.LeaseRefused | None
             ) -> Replanned | Refused | errors.LeaseRefused:
        if isinstance(found, Refused) and terms.latest_end is not None:
            return replan_pending.later(found, terms.latest_end)
        attempt = _attempt(engine, before or after, after, changes, project,
                           asked, is_compared or terms.others is not None,
                           terms.others, outrun)
        try:
            if is_started:
                found = replan_started.plan(attempt)
            elif isinstance(found, Refused):
                return replan_pending.beside(attempt, found)
            else:
                found = replan_pending.plan(attempt)
        except errors.ReservationError as exc:
            engine.snapshots.confirm(engine.database, attempt.snapshot)
            if isinstance(exc, errors.LeaseRefused):
                return exc
            raise
        if isinstance(found, Refused):
            engine.snapshots.confirm(engine.database, attempt.snapshot)
        return found
    planned = rungs.climb(plan, lambda found: isinstance(found, Replanned),
                          lambda _: asked)
    if isinstance(planned, errors.LeaseRefused):
        raise planned
    return planned


def change_of(before: leases.Lease | None, after: leases.Lease,
              replanned: Replanned | None, now: datetime.datetime,
              cause: change.Cause = change.Cause.REQUESTED) -> change.Change:
    """Return the change of a lease, with all that makes room for it.

    :param before: the lease as it was read; ``None``: it is new.
    :param after: the lease with its new terms and its new bookings.
    :param replanned: the plan of the new bookings; ``None``: all bookings
        stay.
    :param now: the time of the plan.
    """
    planned = change.Change(now, writes=[change.Write(
        before, after, cause, request_checks.due(after, now))],
        subject=after.id)
    if before is not None:
        planned.wrong_from(*request_checks.passed_from(before, after, now))
    if before is None or after.start != before.start:
        planned.wrong_from(*request_checks.begun_from(after, now))
    if replanned is not None:
        planned.seen = replanned.difference.seen
        planned.homes = replanned.difference.homes
        planned.snapshot = replanned.snapshot
        planned.writes = [*planned.writes, *replanned.slid]
    return planned


def earlier(engine: Engine, before: leases.Lease, first: datetime.datetime,
            now: datetime.datetime, project: ceiling.Ceiling,
            permits: Callable[[datetime.datetime], bool]) -> Replanned | None:
    """Plan a queued lease at an earlier start.

    It keeps its number of nodes, and all other leases keep their dates.

    :param first: the earliest start that it accepts.
    :param project: the usage of its project without the lease.
    :param permits: whether the limits allow a start at an instant.
    :returns: ``None`` if it cannot start earlier.
    :raises Conflict: the lease has been moved since it was read.
    """
    return replan_pending.earlier(
        _attempt(engine, before, before, leases.LeaseChange(), project,
                 ladder.Asked(now, limits.NONE, before.start, before.start,
                              before.end)),
        max(first, now), permits)


def _attempt(engine: Engine, before: leases.Lease, after: leases.Lease,
             changes: leases.LeaseChange, project: ceiling.Ceiling,
             asked: ladder.Asked, is_compared: bool = True,
             others: ladder.Others | None = None,
             outrun: Collection[str] = ()) -> attempts.Attempt:
    """Return an attempt on the present snapshot.

    :param is_compared: whether the snapshot must have been compared with all
        nodes in the database, and not only with the recorded changes.
    """
    wanted = {each.id: request_checks.requirement_of(each)
              for each in after.reservations}
    snapshot = engine.snapshot(asked.now, [*wanted.values(), *(
        () if others is None else others.wanted.values())], is_compared)
    _check_unmoved(snapshot, before)
    return attempts.Attempt(engine, snapshot, before, after, changes, wanted,
                            project, asked, others, outrun)


def _check_unmoved(snapshot: snapshots.Snapshot, lease: leases.Lease) -> None:
    """Check that the snapshot has the bookings of a lease as they were read.
    """
    try:
        unmoved = all(
            any(row.uuid == each.uuid and row == each
                for row, _ in snapshot.host_of(each).promised)
            for each in lease.bookings)
    except KeyError:
        unmoved = False
    if not unmoved:
        raise db_connection.Conflict('the lease has been moved meanwhile')
