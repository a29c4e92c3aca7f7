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

#: The discount, as a part of the weight of those in the way, for beginning
#: where another one ends, and for ending where another one begins.
_FLUSH = 0.1

_after, _before = bisect.bisect_right, bisect.bisect_left


class Row:
    """A host with one booking at a time."""

    effort = 1

    def __init__(self, there: Sequence[places.Piece]) -> None:
        """Set up the row with pieces sorted by start."""
        self._pieces = list(there)
        self._starts = [each.start for each in there]
        self._untils = [each.until for each in there]

    def pieces(self) -> Sequence[places.Piece]:
        """Return the pieces on the host."""
        return self._pieces

    def cost(self, piece: places.Piece) -> float:
        """Return the weight of the pieces in the way, 0 or less for none."""
        starts, untils = self._starts, self._untils
        start, until = piece.start, piece.until
        first, last = _after(untils, start), _before(starts, until)
        # NOTE: small gaps before and after are preferred, so that long gaps
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
        """Return the pieces that overlap with one."""
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
