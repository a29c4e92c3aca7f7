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

"""Writes leases as an iCalendar document (RFC 5545).

The library icalendar escapes, folds and encodes the names.
"""

from __future__ import annotations

from collections.abc import Iterable
import datetime

import icalendar

from ironic_reservations.model import leases

CONTENT_TYPE = 'text/calendar'
_PRODUCT = '-//ironic-reservations//leases//EN'
_REFRESH = datetime.timedelta(minutes=15)


def written(found: Iterable[leases.Lease]) -> bytes:
    """Return the calendar of leases.

    It contains no proof, and no time of writing, so it changes only if the
    leases change.
    """
    calendar = icalendar.Calendar()
    calendar.add('prodid', _PRODUCT)
    calendar.add('version', '2.0')
    calendar.add('x-wr-calname', 'Leases')
    # icalendar before 7 writes a timedelta here as no duration.
    calendar.add('refresh-interval', icalendar.vDuration(_REFRESH),
                 parameters={'VALUE': 'DURATION'})
    calendar.add('x-published-ttl', icalendar.vDuration(_REFRESH))
    for lease in found:
        calendar.add_component(_event(lease))
    return calendar.to_ical()


def _event(lease: leases.Lease) -> icalendar.Event:
    changed = lease.updated_at or lease.created_at
    event = icalendar.Event()
    event.add('uid', f'{lease.id}@ironic-reservations')
    event.add('dtstamp', _second(changed))
    event.add('created', _second(lease.created_at))
    event.add('last-modified', _second(changed))
    event.add('sequence', int((changed - lease.created_at).total_seconds()))
    event.add('dtstart', _second(lease.start))
    event.add('dtend', _second(lease.end))
    event.add('summary', _printable(lease.name))
    event.add('description', _description(lease))
    event.add('status', _status(lease))
    # A lease does not make the person busy.
    event.add('transp', 'TRANSPARENT')
    return event


def _second(moment: datetime.datetime) -> datetime.datetime:
    return moment.astimezone(datetime.UTC).replace(microsecond=0)


def _printable(text: str) -> str:
    """Return a name with its control characters replaced by spaces."""
    return ''.join(each if each.isprintable() else ' ' for each in text)


def _description(lease: leases.Lease) -> str:
    hosts = len({booking.node_uuid for booking in lease.bookings})
    lines = [f'Status: {lease.status}', f'Hosts: {hosts}']
    if lease.degraded:
        lines.append('Degraded: not all that was promised can be kept.')
    return '\n'.join(lines)


def _status(lease: leases.Lease) -> str:
    if lease.status is leases.LeaseStatus.ERROR:
        return 'CANCELLED'
    return 'TENTATIVE' if lease.degraded else 'CONFIRMED'
