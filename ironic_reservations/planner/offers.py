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

"""Counter-offers: alternatives to a refused request.

Each has been planned, so that it is accepted if it is requested unchanged
while the timeline is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import enum
import itertools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import profiles
from ironic_reservations.planner import reach
from ironic_reservations.planner import timeline
from ironic_reservations.planner import work

_Demands = tuple[bookings.Demand, ...]


class Kind(enum.StrEnum):
    """The difference of a counter-offer from the demands."""

    LATER = 'later'
    EARLIER = 'earlier'
    SHORTER = 'shorter'
    FEWER = 'fewer'


@dataclasses.dataclass(frozen=True)
class Offer:
    """Demands that would be accepted.

    :ivar nearest: whether everything nearer to the request was proved
        impossible, instead of not found.
    """

    kind: Kind
    demands: _Demands
    nearest: bool = True


def offers(now: timeline.Timeline, demands: Sequence[bookings.Demand],
           earliest: int, latest: int,
           limits: budget.Limits = planning.LIMITS,
           kinds: Iterable[Kind] = Kind) -> tuple[Offer, ...]:
    """Return at most one counter-offer of each kind.

    :param earliest: the earliest possible start.
    :param latest: the latest possible end.
    """
    search = _OfferSearch(now, tuple(demands), limits)
    most = latest - max(demand.end for demand in demands)
    least = earliest - min(demand.start for demand in demands)
    makers = {
        Kind.LATER: lambda: search.first(Kind.LATER, search.later(most)),
        Kind.EARLIER: lambda: search.first(Kind.EARLIER,
                                           search.earlier(least)),
        Kind.SHORTER: search.shorter, Kind.FEWER: search.fewer}
    made = []
    for kind in kinds:
        search.renew_budget()
        made.append(makers[kind]())
    return tuple(offer for offer in made if offer is not None)


def soonest(now: timeline.Timeline, demands: Sequence[bookings.Demand],
            latest: int, limits: budget.Limits = planning.LIMITS
            ) -> Offer | None:
    """Return the earliest start, from the given one, that is accepted.

    All demands are shifted by the same time.

    :param latest: the latest possible end.
    """
    most = latest - max(demand.end for demand in demands)
    # NOTE: mostly there is room at once without moving anything, which is
    # found without examining all bookings.
    if most >= 0 and isinstance(planning.plan(
            now, demands, _without_steps(limits), False),
            plans.Plan):
        return Offer(Kind.LATER, tuple(demands))
    search = _OfferSearch(now, tuple(demands), limits)
    return search.first(Kind.LATER, itertools.chain([0], search.later(most)))


def starts(now: timeline.Timeline, demands: Sequence[bookings.Demand],
           latest: int, most: int, grain: int,
           permits: Callable[[_Demands], bool] = lambda demands: True,
           limits: budget.Limits = planning.LIMITS) -> list[_Demands]:
    """Return the earliest starts, from the given one, that are accepted.

    Candidates are the given one, and those at which a booking releases a host.

    :param latest: the latest possible end.
    :param most: how many to return at most.
    :param grain: starts are rounded up to a multiple of it.
    :param permits: returns whether shifted demands are allowed.
    """
    search = _OfferSearch(now, tuple(demands), limits)
    furthest = latest - max(demand.end for demand in demands)
    begin = min(demand.start for demand in demands)
    shifts = {_rounded(begin, shift, grain)
              for shift in itertools.chain([0], search.later(furthest))}
    found = search.accepted(
        sorted(shift for shift in shifts if shift <= furthest),
        limits.offers + most, permits)
    return [moved for moved, _ in itertools.islice(found, most)]


def earliest(now: timeline.Timeline, demands: Sequence[bookings.Demand],
             latest: int, grain: int,
             permits: Callable[[_Demands], bool] = lambda demands: True,
             limits: budget.Limits = planning.LIMITS) -> _Demands | None:
    """Return the earliest start, from the given one, that is accepted.

    It is a multiple of the grain, unless an exact start is accepted for which
    the rounded one is not.

    :param latest: the latest possible end.
    :param permits: returns whether shifted demands are allowed.
    """
    search = _OfferSearch(now, tuple(demands), limits)
    begin = min(demand.start for demand in demands)
    furthest = latest - max(demand.end for demand in demands)
    exact = [shift for shift in itertools.chain(
        [0], search.later(furthest)) if shift <= furthest]
    whole = {_rounded(begin, shift, grain) for shift in exact}

    def first(shifts: Iterable[int]) -> _Demands | None:
        return next((moved for moved, _ in search.accepted(
            sorted(shifts), limits.offers + 1, permits)), None)
    rounded = first(shift for shift in whole if shift <= furthest)
    until = furthest + 1 if rounded is None else min(
        each.start for each in rounded) - begin
    # NOTE: an exact start is used only if it is not rounded up to the same.
    odd = first(shift for shift in exact if shift not in whole
                and (rounded is None
                     or _rounded(begin, shift, grain) < until))
    return rounded if odd is None else odd


def _rounded(begin: int, shift: int, grain: int) -> int:
    """Return the shift by which a start becomes a multiple of the grain."""
    return -(-(begin + shift) // grain) * grain - begin


#: How many lower numbers are tried for an offer of fewer hosts.
_LOWERED = 3
#: The factor by which searches are shorter than for a request.
_SHORTER = 10


def _without_steps(limits: budget.Limits) -> budget.Limits:
    """Return limits for a plan without any moves."""
    return dataclasses.replace(limits, proof=0, swap=0, search=0, eject=0)


class _OfferSearch:
    """A search for counter-offers on one timeline."""

    def __init__(self, now: timeline.Timeline, demands: _Demands,
                 limits: budget.Limits) -> None:
        self._now = now
        self._demands = demands
        eligible = 0
        for demand in demands:
            eligible |= demand.eligible
        # NOTE: the bookings that any of them can reach, since one may make
        # room for another.
        self._there = [each for _, row in reach.rows(now, eligible)
                       for each in row]
        # NOTE: many windows are tried, so that each gets a short search. What
        # is found is planned again with the limits of a request.
        self._limits = limits
        self._short = dataclasses.replace(
            limits, search=limits.search // _SHORTER,
            eject=limits.eject // _SHORTER)
        if any(demand.amounts is not None for demand in demands) or any(
                each.amounts is not None for each in self._there):
            self._short = dataclasses.replace(
                self._short, swap=limits.swap // _SHORTER)
        self._profiles = [profiles.of(now, demand) for demand in demands]
        self._left = work.part(limits.request, limits.together)

    def renew_budget(self) -> None:
        """Allow as much work as for the first counter-offer.

        NOTE: else a hard one would leave nothing for the others.
        """
        self._left = work.part(self._limits.request, self._limits.together)

    def _plan(self, demands: Sequence[bookings.Demand]
              ) -> plans.Plan | plans.Refusal:
        """Plan demands so that a request for them would be accepted, too."""
        answer = planning.plan(self._now, demands, self._short, False,
                               self._left)
        if isinstance(answer, plans.Plan):
            return planning.plan(self._now, demands, self._limits, False)
        return answer

    def later(self, most: int) -> Iterator[int]:
        """Yield the shifts at which room can appear, the smallest first.

        When a window is shifted to the right, a booking stops being in its way
        only when the start reaches the instant at which the booking releases
        its host.
        """
        lets_go = {each.until for each in self._there}
        lets_go.update([each.end for each in self._there
                        if each.amounts is not None])
        shifts = {at - start for at in lets_go
                  for start in {demand.start for demand in self._demands}}
        return iter(sorted(each for each in shifts if 0 < each <= most))

    def earlier(self, least: int) -> Iterator[int]:
        """Yield such shifts to the left, the smallest first."""
        ends = {demand.until for demand in self._demands}
        ends.update([demand.end for demand in self._demands
                     if demand.amounts is not None])
        shifts = {start - end for start in {each.start
                                            for each in self._there}
                  for end in ends}
        # NOTE: a window that is shifted to the left may end in time for loans.
        shifts.update(demand.lent_until - demand.until
                      for demand in self._demands if demand.lent)
        return iter(sorted((each for each in shifts if least <= each < 0),
                           reverse=True))

    def first(self, kind: Kind, shifts: Iterable[int]) -> Offer | None:
        """Return the first of some shifts that is accepted."""
        return next((Offer(kind, moved, nearest) for moved, nearest in
                     self.accepted(shifts, self._limits.offers)), None)

    def accepted(self, shifts: Iterable[int], tries: int,
                 permits: Callable[[_Demands], bool] = lambda demands: True
                 ) -> Iterator[tuple[_Demands, bool]]:
        """Yield the shifted demands that are accepted.

        :param tries: how many are tried at most.
        :returns: each with whether all nearer ones were proved impossible.
        """
        doubts = 0
        beyond: int | None = None
        for shift in shifts:
            if beyond is not None and abs(shift) < beyond:
                continue
            moved = tuple(dataclasses.replace(
                demand, start=demand.start + shift, end=demand.end + shift)
                for demand in self._demands)
            # NOTE: this is much cheaper than planning, and skips only what is
            # impossible.
            beyond = self._beyond(moved, shift)
            if beyond is not None:
                continue
            if not tries or doubts > self._limits.doubts:
                return
            tries -= 1
            if not permits(moved):
                continue
            answer = self._plan(moved)
            if isinstance(answer, plans.Plan):
                yield moved, not doubts
            else:
                doubts += not answer.cause.proved

    def _beyond(self, moved: _Demands, shift: int) -> int | None:
        """Return how far windows have to be shifted before there is room.

        :returns: ``None`` if no shortage is known.
        """
        furthest = None
        for profile, demand in zip(self._profiles, moved, strict=True):
            missing = profile.missing(demand)
            if missing is None:
                continue
            away = (profile.end(demand) - shift - missing[0] if shift < 0
                    else missing[1] - demand.start + shift)
            furthest = max(away, furthest or 0)
        return furthest

    def shorter(self) -> Offer | None:
        """Return an offer that ends all demands as late as possible."""
        begin = max(demand.start for demand in self._demands)
        end = max(demand.end for demand in self._demands)
        margins = {demand.margin for demand in self._demands}
        if any(demand.amounts is not None for demand in self._demands):
            margins.add(0)
        # Room appears where a window's end comes to where a booking starts.
        ends = {start - margin for start in {each.start
                                             for each in self._there}
                for margin in margins}
        ends.update(demand.lent_until - demand.margin
                    for demand in self._demands if demand.lent)
        ordered = sorted(each for each in ends if begin < each < end)
        best: _Demands | None = None
        nearest = True
        # NOTE: a binary search: if one end is possible, any earlier one is.
        # Mostly the latest is possible.
        low, middle, high = 0, len(ordered) - 1, len(ordered)
        while low < high:
            cut = tuple(dataclasses.replace(
                demand, end=min(demand.end, ordered[middle]))
                for demand in self._demands)
            answer: plans.Plan | plans.Refusal | None = None
            if not any(profile.missing(demand) for profile, demand in zip(
                    self._profiles, cut, strict=True)):
                answer = self._plan(cut)
            if isinstance(answer, plans.Plan):
                best, low = cut, middle + 1
            else:
                nearest = nearest and (answer is None or answer.cause.proved)
                high = middle
            middle = (low + high) // 2
        return (Offer(Kind.SHORTER, best, nearest)
                if best is not None else None)

    def fewer(self) -> Offer | None:
        """Return an offer of as many as there is room for, at least one."""
        lowered = [dataclasses.replace(demand, least=1, most=1)
                   if demand.affinity else
                   dataclasses.replace(demand, least=min(1, demand.least),
                                       most=max(1, demand.least))
                   for demand in self._demands]
        nearest = True
        answer = self._plan(lowered)
        for number, demand in enumerate(self._demands):
            if demand.affinity and isinstance(answer, plans.Plan):
                # NOTE: demands are raised in order: those before this one keep
                # their shares.
                for before, there in enumerate(lowered[:number]):
                    if there.amounts is not None:
                        lowered[before] = _exactly(
                            there, len(answer.granted[before]))
                nearest &= answer.maximal
                nearest &= self._raise(lowered, number, demand.least)
                answer = self._plan(lowered)
        if isinstance(answer, plans.Refusal):
            return None
        # NOTE: a limited search may end differently for other numbers, so the
        # offer is planned as it would be requested.
        offered = tuple(_exactly(demand, len(granted)) for demand, granted
                        in zip(lowered, answer.granted, strict=True))
        for _ in range(_LOWERED):
            again = planning.plan(self._now, offered, self._limits, False)
            if isinstance(again, plans.Plan):
                return Offer(Kind.FEWER, offered, nearest and answer.maximal)
            # NOTE: this many had a place when the search ended.
            nearest = False
            left = again.demand.least - again.short
            if left < 1 or again.demand.affinity:
                return None
            offered = tuple(
                _exactly(each, left) if each.id == again.demand.id else each
                for each in offered)
        return None

    def _raise(self, lowered: list[bookings.Demand], number: int,
               most: int) -> bool:
        """Raise a demand with affinity as far as possible.

        :returns: whether it is proved that it cannot be raised further.
        """
        demand, proved = lowered[number], True
        low, probe, high = 1, most, most + 1
        while high - low > 1:
            lowered[number] = _exactly(demand, probe)
            answer = self._plan(lowered)
            if isinstance(answer, plans.Plan):
                low = probe
            else:
                high, proved = probe, proved and answer.cause.proved
            probe = (low + high) // 2
        lowered[number] = _exactly(demand, low)
        return proved


def _exactly(demand: bookings.Demand, count: int) -> bookings.Demand:
    return dataclasses.replace(demand, least=count, most=max(1, count))
