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
from collections.abc import Mapping
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
    if here.host.node.compute and here.unfit() is None:
        drawn = sorted((promise(row, here.instances[row.reservation_id],
                                number, now, margin, eligible(wanted))
                        for row, wanted in here.promised),
                       key=operator.attrgetter('start', 'id'))
        out = displaced(inventories.capacities(
            host_inventories.of(here.host.node)), drawn)
        # If a share without room were movable, it would count as needing
        # another host, and wrongly prove that there is no room for others.
        return [dataclasses.replace(each, movable=False)
                if each.id in out else each for each in drawn]
    drawn = host_states.draw(here, number, now, margin, eligible, known)
    if not here.instances:
        return drawn
    rows = {host_states.name(row): row.reservation_id
            for row, _ in here.promised
            if row.reservation_id in here.instances}
    return [
        seated(booking, here.instances[rows[host_states.whole(booking.id)]])
        if host_states.whole(booking.id) in rows else booking
        for booking in drawn]


def stranded(here: host_states.HostState, now: datetime.datetime
             ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return bookings that are planned on a host and cannot start there.

    While a share is late, there may be no room beside it. That passes,
    and bookings that start meanwhile are then planned on another host.
    """
    if not here.host.node.compute or here.unfit() is not None:
        return host_states.stranded(here, now)
    if instants.instant(now) < _roomy_until(here):
        return []
    return excess(here, [seated(
        host_states.of_row(row, 0, now, 0, 1),
        here.instances[row.reservation_id]) for row, _ in here.promised])


def _roomy_until(here: host_states.HostState) -> int:
    """Return until when a compute host certainly has room for all bookings.

    :returns: an instant that is long past if that is not certain.
    """
    until: int | None = here.known.get(_roomy_until)
    if until is not None:
        return until
    until = -bookings.FOREVER
    # An instance that has started keeps its share for longer if it is
    # late.
    ends = [row.window[1] for row, _ in here.promised if row.begun]
    capacity = inventories.capacities(host_inventories.of(here.host.node))
    there = [(*row.window, dict(here.instances[row.reservation_id].need.amounts
                                )) for row, _ in here.promised]
    if _fit(capacity, there):
        until = min(ends, default=bookings.FOREVER)
    here.known[_roomy_until] = until
    return until


def _fit(capacity: shares.Capacity,
         there: Sequence[tuple[int, int, Mapping[str, int]]]) -> bool:
    """Return whether all shares fit on a host, each over its window."""
    changes: dict[int, dict[str, int]] = {}
    for start, end, amounts in there:
        for at, sign in ((start, 1), (end, -1)):
            change = changes.setdefault(at, {})
            for name, amount in amounts.items():
                change[name] = change.get(name, 0) + sign * amount
    used: dict[str, int] = {}
    for at in sorted(changes):
        for name, amount in changes[at].items():
            used[name] = used.get(name, 0) + amount
            if used[name] > capacity.get(name, 0):
                return False
    return True


def crowded(here: host_states.HostState, now: datetime.datetime
            ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return started bookings on a compute host that is too small for all.

    These are the bookings that started last; bookings that are late, or have
    not started, are ignored.
    """
    if not here.host.node.compute:
        return []
    return excess(here, [dataclasses.replace(
        seated(host_states.of_row(row, 0, now, 0, 1),
               here.instances[row.reservation_id]), movable=True)
        for row, _ in here.promised
        if (row.begun or row.starts_at <= now) and row.ends_at > now])


def excess(here: host_states.HostState, there: Sequence[bookings.Booking]
           ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return the bookings for which a compute host has no room.

    :param there: the shares on the host, as its rows or as they would be.
    """
    out = displaced(inventories.capacities(
        host_inventories.of(here.host.node)), there)
    return [each for each in here.promised if host_states.name(each[0]) in out]


def promise(row: leases.NodeBooking,
            wanted: instance_reservations.InstanceReservation, number: int,
            now: datetime.datetime, margin: int,
            eligible: int) -> bookings.Booking:
    """Return the booking of an instance.

    :param number: of the host.
    :param margin: for cleaning, in microseconds, on a node of Ironic.
    :param eligible: the set of suitable hosts, with or without this one.
    """
    booking = host_states.of_row(row, number, now, margin, eligible)
    if row.begun and row.ends_at <= now:
        # A share that has not been released yet is not available to
        # others, and on a compute host the margin is ignored.
        booking = dataclasses.replace(booking,
                                      end=max(booking.end,
                                              host_states.late(now)),
                                      margin=margin)
    return seated(booking, wanted)


def seated(booking: bookings.Booking,
           wanted: instance_reservations.InstanceReservation
           ) -> bookings.Booking:
    """Return the booking of a host as one of an instance."""
    return bookings.Booking(
        booking.id, booking.start, booking.end, booking.node,
        booking.eligible, booking.movable, booking.margin,
        wanted.need.amounts, wanted.reservation_id, wanted.affinity)


def displaced(capacity: shares.Capacity,
              there: Sequence[bookings.Booking]) -> frozenset[str]:
    """Return the ids of movable bookings without room on a compute host.

    None is planned so; but the inventory may have shrunk, or a booking
    that has started may have been allowed nevertheless.
    """
    out = shares.homeless(capacity, there)
    # Bookings of a group with affinity only move together.
    groups = {each.group for each in there
              if each.affinity is True and each.id in out}
    return out | {each.id for each in there
                  if each.group in groups and each.movable}
