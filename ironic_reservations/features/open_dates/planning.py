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

"""Plans demands of which some may start at other times.

A demand with open dates slides within its window, to make room for others or
to find room for itself.

**Which starts are tried.** In any plan, a sliding demand can be moved to an
earlier start, until it reaches the start of its window, or the end of a
booking on one of its hosts. So if there is a plan, there is also one in which
every sliding demand begins at such an instant. The search tries all orders of
the demands, and for each demand the start of its window and all ends of
bookings, including the demands placed before. If all these starts have been
tried within the limits, it is proved that there is no plan. It is not proved
if a start was not permitted, since another start, which was not tried, might
be permitted.

All plans share one budget of work, of which each gets a part. So together they
take no longer than a few hard plans, and a hard plan does not use up the
budget of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import reach
from ironic_reservations.planner import timeline
from ironic_reservations.planner import work

_Demands = tuple[bookings.Demand, ...]

#: The maximum number of plans.
TRIES = 150
#: The maximum work of all plans together, in units.
UNITS = 700_000
#: Each plan gets at most one part in so many of the remaining budget.
_PARTS = 4
#: The work of checking limits, and of examining a number of starts.
_CHECK, _STARTS = 100, 4


@dataclasses.dataclass(frozen=True)
class Sliding:
    """Demands that start together at some instant of a window.

    :ivar demands: the demands, which have the same start and the same end.
    :ivar earliest: the earliest start.
    :ivar latest: the latest start.
    :ivar preferred: the present start; ``None``: it has none.
    """

    demands: _Demands
    earliest: int
    latest: int
    preferred: int | None = None

    def at(self, start: int) -> _Demands:
        """Return the demands with a given start."""
        return tuple(dataclasses.replace(
            each, start=start, end=start + each.end - each.start)
            for each in self.demands)


@dataclasses.dataclass(frozen=True)
class Slid:
    """A plan, and the starts of the sliding demands in it.

    :ivar starts: the starts, in the order of the demands.
    :ivar plan: the plan, with grants for the firm demands first, then for the
        sliding ones.
    """

    starts: tuple[int, ...]
    plan: plans.Plan


def slide(now: timeline.Timeline, firm: Sequence[bookings.Demand],
          sliding: Sequence[Sliding], grain: int = 1,
          limits: budget.Limits = planning.LIMITS,
          tries: int = TRIES, units: int = UNITS,
          permits: Callable[[Mapping[int, int]], bool] = lambda starts: True,
          late: Callable[[], bool] = lambda: False) -> Slid | bool:
    """Plan demands of which some may start at other times.

    Sliding demands keep their present start if possible, or begin as early as
    possible.

    :param now: without the bookings that the demands replace.
    :param firm: demands with fixed dates.
    :param sliding: demands with open dates.
    :param grain: starts that are a multiple of it are tried first.
    :param tries: the maximum number of plans.
    :param units: the maximum work of all plans together.
    :param permits: returns whether sliding demands, given by their indexes,
        may have these starts; if it refuses them, it also refuses any
        superset.
    :param late: returns whether the time for the search is over.
    :returns: the plan; if none was found, whether it is proved that there is
        none.
    """
    return _Search(now, tuple(firm), sliding, grain, limits, tries,
                   work.part(limits.request, units), permits, late).run()


class _Search:
    """A search through the orders and the starts of sliding demands."""

    def __init__(self, now: timeline.Timeline, firm: _Demands,
                 sliding: Sequence[Sliding], grain: int,
                 limits: budget.Limits, tries: int, left: budget.Budget,
                 permits: Callable[[Mapping[int, int]], bool],
                 late: Callable[[], bool]) -> None:
        self._now = now
        self._firm = firm
        self._sliding = sliding
        self._grain = grain
        self._limits = limits
        self._tries = tries
        self._left = left
        self._permits = permits
        self._late = late
        self._proved = True
        self._seen: set[frozenset[tuple[int, int]]] = set()
        eligible = 0
        for each in (*firm, *(each for one in sliding
                              for each in one.demands)):
            eligible |= each.eligible
        there = [each for _, row in reach.rows(now, eligible) for each in row]
        self._lets_go = {each.until for each in there} | {
            each.end for each in there if each.amounts is not None}

    def run(self) -> Slid | bool:
        """Search for a plan; return it, or whether there is provably none."""
        if self._firm and self._plan({}) is None:
            return self._proved
        found = self._place({})
        return self._proved if found is None else found

    def _plan(self, starts: dict[int, int]) -> plans.Plan | None:
        """Plan the firm demands, and the sliding demands at given starts."""
        if self._is_over():
            return None
        self._tries -= 1
        demands = [*self._firm, *(
            each for number, start in sorted(starts.items())
            for each in self._sliding[number].at(start))]
        part = budget.Budget(self._left.left // _PARTS)
        outcome = planning.plan(self._now, demands, self._limits, False, part)
        self._left.left -= part.given - part.left
        if isinstance(outcome, plans.Plan):
            return outcome
        self._proved = self._proved and outcome.cause.proved
        return None

    def _is_over(self) -> bool:
        """Return whether a limit is reached, so that nothing is proved."""
        if self._tries <= 0 or self._left.left <= 0 or self._late():
            self._proved = False
            return True
        return False

    def _may(self, starts: dict[int, int]) -> bool:
        """Return whether starts are permitted.

        After a refusal nothing is proved, since starts that are not tried
        might be permitted.
        """
        self._left.left -= _CHECK
        if self._permits(starts):
            return True
        if any(self._sliding[number].earliest < self._sliding[number].latest
               for number in starts):
            self._proved = False
        return False

    def _place(self, starts: dict[int, int]) -> Slid | None:
        """Find starts for all demands that have none yet."""
        left = [number for number in range(len(self._sliding))
                if number not in starts]
        for number in left:
            one = self._sliding[number]
            for start in self._candidates(one, starts):
                more = {**starts, number: start}
                # The order of the choices does not matter.
                key = frozenset(more.items())
                if key in self._seen:
                    continue
                if self._is_over():
                    return None
                self._seen.add(key)
                if not self._may(more):
                    continue
                planned = self._plan(more)
                if planned is not None and len(more) == len(self._sliding):
                    return Slid(tuple(more[each] for each in sorted(more)),
                                planned)
                found = None if planned is None else self._place(more)
                if found is not None:
                    return found
        return None

    def _candidates(self, one: Sliding,
                    starts: dict[int, int]) -> Iterator[int]:
        """Yield the starts to try, the present one first."""
        self._left.left -= len(self._lets_go) // _STARTS
        lets_go = set(self._lets_go)
        for each in (*self._firm, *(
                each for number, start in starts.items()
                for each in self._sliding[number].at(start))):
            lets_go.add(each.until)
            if each.amounts is not None:
                lets_go.add(each.end)
        grain = self._grain
        even = {-(-at // grain) * grain for at in lets_go} | {one.earliest}
        if one.preferred is not None:
            yield one.preferred
        # Users see the starts, so multiples of the grain are preferred.
        for found in (even, lets_go - even):
            yield from sorted(
                each for each in found - {one.preferred}
                if one.earliest <= each <= one.latest)
