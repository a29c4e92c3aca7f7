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

"""The row of a shared compute host in the search by ejection."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
import itertools
import math
import operator

from ironic_reservations.planner import bookings
from ironic_reservations.planner import places
from ironic_reservations.planner import shares

#: A class, the amount that is missing, since when, and the weight of each unit
#: of it: for how long it is missing, as a part of the capacity.
_Short = tuple[str, int, int, float]
#: The number of steps for examining a host once, and for knowing it already.
_EXAMINED, _KNOWN = 50, 2

_start = operator.attrgetter('start')


class Row:
    """A host that is shared, or booked as a whole.

    For each instant, the free amount of each class is stored, and the pieces
    that are there. To make room, those pieces are ejected that cover the
    largest part of the shortage for their weight.
    """

    patience = 300_000
    heavier: Sequence[float] = (0.3, 0.15, 0.5)

    def __init__(self, capacity: shares.Capacity,
                 there: Sequence[places.Piece] = ()) -> None:
        """Set up a host with its pieces."""
        self.effort = _EXAMINED
        self._capacity = capacity
        self._pieces = there = sorted(there, key=_start)
        self._wholes = sum(each.unit.amounts is None for each in there)
        self._times = sorted({bookings.NEVER, *[each.start for each in there],
                              *[_until(each) for each in there]})
        self._there: list[list[places.Piece]] = [[] for _ in self._times]
        changes: dict[str, list[int]] = {
            name: [amount] + [0] * (len(self._times) - 1)
            for name, amount in capacity.items()}
        place_of = {at: place for place, at in enumerate(self._times)}
        for each in there:
            first, last = place_of[each.start], place_of[_until(each)]
            for beside in self._there[first:last]:
                beside.append(each)
            for name, amount in each.amounts.items():
                # Started bookings may have a class that the host has
                # lost.
                change = changes.setdefault(name, [0] * len(self._times))
                change[first] -= amount
                change[last] += amount
        self._left = {name: list(itertools.accumulate(change))
                      for name, change in changes.items()}
        # The costs since a piece came or left, and the weights from which on
        # they were only known to be as much.
        self._costs: dict[places.Piece, tuple[float, float]] = {}

    def pieces(self) -> Sequence[places.Piece]:
        """Return the pieces on the host."""
        return self._pieces

    def put(self, piece: places.Piece) -> None:
        """Place a piece for which there should be room."""
        bisect.insort(self._pieces, piece, key=_start)
        first, last = self._spend(piece, 1)
        for there in self._there[first:last]:
            bisect.insort(there, piece, key=_start)

    def take(self, piece: places.Piece) -> None:
        """Remove a piece."""
        self._pieces.remove(piece)
        first, last = self._spend(piece, -1)
        for there in self._there[first:last]:
            there.remove(piece)

    def _spend(self, piece: places.Piece, sign: int) -> tuple[int, int]:
        """Subtract the amounts of a piece from the free ones, or add them.

        :returns: the first step that it is in, and the step after the last.
        """
        self._costs.clear()
        self._wholes += sign * (piece.unit.amounts is None)
        first, last = self._cut(piece.start), self._cut(_until(piece))
        for name, amount in piece.amounts.items():
            left = self._left[name]
            for place in range(first, last):
                left[place] -= sign * amount
        return first, last

    def _cut(self, at: int) -> int:
        """Return the index of the step that begins at an instant."""
        place = bisect.bisect_left(self._times, at)
        if place == len(self._times) or self._times[place] != at:
            self._times.insert(place, at)
            self._there.insert(place, self._there[place - 1][:])
            for left in self._left.values():
                left.insert(place, left[place - 1])
        return place

    def cost(self, piece: places.Piece, most: float = math.inf) -> float:
        """Return the weight of the pieces in the way, 0 or less for none."""
        # A piece that is ejected again finds most hosts as they were.
        cost, known = self._costs.get(piece, (-math.inf, -math.inf))
        if cost < known or most <= cost:
            self.effort = _KNOWN
            return cost
        self.effort = _EXAMINED
        cost = self._cost(piece, most)
        self._costs[piece] = cost, most
        return cost

    def _cost(self, piece: places.Piece, most: float) -> float:
        leaving = self._leaving(piece, most)
        if leaving is None:
            return math.inf
        if leaving:
            return sum([each.weight for each in leaving])
        if piece.unit.amounts is None:
            return 0.0
        # The fullest host is preferred, so that whole hosts are left.
        first, last = self._span(piece)
        spare = sum(min(self._left[name][first:last]) / amount
                    for name, amount in piece.unit.amounts)
        return -1 / (1 + spare)

    def blockers(self, piece: places.Piece) -> Sequence[places.Piece]:
        """Return the pieces that would have to leave."""
        return self._leaving(piece, math.inf) or ()

    def _span(self, piece: places.Piece) -> tuple[int, int]:
        return (bisect.bisect_right(self._times, piece.start) - 1,
                bisect.bisect_left(self._times, _until(piece)))

    def _at(self, instant: int) -> Sequence[places.Piece]:
        """Return the pieces at an instant."""
        return self._there[bisect.bisect_right(self._times, instant) - 1]

    def _near(self, piece: places.Piece) -> list[places.Piece]:
        """Return the pieces that overlap with a piece."""
        first, last = self._span(piece)
        return list(dict.fromkeys([each for there in self._there[first:last]
                                   for each in there]))

    def _leaving(self, piece: places.Piece,
                 most: float) -> list[places.Piece] | None:
        """Return the pieces that would leave; ``None`` if there is no way.

        :param most: the limit of interest: ``None`` is returned for a larger
            weight.
        """
        apart = piece.unit.apart
        if piece.unit.amounts is None:
            return self._near(piece)
        short = self._short(piece)
        if short is None:
            return None
        leaving = [each for each in self._near(piece)
                   if each.unit.amounts is None
                   or (apart and each.unit.apart == apart)
                   ] if apart or self._wholes else []
        weight = 0.0
        for each in leaving:
            weight += each.weight
            short = _without(short, each)
        while short:
            # The first shortage has to be covered by a piece there, so
            # that the others need not be compared.
            chosen, best = None, 0.0
            for each in self._at(short[0][2]):
                if each not in leaving:
                    covered = _covered(each, short) / each.weight
                    if covered > best:
                        chosen, best = each, covered
            if chosen is None:
                return None
            leaving.append(chosen)
            weight += chosen.weight
            if weight >= most:
                break
            short = _without(short, chosen)
        return leaving

    def _short(self, piece: places.Piece) -> list[_Short] | None:
        """Return the shortage of each class, with its periods.

        :returns: ``None`` if the host is too small for the piece even if
            empty.
        """
        first, last = self._span(piece)
        times = self._times
        found = []
        for name, amount in piece.amounts.items():
            if amount > self._capacity.get(name, 0):
                return None
            left = self._left[name][first:last]
            if min(left) >= amount:
                continue
            for place, there in enumerate(left, first):
                if there < amount:
                    until = (times[place + 1] if place + 1 < len(times)
                             else piece.end)
                    at = max(times[place], piece.start)
                    found.append((name, amount - there, at,
                                  (min(until, piece.end) - at)
                                  / self._capacity[name]))
        return found


def _covered(piece: places.Piece, short: list[_Short]) -> float:
    """Return how much of a shortage a piece covers."""
    amounts, start, end = piece.amounts, piece.start, piece.end
    covered = 0.0
    for name, missing, at, counts in short:
        if start <= at < end:
            amount = amounts.get(name, 0)
            covered += counts * (amount if amount < missing else missing)
    return covered


def _until(piece: places.Piece) -> int:
    """Return the instant at which its place becomes available to others."""
    return piece.until if piece.unit.amounts is None else piece.end


def _without(short: list[_Short], piece: places.Piece) -> list[_Short]:
    """Return the shortage that is left after a piece has left."""
    if piece.unit.amounts is None:
        return short
    amounts = piece.amounts
    start, end = piece.start, piece.end
    left = []
    for each in short:
        name, missing, at, counts = each
        if start <= at < end and name in amounts:
            missing -= amounts[name]
            if missing > 0:
                left.append((name, missing, at, counts))
        else:
            left.append(each)
    return left
