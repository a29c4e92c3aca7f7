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

"""How many nodes are free, when."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses

from ironic_reservations.planner import bookings
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
    draft = timeline.Draft(list(now.starts), list(now.untils),
                           list(now.rows))
    instants, free = steps(
        (booking for node in fleet.members(nodes)
         for booking in draft.between(node, start, end)), nodes.bit_count())
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


def steps(there: Iterable[bookings.Booking],
          capacity: int) -> tuple[list[int], list[int]]:
    """Give instants and how many are free from each to the next one.

    The first instant is before all others; neighbours differ in their
    counts.
    """
    starts: list[int] = []
    untils: list[int] = []
    for booking in there:
        starts.append(booking.start)
        untils.append(booking.end + booking.margin)
    starts.sort()
    untils.sort()
    instants, counts = [_NEVER], [capacity]
    free = capacity
    place = 0
    total = len(starts)
    for passed, until in enumerate(untils):
        # What begins before or when this one lets go.
        while place < total and starts[place] <= until:
            begin = starts[place]
            free = capacity - (place + 1) + passed
            place += 1
            if instants[-1] == begin:
                counts[-1] = free
            else:
                _settle(instants, counts)
                instants.append(begin)
                counts.append(free)
        free = capacity - place + passed + 1
        if instants[-1] == until:
            counts[-1] = free
        else:
            _settle(instants, counts)
            instants.append(until)
            counts.append(free)
    _settle(instants, counts)
    return instants, counts


def _settle(instants: list[int], counts: list[int]) -> None:
    """Drop the last instant where nothing has changed at it."""
    if len(counts) > 1 and counts[-1] == counts[-2]:
        instants.pop()
        counts.pop()
