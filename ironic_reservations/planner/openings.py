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

"""Room for whole hosts on the present plan, without moving any booking.

A start with such room is known to succeed, without any search.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from collections.abc import Sequence
import heapq

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import timeline


def first_start(now: timeline.Timeline, demand: bookings.Demand,
                latest: int, grain: int = 1) -> int | None:
    """Return the earliest start at which a demand fits, from its own start on.

    :param demand: a demand for whole hosts.
    :param latest: the latest possible start.
    :param grain: starts are a multiple of it.
    :returns: ``None`` if there is none until then.
    """
    begin = -(-demand.start // grain) * grain
    length = demand.until - demand.start
    spans: list[tuple[int, int]] = []
    for free, taken in _gaps(now, demand, begin + length):
        first = -(-free // grain) * grain if free > begin else begin
        spans.append((first, min(taken - length, latest)))
    return _first(spans, demand.least)


def last_start(now: timeline.Timeline, demand: bookings.Demand,
               earliest: int, grain: int = 1) -> int | None:
    """Return the latest start at which a demand fits, before its own start.

    :param demand: a demand for whole hosts.
    :param earliest: the earliest possible start.
    :param grain: starts are a multiple of it.
    :returns: ``None`` if there is none from then on.
    """
    length = demand.until - demand.start
    # The latest start is the first one if time runs backwards.
    found = _first(
        [(-(min(taken - length, demand.start - 1) // grain * grain),
          -max(free, earliest))
         for free, taken in _gaps(now, demand)], demand.least)
    return None if found is None else -found


def _first(spans: Sequence[tuple[int, int]], least: int) -> int | None:
    """Return the first instant that so many of some spans contain.

    :param spans: first and last instants; a span that ends before it begins
        is empty.
    """
    spans = [span for span in spans if span[0] <= span[1]]
    closes = sorted(last for _, last in spans)
    gone = 0
    for count, at in enumerate(sorted(first for first, _ in spans), 1):
        while closes[gone] < at:
            gone += 1
        if count - gone >= least:
            return at
    return None


def longest(now: timeline.Timeline, demand: bookings.Demand) -> int | None:
    """Return the latest end with which a demand fits at its own start.

    :param demand: a demand for whole hosts.
    :returns: the latest end, including the time for cleaning; ``None`` if the
        demand does not fit at all.
    """
    found = [taken for free, taken in _gaps(now, demand)
             if free <= demand.start < taken]
    if len(found) < max(1, demand.least):
        return None
    return min(heapq.nlargest(max(1, demand.least), found))


def _gaps(now: timeline.Timeline, demand: bookings.Demand,
          since: int = -bookings.FOREVER) -> Iterator[tuple[int, int]]:
    """Yield the periods in which each host is free, host by host.

    :param since: gaps that end before may be left out.
    """
    all_starts, all_untils = now.starts, now.untils
    # How long a host is lent depends on the start.
    for node in host_sets.members(demand.eligible & ~demand.lent):
        starts, untils = all_starts[node], all_untils[node]
        place = bisect.bisect_left(starts, since)
        free = untils[place - 1] if place else -bookings.FOREVER
        for taken, until in zip(starts[place:], untils[place:], strict=True):
            if taken > free:
                yield free, taken
            free = until
        yield free, bookings.FOREVER
