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

"""Repair by ejection: who is in the way leaves, and looks for a place anew.

Whoever has no place takes the one where those in the way weigh the least;
they leave, and take places in turn, the heaviest first.  Long bookings weigh
more than short ones, since short ones find a place more easily.  Each time
that one has to push others away it grows heavier, so that it stays, by and
by, where it is hard to place, and nobody pushes each other in a circle.

This finds what exchanges and chains do not: assignments in which many have
to move at once.  It proves nothing: where it finds nothing, nothing is known.
It is the same for hosts that are had whole and for those that are shared;
what differs is in their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import math
import operator
from typing import Any
from typing import Protocol

from ironic_reservations.planner import budget

#: How much heavier one becomes that has to push others away, as a part of
#: what it weighed at first.  Each of these is tried, from the start.
_HEAVIER = (0.1, 0.03, 0.2)
#: How many steps each of them is tried for.  The same whatever is left: what
#: is found with few steps is found in the same way with many.
_PATIENCE = 100_000
#: How many steps it takes to set up what is on a host, for each of those.
_SET_UP = 4


class Piece:
    """What is on one host: one or more promises of one window.

    :ivar what: stands for it outside of here.
    :ivar start: when it begins.
    :ivar end: when it ends, without cleaning.
    :ivar until: from when on others can have a whole host that it had.
    :ivar hosts: the numbers of those that it may be on.
    :ivar home: where it was at first; -1 for what is new.
    :ivar node: where it is now.
    :ivar weight: infinite for what has to stay.
    :ivar first: what it weighed at first.
    """

    __slots__ = ('end', 'first', 'home', 'hosts', 'node', 'start', 'until',
                 'weight', 'what')

    def __init__(self, what: Any, start: int, end: int, until: int,
                 hosts: Sequence[int], home: int, movable: bool = True,
                 part: float = 1.0) -> None:
        """Begin with where it is.

        :param part: how much of a host it has, above 0 and up to 1.
        """
        self.what = what
        self.start, self.end, self.until = start, end, until
        self.hosts = hosts
        self.home = self.node = home
        self.first = math.sqrt((until - start) * part) if movable else math.inf
        self.weight = self.first


class Row(Protocol):
    """What is on a host while places are looked for.

    :ivar effort: how many steps it takes to look at it once.
    """

    effort: int

    def pieces(self) -> Sequence[Piece]:
        """Return what is there."""

    def cost(self, piece: Piece) -> float:
        """Return the weight of those who would have to leave.

        Not above zero where nobody would: the better it fits, the lower.
        Infinite where it cannot be had.
        """

    def blockers(self, piece: Piece) -> Sequence[Piece]:
        """Return those who would have to leave, where it can be had."""

    def put(self, piece: Piece) -> None:
        """Place a piece where there is room for it."""

    def take(self, piece: Piece) -> None:
        """Take a piece away."""


class _Rows(dict[int, Row]):
    """The rows of the hosts that have been looked at."""

    def __init__(self, make: Callable[[int], Row],
                 steps: budget.Budget) -> None:
        super().__init__()
        self._make = make
        self._steps = steps

    def __missing__(self, node: int) -> Row:
        row = self[node] = self._make(node)
        self._steps.spend(_SET_UP * len(row.pieces()))
        return row


def find(make: Callable[[int], Row], wanted: Piece,
         steps: budget.Budget) -> list[Piece] | None:
    """Find a place for a piece, wherever others have to go for it.

    :param make: gives the row of a host, as it stands.
    :returns: what is elsewhere then, the new piece among it; ``None`` where
        nothing was found.
    """
    for heavier in _HEAVIER:
        if steps.left <= 0:
            break
        wanted.node, wanted.weight = wanted.home, wanted.first
        part = budget.Budget(min(steps.left, _PATIENCE))
        allowed = part.left
        rows = _Rows(make, part)
        try:
            found = _settle(rows, wanted, heavier, part)
        except budget.Exhausted:
            found = False
        steps.left -= allowed - max(part.left, 0)
        if found:
            return list(_elsewhere(rows))
    return None


def _settle(rows: _Rows, wanted: Piece, heavier: float,
            steps: budget.Budget) -> bool:
    """Place a piece and whoever has to leave for it, one after another."""
    homeless = [wanted]
    while homeless:
        piece = max(homeless, key=_weight)
        homeless.remove(piece)
        chosen = _cheapest(rows, piece, steps)
        if chosen is None:
            return False
        row = rows[chosen]
        leaving = row.blockers(piece)
        for each in leaving:
            row.take(each)
        if leaving:
            homeless.extend(leaving)
            piece.weight += heavier * piece.first
        row.put(piece)
        piece.node = chosen
    return True


_weight = operator.attrgetter('weight')


def _cheapest(rows: _Rows, piece: Piece, steps: budget.Budget) -> int | None:
    chosen, least, effort = None, math.inf, 2
    for node in piece.hosts:
        row = rows[node]
        effort += row.effort
        cost = row.cost(piece)
        if cost < least:
            chosen, least = node, cost
    steps.spend(effort)
    return chosen


def _elsewhere(rows: _Rows) -> Iterator[Piece]:
    for row in rows.values():
        for piece in row.pieces():
            if piece.node != piece.home:
                yield piece
