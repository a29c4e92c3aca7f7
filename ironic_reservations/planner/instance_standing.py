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

"""Convert the rows of any host, with instances, to bookings of the planner.

Like :mod:`~ironic_reservations.planner.standing`, but an instance is a whole
node of Ironic, or a share of a compute host.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import datetime
import operator

from ironic_reservations.model import host_inventories
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import shares
from ironic_reservations.planner import standing


def draw(here: standing.Standing, number: int, now: datetime.datetime,
         margin: int, eligible: Callable[[requirements.Requirement], int]
         ) -> list[bookings.Booking]:
    """Return all that is promised of one host, as the planner wants it.

    Of a compute host that can be used, each share has its place, also where
    all of them are more than the host has: nobody else gets any of it.  The
    shares without room stand to be planned anew, as :func:`stranded` tells;
    until then they do not move for anybody.

    :param margin: for cleaning, in microseconds.
    :param eligible: returns the set of hosts that meet a requirement.
    """
    if here.host.node.compute and here.unfit() is None:
        drawn = sorted((promise(row, here.instances[row.reservation_id],
                                number, now, margin, eligible(wanted))
                        for row, wanted in here.promised),
                       key=operator.attrgetter('start', 'id'))
        out = displaced(inventories.capacities(
            host_inventories.of(here.host.node)), drawn)
        # NOTE: a share without room that could move would count as in need
        # of another host, and prove that there is too little room for others.
        return [dataclasses.replace(each, movable=False)
                if each.id in out else each for each in drawn]
    rows = {standing.name(row): row.reservation_id
            for row, _ in here.promised
            if row.reservation_id in here.instances}
    return [seated(booking, here.instances[rows[standing.whole(booking.id)]])
            if standing.whole(booking.id) in rows else booking
            for booking in standing.draw(here, number, now, margin,
                                         eligible)]


def stranded(here: standing.Standing, now: datetime.datetime
             ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return what is planned on a host and cannot start there.

    NOTE: beside a share that is late there may be no room for a while.  That
    passes, and whatever is to start meanwhile looks for a host then.
    """
    if not here.host.node.compute or here.unfit() is not None:
        return standing.stranded(here, now)
    return excess(here, [seated(
        standing.of_row(row, 0, now, 0, 1),
        here.instances[row.reservation_id]) for row, _ in here.promised])


def crowded(here: standing.Standing, now: datetime.datetime
            ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return what has started on a compute host that is too small for all.

    The last that have started are the ones; what is late, and what is yet to
    start, does not count.
    """
    if not here.host.node.compute:
        return []
    return excess(here, [dataclasses.replace(
        seated(standing.of_row(row, 0, now, 0, 1),
               here.instances[row.reservation_id]), movable=True)
        for row, _ in here.promised
        if (row.begun or row.starts_at <= now) and row.ends_at > now])


def excess(here: standing.Standing, there: Sequence[bookings.Booking]
           ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Return the bookings of a compute host for which it has no room.

    :param there: the shares of the host, as its rows or as they would be.
    """
    out = displaced(inventories.capacities(
        host_inventories.of(here.host.node)), there)
    return [each for each in here.promised if standing.name(each[0]) in out]


def promise(row: leases.NodeBooking,
            wanted: instance_reservations.InstanceReservation, number: int,
            now: datetime.datetime, margin: int,
            eligible: int) -> bookings.Booking:
    """Return the instance that a row promises.

    :param number: of the host.
    :param margin: for cleaning, in microseconds, on a node of Ironic.
    :param eligible: the set of hosts that suit, this one or not.
    """
    booking = standing.of_row(row, number, now, margin, eligible)
    if row.begun and row.ends_at <= now:
        # NOTE: a share that has not been taken back yet is nobody else's,
        # and on a compute host the margin does not count.
        booking = dataclasses.replace(
            booking, end=max(booking.end, standing.late(now)), margin=margin)
    return seated(booking, wanted)


def seated(booking: bookings.Booking,
           wanted: instance_reservations.InstanceReservation
           ) -> bookings.Booking:
    """Return an instance on the host of a booking that was drawn for it."""
    return bookings.Booking(
        booking.id, booking.start, booking.end, booking.node,
        booking.eligible, booking.movable, booking.margin,
        wanted.need.amounts, wanted.reservation_id, wanted.affinity)


def displaced(capacity: shares.Capacity,
              there: Sequence[bookings.Booking]) -> frozenset[str]:
    """Return the ids of what may move and has no room on a compute host.

    NOTE: none is planned so; but an inventory may have shrunk, and what has
    begun may have been let through all the same.
    """
    out = shares.homeless(capacity, there)
    # NOTE: one of a group that has to be together never moves alone.
    groups = {each.group for each in there
              if each.affinity is True and each.id in out}
    return out | {each.id for each in there
                  if each.group in groups and each.movable}
