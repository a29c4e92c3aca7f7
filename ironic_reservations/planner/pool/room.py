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

"""Making room on the timeline for what is no lease.

A reservation or a deploy needs one node from now on.  Bookings of leases
that have not started go to other nodes for it, where all of them can be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import operator

from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import planning as pool_planning
from ironic_reservations.planner.pool import plans as pool_plans
from ironic_reservations.planner.pool import pool

#: What the planner calls the booking that room is made for.
_TAKEN = 'taken'


@dataclasses.dataclass(frozen=True)
class Cleared:
    """The pool with a node taken.

    :ivar homeless: the ids of the demands for which nothing was found.
    """

    pool: pool.Pool
    homeless: frozenset[str] = frozenset()


def first(now: pool.Pool, nodes: Sequence[int], start: int, end: int,
          ordered: bool = True) -> tuple[int, pool_plans.PoolPlan] | None:
    """Find the first of some nodes that can be had, and what has to move.

    :param nodes: in the order of preference.
    :param ordered: whether the order matters; otherwise any of them will do.
    :returns: the node and the plan; ``None`` where there is none, or none
        was found.
    """
    found = _one_of(now, nodes[:1], start, end)
    if found is not None or len(nodes) < 2:
        return found
    # NOTE: what is refused for all of them is refused for each, so that a
    # long list costs one plan and not one for each node; and where it is
    # not, halving the list finds the first in a few.
    low = 1
    found = _one_of(now, nodes[low:], start, end)
    if found is None or not ordered:
        return found
    high = nodes.index(found[0])
    while low < high:
        middle = (low + high) // 2
        sooner = _one_of(now, nodes[low:middle + 1], start, end)
        if sooner is None:
            low = middle + 1
        else:
            found, high = sooner, nodes.index(sooner[0])
    return found


def _one_of(now: pool.Pool, nodes: Sequence[int], start: int,
            end: int) -> tuple[int, pool_plans.PoolPlan] | None:
    if not nodes:
        return None
    outcome = pool_planning.plan(now, [bookings.Demand(
        _TAKEN, start, end, 1, 1, fleet.mask(nodes))])
    if isinstance(outcome, pool_plans.PoolRefusal):
        return None
    return outcome.granted[0][0].node, outcome


def clear(now: pool.Pool, node: int, start: int, end: int,
          leaving: Sequence[instances.Wish]) -> Cleared:
    """Take a node, whatever stands there, and find other nodes for that.

    :param leaving: what stands there and has not started, with the nodes
        that would do instead.
    """
    draft = pool.Draft.of(now)
    draft.write(node, [
        *(each for each in now.on(node)
          if draft.until(each, node) <= start or each.start >= end),
        bookings.Booking(f'{_TAKEN}/0', start, end, node, 1 << node, False)])
    taken = draft.pool()
    leaving = sorted(leaving, key=operator.attrgetter('start', 'id'))
    outcome = pool_planning.plan(taken, leaving)
    if isinstance(outcome, pool_plans.PoolPlan):
        return Cleared(outcome.pool)
    homeless = set()
    for demand in leaving:
        outcome = pool_planning.plan(taken, [demand])
        if isinstance(outcome, pool_plans.PoolPlan):
            taken = outcome.pool
        else:
            homeless.add(demand.id)
    return Cleared(taken, frozenset(homeless))
