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

"""Repair by exchanges between two nodes: Kempe chains on intervals.

A booking in the way, all bookings of another node that overlap it, all of the
first node that overlap those, and so on, change places. If all nodes are alike
and only started bookings are fixed, going through a window from its start to
its end in this way always makes room for it, unless at some instant every node
is taken: at the start of the booking in the way, another node is free.
"""

from __future__ import annotations

import bisect
import dataclasses
import heapq

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import timeline

#: How many nodes for a booking in the way are compared at a time.
_COMPARED = 64
#: How many nodes are glanced at in the time of a step.
_GLANCES = 6
#: The number of steps that it takes to carry out an exchange.
_EXCHANGE = 12

_Component = tuple[list[bookings.Booking], list[bookings.Booking]]


class Homes:
    """The nodes for bookings with one window, the most suitable ones first.

    These are free at the start of the window, the longest free ones first.

    The order is kept from one booking to the next: an exchange only makes
    nodes less suitable, so that a node is examined again only when it becomes
    the first one.

    :param wanted: like each of the bookings.
    :param pinned: the groups that stay where they are.
    """

    def __init__(self, draft: timeline.Draft, wanted: bookings.Booking,
                 pinned: frozenset[str]) -> None:
        self._draft = draft
        self._wanted = wanted
        self._pinned = pinned
        self._left: list[tuple[int, int]] | None = None

    def forget(self) -> None:
        """Examine all nodes again, since not only exchanges changed them."""
        self._left = None

    def first(self, count: int, steps: budget.Budget) -> list[int]:
        """Return the first nodes that all bookings in the way may leave."""
        found: list[tuple[int, int]] = []
        draft, wanted = self._draft, self._wanted
        left = self._left = (self._all(steps) if self._left is None
                             else self._left)
        while left and len(found) < count:
            steps.spend()
            key, node = heapq.heappop(left)
            now = self._key(node)
            if now is None:
                continue
            if now != key:
                heapq.heappush(left, (now, node))
            elif all(holder is not None and placement_units.leaves(
                    holder, self._pinned) for holder in draft.held(
                        node, wanted.start, wanted.until)):
                found.append((key, node))
        for each in found:
            heapq.heappush(left, each)
        return [node for _, node in found]

    def _all(self, steps: budget.Budget) -> list[tuple[int, int]]:
        members = host_sets.members(self._draft.whole_hosts(self._wanted))
        steps.spend(1 + len(members) // _GLANCES)
        found = [(key, node) for node in members
                 if (key := self._key(node)) is not None]
        heapq.heapify(found)
        return found

    def _key(self, node: int) -> int | None:
        """Return the sort key of a node; ``None`` if it is taken."""
        starts = self._draft.starts[node]
        place = bisect.bisect_right(starts, self._wanted.start)
        if place and self._draft.untils[node][place - 1] > self._wanted.start:
            return None
        return (-starts[place] if place < len(starts)
                else -self._wanted.until)


def swap(draft: timeline.Draft, wanted: bookings.Booking, homes: Homes,
         count: int, pinned: frozenset[str], steps: budget.Budget) -> bool:
    """Place a booking by exchanges; return whether it was possible.

    The draft is changed only if it was possible.

    :param homes: the nodes for it.
    :param count: the number of nodes that are tried; if all nodes are alike,
        one is enough.
    :param pinned: the groups that stay where they are.
    """
    before: dict[int, timeline.RowState] = {}
    try:
        for home in homes.first(count, steps):
            if _clear(draft, wanted, home, pinned, steps, before):
                draft.put([dataclasses.replace(wanted, node=home)])
                return True
            _restore(draft, before)
    except budget.Exhausted:
        _restore(draft, before)
    return False


def _restore(draft: timeline.Draft,
             before: dict[int, timeline.RowState]) -> None:
    for node, state in before.items():
        draft.restore(node, state)
    before.clear()


def _clear(draft: timeline.Draft, wanted: bookings.Booking, home: int,
           pinned: frozenset[str], steps: budget.Budget,
           before: dict[int, timeline.RowState]) -> bool:
    """Make room for a booking on a node.

    :param before: the previous states of changed nodes are added.
    """
    # This ends, since after each exchange the first booking in the way
    # starts later.
    while True:
        obstacles = draft.held(home, wanted.start, wanted.until)
        if not obstacles:
            return True
        assert obstacles[0] is not None
        best = _partner(draft, wanted, home, obstacles[0], pinned, steps)
        if best is None:
            return False
        partner, (here, there) = best
        for node in (home, partner):
            before.setdefault(node, draft.state(node))
        steps.spend(_EXCHANGE)
        draft.put([dataclasses.replace(booking, node=partner)
                   for booking in here]
                  + [dataclasses.replace(booking, node=home)
                     for booking in there], here + there)


def _partner(draft: timeline.Draft, wanted: bookings.Booking, home: int,
             obstacle: bookings.Booking, pinned: frozenset[str],
             steps: budget.Budget) -> tuple[int, _Component] | None:
    """Choose the node that takes the booking in the way, and its exchange."""
    at, until = obstacle.start, wanted.until
    both = max(until, obstacle.until)
    find = bisect.bisect_right
    found: list[tuple[int, int]] = []
    examined = 0
    all_starts, all_untils = draft.starts, draft.untils
    for node in host_sets.members(draft.whole_hosts(obstacle)):
        examined += 1
        starts = all_starts[node]
        place = find(starts, at)
        if place and all_untils[node][place - 1] > at or node == home:
            continue
        # The next booking there will be in the way next, so a later one is
        # better.
        following = starts[place] if place < len(starts) else both
        if following >= both:
            # It takes that booking, gives none in return, and is in no
            # booking's way; no other node is better.
            steps.spend(1 + examined // _GLANCES)
            return node, ([obstacle], [])
        found.append((-min(following, until), node))
        if len(found) == _COMPARED:
            best = _smallest(draft, home, obstacle, found, pinned, steps)
            if best is not None:
                steps.spend(examined // _GLANCES)
                return best
            found.clear()
    steps.spend(1 + examined // _GLANCES)
    return _smallest(draft, home, obstacle, found, pinned, steps)


def _smallest(draft: timeline.Draft, home: int, obstacle: bookings.Booking,
              found: list[tuple[int, int]], pinned: frozenset[str],
              steps: budget.Budget) -> tuple[int, _Component] | None:
    """Return the smallest exchange among the nodes with most room."""
    best: tuple[int, _Component] | None = None
    reach = size = 0
    for negative, node in sorted(found):
        if best is not None and negative > reach:
            break
        component = _component(draft, home, node, obstacle, pinned,
                               steps)
        if component is None:
            continue
        moved = len(component[0]) + len(component[1])
        if best is None or moved < size:
            best, reach, size = (node, component), negative, moved
        if moved == 1:
            # The booking in the way alone: none is smaller.
            break
    return best


def _component(draft: timeline.Draft, home: int, partner: int,
               obstacle: bookings.Booking, pinned: frozenset[str],
               steps: budget.Budget) -> _Component | None:
    """Return the bookings to exchange, ``None`` if it is not possible."""
    sides: _Component = ([obstacle], [])
    steps.spend()
    nodes = (home, partner)
    # Both sides only grow to the right: the partner is free when the
    # obstacle starts.  So each is known up to one instant.
    reached = [obstacle.until, obstacle.start]
    side = 0
    while True:
        other = 1 - side
        more: list[bookings.Booking] = []
        for holder in draft.held(nodes[other], reached[other],
                                 reached[side]):
            if holder is None:
                return None
            if holder.start >= reached[other]:
                more.append(holder)
        if not more:
            return sides
        steps.spend(len(more))
        for booking in more:
            if (not placement_units.leaves(booking, pinned)
                    or not draft.whole_hosts(booking) >> nodes[side] & 1):
                return None
        sides[other].extend(more)
        reached[other] = more[-1].until
        side = other
