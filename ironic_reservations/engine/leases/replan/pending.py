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

"""Planning a lease anew that has not started: all of its nodes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import granted as lease_granted
from ironic_reservations.engine.leases.replan import task as task_module
from ironic_reservations.model import instants
from ironic_reservations.planner import bookings
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans


def plan(task: task_module.Task) -> task_module.Replanned:
    """Plan all nodes of a lease that has not started.

    :raises LeaseRefused: it cannot be served.
    """
    after, snapshot = task.after, task.snapshot
    guards = task.guards(task.free, task.before.bookings)
    free = task.free.adding(guards)
    held = [len(each.bookings) for each in after.reservations]
    # NOTE: a lease that has more than its least keeps as many, if that
    # can be; fewer are better than a refusal.
    outcome = planning.plan(free, _demands(task, [
        max(each.least, min(count, each.most))
        for each, count in zip(after.reservations, held, strict=True)]))
    if isinstance(outcome, plans.Refusal):
        least = _demands(task, [each.least for each in after.reservations])
        outcome = planning.plan(free, least)
        if isinstance(outcome, plans.Refusal):
            raise task.refusal(outcome, free, least)
    added = tuple(row for each, granted in zip(
        after.reservations, outcome.granted, strict=True)
        for row in lease_granted.rows(
            snapshot, each.id, granted, after.project_id))
    return task.replanned(outcome.timeline.without(guards),
                          dropped=task.before.bookings, added=added)


def earliest(task: task_module.Task, first: datetime.datetime,
             permits: Callable[[datetime.datetime], bool]
             ) -> datetime.datetime | None:
    """Return an earlier start that could be had, the first of them.

    :param first: it does not start before.
    :param permits: returns whether it may start at an instant.
    """
    before = task.before
    length = before.end - before.start
    free = task.free.adding(task.guards(task.free, before.bookings))
    demands = [task.snapshot.loans.limit(dataclasses.replace(
        demand, start=instants.instant(first),
        end=instants.instant(first + length)), before.project_id)
        for demand in _demands(task, [len(each.bookings) for each
                                      in before.reservations])]
    # NOTE: what was asked for need not be a whole minute.
    if first > task.snapshot.now and permits(first) and isinstance(
            planning.plan(free, demands), plans.Plan):
        return first
    found = offers.starts(
        free, demands, instants.instant(before.end) - 1, 1,
        60 * instants.SECOND,
        lambda moved: permits(instants.moment(moved[0].start)))
    return instants.moment(found[0][0].start) if found else None


def _demands(task: task_module.Task, least: Sequence[int]
             ) -> list[bookings.Demand]:
    after, snapshot = task.after, task.snapshot
    begin = max(after.start, snapshot.now)
    return [task.limited(lease_demands.of(
        each.id, instants.instant(begin), instants.instant(after.end),
        count, each.most, snapshot.eligible(task.wanted[each.id])
        & ~snapshot.fleet.mask(task.returned(each)),
        task.margin, snapshot.fleet.mask(
            booking.node_uuid for booking in each.bookings),
        each.instances))
        for each, count in zip(after.reservations, least, strict=True)]
