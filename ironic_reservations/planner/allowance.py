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

"""Computes how much of its limits a project uses, at once and in hours ahead.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import datetime

from ironic_reservations.model import leases


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """A host or instance that a project has booked.

    :ivar whole: whether it is a whole host.
    :ivar hypervisor_properties: the requested hypervisor properties;
        ``resource_properties`` likewise.
    """

    start: datetime.datetime
    end: datetime.datetime
    whole: bool
    hypervisor_properties: str = ''
    resource_properties: str = ''


def held(lease: leases.Lease, begin: datetime.datetime,
         end: datetime.datetime) -> list[Held]:
    """Return the holdings of a lease at another time."""
    return [one for each in lease.reservations
            for one in [one_of(each, begin, end)] * booked(each)]


def one_of(asked: leases.LeaseReservationRequest | leases.LeaseReservation,
           begin: datetime.datetime, end: datetime.datetime) -> Held:
    """Return one of the hosts or instances of a reservation."""
    return Held(
        begin, end, asked.resource_type == leases.PHYSICAL_HOST,
        asked.hypervisor_properties, asked.resource_properties)


def booked(each: leases.LeaseReservation) -> int:
    """Return the number of hosts or instances that a reservation has."""
    return sum(booking.state is not leases.BookingState.ENDING
               for booking in each.bookings)


def most_at_once(held: Iterable[Held], start: datetime.datetime,
                 end: datetime.datetime) -> int:
    """Return the maximum number of bookings at one instant of a window."""
    changes: list[tuple[datetime.datetime, int]] = []
    for each in held:
        if each.start < end and each.end > start:
            changes.append((max(each.start, start), 1))
            changes.append((each.end, -1))
    # At the same instant, ends sort before starts.
    changes.sort()
    now = most = 0
    for _, step in changes:
        now += step
        most = max(most, now)
    return most


def beyond(held: Iterable[Held], start: datetime.datetime,
           end: datetime.datetime, most: int
           ) -> tuple[datetime.datetime, datetime.datetime] | None:
    """Return the first and the last time of too many bookings in a window.

    :param most: the number that is allowed at one instant.
    :returns: the first instant at which there are more, and the end of the
        last period with more that begins in the window; ``None``: there are
        never more.
    """
    changes: list[tuple[datetime.datetime, int]] = []
    for each in held:
        if each.end > start:
            changes.append((max(each.start, start), 1))
            changes.append((each.end, -1))
    changes.sort()
    first = last = None
    now = 0
    for place, (at, step) in enumerate(changes):
        now += step
        if place + 1 < len(changes) and changes[place + 1][0] == at:
            continue
        if now > most and at < end:
            first = first or at
            last = None
        elif now <= most and first is not None:
            last = last or at
    return None if first is None or last is None else (first, last)


def seconds_ahead(held: Iterable[Held], now: datetime.datetime) -> float:
    """Return the sum of the remaining durations of bookings, in seconds."""
    return sum((each.end - max(each.start, now)).total_seconds()
               for each in held if each.end > now)
