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

"""Plan all nodes of a lease that has not started again."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations.engine import change
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases.replan import task as task_module
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline


def plan(task: task_module.Task) -> task_module.Replanned:
    """Plan all nodes of a lease that has not started.

    :raises LeaseRefused: the lease cannot be served.
    :raises LeaseLimit: its project may not have it at any start.
    :raises Conflict: a lease whose dates may move has changed since it was
        read.
    """
    least = {each.id: each.least for each in task.after.reservations}
    hidden = task.placeholders(task.free, task.before.bookings)
    free = task.free.adding(hidden)
    if task.window is None or task.permits(task.after.start, least):
        outcome = _here(task, free, least)
        if isinstance(outcome, plans.Plan):
            return _replanned(task, outcome, hidden)
    if task.window is not None:
        return _within(task, task.window, least)
    demands = _demands(task, least)
    _, outcome, slid = task.slide(free, demands, least, outcome)
    if isinstance(outcome, plans.Refusal):
        raise task.refusal(outcome, free, demands)
    return _replanned(task, outcome, hidden, slid)


def _here(task: task_module.Task, free: timeline.Timeline,
          least: Mapping[str, int]) -> plans.Plan | plans.Refusal:
    """Plan a lease at its start, while all others keep their dates.

    :returns: the plan, or the reason why there is none for the minimum number.
    """
    # A lease with more than its least keeps as many if possible; fewer
    # are better than a refusal.
    after = task.after
    kept = {each.id: max(each.least, min(len(each.bookings), each.most))
            for each in after.reservations}
    if kept != least and task.permits(after.start, kept):
        outcome = planning.plan(free, _demands(task, kept),
                                hard_requests.limits())
        if isinstance(outcome, plans.Plan):
            return outcome
    return planning.plan(free, _demands(task, least), hard_requests.limits())


def _within(task: task_module.Task, window: task_module.Window,
            least: Mapping[str, int]) -> task_module.Replanned:
    """Plan a lease at any start of its window."""
    # None of its bookings stays, so all hidden promises count.
    hidden = task.placeholders(task.free, ())
    free = task.free.adding(hidden)
    length = task.after.end - task.after.start
    first = task.starting(window.first)
    # A host that is not lent any more can be kept at the present start,
    # but not at another one.
    demands = [task.snapshot.limited(demand, task.before.project_id)
               for demand in _demands(first, least)]

    def permits(start: datetime.datetime) -> bool:
        return task.permits(start, least)

    # Within its present dates, it may have more than the limits allow.
    opens = {*task.project.opens(), instants.instant(task.before.start)}
    start = _first_start(free, demands, window.first, window.last + length,
                         permits, opens)
    if start is not None:
        moved = task.starting(start)
        outcome = _here(moved, free, least)
        if isinstance(outcome, plans.Plan):
            return _replanned(moved, outcome, hidden)
    outcome = planning.plan(free, demands, hard_requests.limits())
    if isinstance(outcome, plans.Plan):
        first.check_limits(least)
        return _replanned(first, outcome, hidden)
    begin, outcome, slid = task.slide(free, demands, least, outcome,
                                      window.last)
    if isinstance(outcome, plans.Plan) and begin is not None:
        return _replanned(task.starting(begin), outcome, hidden, slid)
    assert isinstance(outcome, plans.Refusal)
    ahead = ladder.search_end(window.last + length)
    if window.until is not None:
        ahead = min(ahead, window.until)
    # This is an offer.
    hard_requests.unlock_offers()
    later = _first_start(free, demands, window.first, ahead, permits, opens)
    raise task.refusal(outcome, free, (),
                       None if later is None else later + length)


def _first_start(free: timeline.Timeline, demands: Sequence[bookings.Demand],
                 first: datetime.datetime, until: datetime.datetime,
                 permits: Callable[[datetime.datetime], bool],
                 opens: Collection[int]) -> datetime.datetime | None:
    """Return the earliest start; see :func:`ladder.earliest`."""
    # The first start need not be a whole minute.
    return first if permits(first) and isinstance(
        planning.plan(free, demands, hard_requests.limits()), plans.Plan
        ) else ladder.earliest(free, demands, until, permits, opens)


def _replanned(task: task_module.Task, outcome: plans.Plan,
               hidden: Sequence[bookings.Booking],
               slid: Sequence[change.Write[leases.Lease]] = ()
               ) -> task_module.Replanned:
    added = tuple(row for each, granted in zip(
        task.after.reservations, outcome.granted, strict=True)
        for row in lease_demands.granted_rows(
            task.snapshot, each.id, granted, task.after.project_id))
    return task.replanned(outcome.timeline.without(hidden), added=added,
                          slid=slid)


def earliest(task: task_module.Task, first: datetime.datetime,
             permits: Callable[[datetime.datetime], bool]
             ) -> datetime.datetime | None:
    """Return the earliest possible start of a queued lease.

    :param first: the earliest start that it accepts.
    :param permits: whether the limits allow a start at an instant.
    """
    before = task.before
    length = before.end - before.start
    free = task.free.adding(task.placeholders(task.free, before.bookings))
    demands = [task.snapshot.limited(dataclasses.replace(
        demand, start=instants.instant(first),
        end=instants.instant(first + length)), before.project_id)
        for demand in _demands(task, {each.id: len(each.bookings) for each
                                      in before.reservations})]
    # A start that is only seconds earlier is not worth a notice.
    latest = instants.instant(before.start) - 1
    until = instants.moment(latest - latest % ladder.GRAIN) + length
    if first <= task.snapshot.now:
        return ladder.earliest(free, demands, until, permits,
                               task.project.opens())
    return _first_start(free, demands, first, until, permits,
                        task.project.opens())


def _demands(task: task_module.Task, least: Mapping[str, int]
             ) -> list[bookings.Demand]:
    """Return demands for as many hosts as the limits allow.

    :param least: the least number for each reservation, by its id.
    """
    after, snapshot = task.after, task.snapshot
    maximums = task.maximums(least)
    begin = max(after.start, snapshot.now)
    return [task.limited(lease_demands.of(
        each.id, instants.instant(begin), instants.instant(after.end),
        least[each.id], maximums[each.id],
        snapshot.eligible(task.wanted[each.id])
        & ~snapshot.host_set.mask(task.returned(each)),
        snapshot.margin, snapshot.host_set.mask(
            booking.node_uuid for booking in each.bookings),
        each.instances)) for each in after.reservations]
