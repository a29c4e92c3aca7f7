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

"""Repair by augmenting paths: each booking takes the place of the next one.

A new booking takes the place of a movable one, which takes the place of
another, until one of them finds a free node. The shortest chain is found, so
that the fewest bookings move.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import timeline


def chain(draft: timeline.Draft, wanted: bookings.Booking,
          pinned: frozenset[str], steps: budget.Budget) -> bool:
    """Place a booking by a chain of moves; return whether one was found.

    The draft is changed only if one was found.

    :param pinned: the groups that stay where they are.
    """
    # The booking that each reached node would get. A node is reached once, so
    # that the moves of a chain do not affect each other.
    comes: dict[int, bookings.Booking] = {}
    queue = collections.deque([wanted])
    find = bisect.bisect_left
    while queue:
        booking = queue.popleft()
        start, until = booking.start, booking.until
        for node in host_sets.members(draft.whole_hosts(booking)):
            if node in comes:
                continue
            try:
                steps.spend()
            except budget.Exhausted:
                return False
            place = find(draft.starts[node], until)
            untils = draft.untils[node]
            if not place or untils[place - 1] <= start:
                comes[node] = booking
                _move(draft, wanted, node, comes)
                return True
            there = draft.holders[node][place - 1]
            if there is None or not placement_units.leaves(there, pinned) or (
                    there is booking) or (
                    place > 1 and untils[place - 2] > start):
                continue
            comes[node] = booking
            queue.append(there)
    return False


def _move(draft: timeline.Draft, wanted: bookings.Booking, node: int,
          comes: dict[int, bookings.Booking]) -> None:
    arriving, leaving = [], []
    while True:
        booking = comes[node]
        arriving.append(dataclasses.replace(booking, node=node))
        if booking is wanted:
            break
        leaving.append(booking)
        node = booking.node
    draft.put(arriving, leaving)
