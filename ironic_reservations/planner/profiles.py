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

"""Computes the periods in which no moves can make room for a demand."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import functools
import itertools

from ironic_reservations.model import inventories
from ironic_reservations.planner import availability
from ironic_reservations.planner import bookings
from ironic_reservations.planner import bounds
from ironic_reservations.planner import hall
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline


@dataclasses.dataclass(frozen=True)
class Profile:
    """The amounts over time of everything that a demand needs.

    :ivar whole: whether it needs whole hosts, and time for cleaning.
    """

    tracks: tuple[_Track, ...]
    whole: bool

    def end(self, demand: bookings.Demand) -> int:
        """Return the end of the window for which there has to be room."""
        return demand.until if self.whole else demand.end

    def missing(self, demand: bookings.Demand) -> tuple[int, int] | None:
        """Return the start of the first shortage and the end of the last.

        :param demand: the profile's demand, over any window.
        :returns: ``None`` if there is no shortage in its window.
        """
        found = [missing for track in self.tracks if (
            missing := track.missing(demand.start, self.end(demand)))
            is not None]
        if not found:
            return None
        return min(each[0] for each in found), max(each[1] for each in found)

    def most(self, demand: bookings.Demand) -> int | None:
        """Return the maximum number of hosts over a demand's window.

        :returns: ``None`` if it is not known.
        """
        if not self.whole:
            return None
        return max(0, self.tracks[0].least(demand.start, self.end(demand)))


def of(now: timeline.Timeline, demand: bookings.Demand) -> Profile:
    """Return the profile of a demand."""
    key = (of, demand.eligible, demand.amounts, demand.affinity, demand.least)
    return now.once(key, lambda: _of(now, demand))


def _of(now: timeline.Timeline, demand: bookings.Demand) -> Profile:
    if demand.amounts is None or not demand.eligible & now.compute:
        return Profile((_free(now, demand),), True)
    tracks = [_staying(now, demand, demand.amounts)]
    tracks.extend(_changing(*each) for each in bounds.used(
        now, demand.eligible, shares.times(demand.amounts, demand.least)))
    return Profile(tuple(tracks), False)


@dataclasses.dataclass(frozen=True)
class _Track:
    """The amount of one resource over time, and the needed amount.

    :ivar instants: the instants at which the amount changes.
    :ivar free: the amount before the first instant, and after each one.
    """

    instants: Sequence[int]
    free: Sequence[int]
    needed: int

    @functools.cached_property
    def _short(self) -> tuple[list[int], list[int]]:
        """The starts and the ends of the periods with too little."""
        starts: list[int] = []
        untils: list[int] = []
        before = False
        for place, free in enumerate(self.free):
            short = free < self.needed
            if short == before:
                continue
            at = self.instants[place - 1] if place else bookings.NEVER
            (starts if short else untils).append(at)
            before = short
        if before:
            untils.append(-bookings.NEVER)
        return starts, untils

    def missing(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the start of the first shortage and the end of the last."""
        starts, untils = self._short
        first = bisect.bisect_right(untils, start)
        last = bisect.bisect_left(starts, end)
        return (starts[first], untils[last - 1]) if first < last else None

    def least(self, start: int, end: int) -> int:
        """Return the minimum within a window."""
        first = bisect.bisect_right(self.instants, start)
        last = bisect.bisect_left(self.instants, end)
        return min(self.free[first:last + 1])


def _changing(free: int, changes: dict[int, int], needed: int) -> _Track:
    instants = sorted(changes)
    return _Track(instants, list(itertools.accumulate(
        (changes[at] for at in instants), initial=free)), needed)


def _free(now: timeline.Timeline, demand: bookings.Demand) -> _Track:
    """Return the number of hosts over time that are free or can be freed."""
    starts: list[int] = []
    untils: list[int] = []
    captives = hall.Captives(demand.eligible)
    for node in host_sets.members(demand.eligible & ~now.compute):
        for booking in now.rows[node]:
            # A booking that could have a share instead needs no host
            # of the set.
            if captives.holds(booking) and (
                    not booking.movable or booking.amounts is None
                    or not booking.eligible & now.compute):
                starts.append(booking.start)
                untils.append(booking.end + booking.margin)
    for node in host_sets.members(demand.eligible & now.compute):
        there = now.rows[node]
        runs = shares.runs((each.start, each.end) for each in there
                           if each.amounts is not None and not each.movable)
        starts.extend([run[0] for run in runs])
        untils.extend([run[1] for run in runs])
        whole = [each for each in there
                 if each.amounts is None and captives.holds(each)]
        starts.extend([each.start for each in whole])
        untils.extend([each.until for each in whole])
    instants, free = availability.steps(starts, untils,
                                        demand.eligible.bit_count())
    return _Track(instants[1:], free, demand.least)


def _staying(now: timeline.Timeline, demand: bookings.Demand,
             amounts: inventories.Amounts) -> _Track:
    """Return the number of shares that fit beside bookings that must stay."""
    needed = demand.least
    at_most = None
    if demand.affinity is True:
        amounts = shares.times(amounts, needed)
        needed = 1
    if demand.affinity is not None:
        at_most = 1
    changes: dict[int, int] = {}
    free = 0
    for node in host_sets.members(demand.eligible):
        before = 0
        for at, room in _steps(now, node, amounts):
            room = room if at_most is None else min(room, at_most)
            if at is None:
                free += room
            elif room != before:
                changes[at] = changes.get(at, 0) + room - before
            before = room
    return _changing(free, changes, needed)


def _steps(now: timeline.Timeline, node: int, amounts: inventories.Amounts
           ) -> Iterator[tuple[int | None, int]]:
    """Yield instants and the number of shares that fit from then on.

    A node of Ironic has the capacity for one, of which each booking has all.
    """
    shared = now.capacities[node]
    capacity = dict(amounts) if shared is None else shared
    everything = tuple(capacity.items())
    staying = [
        each if each.amounts is not None and shared is not None
        else dataclasses.replace(each, amounts=everything)
        for each in now.rows[node] if not each.movable]

    def room(used: dict[str, int]) -> int:
        return max(0, min(
            (capacity.get(name, 0) - used.get(name, 0)) // amount
            for name, amount in amounts))

    yield None, room({})
    for start, end in shares.runs((each.start, each.end) for each in staying):
        for at, _, used in shares.steps(staying, start, end):
            yield at, room(used)
        yield end, room({})
