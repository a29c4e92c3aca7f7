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

from collections.abc import Callable
import dataclasses
import math

#: The cost of one step of each method, in units of work: about a quarter of a
#: microsecond of processor time, so that different methods can share one
#: budget.
PROOF, SWAP, SEARCH, EJECT = 3, 5, 10, 1
#: The additional cost of each plan.
PLAN = 300
#: The units of work of a request, about a quarter of a second of processor
#: time.
REQUEST = 1_000_000
#: How many of them are kept for the offers.
OFFERS = 300_000
#: A request that has caused more than this, about 50 milliseconds, is hard; so
#: is a request that needs a search whose steps alone are more.
_EASY = 200_000


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The maximum number of steps of each method, mostly for one node.

    :ivar proof: nodes examined for a proof that there is no room.
    :ivar swap: bookings examined for exchanges between two nodes.
    :ivar search: placements tried by the exact search.
    :ivar eject: hosts examined by the search by ejection, for all demands of a
        request.
    :ivar offers: starts tried for each counter-offer.
    :ivar unproved: starts refused without a proof that are skipped for it.
    :ivar together: the units of work of all plans for one search for a start.
    :ivar offer: the units of work of all plans for one counter-offer.
    :ivar request: the work that the request may still cause; ``None``: it is
        not bounded.
    """

    proof: int = 200_000
    swap: int = 200_000
    search: int = 20_000
    eject: int = 300_000
    offers: int = 32
    unproved: int = 3
    together: int = 200_000
    offer: int = 100_000
    request: Work | None = None


class Exhausted(Exception):
    """There are no steps left."""


class Budget:
    """The steps that a search may still take.

    :param steps: the number of steps.
    :param spare: the units of work that it may cause besides its steps.
    :ivar charged: the units of work that it has caused besides its steps.
    """

    def __init__(self, steps: int, spare: float = math.inf) -> None:
        self.given = self.left = steps
        self._spare = spare
        self.charged = 0

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return self.left <= 0 or self.charged > self._spare

    def charge(self, units: int) -> None:
        """Take units of work for work that is not a step of a search.

        :raises Exhausted: there are not enough left.
        """
        self.charged += units
        if self.charged > self._spare:
            raise Exhausted

    @property
    def spent(self) -> int:
        """The number of steps that have been taken."""
        return self.given - max(self.left, 0)

    def spend(self, steps: int = 1) -> None:
        """Take steps.

        :raises Exhausted: there are not enough left.
        """
        self.left -= steps
        if self.left < 0:
            raise Exhausted


class Work(Budget):
    """The units of work that a request may still cause.

    Some of them are kept for the offers that follow a refusal.
    """

    def __init__(self, units: int = REQUEST,
                 becomes_hard: Callable[[], None] = lambda: None) -> None:
        """Bound the plans of a request.

        :param becomes_hard: called once the work is more than an ordinary
            request causes; its exceptions end the plan.
        """
        super().__init__(units)
        self._kept = units * OFFERS // REQUEST
        self._becomes_hard = becomes_hard
        self._is_hard = False
        self._locked = 0
        self.renew()

    @property
    def spent(self) -> int:
        """The units of work that have been caused."""
        return self.given - self._locked - max(self.left, 0)

    def renew(self) -> None:
        """Allow the same work again."""
        self._locked = self._kept
        self.left = self.given - self._kept

    def unlock_offers(self) -> None:
        """Allow the units that are kept for offers."""
        self.left = max(self.left, 0) + self._locked
        self._locked = 0

    def check(self, is_hard: bool) -> None:
        """Call ``becomes_hard`` once the request is hard."""
        if not self._is_hard and (is_hard or self.spent > _EASY):
            self._becomes_hard()
            self._is_hard = True
