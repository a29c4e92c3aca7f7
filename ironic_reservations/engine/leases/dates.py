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

"""Other dates of a lease, and of its events."""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations.model import leases

_MINUTE = datetime.timedelta(minutes=1)


def soonest(between: leases.Between,
            now: datetime.datetime) -> datetime.datetime:
    """Return the first whole minute at which a lease may still start.

    :param between: its open dates, with the notice that its owner gets.
    """
    at = now + datetime.timedelta(seconds=between.fix_before)
    return at.replace(second=0, microsecond=0) + _MINUTE


def before_end(lease: leases.Lease, begin: datetime.datetime,
               end: datetime.datetime) -> datetime.datetime | None:
    """Return the time of the notice before the end, for other dates.

    It is as long before the end as it was, but not before the start.
    """
    return None if lease.before_end is None else max(
        begin, end - (lease.end - lease.before_end))


def starting_at(lease: leases.Lease, begin: datetime.datetime,
                now: datetime.datetime) -> leases.Lease:
    """Return a lease with another start and the same length.

    Its bookings are left unchanged.
    """
    end = begin + (lease.end - lease.start)
    told = before_end(lease, begin, end)
    return dataclasses.replace(
        lease, start=begin, end=end, before_end=told, updated_at=now,
        between=None if lease.between is None
        else lease.between.fixed_for(begin, now),
        events=events(lease, begin, told, end, now))


def events(lease: leases.Lease, begin: datetime.datetime,
           told: datetime.datetime | None, end: datetime.datetime,
           now: datetime.datetime) -> tuple[leases.Event, ...]:
    """Return the events of a lease for other dates.

    :param told: the time of the ``before_end_lease`` event.
    """
    times = {leases.EventType.START: begin, leases.EventType.END: end,
             leases.EventType.BEFORE_END: told}
    return tuple(_event(event, times[event.type], now)
                 for event in lease.events)


def _event(event: leases.Event, time: datetime.datetime | None,
           now: datetime.datetime) -> leases.Event:
    if time is None or time == event.time:
        return event
    # After an extension, before_end_lease comes a second time.
    status = (leases.EventStatus.UNDONE
              if event.type is leases.EventType.BEFORE_END and time > now
              else event.status)
    return dataclasses.replace(event, time=time, status=status,
                               updated_at=now)
