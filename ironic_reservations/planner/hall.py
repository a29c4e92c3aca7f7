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

"""Proves that no whole host is free: Hall's condition at one instant.

If, at an instant, the bookings that cannot leave a set of nodes hold all nodes
of the set, and one more booking needs a node of the set, then no moves lead to
an assignment. The same holds if fewer nodes of the set remain than are needed:
this is mere counting, and so comes before any search.
"""

from __future__ import annotations

import bisect
import dataclasses

from ironic_reservations.planner import availability
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import timeline

#: The number of leaps that are tried before time is scanned.
_LEAPS = 5


@dataclasses.dataclass(frozen=True)
class Shortage:
    """An instant at which a set of nodes has too few free nodes.

    :ivar nodes: the set.
    :ivar holders: the bookings that hold whole nodes of the set.
    :ivar short: the minimum number of lacking nodes.
    """

    at: int
    nodes: int
    holders: tuple[bookings.Booking, ...]
    short: int = 1


def count(draft: timeline.Draft, wanted: bookings.Booking, needed: int,
          steps: budget.Budget) -> Shortage | None:
    """Find the instant at which most nodes are lacking for several bookings.

    Shares of compute hosts are assumed to stay, as in :func:`find`.

    :param wanted: like each of the bookings.
    :param needed: the number of bookings, none of which is in the draft.
    :returns: ``None`` if enough nodes are left, or the steps ran out.
    """
    captives = Captives(wanted.eligible)
    starts: list[int] = []
    untils: list[int] = []
    try:
        steps.spend()
        for node in host_sets.members(wanted.eligible):
            first, last = _window(draft, node, wanted)
            steps.spend(1 + last - first)
            for place in range(first, last):
                if captives.holds(draft.holders[node][place]):
                    starts.append(max(draft.starts[node][place],
                                      wanted.start))
                    untils.append(draft.untils[node][place])
    except budget.Exhausted:
        return None
    instants, free = availability.steps(starts, untils,
                                        wanted.eligible.bit_count())
    # Only the window matters, not the time after it.
    within = bisect.bisect_left(instants, wanted.until)
    left, at = min(zip(free[:within], instants, strict=False))
    if left >= needed:
        return None
    at = max(at, wanted.start)
    holders = []
    for node in host_sets.members(wanted.eligible):
        place = bisect.bisect_right(draft.starts[node], at) - 1
        if place >= 0 and draft.untils[node][place] > at:
            holder = draft.holders[node][place]
            if holder is not None and captives.holds(holder):
                holders.append(holder)
    return Shortage(at, wanted.eligible, tuple(holders), needed - left)


def _window(draft: timeline.Draft, node: int,
            wanted: bookings.Booking) -> tuple[int, int]:
    """Return the index range of the bookings in a window."""
    last = bisect.bisect_left(draft.starts[node], wanted.until)
    return bisect.bisect_right(draft.untils[node], wanted.start, 0,
                               last), last


class Captives:
    """A set of nodes, and whether bookings can move out of it."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._last, self._leaves = nodes, False

    def holds(self, holder: bookings.Booking | None) -> bool:
        """Return whether a holder of a node cannot move out of the set."""
        if holder is None or not holder.movable:
            return True
        # Most bookings have the same set in memory.
        if holder.eligible is not self._last:
            self._last = holder.eligible
            self._leaves = bool(holder.eligible & ~self._nodes)
        return not self._leaves


def find(draft: timeline.Draft, wanted: bookings.Booking,
         steps: budget.Budget) -> Shortage | None:
    """Find an instant at which there is no node for one more booking.

    Shares of compute hosts are assumed to stay where they are; if one of
    them could move, the result is no proof.

    :returns: ``None`` if there is always a node, or the steps ran out.
    """
    at = wanted.start
    try:
        for _ in range(_LEAPS):
            then = _leap(draft, wanted, at, steps)
            if then is None:
                return None
            if then == at:
                # No node is free here; from here on, time is scanned.
                found = _closed(draft, wanted.eligible, at, steps)
                if found is not None:
                    return found
                break
            at = then
        for full in _full(draft, wanted, at, steps):
            found = _closed(draft, wanted.eligible, full, steps)
            if found is not None:
                return found
    except budget.Exhausted:
        pass
    return None


def _leap(draft: timeline.Draft, wanted: bookings.Booking, at: int,
          steps: budget.Budget) -> int | None:
    """Return the end of the longest gap that contains ``at``.

    Until then, that node is free. In most cases a few such leaps lead to an
    instant at which no node is free, or out of the window, so that not every
    instant has to be examined.

    :returns: an instant before which there is no shortage, ``at`` itself if no
        node is free then; ``None`` if there is no shortage in the window.
    """
    find = bisect.bisect_right
    all_starts, all_untils = draft.starts, draft.untils
    members = host_sets.members(wanted.eligible)
    steps.spend(1 + len(members) // 4)
    furthest = at
    for node in members:
        starts = all_starts[node]
        place = find(starts, at)
        if place and all_untils[node][place - 1] > at:
            continue
        if place == len(starts):
            return None
        if starts[place] > furthest:
            furthest = starts[place]
    return furthest if furthest < wanted.until else None


def _full(draft: timeline.Draft, wanted: bookings.Booking, start: int,
          steps: budget.Budget) -> list[int]:
    """Return the instants from which every eligible node is taken."""
    until = wanted.until
    members = host_sets.members(wanted.eligible)
    begins: list[int] = []
    ends: list[int] = []
    taken = 0
    for node in members:
        starts, untils = draft.starts[node], draft.untils[node]
        last = bisect.bisect_left(starts, until)
        first = bisect.bisect_right(untils, start, 0, last)
        if first == last:
            # Free all the time.
            return []
        steps.spend(last - first)
        ends.extend(untils[first:last])
        if starts[first] <= start:
            taken += 1
            first += 1
        begins.extend(starts[first:last])
    full = [start] if taken == len(members) else []
    begins.sort()
    ends.sort()
    passed = 0
    for begin in begins:
        while ends[passed] <= begin:
            passed += 1
            taken -= 1
        taken += 1
        if taken == len(members):
            full.append(begin)
    return full


def _closed(draft: timeline.Draft, eligible: int, at: int,
            steps: budget.Budget) -> Shortage | None:
    """Search for a free node among all that a chain of moves could reach.

    The assignment at one instant is a matching. It can take one more booking
    if and only if an alternating path leads to a free node.
    """
    holders: list[bookings.Booking] = []
    walk = host_sets.Walk(eligible)
    for node in walk:
        steps.spend()
        place = bisect.bisect_right(draft.starts[node], at) - 1
        if place < 0 or draft.untils[node][place] <= at:
            return None
        holder = draft.holders[node][place]
        if holder is None:
            continue
        holders.append(holder)
        if holder.movable:
            walk.leads_to(holder.eligible)
    return Shortage(at, walk.nodes, tuple(holders))
