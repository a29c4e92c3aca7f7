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
import itertools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import timeline

#: How many nodes for a booking in the way are compared at a time.
_COMPARED = 64
#: How many nodes are glanced at in the time of a step.
_GLANCES = 8

_Component = tuple[list[bookings.Booking], list[bookings.Booking]]


def swap(draft: timeline.Draft, wanted: bookings.Booking, homes: int,
         pinned: frozenset[str], steps: budget.Budget) -> bool:
    """Place a booking by exchanges; return whether it was possible.

    The draft is changed only if it was.

    :param homes: how many nodes are tried for the new booking; if all nodes
        are alike, one is enough.
    :param pinned: the groups that stay where they are.
    """
    try:
        for home in _homes(draft, wanted, homes, pinned, steps):
            attempt = draft.copy()
            if _clear(attempt, wanted, home, pinned, steps):
                attempt.put([dataclasses.replace(wanted, node=home)])
                draft.become(attempt)
                return True
    except budget.Exhausted:
        pass
    return False


def _homes(draft: timeline.Draft, wanted: bookings.Booking, count: int,
           pinned: frozenset[str], steps: budget.Budget) -> list[int]:
    """Return nodes that are free at the start, those free for longest first.
    """
    start, until = wanted.start, wanted.until
    find = bisect.bisect_right
    all_starts, all_untils = draft.starts, draft.untils
    members = host_sets.members(draft.whole_hosts(wanted))
    steps.spend(1 + len(members) // _GLANCES)
    found = []
    for node in members:
        starts = all_starts[node]
        place = find(starts, start)
        if place and all_untils[node][place - 1] > start:
            continue
        found.append((-starts[place] if place < len(starts) else -until,
                      node))
    found.sort()
    homes = (node for _, node in found if all(
        holder is not None and placement_units.leaves(holder, pinned)
        for holder in draft.held(node, start, until)))
    return list(itertools.islice(homes, count))


def _clear(draft: timeline.Draft, wanted: bookings.Booking, home: int,
           pinned: frozenset[str], steps: budget.Budget) -> bool:
    # NOTE: this ends, since after each exchange the first booking in the way
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
    eligible = draft.whole_hosts(obstacle)
    all_starts, all_untils = draft.starts, draft.untils
    for node in host_sets.members(eligible):
        starts = all_starts[node]
        place = find(starts, at)
        if place and all_untils[node][place - 1] > at or node == home:
            continue
        # The next booking there will be in the way next, so a later one is
        # better.
        following = starts[place] if place < len(starts) else both
        if following >= both:
            # NOTE: it takes that booking for nothing, and is in nobody's way;
            # among the nodes so far, and the next ones, none is better.
            steps.spend()
            return node, ([obstacle], [])
        found.append((-min(following, until), node))
        if len(found) == _COMPARED:
            best = _smallest(draft, home, obstacle, found, pinned, steps)
            if best is not None:
                return best
            found.clear()
    steps.spend(1 + eligible.bit_count() // _GLANCES)
    return _smallest(draft, home, obstacle, found, pinned, steps)


def _smallest(draft: timeline.Draft, home: int, obstacle: bookings.Booking,
              found: list[tuple[int, int]], pinned: frozenset[str],
              steps: budget.Budget) -> tuple[int, _Component] | None:
    """Return the smallest exchange among the nodes that leave the most room.
    """
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
            # NOTE: the booking in the way alone: none is smaller.
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
