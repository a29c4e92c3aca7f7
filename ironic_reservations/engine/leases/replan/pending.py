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

"""Plan all nodes of a lease that is new, or has not started."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations.engine import change
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.engine.leases import ladder
from ironic_reservations.engine.leases.replan import attempt as attempts
from ironic_reservations.engine.leases.replan import refused as refused_module
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline

_Planned = attempts.Replanned | refused_module.Refused


def plan(attempt: attempts.Attempt) -> _Planned:
    """Plan a lease while all other leases keep their dates.

    :raises LeaseLimit: its project may not have it at any start.
    """
    hidden, free = _free(attempt, attempt.before.bookings)
    asked, least = attempt.asked, attempt.least
    if asked.is_open and not attempt.permits(attempt.after.start, least):
        return _at_any_start(attempt)
    outcome = _at_start(attempt, free)
    if isinstance(outcome, plans.Plan):
        return _replanned(attempt, outcome, hidden)
    return (_at_any_start(attempt) if asked.is_open
            else refused_module.Refused(attempt, outcome, free,
                                        _demands(attempt, least)))


def _at_start(attempt: attempts.Attempt, free: timeline.Timeline
              ) -> plans.Plan | plans.Refusal:
    """Plan a lease at its start.

    :returns: the plan, or the reason why there is none for the minimum number.
    """
    # A lease with more than its least keeps as many if possible; fewer
    # are better than a refusal.
    after, least = attempt.after, attempt.least
    kept = {each.id: max(each.least, min(len(each.bookings), each.most))
            for each in after.reservations}
    if kept != least and attempt.permits(after.start, kept):
        outcome = planning.plan(free, _demands(attempt, kept),
                                hard_requests.limits())
        if isinstance(outcome, plans.Plan):
            return outcome
    return planning.plan(free, _demands(attempt, least),
                         hard_requests.limits())


def _at_any_start(attempt: attempts.Attempt) -> _Planned:
    """Plan a lease at the earliest of the starts that it may have."""
    asked, least = attempt.asked, attempt.least
    first = attempt.starting(asked.first)
    # None of its bookings stays, so all hidden promises count.
    hidden, free = _free(attempt, ())
    demands = attempts.least_of(_at_first(first))
    start = attempt.earliest(free, demands, asked.until,
                             exact=attempt.after.start != asked.first)
    if start is not None:
        moved = attempt.starting(start)
        outcome = _at_start(moved, free)
        if isinstance(outcome, plans.Plan):
            return _replanned(moved, outcome, hidden)
    outcome = planning.plan(free, demands, hard_requests.limits())
    if isinstance(outcome, plans.Plan):
        first.check_limits(least)
        return _replanned(first, outcome, hidden)
    return refused_module.Refused(attempt, outcome, free, demands)


def beside(attempt: attempts.Attempt,
           refused: refused_module.Refused) -> _Planned:
    """Plan a refused lease with other dates for some leases.

    :param attempt: has these leases.
    :param refused: the refusal while all other leases keep their dates.
    :returns: the plan; or the refusal, with the cause that is known now.
    :raises Conflict: a lease whose dates may move has changed since it was
        read.
    """
    if attempt.asked.is_open:
        hidden, free = _free(attempt, ())
        demands = _at_first(attempt.starting(attempt.asked.first))
    else:
        hidden, free = _free(attempt, attempt.before.bookings)
        demands = _demands(attempt, attempt.least)
    room = attempt.slide(free, demands, attempt.least, refused.refusal)
    if isinstance(room, plans.Refusal):
        return dataclasses.replace(refused, refusal=room)
    if attempt.asked.is_open:
        attempt = attempt.starting(instants.moment(room.start))
    return _replanned(attempt, room.plan, hidden, room.writes)


def later(refused: refused_module.Refused,
          latest_end: datetime.datetime) -> _Planned:
    """Plan a refused lease at a later start than the requested ones."""
    attempt = refused.attempt
    start = attempt.earliest(refused.free, [
        dataclasses.replace(demand, end=demand.end + refused.begun)
        for demand in attempts.least_of(refused.demands)], latest_end)
    if start is not None:
        moved = attempt.starting(start)
        outcome = _at_start(moved, refused.free)
        if isinstance(outcome, plans.Plan):
            return _replanned(moved, outcome, ())
    return refused


def earlier(attempt: attempts.Attempt, first: datetime.datetime,
            permits: Callable[[datetime.datetime], bool]
            ) -> attempts.Replanned | None:
    """Plan a queued lease at an earlier start, with as many hosts as it has.

    :param first: the earliest start that it accepts.
    :param permits: whether the limits allow a start at an instant.
    :returns: ``None`` if it cannot start earlier.
    """
    before = attempt.before
    length = before.end - before.start
    _, free = _free(attempt, before.bookings)
    counts = {each.id: len(each.bookings) for each in before.reservations}
    demands = [attempt.snapshot.limited(dataclasses.replace(
        demand, start=instants.instant(first),
        end=instants.instant(first + length)), before.project_id)
        for demand in _demands(attempt, counts)]
    # A start that is only seconds earlier is not worth a notice.
    latest = instants.instant(before.start) - 1
    start = attempt.earliest(
        free, demands, instants.moment(latest - latest % ladder.GRAIN)
        + length, first > attempt.snapshot.now, permits)
    if start is None:
        return None
    moved = attempt.starting(start)
    hidden, free = _free(moved, before.bookings)
    outcome = _at_start(moved, free)
    if isinstance(outcome, plans.Refusal) or any(
            len(granted) < counts[each.id] for each, granted
            in zip(before.reservations, outcome.granted, strict=True)):
        return None
    return _replanned(moved, outcome, hidden)


def _free(attempt: attempts.Attempt, staying: Sequence[leases.NodeBooking]
          ) -> tuple[list[bookings.Booking], timeline.Timeline]:
    """Return placeholders, and the timeline without the lease but with them.

    :param staying: see :meth:`attempts.Attempt.placeholders`.
    """
    hidden = attempt.placeholders(attempt.free, staying)
    return hidden, attempt.free.adding(hidden)


def _replanned(attempt: attempts.Attempt, outcome: plans.Plan,
               hidden: Sequence[bookings.Booking],
               slid: Sequence[change.Write[leases.Lease]] = ()
               ) -> attempts.Replanned:
    added = tuple(row for each, granted in zip(
        attempt.after.reservations, outcome.granted, strict=True)
        for row in lease_demands.granted_rows(
            attempt.snapshot, each.id, granted, attempt.after.project_id))
    return attempt.replanned(
        outcome.timeline.without(hidden) if hidden else outcome.draft,
        added=added, slid=slid)


def _at_first(first: attempts.Attempt) -> list[bookings.Demand]:
    """Return demands for the first start of a lease with open dates."""
    # A host that is not lent any more can be kept at the present start,
    # but not at another one.
    return [first.snapshot.limited(demand, first.before.project_id)
            for demand in _demands(first, first.least)]


def _demands(attempt: attempts.Attempt, least: Mapping[str, int]
             ) -> list[bookings.Demand]:
    """Return demands for as many hosts as the limits allow.

    :param least: the least number for each reservation, by its id.
    """
    after, snapshot = attempt.after, attempt.snapshot
    maximums = attempt.maximums(least)
    begin = max(after.start, snapshot.now)
    return [attempt.limited(lease_demands.of(
        each.id, instants.instant(begin), instants.instant(after.end),
        least[each.id], maximums[each.id],
        snapshot.eligible(attempt.wanted[each.id])
        & ~snapshot.host_set.mask(attempt.returned(each)),
        snapshot.margin, attempt.preferred(each, begin), each.instances))
        for each in after.reservations]
