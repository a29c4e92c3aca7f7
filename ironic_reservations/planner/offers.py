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

import bisect
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import enum
import itertools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import openings
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
           kinds: Iterable[Kind] = Kind, grain: int = 1,
           begun: int = 0) -> tuple[Offer, ...]:
    """Return at most one counter-offer of each kind.

    :param earliest: the earliest possible start.
    :param latest: the latest possible end.
    :param grain: other starts are rounded away from the present one to a
        multiple of it, if that is accepted, too.
    :param begun: the part of the window that is over, and is not in the
        demands; a later offer lasts that much longer.
    """
    search = later = _OfferSearch(now, tuple(demands), limits)
    if begun:
        later = _OfferSearch(now, tuple(
            dataclasses.replace(demand, end=demand.end + begun)
            for demand in demands), limits)
    most = latest - max(demand.end for demand in demands) - begun
    least = earliest - min(demand.start for demand in demands)
    makers = {
        Kind.LATER: lambda: later.nearest(Kind.LATER, most, grain),
        Kind.EARLIER: lambda: search.nearest(Kind.EARLIER, least, grain),
        Kind.SHORTER: search.shorter, Kind.FEWER: search.fewer}
    made = []
    for kind in kinds:
        (later if kind is Kind.LATER else search).renew_budget()
        made.append(makers[kind]())
    return tuple(offer for offer in made if offer is not None)


def soonest(now: timeline.Timeline, demands: Sequence[bookings.Demand],
            latest: int, limits: budget.Limits = planning.LIMITS,
            grain: int = 1,
            permits: Callable[[_Demands], bool] = lambda demands: True,
            opens: Iterable[int] | None = None) -> Offer | None:
    """Return the earliest accepted start, from the start of the demands on.

    All demands are shifted by the same time.

    :param latest: the latest possible end.
    :param grain: the start is rounded up to a multiple of it, if that is
        accepted, too.
    :param permits: returns whether shifted demands are allowed.
    :param opens: the only instants from which they may be allowed after a
        start at which they are not; ``None``: it is not known.
    """
    shift = _rounded(min(demand.start for demand in demands), 0, grain)
    most = latest - max(demand.end for demand in demands)
    # Mostly there is room at once without moving anything, which is
    # found without examining all bookings.
    moved = _shifted(demands, shift)
    if most >= shift and permits(moved) and isinstance(planning.plan(
            now, moved, _without_steps(limits), False), plans.Plan):
        return Offer(Kind.LATER, moved)
    search = _OfferSearch(now, tuple(demands), limits, opens)
    return search.nearest(Kind.LATER, most, grain, (0,), permits)


def starts(now: timeline.Timeline, demands: Sequence[bookings.Demand],
           latest: int, most: int, grain: int,
           permits: Callable[[_Demands], bool] = lambda demands: True,
           limits: budget.Limits = planning.LIMITS,
           opens: Iterable[int] | None = None) -> list[_Demands]:
    """Return the earliest accepted starts, from the start of the demands on.

    The candidates are the given start, and the instants at which a booking
    releases a host, or a limit may allow a start.

    :param latest: the latest possible end.
    :param most: the maximum number of starts.
    :param grain: starts are rounded up to a multiple of it.
    :param permits: returns whether shifted demands are allowed.
    :param opens: see :func:`soonest`.
    """
    search = _OfferSearch(now, tuple(demands), limits, opens)
    furthest = latest - max(demand.end for demand in demands)
    begin = min(demand.start for demand in demands)
    shifts = {_rounded(begin, shift, grain)
              for shift in itertools.chain([0], search.later(furthest))}
    found = search.accepted(
        sorted(shift for shift in shifts if shift <= furthest),
        limits.offers + most, permits, search.sure_later(furthest, grain))
    return [moved for moved, _ in itertools.islice(found, most)]


def _shifted(demands: Sequence[bookings.Demand], shift: int) -> _Demands:
    return tuple(dataclasses.replace(
        demand, start=demand.start + shift, end=demand.end + shift)
        for demand in demands)


def _rounded(begin: int, shift: int, grain: int) -> int:
    """Return the shift by which a start becomes a multiple of the grain."""
    return -(-(begin + shift) // grain) * grain - begin


#: How many lower numbers are tried for an offer of fewer hosts.
_LOWERED = 3
#: The factor by which searches are shorter than for a request.
_SHORTER = 10
#: The units of work for each host to find where it is free, and for each to
#: prepare a search.
_SWEEP, _PREPARE = 16, 20
#: The units of work of checking whether a start is allowed.
_CHECK = 100


def _without_steps(limits: budget.Limits) -> budget.Limits:
    """Return limits for a plan without any moves."""
    return dataclasses.replace(limits, proof=0, swap=0, search=0, eject=0)


class _OfferSearch:
    """A search for counter-offers on one timeline."""

    def __init__(self, now: timeline.Timeline, demands: _Demands,
                 limits: budget.Limits,
                 opens: Iterable[int] | None = None) -> None:
        self._now = now
        self._demands = demands
        self._opens = None if opens is None else sorted({*opens})
        # The bookings that any of them can reach, since one may make
        # room for another.
        self._eligible = 0
        for demand in demands:
            self._eligible |= demand.eligible
        # Many windows are tried, so that each gets a short search. The
        # result of a search that was cut short is planned again with the
        # limits of a request.
        self._limits = limits
        self._short = dataclasses.replace(
            limits, search=limits.search // _SHORTER,
            eject=limits.eject // _SHORTER)
        if self._have_shares():
            self._short = dataclasses.replace(
                self._short, swap=limits.swap // _SHORTER)
        self._profiles = [profiles.of(now, demand) for demand in demands]
        self._left = work.part(limits.request, limits.together)
        self._pay(_PREPARE)

    def _pay(self, each: int) -> None:
        """Take units of work for each host."""
        units = each * self._eligible.bit_count()
        self._left.left -= units
        if self._limits.request is not None:
            self._limits.request.left -= units

    def _have_shares(self) -> bool:
        return any(demand.amounts is not None for demand in self._demands
                   ) or bool(reach.hosts(self._now, self._eligible)
                             & self._now.compute)

    def _is_for_hosts(self) -> bool:
        """Return whether there is a single demand, for whole hosts."""
        return (len(self._demands) == 1 and self._profiles[0].whole
                and self._demands[0].affinity is not True)

    def renew_budget(self) -> None:
        """Allow as much work as for the first counter-offer.

        Otherwise a hard counter-offer would use up the work of the others.
        """
        self._left = work.part(self._limits.request, self._limits.offer)

    def _plan(self, demands: Sequence[bookings.Demand]
              ) -> plans.Plan | plans.Refusal:
        """Plan demands so that a request for them would be accepted, too."""
        answer = planning.plan(self._now, demands, self._short, False,
                               self._left)
        if isinstance(answer, plans.Plan) and not answer.settled:
            return self._plan_as_requested(demands)
        return answer

    def _plan_as_requested(self, demands: Sequence[bookings.Demand]
                           ) -> plans.Plan | plans.Refusal:
        """Plan demands with the limits of a request."""
        return planning.plan(
            self._now, demands, self._limits, False,
            None if self._limits.request is None else work.part(
                self._limits.request, self._limits.together))

    def _fits(self, demands: Sequence[bookings.Demand]) -> bool:
        """Return whether demands are accepted without moving any booking."""
        return isinstance(planning.plan(
            self._now, demands, _without_steps(self._limits), False,
            self._left), plans.Plan)

    def _shifted(self, shift: int) -> _Demands:
        return _shifted(self._demands, shift)

    def later(self, most: int) -> Iterator[int]:
        """Yield the shifts at which room can appear, the smallest first.

        When a window is shifted to the right, a booking stops being in its way
        only when the start reaches the instant at which the booking releases
        its host. The same is true of a limit, and the bookings that it
        counts.
        """
        starts = {demand.start for demand in self._demands}
        ends = reach.releases(self._now, self._eligible)
        if self._opens:
            ends = sorted([*ends, *self._opens])
        if len(starts) > 1:
            shifts = {at - start for at in ends for start in starts}
            return iter(sorted(each for each in shifts if 0 < each <= most))
        start = min(starts)
        return (at - start for at in ends[bisect.bisect_right(ends, start):
                                          bisect.bisect_right(
                                              ends, start + most)])

    def earlier(self, least: int) -> Iterator[int]:
        """Yield the shifts to the left at which room can appear."""
        ends = {demand.until for demand in self._demands}
        ends.update([demand.end for demand in self._demands
                     if demand.amounts is not None])
        begins = reach.starts(self._now, self._eligible)
        shifts = {start - end for end in ends
                  for start in begins[:bisect.bisect_left(begins, end)]}
        # A window that is shifted to the left may end in time for loans.
        shifts.update(demand.lent_until - demand.until
                      for demand in self._demands if demand.lent)
        return iter(sorted((each for each in shifts if least <= each < 0),
                           reverse=True))

    def sure_later(self, most: int, grain: int = 1) -> int | None:
        """Return a shift to the right that succeeds without any move.

        For a single demand for whole hosts it is the smallest one. Otherwise,
        it is the shift after which the eligible hosts have no more bookings,
        if the demands fit there.

        :param grain: starts are a multiple of it.
        :returns: ``None`` if none is known.
        """
        begin = min(demand.start for demand in self._demands)
        if self._is_for_hosts():
            self._pay(_SWEEP)
            start = openings.first_start(self._now, self._demands[0],
                                         begin + most, grain)
            return None if start is None else start - begin
        # A host that is taken for longer is of no use.
        at = max([begin, *(until for node in host_sets.members(self._eligible)
                           for until in self._now.untils[node][-1:]
                           if until <= begin + most)])
        shift = _rounded(begin, at - begin, grain)
        if shift > most or not self._fits(self._shifted(shift)):
            return None
        return shift

    def sure_earlier(self, least: int, grain: int = 1) -> int | None:
        """Return the smallest shift to the left without moves, if known."""
        if not self._is_for_hosts():
            return None
        self._pay(_SWEEP)
        demand = self._demands[0]
        start = openings.last_start(self._now, demand, demand.start + least,
                                    grain)
        return None if start is None else start - demand.start

    def nearest(self, kind: Kind, furthest: int, grain: int,
                present: Iterable[int] = (),
                permits: Callable[[_Demands], bool] = lambda demands: True
                ) -> Offer | None:
        """Return the nearest accepted start, later or earlier.

        It is a multiple of the grain, unless an exact start is accepted for
        which the rounded one is not.

        :param furthest: the largest possible shift.
        :param present: the shift of the present start, if it may stay.
        :param permits: returns whether shifted demands are allowed.
        """
        away, shifts, sure = (
            (-1, self.earlier, self.sure_earlier) if kind is Kind.EARLIER
            else (1, self.later, self.sure_later))
        begin = min(demand.start for demand in self._demands)

        def whole(shift: int) -> int:
            return away * _rounded(away * begin, away * shift, grain)

        def first(shifts: Iterable[int], sure: int | None) -> Offer | None:
            return next((Offer(kind, moved, proved) for moved, proved in
                         self.accepted((
                             shift for shift in shifts
                             if away * shift <= away * furthest),
                             self._limits.offers, permits, sure)), None)

        def exact() -> Iterable[int]:
            return itertools.chain(present, shifts(furthest))
        found = first((shift for shift, _ in itertools.groupby(
            map(whole, exact()))), sure(furthest, grain))
        shift = None if found is None else min(
            each.start for each in found.demands) - begin
        # An exact start is used only if it is not rounded to the same.
        odd = [each for each in itertools.takewhile(
            lambda each: shift is None or abs(whole(each)) < abs(shift),
            exact()) if each != whole(each)]
        exactly = first(odd, sure(furthest) if shift is None else None
                        ) if odd else None
        return found if exactly is None else dataclasses.replace(
            exactly, nearest=False)

    def accepted(self, shifts: Iterable[int], tries: int,
                 permits: Callable[[_Demands], bool] = lambda demands: True,
                 sure: int | None = None
                 ) -> Iterator[tuple[_Demands, bool]]:
        """Yield demands with accepted shifts.

        :param tries: the maximum number of shifts that are planned.
        :param sure: a shift that is known to be accepted; it is yielded before
            all larger shifts, or when the search gives up.
        :returns: each with a flag: whether all smaller shifts were proved
            impossible.
        """
        unproved = 0
        beyond: int | None = None
        for shift in shifts:
            if sure is not None and abs(shift) >= abs(sure):
                moved, sure = self._shifted(sure), None
                if permits(moved):
                    yield moved, not unproved
                    if moved == self._shifted(shift):
                        continue
            if beyond is not None and abs(shift) < beyond:
                continue
            moved = self._shifted(shift)
            # This is much cheaper than planning, and skips only starts
            # that are impossible.
            beyond = self._beyond(moved, shift)
            if beyond is not None:
                continue
            if not tries or unproved > self._limits.unproved or (
                    self._left.left <= 0):
                unproved += 1
                break
            if not permits(moved):
                self._left.left -= _CHECK
                if self._opens is not None:
                    beyond = self._opening(moved, self._opens)
                    if beyond is None:
                        return
                continue
            tries -= 1
            answer = self._plan(moved)
            if isinstance(answer, plans.Plan):
                yield moved, not unproved
            else:
                unproved += not answer.cause.proved
        if sure is not None and permits(moved := self._shifted(sure)):
            yield moved, not unproved

    def _opening(self, moved: _Demands, opens: Sequence[int]) -> int | None:
        """Return the next shift that the limits may allow, if any."""
        place = bisect.bisect_right(opens, min(each.start for each in moved))
        return None if place == len(opens) else (
            opens[place] - min(each.start for each in self._demands))

    def _beyond(self, moved: _Demands, shift: int) -> int | None:
        """Return the shift before which a shortage is known to remain.

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
        begins = reach.starts(self._now, self._eligible)
        first = bisect.bisect_left(begins, begin)
        last = bisect.bisect_right(begins, end + max(margins))
        ends = {start - margin for start in begins[first:last]
                for margin in margins}
        ends.update(demand.lent_until - demand.margin
                    for demand in self._demands if demand.lent)
        ordered = sorted(each for each in ends if begin < each < end)
        best: _Demands | None = None
        nearest = True
        # A binary search: if one end is possible, any earlier one is.
        # Mostly the latest is possible.
        low, high = 0, self._enough(ordered)
        sure = self._sure_end()
        if sure is not None:
            low = min(high, bisect.bisect_right(ordered, sure))
            if low:
                best = self._until(ordered[low - 1])
        middle = high - 1
        while low < high:
            if self._left.left <= 0:
                nearest = False
                break
            cut = self._until(ordered[middle])
            answer = self._plan(cut)
            if isinstance(answer, plans.Plan):
                best, low = cut, middle + 1
            else:
                nearest = nearest and answer.cause.proved
                high = middle
            middle = (low + high) // 2
        return (Offer(Kind.SHORTER, best, nearest)
                if best is not None else None)

    def _until(self, end: int) -> _Demands:
        """Return the demands with an earlier end."""
        return tuple(dataclasses.replace(demand, end=min(demand.end, end))
                     for demand in self._demands)

    def _enough(self, ends: Sequence[int]) -> int:
        """Return the number of ends that have enough room, by counting."""
        def is_short(end: int) -> bool:
            return any(profile.missing(demand) is not None
                       for profile, demand in zip(
                           self._profiles, self._until(end), strict=True))
        return bisect.bisect_left(ends, True, key=is_short)

    def _sure_end(self) -> int | None:
        """Return the latest end without any move, if it is known."""
        demand = self._demands[0]
        if not self._is_for_hosts():
            return None
        self._pay(_SWEEP)
        until = openings.longest(self._now, demand)
        return None if until is None else until - demand.margin

    def fewer(self) -> Offer | None:
        """Return an offer of the largest number of hosts that have room."""
        lowered = [dataclasses.replace(demand, least=1, most=1)
                   if demand.affinity else
                   dataclasses.replace(demand, least=min(1, demand.least),
                                       most=max(1, demand.least))
                   for demand in self._demands]
        nearest = True
        answer = self._plan(lowered)
        for number, demand in enumerate(self._demands):
            if demand.affinity and isinstance(answer, plans.Plan):
                if self._left.left <= 0:
                    nearest = False
                    break
                # Demands are raised in order: those before this one keep
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
        free = self._without_moves(answer, lowered)
        if free is not None:
            return free
        # A limited search may end differently for other numbers, so the
        # offer is planned as it would be requested.
        offered = tuple(_exactly(demand, len(granted)) for demand, granted
                        in zip(lowered, answer.granted, strict=True))
        for _ in range(_LOWERED):
            again = self._plan_as_requested(offered)
            if isinstance(again, plans.Plan):
                return Offer(Kind.FEWER, offered, nearest and answer.maximal)
            # This many had a place when the search ended.
            nearest = False
            left = again.demand.least - again.short
            if left < 1 or again.demand.affinity:
                return None
            offered = tuple(
                _exactly(each, left) if each.id == again.demand.id else each
                for each in offered)
        return None

    def _without_moves(self, answer: plans.Plan,
                       lowered: Sequence[bookings.Demand]) -> Offer | None:
        """Return an offer of hosts that are free without any move.

        A later request finds these hosts again without a search.

        :param answer: a plan for the lowered demands.
        """
        if len(lowered) > 1 or answer.moves or lowered[0].affinity:
            return None
        count = len(answer.granted[0])
        most = self._profiles[0].most(lowered[0])
        return Offer(Kind.FEWER, (_exactly(lowered[0], count),),
                     answer.maximal or (most is not None and count >= most))

    def _raise(self, lowered: list[bookings.Demand], number: int,
               most: int) -> bool:
        """Raise a demand with affinity as far as possible.

        :returns: whether it is proved that it cannot be raised further.
        """
        demand, proved = lowered[number], True
        low, probe, high = 1, most, most + 1
        while high - low > 1:
            if self._left.left <= 0:
                proved = False
                break
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
