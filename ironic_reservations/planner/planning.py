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

"""Admission of demands for windows of time: fit, repair, search, or refuse.

The order in which nodes are numbered decides which nodes are taken, never
whether: what is refused as proved is refused in every order.
"""

from __future__ import annotations

from collections.abc import Sequence
import heapq
import operator

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import chains
from ironic_reservations.planner import exclusive
from ironic_reservations.planner import fit
from ironic_reservations.planner import fleet
from ironic_reservations.planner import plans
from ironic_reservations.planner import search
from ironic_reservations.planner import shortage
from ironic_reservations.planner import swaps
from ironic_reservations.planner import timeline

LIMITS = budget.Limits()
#: How many nodes are tried for a booking that others make room for.
_HOMES = 8
#: How many blockers a refusal names at most.
_BLOCKERS = 100


def plan(now: timeline.Timeline, demands: Sequence[bookings.Demand],
         limits: budget.Limits = LIMITS) -> plans.Plan | plans.Refusal:
    """Plan demands together: all of them are served, or none is.

    Each gets its least; then the first gets as many more as there is room
    for, up to its most; then the second.  Bookings that are not movable stay
    where they are.

    :param now: the plan that holds, without what the demands stand for.
    :raises ValueError: where two demands share an id.
    """
    if len({demand.id for demand in demands}) < len(demands):
        raise ValueError('Two of the demands share an id. Give each its own, '
                         'since their bookings are called by it.')
    draft = timeline.Draft.of(now)
    ejections = budget.Budget(limits.eject)
    served = [_Served(demand, ejections) for demand in demands]
    for each in served:
        refusal = each.serve(draft, each.demand.least, limits)
        if refusal is not None:
            return refusal
    most = True
    for each in served:
        refusal = each.serve(draft, each.demand.most, limits)
        if refusal is not None and not refusal.cause.proved:
            most = False
    return _compare(now, draft, served, most)


class _Served:
    """A demand, and how many of its nodes it has so far."""

    def __init__(self, demand: bookings.Demand,
                 ejections: budget.Budget) -> None:
        self.demand = demand
        self.count = 0
        self._ejections = ejections
        self._chains = True

    def serve(self, draft: timeline.Draft, wanted: int,
              limits: budget.Limits) -> plans.Refusal | None:
        """Find nodes until there are ``wanted``, or no more."""
        demand = self.demand
        if self.count < wanted:
            free = fit.fit(draft, demand, wanted - self.count)
            draft.put([demand.booking(self.count + place, node)
                       for place, node in enumerate(free)])
            self.count += len(free)
        while self.count < wanted:
            booking = demand.booking(self.count, -1)
            cause, lacking = self._repair(draft, booking, limits)
            if cause is not None:
                return plans.Refusal(
                    cause, demand, wanted - self.count,
                    lacking.at if lacking else None,
                    _blockers(draft, demand, self.count, lacking))
            self.count += 1
        return None

    def _repair(self, draft: timeline.Draft, booking: bookings.Booking,
                limits: budget.Limits
                ) -> tuple[plans.Cause | None, shortage.Shortage | None]:
        # NOTE: in this order because where all nodes are alike, and mostly
        # where they are not, the first one finds a place if there is one.
        if swaps.swap(draft, booking, 1, budget.Budget(limits.swap)):
            return None, None
        lacking = shortage.find(draft, booking, budget.Budget(limits.proof))
        if lacking is not None:
            return plans.Cause.SHORTAGE, lacking
        # NOTE: where one node was not found by a chain, the next one of the
        # same demand hardly will be; what is proved does not depend on it.
        self._chains = self._chains and chains.chain(
            draft, booking, budget.Budget(limits.chain))
        if self._chains:
            return None, None
        if swaps.swap(draft, booking, _HOMES, budget.Budget(limits.swap)):
            return None, None
        match search.search(draft, booking, budget.Budget(limits.search)):
            case search.Outcome.FOUND:
                return None, None
            case search.Outcome.NONE:
                return plans.Cause.NO_ASSIGNMENT, None
            case search.Outcome.UNKNOWN if exclusive.eject(
                    draft, booking, self._ejections):
                return None, None
            case search.Outcome.UNKNOWN:
                return plans.Cause.SEARCH_LIMIT, None


def _blockers(draft: timeline.Draft, demand: bookings.Demand, served: int,
              lacking: shortage.Shortage | None
              ) -> tuple[bookings.Booking, ...]:
    """Give whom the demand competes with, without its own bookings."""
    if lacking is not None:
        there = list(lacking.holders)
    else:
        there = [booking for node in fleet.members(demand.eligible)
                 for booking in draft.between(node, demand.start,
                                              demand.until)]
    own = {f'{demand.id}/{count}' for count in range(served)}
    return tuple(heapq.nsmallest(
        _BLOCKERS, (booking for booking in there if booking.id not in own),
        key=operator.attrgetter('start', 'end', 'id')))


def _compare(now: timeline.Timeline, draft: timeline.Draft,
             served: list[_Served], most: bool) -> plans.Plan:
    wanted = {f'{each.demand.id}/{count}': number
              for number, each in enumerate(served)
              for count in range(each.count)}
    granted: list[list[bookings.Booking]] = [[] for _ in served]
    moves = []
    before = now.rows
    for node, row in enumerate(draft.rows):
        if row is before[node]:
            continue
        there = {booking.id for booking in before[node]}
        for booking in row:
            if booking.id in there:
                continue
            number = wanted.get(booking.id)
            if number is None:
                moves.append(plans.Move(booking, node))
            else:
                granted[number].append(booking)
    return plans.Plan(draft.timeline(), tuple(tuple(row) for row in granted),
                      tuple(moves), most)
