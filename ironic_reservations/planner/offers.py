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

_Demands = tuple[bookings.Demand, ...]


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
    demands: _Demands
    nearest: bool = True


def offers(now: timeline.Timeline, demands: Sequence[bookings.Demand],
           earliest: int, latest: int,
           limits: budget.Limits = planning.LIMITS,
           kinds: Iterable[Kind] = Kind) -> tuple[Offer, ...]:
    """Find what could be had instead, at most one offer of each kind.

    :param earliest: before this nothing can start.
    :param latest: after this nothing can end.
    """
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


def soonest(now: timeline.Timeline, demands: Sequence[bookings.Demand],
            latest: int, limits: budget.Limits = planning.LIMITS
            ) -> Offer | None:
    """Find the earliest start, from the one given on, that is accepted.

    All demands are moved by the same time.

    :param latest: after this nothing can end.
    """
    most = latest - max(demand.end for demand in demands)
    # NOTE: mostly there is room at once. What has a place where nothing has
    # to move has it however long is looked, and all that is promised need not
    # be gone through.
    if most >= 0 and isinstance(planning.plan(
            now, demands, dataclasses.replace(limits, **_NO_STEPS), False),
            plans.Plan):
        return Offer(Kind.LATER, tuple(demands))
    ground = _Ground(now, tuple(demands), limits)
    return ground.first(Kind.LATER, itertools.chain([0], ground.later(most)))


def starts(now: timeline.Timeline, demands: Sequence[bookings.Demand],
           latest: int, most: int, grain: int,
           permits: Callable[[_Demands], bool] = lambda demands: True,
           limits: budget.Limits = planning.LIMITS) -> list[_Demands]:
    """Find the earliest starts, from the one given on, that are accepted.

    They are the one given, and those at which a booking lets go of a host.

    :param latest: after this nothing can end.
    :param most: so many are enough.
    :param grain: the starts are rounded up to a multiple of it.
    :param permits: returns whether moved demands may be asked for.
    """
    ground = _Ground(now, tuple(demands), limits)
    furthest = latest - max(demand.end for demand in demands)
    begin = min(demand.start for demand in demands)
    shifts = {_rounded(begin, shift, grain)
              for shift in itertools.chain([0], ground.later(furthest))}
    found = ground.accepted(
        sorted(shift for shift in shifts if shift <= furthest),
        limits.offers + most, permits)
    return [moved for moved, _ in itertools.islice(found, most)]


def earliest(now: timeline.Timeline, demands: Sequence[bookings.Demand],
             latest: int, grain: int,
             permits: Callable[[_Demands], bool] = lambda demands: True,
             limits: budget.Limits = planning.LIMITS) -> _Demands | None:
    """Find the earliest start, from the one given on, that is accepted.

    It is a multiple of the grain, unless that is too late for what can be
    had from the start that it was rounded up from.

    :param latest: after this nothing can end.
    :param permits: returns whether moved demands may be asked for.
    """
    ground = _Ground(now, tuple(demands), limits)
    begin = min(demand.start for demand in demands)
    furthest = latest - max(demand.end for demand in demands)
    exact = [shift for shift in itertools.chain(
        [0], ground.later(furthest)) if shift <= furthest]
    whole = {_rounded(begin, shift, grain) for shift in exact}

    def first(shifts: Iterable[int]) -> _Demands | None:
        return next((moved for moved, _ in ground.accepted(
            sorted(shifts), limits.offers + 1, permits)), None)
    rounded = first(shift for shift in whole if shift <= furthest)
    until = furthest + 1 if rounded is None else min(
        each.start for each in rounded) - begin
    # NOTE: of the same minute, say, the whole one is better.
    odd = first(shift for shift in exact if shift not in whole
                and (rounded is None
                     or _rounded(begin, shift, grain) < until))
    return rounded if odd is None else odd


def _rounded(begin: int, shift: int, grain: int) -> int:
    """Return a shift by which a start becomes a multiple of the grain."""
    return -(-(begin + shift) // grain) * grain - begin


#: So many steps are for what fits as it is.
_NO_STEPS = dict.fromkeys(('proof', 'chain', 'swap', 'repair', 'search',
                           'eject'), 0)
#: How many numbers are tried, each lower, before fewer are not offered.
_LOWERED = 3
#: How much shorter than for a request the searches are.
_SHORTER = 10


class _Ground:
    """A timeline, what is demanded of it, and what has been found out."""

    def __init__(self, now: timeline.Timeline, demands: _Demands,
                 limits: budget.Limits) -> None:
        self._now = now
        self._demands = demands
        eligible = 0
        for demand in demands:
            eligible |= demand.eligible
        # NOTE: all that matters to any of them, since one may make room for
        # another.
        self._there = [each for _, row in reach.rows(now, eligible)
                       for each in row]
        # NOTE: many windows are tried, and the one that is refused is not
        # worth a long search.  What ejection finds in a few steps it finds
        # in the same way where it may take more; where shares come into it,
        # what is found is planned as it will be.
        self._limits = limits
        self._short = dataclasses.replace(
            limits, eject=limits.eject // _SHORTER)
        self._again = any(
            demand.amounts is not None for demand in demands) or any(
            each.amounts is not None for each in self._there)
        if self._again:
            self._short = dataclasses.replace(
                self._short, search=limits.search // _SHORTER,
                swap=limits.swap // _SHORTER,
                repair=limits.repair // _SHORTER)
        self._profiles = [profiles.of(now, demand) for demand in demands]

    def _plan(self, demands: Sequence[bookings.Demand]
              ) -> plans.Plan | plans.Refusal:
        """Plan demands, and be sure that they can be had if it says so."""
        answer = planning.plan(self._now, demands, self._short, False)
        if self._again and isinstance(answer, plans.Plan):
            return planning.plan(self._now, demands, self._limits, False)
        return answer

    def later(self, most: int) -> Iterator[int]:
        """Yield the shifts at which room can appear, the smallest first.

        A window that moves to the right leaves a booking's way only where its
        start comes to where the booking lets go.
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
        # NOTE: a window that moves to the left gets a loan where it ends in
        # time.
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
        """Yield the moved demands that are accepted.

        :param tries: as many are tried at most.
        :returns: with whether all that are nearer were proved impossible.
        """
        doubts = 0
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
        """Return how far windows have to be moved before there is room.

        :returns: ``None`` where nothing is known to be missing.
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
        """End all demands at one earlier instant, the latest that there is.
        """
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
        # NOTE: what can be had until one end can be had until any earlier
        # one; and mostly the latest can be had at once.
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
        """Ask for as much as there is room for, but at least one of each.
        """
        lowered = [dataclasses.replace(demand, least=1, most=1)
                   if demand.affinity else
                   dataclasses.replace(demand, least=min(1, demand.least),
                                       most=max(1, demand.least))
                   for demand in self._demands]
        nearest = True
        answer = self._plan(lowered)
        for number, demand in enumerate(self._demands):
            if demand.affinity and isinstance(answer, plans.Plan):
                # NOTE: it comes in its turn: those before it keep their
                # shares.
                for before, there in enumerate(lowered[:number]):
                    if there.amounts is not None:
                        lowered[before] = _exactly(
                            there, len(answer.granted[before]))
                nearest &= answer.maximal
                nearest &= self._raise(lowered, number, demand.least)
                answer = self._plan(lowered)
        if isinstance(answer, plans.Refusal):
            return None
        # NOTE: a search that is cut short may end otherwise for other
        # numbers; so what is offered is planned as it would be asked for.
        offered = tuple(_exactly(demand, len(granted)) for demand, granted
                        in zip(lowered, answer.granted, strict=True))
        for _ in range(_LOWERED):
            again = planning.plan(self._now, offered, self._limits, False)
            if isinstance(again, plans.Plan):
                return Offer(Kind.FEWER, offered, nearest and answer.maximal)
            # NOTE: so many had a place when the search was cut short.
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
        """Raise a demand for one host as far as it can be.

        :returns: whether it is proved that it cannot be raised more.
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
