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

"""Counter-offers: what could be had instead of what was refused.

Each was planned before it is made, so that it is accepted when it is asked
for unchanged while the timeline is the same.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import enum
import itertools

from ironic_reservations.planner import availability
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import fleet
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline


class Kind(enum.StrEnum):
    """In what a counter-offer differs from the demands."""

    LATER = 'later'
    EARLIER = 'earlier'
    SHORTER = 'shorter'
    FEWER = 'fewer'


@dataclasses.dataclass(frozen=True)
class Offer:
    """Demands that would be accepted.

    :ivar nearest: whether everything nearer to what was asked was proved
        impossible, and not only not found.
    """

    kind: Kind
    demands: tuple[bookings.Demand, ...]
    nearest: bool = True


def offers(now: timeline.Timeline, demands: Sequence[bookings.Demand],
           earliest: int, latest: int,
           limits: budget.Limits = planning.LIMITS,
           kinds: Iterable[Kind] = Kind) -> tuple[Offer, ...]:
    """Find what could be had instead, at most one offer of each kind.

    :param earliest: before this nothing can start.
    :param latest: after this nothing can end.
    """
    makers = {Kind.LATER: _later, Kind.EARLIER: _earlier,
              Kind.SHORTER: _shorter, Kind.FEWER: _fewer}
    limits = _short(limits)
    ground = _Ground(now)
    made = []
    for kind in kinds:
        offer = makers[kind](ground, tuple(demands), earliest, latest, limits)
        if offer is not None:
            made.append(offer)
    return tuple(made)


def soonest(now: timeline.Timeline, demands: Sequence[bookings.Demand],
            latest: int, limits: budget.Limits = planning.LIMITS
            ) -> Offer | None:
    """Find the earliest start, from the one given on, that is accepted.

    All demands are moved by the same time.

    :param latest: after this nothing can end.
    """
    limits = _short(limits)
    ground = _Ground(now)
    shifts = itertools.chain([0], _shifts_later(ground, demands, latest))
    return _first(ground, Kind.LATER, tuple(demands), shifts, limits)


def _short(limits: budget.Limits) -> budget.Limits:
    """Return limits for the many windows that are tried for one offer.

    NOTE: what a search by ejection finds in a few steps it finds in the same
    way where it may take more, so that what is offered is accepted.
    """
    return dataclasses.replace(limits, eject=limits.eject // _SHORTER)


#: How much shorter than for a request the search by ejection is.
_SHORTER = 10


def _later(ground: _Ground, demands: tuple[bookings.Demand, ...],
           earliest: int, latest: int,
           limits: budget.Limits) -> Offer | None:
    return _first(ground, Kind.LATER, demands,
                  _shifts_later(ground, demands, latest), limits)


def _earlier(ground: _Ground, demands: tuple[bookings.Demand, ...],
             earliest: int, latest: int,
             limits: budget.Limits) -> Offer | None:
    return _first(ground, Kind.EARLIER, demands,
                  _shifts_earlier(ground, demands, earliest), limits)


def _first(ground: _Ground, kind: Kind,
           demands: tuple[bookings.Demand, ...], shifts: Iterable[int],
           limits: budget.Limits) -> Offer | None:
    """Give the first of some shifts that is accepted."""
    profiles = [ground.profile(demand.eligible) for demand in demands]
    tries, doubts = limits.offers, 0
    for shift in shifts:
        moved = tuple(_shift(demand, shift) for demand in demands)
        # NOTE: looking this up is much cheaper than planning, and nothing
        # that can be had is lost.
        if not all(profile.enough(demand.start, demand.until, demand.least)
                   for demand, profile in zip(moved, profiles,
                                              strict=True)):
            continue
        if not tries or doubts > limits.doubts:
            return None
        tries -= 1
        answer = planning.plan(ground.now, moved, limits)
        if isinstance(answer, plans.Plan):
            return Offer(kind, moved, not doubts)
        doubts += not answer.cause.proved
    return None


def _shift(demand: bookings.Demand, shift: int) -> bookings.Demand:
    return dataclasses.replace(demand, start=demand.start + shift,
                               end=demand.end + shift)


def _shifts_later(ground: _Ground, demands: Sequence[bookings.Demand],
                  latest: int) -> Iterator[int]:
    """Give the shifts at which room can appear, the smallest first.

    A window that moves to the right leaves a booking's way only where its
    start comes to where the booking lets go.
    """
    most = latest - max(demand.end for demand in demands)
    everyone = ground.everyone(demands)
    shifts: set[int] = set()
    for demand in demands:
        start = demand.start
        for node in everyone:
            untils = ground.now.untils[node]
            first = bisect.bisect_right(untils, start)
            shifts.update([until - start for until in untils[first:]])
    return iter(sorted(shift for shift in shifts if shift <= most))


def _shifts_earlier(ground: _Ground,
                    demands: Sequence[bookings.Demand],
                    earliest: int) -> Iterator[int]:
    most = min(demand.start for demand in demands) - earliest
    everyone = ground.everyone(demands)
    shifts: set[int] = set()
    for demand in demands:
        until = demand.until
        for node in everyone:
            starts = ground.now.starts[node]
            last = bisect.bisect_left(starts, until)
            shifts.update([until - start for start in starts[:last]])
    return iter([-shift for shift in sorted(shifts) if shift <= most])


def _everyone(now: timeline.Timeline, eligible: int) -> int:
    """Give all nodes on which a booking could matter to a demand."""
    walk = fleet.Walk(eligible)
    for node in walk:
        for booking in now.rows[node]:
            if booking.movable:
                walk.leads_to(booking.eligible)
    return walk.nodes


class _Ground:
    """A timeline, and what has been found out about it."""

    def __init__(self, now: timeline.Timeline) -> None:
        self.now = now
        self._profiles: dict[int, _Profile] = {}
        self._everyone: dict[int, tuple[int, ...]] = {}

    def profile(self, nodes: int) -> _Profile:
        """Give how many nodes of a set nobody holds for good, over time."""
        if nodes not in self._profiles:
            self._profiles[nodes] = _Profile(self.now, nodes)
        return self._profiles[nodes]

    def everyone(self, demands: Iterable[bookings.Demand]
                 ) -> tuple[int, ...]:
        """Give all nodes on which a booking could matter to demands.

        NOTE: to all of them together, since one may make room for another.
        """
        eligible = 0
        for demand in demands:
            eligible |= demand.eligible
        if eligible not in self._everyone:
            self._everyone[eligible] = fleet.members(
                _everyone(self.now, eligible))
        return self._everyone[eligible]


class _Profile:
    """Over time, how many nodes of a set nobody holds who must be there."""

    def __init__(self, now: timeline.Timeline, nodes: int) -> None:
        self.instants, self.free = availability.steps(
            _captives(now, nodes), nodes.bit_count())

    def enough(self, start: int, until: int, count: int) -> bool:
        """Tell whether ``count`` nodes are never missing in a window."""
        return self.missing(start, until, count) is None

    def missing(self, start: int, until: int, count: int) -> int | None:
        """Give the first instant at which ``count`` nodes are missing."""
        first = bisect.bisect_right(self.instants, start) - 1
        last = bisect.bisect_left(self.instants, until)
        for place in range(first, last):
            if self.free[place] < count:
                return max(start, self.instants[place])
        return None


def _captives(now: timeline.Timeline, nodes: int
              ) -> Iterator[bookings.Booking]:
    """Give the bookings that are on nodes of a set and cannot leave it."""
    last, leaves = nodes, False
    for node in fleet.members(nodes):
        for booking in now.rows[node]:
            if booking.eligible is not last:
                last = booking.eligible
                leaves = bool(last & ~nodes)
            if not leaves or not booking.movable:
                yield booking


def _shorter(ground: _Ground, demands: tuple[bookings.Demand, ...],
             earliest: int, latest: int,
             limits: budget.Limits) -> Offer | None:
    """End all demands at one earlier instant, the latest that there is."""
    begin = max(demand.start for demand in demands)
    end = max(demand.end for demand in demands)
    # Nothing lasts beyond the first instant at which there are too few.
    for demand in demands:
        missing = ground.profile(demand.eligible).missing(
            demand.start, demand.until, demand.least)
        if missing is not None:
            end = min(end, missing - demand.margin + 1)
    # Room appears where a window's end comes to where a booking starts.
    everyone = ground.everyone(demands)
    ends: set[int] = set()
    for demand in demands:
        for node in everyone:
            starts = ground.now.starts[node]
            first = bisect.bisect_right(starts, begin + demand.margin)
            last = bisect.bisect_left(starts, end + demand.margin)
            ends.update([start - demand.margin
                         for start in starts[first:last]])
    ordered = sorted(ends)
    best: tuple[bookings.Demand, ...] | None = None
    nearest = True
    # NOTE: what can be had until one end can be had until any earlier one;
    # and mostly the latest can be had at once.
    low, middle, high = 0, len(ordered) - 1, len(ordered)
    while low < high:
        cut = tuple(dataclasses.replace(
            demand, end=min(demand.end, ordered[middle]))
            for demand in demands)
        answer = planning.plan(ground.now, cut, limits)
        if isinstance(answer, plans.Plan):
            best, low = cut, middle + 1
        else:
            nearest, high = nearest and answer.cause.proved, middle
        middle = (low + high) // 2
    return Offer(Kind.SHORTER, best, nearest) if best is not None else None


def _fewer(ground: _Ground, demands: tuple[bookings.Demand, ...],
           earliest: int, latest: int,
           limits: budget.Limits) -> Offer | None:
    """Ask for as many nodes as there are, but at least one of each."""
    modest = tuple(dataclasses.replace(
        demand, least=min(1, demand.least),
        most=max(1, demand.least)) for demand in demands)
    answer = planning.plan(ground.now, modest, limits)
    if isinstance(answer, plans.Refusal):
        return None
    # NOTE: a search that is cut short may end otherwise for other numbers;
    # so what is offered is planned as it would be asked for.
    offered = tuple(dataclasses.replace(
        demand, least=len(granted), most=max(1, len(granted)))
        for demand, granted in zip(modest, answer.granted, strict=True))
    if isinstance(planning.plan(ground.now, offered, limits), plans.Refusal):
        return None
    return Offer(Kind.FEWER, offered, answer.most)
