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

"""Limits of searches, counted in steps instead of time.

A decision must not depend on the load of the machine.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The maximum number of steps of each method, mostly for one node.

    :ivar proof: nodes examined for a proof that there is no room.
    :ivar chain: nodes examined for a chain of moves.
    :ivar swap: bookings examined for exchanges between two nodes.
    :ivar repair: bookings examined for making room, for one demand.
    :ivar search: placements tried by the exact search.
    :ivar eject: hosts examined by the search by ejection, for all demands of a
        request.
    :ivar offers: starts tried for each counter-offer.
    :ivar doubts: starts without a proof that are skipped for it.
    :ivar together: the steps of all plans for one counter-offer, or for one
        search for a start.
    """

    proof: int = 200_000
    chain: int = 20_000
    swap: int = 200_000
    repair: int = 25_000
    search: int = 20_000
    eject: int = 300_000
    offers: int = 32
    doubts: int = 3
    together: int = 100_000


class Exhausted(Exception):
    """There are no steps left."""


class Budget:
    """The steps that a search may still take."""

    def __init__(self, steps: int) -> None:
        self.given = self.left = steps

    @property
    def spent(self) -> int:
        """How many steps have been taken."""
        return self.given - max(self.left, 0)

    def spend(self, steps: int = 1) -> None:
        """Take steps.

        :raises Exhausted: there are not enough left.
        """
        self.left -= steps
        if self.left < 0:
            raise Exhausted
