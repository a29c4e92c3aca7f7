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

"""Makes room for a reservation or a deploy.

These need one node from now on. Bookings of leases that have not started are
moved to other nodes, if all of these leases can be kept.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
import dataclasses
import operator

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import host_states
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline

#: The id of the demand that room is made for.
_TAKEN = 'taken'


@dataclasses.dataclass(frozen=True)
class Cleared:
    """The timeline after a node was reserved.

    :ivar homeless: the ids of the demands for which no place was found.
    """

    timeline: timeline.Timeline
    homeless: frozenset[str] = frozenset()


def first(now: timeline.Timeline, nodes: Sequence[int], start: int, end: int,
          ordered: bool = True, limits: budget.Limits = planning.LIMITS
          ) -> tuple[int, plans.Plan] | plans.Refusal | None:
    """Find the first of some nodes that can be taken.

    :param nodes: the nodes in the order of preference.
    :param ordered: whether the order matters; otherwise any of them will do.
    :returns: the node and the plan; ``None`` if there are no nodes.
    """
    found = _one_of(now, nodes[:1], start, end, limits)
    if isinstance(found, tuple) or len(nodes) < 2:
        return found
    # A refusal for all nodes is one for each, so that a long list costs
    # one plan instead of one for each node. If there is a plan, a binary
    # search finds the first node in a few steps.
    alone, low = found, 1
    found = _one_of(now, nodes[low:], start, end, limits)
    if not isinstance(found, tuple):
        return next((each for each in (alone, found)
                     if each is not None and not each.cause.proved), found)
    if not ordered:
        return found
    high = nodes.index(found[0])
    while low < high:
        middle = (low + high) // 2
        sooner = _one_of(now, nodes[low:middle + 1], start, end, limits)
        if isinstance(sooner, tuple):
            found, high = sooner, nodes.index(sooner[0])
        else:
            low = middle + 1
    return found


def _one_of(now: timeline.Timeline, nodes: Sequence[int], start: int,
            end: int, limits: budget.Limits
            ) -> tuple[int, plans.Plan] | plans.Refusal | None:
    if not nodes:
        return None
    outcome = planning.plan(now, [bookings.Demand(
        _TAKEN, start, end, 1, 1, host_sets.mask(nodes))], limits)
    if isinstance(outcome, plans.Refusal):
        return outcome
    return outcome.granted[0][0].node, outcome


def clear_node(now: timeline.Timeline, node: int, start: int, end: int,
               leaving: Sequence[bookings.Demand],
               limits: budget.Limits = planning.LIMITS) -> Cleared:
    """Reserve a node, and find other nodes for its bookings.

    :param leaving: bookings on the node that have not started, as demands for
        other nodes.
    """
    draft = timeline.Draft.of(now)
    draft.write(node, [
        *(each for each in now.rows[node]
          if draft.until(each, node) <= start or each.start >= end),
        bookings.Booking(f'{_TAKEN}/0', start, end, node, 1 << node, False)])
    return _rehomed(draft.timeline(), (), dict.fromkeys(leaving, ()), limits)


def clear_windows(now: timeline.Timeline,
                  windows: Mapping[int, tuple[int, int]],
                  leaving: Mapping[bookings.Demand, Sequence[str]]) -> Cleared:
    """Reserve nodes for windows, and find other nodes for bookings there.

    Bookings that have started stay, and the node is reserved only for the rest
    of its window. Bookings for which no node is found keep the parts outside
    the windows.

    :param windows: start and end, by node.
    :param leaving: bookings in the windows that have not started, as demands
        for other nodes, with the ids of the bookings.
    """
    return _rehomed(_taken(now, windows, _names(leaving)), windows, leaving,
                    planning.LIMITS)


def _rehomed(taken: timeline.Timeline, nodes: Collection[int],
             leaving: Mapping[bookings.Demand, Sequence[str]],
             limits: budget.Limits) -> Cleared:
    """Find places for demands: for all of them, or else for one by one.

    :param nodes: where bookings of the demands are, which they replace.
    :param leaving: the demands, with the ids of these bookings.
    """
    demands = sorted(leaving, key=operator.attrgetter('start', 'id'))
    outcome = planning.plan(_without(taken, nodes, _names(leaving)), demands,
                            limits)
    if isinstance(outcome, plans.Plan):
        return Cleared(outcome.timeline)
    homeless = set()
    for demand in demands:
        outcome = planning.plan(_without(
            taken, nodes, set(leaving[demand])), [demand], limits)
        if isinstance(outcome, plans.Plan):
            taken = outcome.timeline
        else:
            homeless.add(demand.id)
    return Cleared(taken, frozenset(homeless))


def _names(leaving: Mapping[bookings.Demand, Sequence[str]]) -> set[str]:
    return {name for each in leaving.values() for name in each}


def vacated(now: timeline.Timeline, windows: Mapping[int, tuple[int, int]],
            leaving: Set[str], staying: Set[str]) -> timeline.Timeline:
    """Reserve nodes for windows, and remove the bookings that have to move.

    :param windows: start and end, by node.
    :param leaving: the ids of the bookings to remove.
    :param staying: the ids of other bookings that have not started; they keep
        the parts outside the windows.
    """
    return _without(_taken(now, windows, leaving | staying), windows, leaving)


def _taken(now: timeline.Timeline, windows: Mapping[int, tuple[int, int]],
           names: Set[str]) -> timeline.Timeline:
    """Reserve nodes for windows, and cut bookings that overlap with them."""
    draft = timeline.Draft.of(now)
    for node, (start, end) in windows.items():
        row = [*now.rows[node], bookings.Booking(
            f'{_TAKEN}/{node}', start, end, node, 1 << node, False)]
        ranks = [2 if host_states.whole(each.id) in names else 0
                 for each in row[:-1]] + [1]
        draft.write(node, host_states.clipped(row, ranks.copy))
    return draft.timeline()


def _without(there: timeline.Timeline, nodes: Iterable[int],
             names: Set[str]) -> timeline.Timeline:
    return there.without(host_states.parts(there.rows, nodes, names))
