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

"""The row of an exclusive host in the search by ejection."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
import math

from ironic_reservations.planner import places

#: The discount, as a part of the weight of pieces in the way, for beginning
#: where another one ends, and for ending where another one begins.
_FLUSH = 0.1

#: How many pieces are exchanged at a time, at most.
_MOST = 20

_after, _before = bisect.bisect_right, bisect.bisect_left


class Row:
    """A host with one booking at a time."""

    effort = 1
    patience = 100_000
    # The attempts differ by chance.
    heavier: Sequence[float] = (0.03, 0.03, 0.03)

    def __init__(self, there: Sequence[places.Piece]) -> None:
        """Set up the row with pieces sorted by start."""
        self._pieces = list(there)
        self._starts = [each.start for each in there]
        self._untils = [each.until for each in there]

    def pieces(self) -> Sequence[places.Piece]:
        """Return the pieces on the host."""
        return self._pieces

    def cost(self, piece: places.Piece, most: float = math.inf) -> float:
        """Return the weight of the pieces in the way, 0 or less for none."""
        starts, untils = self._starts, self._untils
        start, until = piece.start, piece.until
        first, last = _after(untils, start), _before(starts, until)
        # Small gaps before and after are preferred, so that long gaps
        # are left for long bookings.
        before = start - untils[first - 1] if first else math.inf
        after = starts[last] - until if last < len(starts) else math.inf
        if first < last:
            weight = 0.0
            for each in self._pieces[first:last]:
                weight += each.weight
            return weight * (1 - _FLUSH * ((not before) + (not after)))
        length = until - start
        return -length / (length + before) - length / (length + after)

    def blockers(self, piece: places.Piece) -> Sequence[places.Piece]:
        """Return the pieces that overlap with a piece."""
        return self._pieces[_after(self._untils, piece.start):
                            _before(self._starts, piece.until)]

    def put(self, piece: places.Piece) -> None:
        """Place a piece where none is in its way."""
        place = _before(self._starts, piece.start)
        self._starts.insert(place, piece.start)
        self._untils.insert(place, piece.until)
        self._pieces.insert(place, piece)

    def take(self, piece: places.Piece) -> None:
        """Remove a piece."""
        place = _before(self._starts, piece.start)
        del self._starts[place], self._untils[place], self._pieces[place]

    def near(self, at: int, offset: int) -> places.Piece | None:
        """Return the first piece that starts at an instant or later.

        :param offset: 1 for the next one instead, -1 for the one before it.
        """
        place = _before(self._starts, at) + offset
        if 0 <= place < len(self._pieces):
            return self._pieces[place]
        return None

    def exchange(self, piece: places.Piece, other: Row, node: int) -> bool:
        """Exchange a piece for the pieces in its way on another host.

        Pieces that overlap with one of these change places as well, and so on.
        Nothing changes if one of the pieces must not change places, or if
        there would be more gaps.

        :param node: the number of the other host.
        :returns: whether they changed places.
        """
        # 1. Find the pieces that have to change places together, if they may.
        home = piece.node
        found = self._component(piece, other, node)
        if found is None:
            return False
        mine, theirs = found
        # 2. Check that there will be no more gaps than before.
        if (self._joints(mine, other, theirs)
                + other._joints(theirs, self, mine)
                < self._joints(mine, self, mine)
                + other._joints(theirs, other, theirs)):
            return False
        # 3. Exchange them.
        here, there = self._pieces[mine], other._pieces[theirs]
        for each in here:
            each.node = node
        for each in there:
            each.node = home
        self._pieces[mine], other._pieces[theirs] = there, here
        self._starts[mine], other._starts[theirs] = (
            other._starts[theirs], self._starts[mine])
        self._untils[mine], other._untils[theirs] = (
            other._untils[theirs], self._untils[mine])
        return True

    def _component(self, piece: places.Piece, other: Row,
                   node: int) -> tuple[slice, slice] | None:
        """Return the pieces of both rows that have to change places with one.

        They cover a period without a break, so that those of each row
        are adjacent.

        :returns: ``None`` if there are too many, or one of them must not
            change places.
        """
        first = _before(self._starts, piece.start)
        last = first + 1
        start, until = piece.start, piece.until
        while True:
            begin = _after(other._untils, start)
            end = _before(other._starts, until)
            if (last - first + end - begin > _MOST
                    or not _may_go(self._pieces[first:last], node)
                    or not _may_go(other._pieces[begin:end], piece.node)):
                return None
            if begin < end:
                start = min(start, other._starts[begin])
                until = max(until, other._untils[end - 1])
            known = first, last
            first = _after(self._untils, start)
            last = _before(self._starts, until)
            if known == (first, last):
                return slice(first, last), slice(begin, end)
            start = min(start, self._starts[first])
            until = max(until, self._untils[last - 1])

    def _joints(self, mine: slice, other: Row, theirs: slice) -> int:
        """Return the number of ends without a gap after a replacement.

        :param mine: the pieces of this row that are replaced.
        :param theirs: the pieces of a row that replace them.
        """
        before = self._untils[mine.start - 1] if mine.start else -math.inf
        after = (self._starts[mine.stop] if mine.stop < len(self._starts)
                 else math.inf)
        if theirs.start == theirs.stop:
            return before == after
        return ((before == other._starts[theirs.start])
                + (other._untils[theirs.stop - 1] == after))


def _may_go(there: Sequence[places.Piece], node: int) -> bool:
    """Return whether pieces may leave their host for another one."""
    for each in there:
        if each.weight == math.inf or not each.unit.eligible >> node & 1:
            return False
    return True
