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

"""Hosts and their bookings, as the search by ejection sees them."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Protocol

from ironic_reservations.planner import units


class Piece:
    """A unit, and where it is while places are looked for.

    :ivar what: the unit that it is.
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

    def __init__(self, what: units.Unit, start: int, end: int, until: int,
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
