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

"""What stands on the timeline of any host: rows in, promises out.

As :mod:`~ironic_reservations.planner.standing`, with instances for what they
are: a whole node of Ironic each, or a share of a compute host.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import datetime

from ironic_reservations.planner import bookings
from ironic_reservations.planner import instance_reservations
from ironic_reservations.planner import leases
from ironic_reservations.planner import requirements
from ironic_reservations.planner import standing
from ironic_reservations.planner.placement import host_inventories
from ironic_reservations.planner.placement import inventories
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import shares


def draw(here: standing.Standing, number: int, now: datetime.datetime,
         margin: int, eligible: Callable[[requirements.Requirement], int]
         ) -> list[instances.Promise]:
    """Give all that is promised of one host, as the planner wants it.

    What cannot stand where it is planned is left out, see :func:`stranded`.

    :param margin: for cleaning, in microseconds.
    :param eligible: gives the set of hosts that meet a requirement.
    """
    if here.host.node.compute and here.unfit() is None:
        return _settled(here, number, now, margin, eligible)[0]
    rows = {standing.name(row): row.reservation_id
            for row, _ in here.promised
            if row.reservation_id in here.instances}
    return [seated(booking, here.instances[rows[booking.id]])
            if booking.id in rows else booking
            for booking in standing.draw(here, number, now, margin,
                                         eligible)]


def stranded(here: standing.Standing, now: datetime.datetime
             ) -> list[tuple[leases.NodeBooking, requirements.Requirement]]:
    """Give what is planned on a host and cannot start there."""
    if not here.host.node.compute or here.unfit() is not None:
        return standing.stranded(here, now)
    homeless = _settled(here, 0, now, 0, lambda _: 1)[1]
    return [each for each in here.promised
            if standing.name(each[0]) in homeless]


def _settled(here: standing.Standing, number: int, now: datetime.datetime,
             margin: int, eligible: Callable[[requirements.Requirement], int]
             ) -> tuple[list[instances.Promise], frozenset[str]]:
    there = sorted((promise(row, here.instances[row.reservation_id], number,
                            now, margin, eligible(wanted))
                    for row, wanted in here.promised),
                   key=lambda each: (each.start, each.id))
    return settle(inventories.capacities(
        host_inventories.of(here.host.node)), (), there)


def promise(row: leases.NodeBooking,
            wanted: instance_reservations.InstanceReservation, number: int,
            now: datetime.datetime, margin: int,
            eligible: int) -> instances.Instance:
    """Give the instance that a row promises.

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
           ) -> instances.Instance:
    """Give an instance on the host of a booking that was drawn for it."""
    return instances.Instance(
        booking.id, booking.start, booking.end, booking.node,
        booking.eligible, wanted.need.amounts, wanted.reservation_id,
        wanted.affinity, booking.movable, booking.margin)


def settle(capacity: shares.Capacity, whole: Sequence[bookings.Booking],
           there: Sequence[instances.Instance]
           ) -> tuple[list[instances.Promise], frozenset[str]]:
    """Sort out what stands on a compute host.

    What may move and has no room there, or is in the way of what cannot
    move, is left out, and stands to be planned anew.

    NOTE: none is planned so; but an inventory may have shrunk, and somebody
    may have been let through all the same.

    :param whole: bookings of all of the host that do not overlap.
    :returns: what can stand there, and the ids of what cannot.
    """
    begun = [each for each in there if not each.movable]
    kept = _grown([each for each in whole if not each.movable], begun)
    homeless = set()
    for booking in whole:
        if not booking.movable:
            continue
        if any(_overlap(booking, other) for other in begun) or any(
                booking.start < other.until and other.start < booking.until
                for other in kept):
            homeless.add(booking.id)
        else:
            kept.append(booking)
    kept.sort(key=lambda each: each.start)
    staying = []
    for each in there:
        if not any(_overlap(booking, each) for booking in kept):
            staying.append(each)
        elif each.movable:
            homeless.add(each.id)
    out = shares.homeless(capacity, staying)
    # NOTE: one of a group that has to be together never moves alone.
    groups = {each.group for each in there
              if each.affinity is True and each.id in homeless | out}
    out |= {each.id for each in staying
            if each.group in groups and each.movable}
    return [*kept, *(each for each in staying if each.id not in out)], (
        frozenset(homeless) | out)


def _grown(whole: list[bookings.Booking],
           begun: Sequence[instances.Instance]) -> list[bookings.Booking]:
    """Have bookings last as long as what has begun on the host as well.

    NOTE: neither may move; so nobody else gets the host until both are over.
    """
    while True:
        joined = _joined([dataclasses.replace(
            each, start=min([each.start, *(
                other.start for other in begun if _overlap(each, other))]),
            end=max([each.end, *(
                other.end for other in begun if _overlap(each, other))]))
            for each in whole])
        if joined == whole:
            return whole
        whole = joined


def _overlap(booking: bookings.Booking, each: instances.Instance) -> bool:
    return booking.start < each.end and each.start < booking.until


def _joined(whole: list[bookings.Booking]) -> list[bookings.Booking]:
    """Join bookings that have come to overlap."""
    joined: list[bookings.Booking] = []
    for each in sorted(whole, key=lambda each: each.start):
        if joined and joined[-1].until > each.start:
            last = joined.pop()
            end = max(last.end, each.end)
            each = dataclasses.replace(
                last, end=end, margin=max(last.until, each.until) - end)
        joined.append(each)
    return joined
