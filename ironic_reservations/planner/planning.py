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

"""Admits demands for windows of time, or refuses them.

The steps are: fit, count, exchange, prove, eject, search.

The numbering of hosts affects which hosts are used, but not whether a demand
is served: a proved refusal holds for every order.
"""

from __future__ import annotations

from collections.abc import Sequence
import functools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import ejection
from ironic_reservations.planner import explain
from ironic_reservations.planner import fit
from ironic_reservations.planner import plans
from ironic_reservations.planner import proofs
from ironic_reservations.planner import reach
from ironic_reservations.planner import search
from ironic_reservations.planner import served as served_module
from ironic_reservations.planner import swaps
from ironic_reservations.planner import timeline
from ironic_reservations.planner import work

LIMITS = budget.Limits()
#: How many nodes are tried in the second round of exchanges.
_HOMES = 8
#: How many hosts are copied into a draft for a unit of work.
_COPIED = 8
#: The units of work for a place that is taken, and for each compute host
#: whose room for shares is computed.
_TAKE, _ROOM = 20, 40


def plan(now: timeline.Timeline, demands: Sequence[bookings.Demand],
         limits: budget.Limits = LIMITS,
         explained: bool = True, shared: budget.Budget | None = None
         ) -> plans.Plan | plans.Refusal:
    """Plan demands together: all of them are served, or none.

    Each gets its minimum; then the first gets as many more as there is room
    for, up to its maximum, then the second, and so on, shares before whole
    hosts. Bookings that are not movable stay, and so does an affinity group
    that grows or has partly started. No demand gets a loan that would not be
    free in time.

    :param now: the present timeline, without the bookings that the demands
        replace.
    :param explained: whether a refusal has to name hosts and blockers.
    :param shared: units of work for several plans, from which this one is
        taken; ``None``: only the limits apply.
    :raises ValueError: two demands have the same id.
    """
    if len({demand.id for demand in demands}) < len(demands):
        raise ValueError('Two of the demands share an id. Give each its own, '
                         'since their bookings are called by it.')
    planner = _Planner(now, [demand.within_loans() for demand in demands],
                       limits, shared)
    # All get their minimum, the demands with the least choice first.
    for each in sorted(planner.served, key=served_module.hardest):
        lacking = planner.serve(each, each.demand.least)
        if lacking is not None:
            return explain.refusal(planner.draft, each, lacking, explained)
    # Each gets more as far as there is room, demands for whole hosts last.
    maximal = True
    for each in sorted(planner.served, key=served_module.shares_first):
        lacking = planner.serve(each, each.demand.most)
        maximal = maximal and (lacking is None or lacking.cause.proved)
    # Bookings whose host changed are the moves.
    return plans.compared(now, planner.draft, planner.served, maximal,
                          planner.settled)


class _Planner:
    """Demands that are planned together on one timeline.

    :ivar draft: including the bookings that serve them so far.
    """

    def __init__(self, now: timeline.Timeline,
                 demands: Sequence[bookings.Demand],
                 limits: budget.Limits,
                 shared: budget.Budget | None) -> None:
        self._now = now
        self.draft = timeline.Draft.of(now)
        self._limits = limits
        self._meter = work.Meter(limits.request, shared)
        self._meter.pay(budget.PLAN + now.nodes // _COPIED)
        self._ejections = budget.Budget(limits.eject)
        self._demands = demands
        self.served = [served_module.of(
            self.draft, demand, self._groups.get(demand.family, ())
            if demand.affinity else ()) for demand in demands]

    @property
    def settled(self) -> bool:
        """Whether no search has been cut short."""
        return self._meter.settled

    @functools.cached_property
    def _groups(self) -> served_module.Groups:
        """The existing groups with affinity."""
        return served_module.groups(self._now, self._demands)

    @functools.cached_property
    def _pinned(self) -> frozenset[str]:
        """The groups that stay where they are."""
        return served_module.pinned(self._groups, self._demands)

    def serve(self, served: served_module.Served,
              wanted: int) -> plans.Lacking | None:
        """Find places until there are ``wanted``, or until none is left.

        :returns: why there are no more; ``None``: there are enough.
        """
        draft, meter = self.draft, self._meter
        missing = wanted - served.count
        if missing <= 0:
            return None
        # 1. Without moving any booking.
        eligible = served.template.eligible
        found = fit.fit(draft, served.demand, served.template,
                        missing // served.unit_size)
        meter.pay(eligible.bit_count())
        if served.template.amounts is not None:
            meter.pay(_ROOM * (eligible & draft.compute).bit_count())
        taken = served.unit_size * sum(count for _, count in found)
        shares_move = taken < missing and (
            not served.whole or reach.shares_may_move(
                self._now, draft, eligible,
                [each.template.eligible for each in self.served]))
        # 2. Refuse the minimum, if counting proves that it is too much.
        # Beyond the minimum, each unit that has a place is welcome.
        if (taken < missing and wanted <= served.demand.least
                and not shares_move):
            lacking = proofs.too_few(draft, served, missing, meter,
                                     self._limits)
            if lacking is not None:
                return lacking
        meter.pay(_TAKE * taken)
        served.take(draft, found)
        if taken == missing:
            return None
        homes = swaps.Homes(draft, served.unit().parts[0], self._pinned)
        while served.count < wanted:
            lacking = self._one_more(served, shares_move, homes)
            if lacking is not None:
                return lacking
            served.count += served.unit_size
        return None

    def _one_more(self, served: served_module.Served, shares_move: bool,
                  homes: swaps.Homes) -> plans.Lacking | None:
        """Find a place for one more unit by moving others.

        Exchanges come first: if all nodes are alike, they find a place if
        there is one, and otherwise they do so in most cases.

        :param shares_move: whether moving shares could make room for it.
        :param homes: the nodes for exchanges.
        """
        draft, limits = self.draft, self._limits
        pinned, meter = self._pinned, self._meter
        unit = served.unit()
        # 3. By exchanges between two nodes.
        if served.whole and meter.run(
                budget.SWAP, budget.Budget(limits.swap), lambda steps:
                swaps.swap(draft, unit.parts[0], homes, 1, pinned, steps)):
            return None
        # 4. Refuse, if it can be proved that there is no place.
        lacking = (
            proofs.shortage_with_shares(draft, served, pinned, meter)
            if shares_move
            else proofs.shortage(draft, unit, meter, limits))
        if lacking is not None:
            return lacking
        # 5. By exchanges on more nodes.
        if served.whole and meter.run(
                budget.SWAP, budget.Budget(limits.swap), lambda steps:
                swaps.swap(draft, unit.parts[0], homes, _HOMES, pinned,
                           steps)):
            return None
        homes.forget()
        # 6. By ejecting the bookings in the way.
        if meter.run(budget.EJECT, self._ejections, lambda steps:
                     ejection.eject(draft, unit, pinned, steps),
                     is_hard=True, parts=2):
            return None
        # 7. By an exact search.
        # It costs most, and ejection mostly finds the same plans;
        # only this search proves that there is none, which is why
        # ejection may use only half of the work.
        match meter.run(
                budget.SEARCH, budget.Budget(limits.search), lambda steps:
                search.search(draft, unit, pinned, steps), is_hard=True):
            case search.Outcome.FOUND:
                return None
            case search.Outcome.NONE:
                return plans.Lacking(plans.Cause.NO_ASSIGNMENT)
        return plans.Lacking(plans.Cause.SEARCH_LIMIT)
