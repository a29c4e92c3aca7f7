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

"""Counts the free nodes over time."""

from __future__ import annotations

import bisect
import collections
from collections.abc import Iterable
import dataclasses

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import timeline


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """A period over which the number of free nodes is constant."""

    start: int
    end: int
    free: int


def free_counts(now: timeline.Timeline, nodes: int, start: int,
                end: int) -> tuple[Span, ...]:
    """Count the free nodes of a set over [start, end), in order.

    Adjacent spans differ in their counts. If all nodes are alike, the smallest
    count within a window is the number of nodes that can be booked for it.
    This holds even if each node is taken at some time in the window, since
    bookings that have not started can move.
    """
    starts: list[int] = []
    untils: list[int] = []
    for node in host_sets.members(nodes):
        last = bisect.bisect_left(now.starts[node], end)
        first = bisect.bisect_right(now.untils[node], start)
        starts.extend(now.starts[node][first:last])
        untils.extend(now.untils[node][first:last])
    instants, free = steps(starts, untils, nodes.bit_count())
    spans: list[Span] = []
    for place, (instant, count) in enumerate(zip(instants, free,
                                                 strict=True)):
        following = (instants[place + 1] if place + 1 < len(instants)
                     else end)
        begin, stop = max(instant, start), min(following, end)
        if begin >= stop:
            continue
        spans.append(Span(begin, stop, count))
    return tuple(spans)


def free_beside_loans(now: timeline.Timeline, nodes: int, lent: int,
                      until: int, start: int, end: int) -> tuple[Span, ...]:
    """Count free nodes like :func:`free_counts`, with some nodes on loan.

    :param lent: the set of nodes that are available only until an instant.
    :param until: that instant.
    """
    if not nodes & lent or end <= until:
        return free_counts(now, nodes, start, end)
    if start >= until:
        return free_counts(now, nodes & ~lent, start, end)
    before = free_counts(now, nodes, start, until)
    after = free_counts(now, nodes & ~lent, until, end)
    if before[-1].free == after[0].free:
        return (*before[:-1], Span(before[-1].start, after[0].end,
                                   after[0].free), *after[1:])
    return before + after


def steps(starts: Iterable[int], untils: Iterable[int],
          capacity: int) -> tuple[list[int], list[int]]:
    """Return pairs of an instant and the number that is free from then on.

    The first instant is before all others; adjacent counts differ.

    :param starts: the times at which one is taken.
    :param untils: the times at which one becomes free.
    :param capacity: the total number.
    """
    # Most bookings start at round hours, so there are far fewer instants
    # than bookings, and counting is faster than sorting.
    begin, finish = collections.Counter(starts), collections.Counter(untils)
    instants, counts = [bookings.NEVER], [capacity]
    free = capacity
    for at in sorted(begin.keys() | finish.keys()):
        change = finish.get(at, 0) - begin.get(at, 0)
        if change:
            free += change
            instants.append(at)
            counts.append(free)
    return instants, counts
