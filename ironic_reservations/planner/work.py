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

"""The work that one request may cause, in all its plans together.

A request is planned several times: for its dates, for other dates within its
window, with leases whose dates are open, and for each offer. Each search takes
at most half of the remaining work, so that some remains for the next. When
none remains, searches end at once, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import TypeVar

from ironic_reservations.planner import budget

_Found = TypeVar('_Found')


def part(request: budget.Work | None, units: int) -> budget.Budget:
    """Return a budget for several plans of a request.

    :param units: the maximum units of work.
    """
    return budget.Budget(units if request is None else min(
        units, max(0, request.left // 2)))


class Meter:
    """Takes the work of a plan from all budgets of the plan.

    :ivar settled: whether no method has run out of steps or work, so that more
        of them would give the same plan.
    """

    def __init__(self, request: budget.Work | None,
                 shared: budget.Budget | None) -> None:
        """Bound a plan.

        :param request: the work that the request may still cause.
        :param shared: units of work for several plans, if there are others.
        """
        self.settled = True
        self._request = request
        self._budgets = [] if shared is None else [shared]
        if request is not None:
            self._budgets += [request, part(request, request.left)]

    def run(self, price: int, allowed: budget.Budget,
            method: Callable[[budget.Budget], _Found],
            is_hard: bool = False, parts: int = 1) -> _Found:
        """Call a method with a budget of steps.

        :param price: the price of a step, in units of work.
        :param allowed: the steps that the method may take; the steps that it
            takes are subtracted.
        :param is_hard: whether only a hard request needs the method.
        :param parts: the number of equal parts of the remaining work, of which
            the method may use one, so that work remains for the next methods.
        """
        spare = min((each.left // parts for each in self._budgets),
                    default=math.inf)
        steps = budget.Budget(int(max(0, min(
            allowed.left, spare // price))), max(0, spare))
        if self._request is not None:
            # A search that may take no step costs nothing.
            self._request.check(is_hard and steps.left > 0)
        try:
            return method(steps)
        finally:
            if steps.is_over:
                self.settled = False
            allowed.left -= steps.spent
            self.pay(price * steps.spent + steps.charged)

    def pay(self, units: int) -> None:
        """Take units of work from all budgets."""
        for each in self._budgets:
            each.left -= units
