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

"""How much looking is worth an answer: counted in steps, not in time.

What is admitted must not depend on how busy the machine is.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """How many steps each way of looking may take, mostly for one node.

    :ivar proof: nodes looked at for a proof that there is no room.
    :ivar chain: nodes looked at for a chain of moves.
    :ivar swap: bookings looked at for exchanges between two nodes.
    :ivar repair: bookings looked at for making room, for one demand.
    :ivar search: placements tried by the exact search.
    :ivar eject: hosts looked at for a search by ejection, for all that one
        request asks for.
    :ivar offers: starts tried for each counter-offer.
    :ivar doubts: starts without a proof that are passed over for it.
    """

    proof: int = 200_000
    chain: int = 20_000
    swap: int = 200_000
    repair: int = 25_000
    search: int = 20_000
    eject: int = 300_000
    offers: int = 32
    doubts: int = 3


class Exhausted(Exception):
    """The steps are used up."""


class Budget:
    """Steps that are left."""

    def __init__(self, steps: int) -> None:
        self.given = self.left = steps

    @property
    def spent(self) -> int:
        """Return how many have been taken."""
        return self.given - max(self.left, 0)

    def spend(self, steps: int = 1) -> None:
        """Take steps.

        :raises Exhausted: when there are none left.
        """
        self.left -= steps
        if self.left < 0:
            raise Exhausted
