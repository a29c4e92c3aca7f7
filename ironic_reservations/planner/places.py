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

"""Hosts and their bookings in the search by ejection."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Protocol

from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units


class Piece:
    """A unit and its place during the search.

    :ivar unit: the unit.
    :ivar amounts: the amounts of the unit, by class;
        none for a whole host.
    :ivar start: the start of the unit.
    :ivar end: the end of the unit, without cleaning.
    :ivar until: the instant from which a whole host is available to others.
    :ivar eligible: the set of hosts on which it may be placed.
    :ivar home: its initial host; -1 for a new one.
    :ivar node: its present host.
    :ivar weight: infinite if it has to stay.
    :ivar first: its initial weight.
    """

    __slots__ = ('_hosts', 'amounts', 'eligible', 'end', 'first', 'home',
                 'node', 'start', 'unit', 'until', 'weight')

    def __init__(self,
                 unit: placement_units.Unit,
                 eligible: int,
                 movable: bool = True,
                 part: float = 1.0,
                 power: float = 0.5) -> None:
        """Set up a piece on its initial host.

        :param part: the part of a host that it takes, above 0 and up to 1.
        :param power: the exponent: the initial weight is the product of its
            duration and its part to this power.
        """
        self.unit = unit
        self.amounts = dict(unit.amounts or ())
        self.start, self.end, self.until = unit.start, unit.end, unit.until
        self.eligible = eligible
        self._hosts: Sequence[int] | None = None
        self.home = self.node = unit.node
        self.first = (((unit.until - unit.start) * part) ** power if movable
                      else math.inf)
        self.weight = self.first

    @property
    def hosts(self) -> Sequence[int]:
        """The numbers of the hosts on which it may be placed."""
        # Most pieces of a large timeline never move, and the hosts of
        # thousands of them take seconds and much memory.
        if self._hosts is None:
            self._hosts = host_sets.members(self.eligible)
        return self._hosts


class Row(Protocol):
    """The pieces on a host during the search.

    :ivar effort: the number of steps for examining it the last time.
    :ivar patience: the number of steps for each attempt. It does not depend on
        the remaining steps, so that a search with more steps first finds the
        same places.
    :ivar heavier: the growth of the weight of a piece when it ejects others,
        as a part of its initial weight, for each attempt.
    """

    effort: int
    patience: int
    heavier: Sequence[float]

    def pieces(self) -> Sequence[Piece]:
        """Return the pieces on the host."""

    def cost(self, piece: Piece, most: float = math.inf) -> float:
        """Return the weight of the pieces that would have to leave.

        It is zero or less if there are none, lower for a better fit, and
        infinite if there can be no room.

        :param most: the limit of interest: for a larger weight, any weight
            above the limit may be returned.
        """

    def blockers(self, piece: Piece) -> Sequence[Piece]:
        """Return the pieces that would have to leave, if there can be room."""

    def put(self, piece: Piece) -> None:
        """Place a piece for which there is room."""

    def take(self, piece: Piece) -> None:
        """Remove a piece."""
