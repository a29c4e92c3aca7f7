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

"""Converts the rows of a host with instances to bookings of the planner.

It is like :mod:`~ironic_reservations.planner.host_states`, but an instance is
a whole node of Ironic, or a share of a compute host.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import datetime
import operator

from ironic_reservations.model import host_inventories
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import instants
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import shares


def draw(here: host_states.HostState, number: int, now: datetime.datetime,
         margin: int, eligible: Callable[[requirements.Requirement], int],
         known: host_states.DrawnRows | None = None
         ) -> list[bookings.Booking]:
    """Return all bookings of a host for the planner.

    On a usable compute host each share keeps its place, even if together they
    exceed the capacity, so that no other share gets it. Shares without room
    have to be planned again, see :func:`stranded`; until then they are not
    moved for others.

    :param margin: for cleaning, in microseconds.
    :param eligible: returns the set of hosts that meet a requirement.
    :param known: the rows of a node as they were drawn last.
    """
    if not _is_shared(here):
        return host_states.draw(here, number, now, margin, eligible, known)
    drawn = sorted(host_states.draw_rows(
        here, number, now, margin, eligible, {} if known is None else known,
        promise), key=operator.attrgetter('start', 'id'))
    out = displaced(_capacity(here), drawn)
    if not out:
        here.known[stranded] = _roomy_until(here)
    # If a share without room were movable, it would count as needing
    # another host, and wrongly prove that there is no room for others.
    return [dataclasses.replace(each, movable=False)
            if each.id in out else each for each in drawn]


def _is_shared(here: host_states.HostState) -> bool:
    """Return whether a host is a compute host that can be used."""
    return here.host.node.compute and here.unfit is None


def _capacity(here: host_states.HostState) -> shares.Capacity:
    return inventories.capacities(host_inventories.of(here.host.node))


def stranded(here: host_states.HostState, now: datetime.datetime
             ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return bookings that are planned on a host and cannot start there.

    While a share is late, there may be no room for another booking. Only the
    bookings that start before this ends are planned on another host.
    """
    if not _is_shared(here):
        return host_states.stranded(here, now)
    if instants.instant(now) < here.known.get(stranded, -bookings.FOREVER):
        return []
    there = [host_states.of_row(row, 0, now, 0, 1,
                                here.instances[row.reservation_id])
             for row, _ in here.promised]
    if shares.roomy(_capacity(here), there):
        here.known[stranded] = _roomy_until(here)
        return []
    return excess(here, there)


def _roomy_until(here: host_states.HostState) -> int:
    """Return the instant until which shares that have room keep it.

    An instance that has started keeps its share for longer if it is late.
    """
    return min((row.window[1] for row, _ in here.promised if row.begun),
               default=bookings.FOREVER)


def crowded(here: host_states.HostState, now: datetime.datetime
            ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return started bookings on a compute host that is too small for all.

    These are the bookings that started last; bookings that are late, or have
    not started, are ignored.
    """
    if not here.host.node.compute:
        return []
    return excess(here, [dataclasses.replace(
        host_states.of_row(row, 0, now, 0, 1,
                           here.instances[row.reservation_id]), movable=True)
        for row, _ in here.promised
        if (row.begun or row.starts_at <= now) and row.ends_at > now])


def excess(here: host_states.HostState, there: Sequence[bookings.Booking]
           ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return the bookings for which a compute host has no room.

    :param there: the shares on the host, present or planned.
    """
    out = displaced(_capacity(here), there)
    return [each for each in here.promised if host_states.name(each[0]) in out]


def promise(row: leases.NodeBooking, number: int, now: datetime.datetime,
            margin: int, eligible: int,
            wanted: instance_reservations.InstanceReservation
            ) -> bookings.Booking:
    """Return the booking of an instance on a compute host.

    :param number: the number of the host.
    :param margin: for cleaning, in microseconds, on a node of Ironic.
    :param eligible: the set of suitable hosts, with or without this one.
    """
    booking = host_states.of_row(row, number, now, margin, eligible, wanted)
    if row.begun and row.ends_at <= now:
        # A share that has not been released yet is not available to
        # others, and on a compute host the margin is ignored.
        return dataclasses.replace(
            booking, end=max(booking.end, host_states.late(now)),
            margin=margin)
    return booking


def displaced(capacity: shares.Capacity,
              there: Sequence[bookings.Booking]) -> frozenset[str]:
    """Return the ids of movable bookings without room on a compute host.

    Bookings of a group with affinity only move together.
    """
    out = shares.homeless(capacity, there)
    groups = {each.group for each in there
              if each.affinity is True and each.id in out}
    return out | {each.id for each in there
                  if each.group in groups and each.movable}
