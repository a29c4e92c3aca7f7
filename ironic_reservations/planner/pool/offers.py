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

"""Counter-offers in the pool: what could be had instead of what was refused.

As :mod:`~ironic_reservations.planner.offers` makes them for whole hosts:
each was planned before it is made.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import itertools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import fleet
from ironic_reservations.planner import offers as node_offers
from ironic_reservations.planner import planning
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import planning as pool_planning
from ironic_reservations.planner.pool import plans as pool_plans
from ironic_reservations.planner.pool import pool
from ironic_reservations.planner.pool import shares
from ironic_reservations.planner.pool import shortage as pool_shortage

Kind = node_offers.Kind
#: How much shorter than for a request the search is for an offer.
_SHORTER = 10
_Wishes = tuple[instances.Wish, ...]


@dataclasses.dataclass(frozen=True)
class PoolOffer:
    """Demands that would be accepted.

    :ivar nearest: whether everything nearer to what was asked was proved
        impossible, and not only not found.
    """

    kind: Kind
    demands: _Wishes
    nearest: bool = True


def offers(now: pool.Pool, demands: Sequence[instances.Wish], earliest: int,
           latest: int, limits: budget.Limits = planning.LIMITS,
           kinds: Iterable[Kind] = Kind) -> tuple[PoolOffer, ...]:
    """Find what could be had instead, at most one offer of each kind.

    :param earliest: before this nothing can start.
    :param latest: after this nothing can end.
    """
    whole = pool_planning.as_whole(now, demands)
    if whole is not None:
        return tuple(_of_whole(demands, offer) for offer in node_offers.offers(
            now.timeline, whole, earliest, latest, limits, kinds))
    ground = _Ground(now, tuple(demands), limits)
    most = latest - max(demand.end for demand in demands)
    least = earliest - min(demand.start for demand in demands)
    makers = {
        Kind.LATER: lambda: ground.first(Kind.LATER, ground.later(most)),
        Kind.EARLIER: lambda: ground.first(Kind.EARLIER,
                                           ground.earlier(least)),
        Kind.SHORTER: ground.shorter, Kind.FEWER: ground.fewer}
    made = (makers[kind]() for kind in kinds)
    return tuple(offer for offer in made if offer is not None)


def soonest(now: pool.Pool, demands: Sequence[instances.Wish], latest: int,
            limits: budget.Limits = planning.LIMITS) -> PoolOffer | None:
    """Find the earliest start, from the one given on, that is accepted.

    All demands are moved by the same time.

    :param latest: after this nothing can end.
    """
    whole = pool_planning.as_whole(now, demands)
    if whole is not None:
        offer = node_offers.soonest(now.timeline, whole, latest, limits)
        return None if offer is None else _of_whole(demands, offer)
    ground = _Ground(now, tuple(demands), limits)
    most = latest - max(demand.end for demand in demands)
    return ground.first(Kind.LATER, itertools.chain([0], ground.later(most)))


def _of_whole(demands: Sequence[instances.Wish],
              offer: node_offers.Offer) -> PoolOffer:
    """Give an offer of whole hosts in the words of what was asked for."""
    offered: list[instances.Wish] = []
    for asked, given in zip(demands, offer.demands, strict=True):
        offered.append(dataclasses.replace(
            asked, start=given.start, end=given.end, amount=given.least)
            if isinstance(asked, instances.InstanceDemand) else given)
    return PoolOffer(offer.kind, tuple(offered), offer.nearest)


class _Ground:
    """A pool, what is demanded of it, and what has been found out."""

    def __init__(self, now: pool.Pool, demands: _Wishes,
                 limits: budget.Limits) -> None:
        self._now = now
        self._demands = demands
        self._limits = limits
        # NOTE: many windows are tried, and the one that is refused is not
        # worth a long search; what is found is planned as it will be.
        self._short = dataclasses.replace(
            limits, search=limits.search // _SHORTER,
            swap=limits.swap // _SHORTER, eject=limits.eject // _SHORTER)
        self._there = list(_all_that_matters(now, demands))
        self._profiles = [_Profile(now, demand) for demand in demands]

    def _plan(self, demands: _Wishes
              ) -> pool_plans.PoolPlan | pool_plans.PoolRefusal:
        """Plan demands, and be sure that they can be had if it says so."""
        answer = pool_planning.plan(self._now, demands, self._short)
        if isinstance(answer, pool_plans.PoolRefusal):
            return answer
        return pool_planning.plan(self._now, demands, self._limits)

    def later(self, most: int) -> Iterator[int]:
        """Give the shifts at which room can appear, the smallest first.

        A window that moves to the right leaves the way of something only
        where its start comes to where that lets go.
        """
        lets_go = {end for each in self._there
                   for end in (each.end, each.end + each.margin)}
        shifts = {end - demand.start for demand in self._demands
                  for end in lets_go}
        return iter(sorted(each for each in shifts if 0 < each <= most))

    def earlier(self, least: int) -> Iterator[int]:
        """Give such shifts to the left, the smallest first."""
        starts = {each.start for each in self._there}
        shifts = {start - end for demand in self._demands
                  for end in (demand.end, demand.until) for start in starts}
        return iter(sorted((each for each in shifts if least <= each < 0),
                           reverse=True))

    def first(self, kind: Kind, shifts: Iterable[int]) -> PoolOffer | None:
        """Give the first of some shifts that is accepted."""
        tries, doubts = self._limits.offers, 0
        beyond: int | None = None
        for shift in shifts:
            if beyond is not None and abs(shift) < beyond:
                continue
            moved = tuple(dataclasses.replace(
                demand, start=demand.start + shift, end=demand.end + shift)
                for demand in self._demands)
            # NOTE: looking this up is much cheaper than planning, and
            # nothing that can be had is lost.
            beyond = self._beyond(moved, shift)
            if beyond is not None:
                continue
            if not tries or doubts > self._limits.doubts:
                return None
            tries -= 1
            answer = self._plan(moved)
            if isinstance(answer, pool_plans.PoolPlan):
                return PoolOffer(kind, moved, not doubts)
            doubts += not answer.cause.proved
        return None

    def _beyond(self, moved: _Wishes, shift: int) -> int | None:
        """Give how far windows have to be moved before there is room.

        :returns: ``None`` where nothing is known to be missing.
        """
        furthest = None
        for profile, demand in zip(self._profiles, moved, strict=True):
            missing = profile.missing(demand.start, demand.end)
            if missing is None:
                continue
            away = (demand.end - shift - missing[0] if shift < 0
                    else missing[1] - demand.start + shift)
            furthest = max(away, furthest or 0)
        return furthest

    def shorter(self) -> PoolOffer | None:
        """End all demands at one earlier instant, the latest that there is.
        """
        begin = max(demand.start for demand in self._demands)
        end = max(demand.end for demand in self._demands)
        margins = {0, *(demand.margin for demand in self._demands)}
        # Room appears where a window's end comes to where something starts.
        ends = {each.start - margin for each in self._there
                for margin in margins}
        ordered = sorted(each for each in ends if begin < each < end)
        best: _Wishes | None = None
        nearest = True
        # NOTE: what can be had until one end can be had until any earlier
        # one; and mostly the latest can be had at once.
        low, middle, high = 0, len(ordered) - 1, len(ordered)
        while low < high:
            cut = tuple(dataclasses.replace(
                demand, end=min(demand.end, ordered[middle]))
                for demand in self._demands)
            answer: pool_plans.PoolPlan | pool_plans.PoolRefusal | None
            answer = None
            if not any(profile.missing(demand.start, demand.end)
                       for profile, demand in zip(self._profiles, cut,
                                                  strict=True)):
                answer = self._plan(cut)
            if isinstance(answer, pool_plans.PoolPlan):
                best, low = cut, middle + 1
            else:
                nearest = nearest and (answer is None or answer.cause.proved)
                high = middle
            middle = (low + high) // 2
        return (PoolOffer(Kind.SHORTER, best, nearest)
                if best is not None else None)

    def fewer(self) -> PoolOffer | None:
        """Ask for as much as there is room for, but at least one of each.
        """
        modest: list[instances.Wish] = [
            dataclasses.replace(demand, amount=1)
            if isinstance(demand, instances.InstanceDemand) else
            dataclasses.replace(demand, least=min(1, demand.least),
                                most=max(1, demand.least))
            for demand in self._demands]
        if not isinstance(self._plan(tuple(modest)), pool_plans.PoolPlan):
            return None
        nearest = True
        for number, demand in enumerate(self._demands):
            if isinstance(demand, instances.InstanceDemand):
                nearest &= self._raise(modest, number, demand.amount)
        answer = self._plan(tuple(modest))
        if isinstance(answer, pool_plans.PoolRefusal):
            return None
        offered: list[instances.Wish] = []
        for demand, granted in zip(modest, answer.granted, strict=True):
            if isinstance(demand, bookings.Demand):
                demand = dataclasses.replace(demand, least=len(granted),
                                             most=max(1, len(granted)))
            offered.append(demand)
        # NOTE: a search that is cut short may end otherwise for other
        # numbers; so what is offered is planned as it would be asked for.
        if not isinstance(self._plan(tuple(offered)), pool_plans.PoolPlan):
            return None
        return PoolOffer(Kind.FEWER, tuple(offered), nearest and answer.most)

    def _raise(self, modest: list[instances.Wish], number: int,
               amount: int) -> bool:
        """Raise the amount of a demand as far as it can be.

        :returns: whether it is proved that it cannot be raised more.
        """
        low, high, probe, proved, step = 1, amount + 1, amount, True, 1
        while high - low > 1:
            demand = modest[number]
            assert isinstance(demand, instances.InstanceDemand)
            modest[number] = dataclasses.replace(demand, amount=probe)
            answer = self._plan(tuple(modest))
            if isinstance(answer, pool_plans.PoolPlan):
                low = probe
                if not proved:
                    # NOTE: whether more could be had would stay in doubt.
                    break
                # NOTE: mostly no more is to be had than was not short.
                probe, step = low + step, 2 * step
            else:
                high, proved = probe, proved and answer.cause.proved
                probe -= answer.short
                if answer.demand.id != demand.id or probe <= low:
                    probe = (low + high) // 2
            probe = min(max(probe, low + 1), high - 1)
        demand = modest[number]
        assert isinstance(demand, instances.InstanceDemand)
        modest[number] = dataclasses.replace(demand, amount=low)
        return proved


class _Profile:
    """Over time, what there is too little of for a demand, whatever moves."""

    def __init__(self, now: pool.Pool, demand: instances.Wish) -> None:
        self._tracks = [_Track(*_staying(now, demand))]
        if isinstance(demand, instances.InstanceDemand):
            self._tracks.extend(_Track(*each) for each in pool_shortage.used(
                now, demand.eligible, shares.times(demand.amounts,
                                                   demand.amount)))

    def missing(self, start: int, end: int) -> tuple[int, int] | None:
        """Give when there is too little at first, and until when at last.

        :returns: ``None`` where there is never too little in a window.
        """
        found = [missing for track in self._tracks
                 if (missing := track.missing(start, end)) is not None]
        if not found:
            return None
        return min(each[0] for each in found), max(each[1] for each in found)


class _Track:
    """Over time, how much there is of what is needed all the time.

    :param free: before all changes.
    """

    def __init__(self, free: int, changes: dict[int, int],
                 needed: int) -> None:
        self._needed = needed
        self._instants = sorted(changes)
        self._free = list(itertools.accumulate(
            (changes[at] for at in self._instants), initial=free))

    def missing(self, start: int, end: int) -> tuple[int, int] | None:
        """Give from when to when there is too little."""
        first = bisect.bisect_right(self._instants, start)
        last = bisect.bisect_left(self._instants, end)
        needed, free = self._needed, self._free
        short = [place for place in range(first, last + 1)
                 if free[place] < needed]
        if not short:
            return None
        begin, until = short[0], short[-1]
        while until < len(free) and free[until] < needed:
            until += 1
        while begin >= 0 and free[begin] < needed:
            begin -= 1
        return (self._instants[begin] if begin >= 0 else -_EVER,
                self._instants[until - 1] if until < len(free) else _EVER)


#: After everything that is planned.
_EVER = 1 << 80


def _staying(now: pool.Pool, demand: instances.Wish
             ) -> tuple[int, dict[int, int], int]:
    """Tell how many of a demand what has to stay leaves room for."""
    needed = (demand.least if isinstance(demand, bookings.Demand)
              else demand.amount)
    at_most = None
    amounts = None
    if isinstance(demand, instances.InstanceDemand):
        amounts = demand.amounts
        if demand.affinity is True:
            amounts = shares.times(amounts, demand.amount)
            needed = 1
        if demand.affinity is not None:
            at_most = 1
    changes: dict[int, int] = {}
    free = 0
    for node in fleet.members(demand.eligible):
        if amounts is None or not now.compute >> node & 1:
            there = _whole_steps(now, node)
        else:
            there = _shared_steps(now, node, amounts)
        before = 0
        for at, room in there:
            room = room if at_most is None else min(room, at_most)
            if at is None:
                free += room
            elif room != before:
                changes[at] = changes.get(at, 0) + room - before
            before = room
    return free, changes, needed


def _whole_steps(now: pool.Pool,
                 node: int) -> Iterator[tuple[int | None, int]]:
    """Give from when on a host is free of what has to stay, and when not."""
    yield None, 1
    windows = [(each.start, each.end) for each in now.timeline.rows[node]
               if not each.movable and not isinstance(each, pool.Shared)]
    windows.extend((each.start, each.end) for each in now.rows[node]
                   if not each.movable)
    for start, end in shares.runs(windows):
        yield start, 0
        yield end, 1


def _shared_steps(now: pool.Pool, node: int,
                  amounts: tuple[tuple[str, int], ...]
                  ) -> Iterator[tuple[int | None, int]]:
    """Give how many instances what has to stay leaves room for, over time.
    """
    capacity = now.capacities[node] or {}

    def room(used: dict[str, int]) -> int:
        return max(0, min(
            (capacity.get(name, 0) - used.get(name, 0)) // amount
            for name, amount in amounts))

    yield None, room({})
    staying = [each for each in now.rows[node] if not each.movable]
    windows = [(each.start, each.end) for each in staying]
    whole = [(each.start, each.end) for each in now.timeline.rows[node]
             if not each.movable and not isinstance(each, pool.Shared)]
    # NOTE: instances never stand where the host is promised whole.
    found = [(start, 0) for start, _ in whole]
    found.extend((end, room({})) for _, end in whole)
    for start, end in shares.runs(windows):
        found.extend((at, room(used))
                     for at, _, used in shares.steps(staying, start, end))
        found.append((end, room({})))
    # NOTE: where one ends and another begins, what begins counts.
    found.sort(key=lambda each: (each[0], -each[1]))
    yield from found


def _all_that_matters(now: pool.Pool, demands: _Wishes
                      ) -> Iterator[instances.Promise]:
    """Give all that is promised on hosts that could matter to demands."""
    eligible = 0
    for demand in demands:
        eligible |= demand.eligible
    walk = fleet.Walk(eligible)
    for node in walk:
        for each in now.on(node):
            yield each
            if each.movable:
                walk.leads_to(each.eligible)
