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

"""Plan the nodes of a lease again, for its new terms."""

from __future__ import annotations

from collections.abc import Callable
import datetime

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import ceiling
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.engine.leases.replan import pending as replan_pending
from ironic_reservations.engine.leases.replan import started as replan_started
from ironic_reservations.engine.leases.replan import task as task_module
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import requirements

Replanned = task_module.Replanned
Window = task_module.Window


def started(lease: leases.Lease, now: datetime.datetime) -> bool:
    """Return whether the nodes of a lease are bound."""
    return lease.start <= now or any(booking.begun
                                     for booking in lease.bookings)


def replan(engine: Engine, before: leases.Lease, after: leases.Lease,
           changes: leases.LeaseChange, now: datetime.datetime,
           project: ceiling.Ceiling, compared: bool = True,
           allowed: limits.Limits = limits.NONE,
           window: Window | None = None,
           others: ladder.Others | None = None) -> Replanned:
    """Plan a lease with new terms, together with all other leases.

    :param before: the lease as it was read.
    :param after: the lease with its new terms and its present bookings.
    :param project: the usage of its project without the lease.
    :param compared: whether the snapshot must have been compared with all
        nodes in the database, and not only with the recorded changes.
    :param allowed: the limits of the caller.
    :param window: the range of starts, if its dates are open.
    :param others: the leases whose dates may move for it.
    :raises LeaseRefused: the lease cannot be served.
    :raises LeaseLimit: its project may not have it at any start.
    :raises LeaseFrozen: nodes cannot be removed from it any more.
    :raises Conflict: the lease, or a lease whose dates may move, has been
        moved since it was read.
    """
    wanted = _wanted(after)
    asked = [*wanted.values(), *(
        () if others is None else others.wanted.values())]
    snapshot = engine.snapshot(now, asked, compared)
    try:
        _check_unmoved(snapshot, before)
        task = task_module.Task(engine, snapshot, before, after, changes,
                                wanted, project, allowed, window, others)
        return (replan_started.plan(task) if started(before, now)
                else replan_pending.plan(task))
    except errors.ReservationError:
        engine.snapshots.confirm(engine.database, snapshot)
        raise


def change_of(before: leases.Lease, after: leases.Lease,
              replanned: Replanned | None, now: datetime.datetime,
              cause: change.Cause = change.Cause.REQUESTED) -> change.Change:
    """Return the change of a lease, with all that makes room for it.

    :param before: the lease as it was read.
    :param after: the lease with its new terms and its new bookings.
    :param replanned: the plan of the new bookings; ``None``: all bookings
        stay.
    :param now: the time of the plan.
    """
    planned = change.Change(now, writes=[change.Write(
        before, after, cause, request_checks.due(after, now))],
        subject=before.id)
    planned.wrong_from(*request_checks.passed_from(before, after, now))
    if after.start != before.start:
        planned.wrong_from(*request_checks.begun_from(after, now))
    if replanned is not None:
        planned.difference = replanned.difference
        planned.snapshot = replanned.snapshot
        planned.writes = [*planned.writes, *replanned.slid]
    return planned


def earliest(engine: Engine, before: leases.Lease, first: datetime.datetime,
             now: datetime.datetime, project: ceiling.Ceiling,
             permits: Callable[[datetime.datetime], bool]
             ) -> datetime.datetime | None:
    """Return the earliest start that a queued lease could have.

    It keeps its number of nodes, and all other leases keep their dates.

    :param first: the earliest start that it accepts.
    :param project: the usage of its project without the lease.
    :param permits: whether the limits allow a start at an instant.
    :raises Conflict: the lease has been moved since it was read.
    """
    wanted = _wanted(before)
    snapshot = engine.snapshot(now, wanted.values())
    _check_unmoved(snapshot, before)
    task = task_module.Task(engine, snapshot, before, before,
                            leases.LeaseChange(), wanted, project)
    return replan_pending.earliest(task, max(first, now), permits)


def _wanted(lease: leases.Lease) -> dict[str, requirements.Requirement]:
    """Return the requirement of each reservation of a lease, by id."""
    return {each.id: request_checks.requirement_of(each)
            for each in lease.reservations}


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
