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

from collections.abc import Iterator

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import timeline


def rows(now: timeline.Timeline | timeline.Draft, eligible: int
         ) -> Iterator[tuple[int, tuple[bookings.Booking, ...]]]:
    """Yield each host that a chain of moves could reach, with its bookings.

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
    return host_sets.mask(node for node, _ in rows(now, eligible))


def shares_may_move(now: timeline.Timeline | timeline.Draft,
                    eligible: int) -> bool:
    """Return whether a share of a compute host could make room.

    If none can, shared hosts count as taken.
    """
    if not now.compute:
        return False
    for node, there in rows(now, eligible):
        compute = bool(now.compute >> node & 1)
        for booking in there:
            if booking.amounts is not None and booking.movable and (
                    compute or booking.eligible & now.compute):
                return True
    return False
