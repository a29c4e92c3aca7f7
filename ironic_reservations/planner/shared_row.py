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
import math

from ironic_reservations.planner import places
from ironic_reservations.planner import shares

#: Earlier than anything that is planned.
_START = -(1 << 80)


#: A class, the amount that is missing, and from when until when.
_Short = tuple[str, int, int, int]


class Row:
    """A host that is shared, or booked as a whole.

    What is left of each class is stored for each instant. To make room, those
    pieces leave that cover the most of the shortage for their weight.
    """

    effort = 200
    heavier: Sequence[float] = (0.1, 0.03, 0.2)

    def __init__(self, capacity: shares.Capacity) -> None:
        """Set up an empty host."""
        self._capacity = capacity
        self._times = [_START]
        self._left = {name: [amount] for name, amount in capacity.items()}
        self._starts: list[int] = []
        self._pieces: list[places.Piece] = []

    def pieces(self) -> Sequence[places.Piece]:
        """Return the pieces on the host."""
        return self._pieces

    def put(self, piece: places.Piece) -> None:
        """Place a piece for which there should be room."""
        place = bisect.bisect_left(self._starts, piece.start)
        self._starts.insert(place, piece.start)
        self._pieces.insert(place, piece)
        self._spend(piece, 1)

    def take(self, piece: places.Piece) -> None:
        """Remove a piece."""
        place = self._pieces.index(piece)
        del self._starts[place], self._pieces[place]
        self._spend(piece, -1)

    def _spend(self, piece: places.Piece, sign: int) -> None:
        amounts = piece.what.amounts
        if amounts is None:
            return
        first, last = self._cut(piece.start), self._cut(piece.end)
        for name, amount in amounts:
            # NOTE: started bookings may have a class that the host has lost.
            left = self._left.setdefault(name, [0] * len(self._times))
            for place in range(first, last):
                left[place] -= sign * amount

    def _cut(self, at: int) -> int:
        """Return the index of the step that begins at an instant."""
        place = bisect.bisect_left(self._times, at)
        if place == len(self._times) or self._times[place] != at:
            self._times.insert(place, at)
            for left in self._left.values():
                left.insert(place, left[place - 1])
        return place

    def cost(self, piece: places.Piece) -> float:
        """Return the weight of the pieces in the way, 0 or less for none."""
        leaving = self._leaving(piece)
        if leaving is None:
            return math.inf
        if leaving:
            return sum([each.weight for each in leaving])
        if piece.what.amounts is None:
            return 0.0
        # NOTE: the fullest host is preferred, so that whole hosts are left.
        first, last = self._span(piece)
        spare = sum(min(self._left[name][first:last]) / amount
                    for name, amount in piece.what.amounts)
        return -1 / (1 + spare)

    def blockers(self, piece: places.Piece) -> Sequence[places.Piece]:
        """Return the pieces that would have to leave."""
        return self._leaving(piece) or ()

    def _span(self, piece: places.Piece) -> tuple[int, int]:
        return (bisect.bisect_right(self._times, piece.start) - 1,
                bisect.bisect_left(self._times, piece.end))

    def _near(self, piece: places.Piece) -> list[places.Piece]:
        """Return the pieces that overlap with one."""
        start = piece.start
        until = piece.until if piece.what.amounts is None else piece.end
        last = bisect.bisect_left(self._starts, until)
        return [each for each in self._pieces[:last]
                if (each.until if each.what.amounts is None
                    else each.end) > start]

    def _leaving(self, piece: places.Piece) -> list[places.Piece] | None:
        """Return the pieces that would leave; ``None`` if there is no way."""
        amounts, apart = piece.what.amounts, piece.what.apart
        near = self._near(piece)
        if amounts is None:
            return near
        leaving, staying = [], []
        for each in near:
            if each.what.amounts is None or (
                    apart and each.what.apart == apart):
                leaving.append(each)
            else:
                staying.append(each)
        short = self._short(piece)
        if short is None:
            return None
        for each in leaving:
            short = _without(short, each)
        while short:
            # NOTE: the first shortage has to be covered by a piece there, so
            # that the others need not be compared.
            at = short[0][2]
            chosen, best = None, 0.0
            for each in staying:
                if each.start <= at < each.end:
                    covered = self._covered(each, short) / each.weight
                    if covered > best:
                        chosen, best = each, covered
            if chosen is None:
                return None
            staying.remove(chosen)
            leaving.append(chosen)
            short = _without(short, chosen)
        return leaving

    def _short(self, piece: places.Piece) -> list[_Short] | None:
        """Return the shortage of each class, and when.

        :returns: ``None`` if the host is too small for the piece even if
            empty.
        """
        first, last = self._span(piece)
        times = self._times
        found = []
        for name, amount in piece.what.amounts or ():
            if amount > self._capacity.get(name, 0):
                return None
            left = self._left[name][first:last]
            if min(left) >= amount:
                continue
            for place, there in enumerate(left, first):
                if there < amount:
                    until = (times[place + 1] if place + 1 < len(times)
                             else piece.end)
                    found.append((name, amount - there,
                                  max(times[place], piece.start),
                                  min(until, piece.end)))
        return found

    def _covered(self, piece: places.Piece, short: list[_Short]) -> float:
        """Return how much of a shortage a piece covers."""
        if piece.weight == math.inf:
            return 0.0
        amounts = {name: amount / self._capacity[name]
                   for name, amount in piece.what.amounts or ()
                   if self._capacity.get(name)}
        start, end = piece.start, piece.end
        covered = 0.0
        for name, missing, at, until in short:
            if start <= at < end and name in amounts:
                covered += (until - at) * min(
                    amounts[name], missing / self._capacity[name])
        return covered


def _without(short: list[_Short], piece: places.Piece) -> list[_Short]:
    """Return the shortage that is left after a piece has left."""
    if piece.what.amounts is None:
        return short
    amounts = dict(piece.what.amounts)
    start, end = piece.start, piece.end
    left = []
    for name, missing, at, until in short:
        if start <= at < end:
            missing -= amounts.get(name, 0)
        if missing > 0:
            left.append((name, missing, at, until))
    return left
