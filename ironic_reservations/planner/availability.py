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

"""Count the free nodes over time."""

from __future__ import annotations

import bisect
import collections
from collections.abc import Iterable
import dataclasses

from ironic_reservations.planner import fleet
from ironic_reservations.planner import timeline

#: Before every instant that is used.
_NEVER = -(1 << 80)


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time over which as many nodes are free.

    :ivar free: how many nodes nobody has.
    """

    start: int
    end: int
    free: int


def free_counts(now: timeline.Timeline, nodes: int, start: int,
                end: int) -> tuple[Span, ...]:
    """Count the free nodes of a set over [start, end), in order.

    Neighbours differ in their counts.  Of nodes that are alike, as many as
    are free throughout a window can be had for it, even where each of them
    is taken at times: bookings that have not started make room.
    """
    starts: list[int] = []
    untils: list[int] = []
    for node in fleet.members(nodes):
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
    """Count free nodes as :func:`free_counts` does, for who gets some as loan.

    :param lent: the set of nodes that are free until an instant only.
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
    """Return instants and how many are free from each to the next one.

    The first instant is before all others; neighbours differ in their
    counts.

    :param starts: when one is taken each time.
    :param untils: when one is free again each time.
    """
    # NOTE: people ask for round hours, so the instants are far fewer than
    # the bookings; counting is quicker than sorting.
    begin, finish = collections.Counter(starts), collections.Counter(untils)
    instants, counts = [_NEVER], [capacity]
    free = capacity
    for at in sorted(begin.keys() | finish.keys()):
        change = finish.get(at, 0) - begin.get(at, 0)
        if change:
            free += change
            instants.append(at)
            counts.append(free)
    return instants, counts
