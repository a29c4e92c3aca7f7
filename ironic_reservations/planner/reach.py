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

"""Finds the hosts that moves can reach from some hosts."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import timeline


def rows(now: timeline.Timeline | timeline.Draft, eligible: int
         ) -> Iterator[tuple[int, tuple[bookings.Booking, ...]]]:
    """Yield the hosts that a chain of moves could reach, with their bookings.

    :param eligible: the set of hosts from which the chains start.
    """
    walk = host_sets.Walk(eligible)
    for node in walk:
        there = now.rows[node]
        yield node, there
        for booking in there:
            if booking.movable:
                walk.leads_to(booking.eligible)


def hosts(now: timeline.Timeline | timeline.Draft, eligible: int) -> int:
    """Return the set of all hosts that a chain of moves could reach."""
    if isinstance(now, timeline.Timeline):
        return now.once((hosts, eligible), lambda: _closure(
            _leads(now).items(), eligible))
    return host_sets.mask(node for node, _ in rows(now, eligible))


def shares_may_move(now: timeline.Timeline, draft: timeline.Draft,
                    eligible: int, placed: Iterable[int]) -> bool:
    """Return whether a share of a compute host could make room.

    If none can, shared hosts count as taken. A booking is assumed to be on any
    host that it may have.

    :param now: the timeline that the draft was made of.
    :param placed: the sets of hosts of the demands that the draft serves.
    """
    if not draft.compute:
        return False
    found = _closure(
        [*((leads, there | leads)
           for leads, there in _leads(now).items()),
         *((each, each) for each in placed)], eligible)
    # A share that could make room leads to a compute host.
    return bool(found & draft.compute) and any(
        booking.amounts is not None and booking.movable
        and (1 << node | booking.eligible) & draft.compute
        for node in host_sets.members(found) for booking in draft.rows[node])


def releases(now: timeline.Timeline, eligible: int) -> Sequence[int]:
    """Return the instants at which room can appear for later windows.

    These are the ends of all bookings that moves can reach, in order.

    :param eligible: the set of hosts from which the moves start.
    """
    nodes = hosts(now, eligible)
    return now.once((releases, nodes), lambda: _releases(now, nodes))


def _releases(now: timeline.Timeline, nodes: int) -> Sequence[int]:
    found: set[int] = set()
    for node in host_sets.members(nodes):
        found.update(now.untils[node])
        if nodes & now.compute:
            # A share may be on a node, too, and move from it to a host that
            # needs no time for cleaning.
            for each in now.rows[node]:
                if each.amounts is not None:
                    found.update((each.end, each.until))
    return sorted(found)


def starts(now: timeline.Timeline, eligible: int) -> Sequence[int]:
    """Return the instants at which room can appear for earlier windows.

    These are the starts of all bookings that moves can reach, in order.

    :param eligible: the set of hosts from which the moves start.
    """
    nodes = hosts(now, eligible)
    return now.once((starts, nodes), lambda: sorted({
        each.start for node in host_sets.members(nodes)
        for each in now.rows[node]}))


def _closure(leads: Iterable[tuple[int, int]], eligible: int) -> int:
    """Return the set of hosts to which moves lead from some hosts.

    :param leads: pairs of a set of hosts to which bookings may move, and the
        set of hosts where such bookings are.
    """
    found, left = eligible, list(leads)
    while True:
        before = found
        further = []
        for more, there in left:
            if there & found:
                found |= more
            else:
                further.append((more, there))
        if found == before:
            return found
        left = further


def _leads(now: timeline.Timeline) -> Mapping[int, int]:
    """Return the hosts of bookings, by the set of hosts that they may use."""
    return now.once(_leads, lambda: _leads_of(now))


def _leads_of(now: timeline.Timeline) -> Mapping[int, int]:
    # By the identity of a set, since hashing a large one is slow, and
    # mostly bookings share one object.
    nodes: dict[int, tuple[int, list[int]]] = {}
    for node, row in enumerate(now.rows):
        last = None
        for booking in row:
            leads = booking.eligible
            if leads is not last and booking.movable:
                last = leads
                nodes.setdefault(id(leads), (leads, []))[1].append(node)
    found: dict[int, int] = {}
    for leads, there in nodes.values():
        found[leads] = found.get(leads, 0) | host_sets.mask(there)
    return found
