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

"""The events of a lease when its dates change."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import datetime

from ironic_reservations.db import connection as db_connection
from ironic_reservations.model import leases

#: A plan that is older does not promise what would have begun by now.
_OLD = datetime.timedelta(minutes=1)
_MINUTE = datetime.timedelta(minutes=1)


def check_begun(lease: leases.Lease, planned: datetime.datetime,
                moment: datetime.datetime) -> None:
    """Check that a lease was not planned long before it is promised.

    Comes last in the transaction that writes it: a process may have stood
    still meanwhile.

    :param planned: when its plan was made.
    :param moment: the present time.
    :raises Conflict: it would have begun meanwhile, or be over.
    """
    if lease.start <= moment and moment - planned > _OLD:
        raise db_connection.Conflict('the lease would have begun meanwhile')
    if lease.end <= moment:
        raise db_connection.Conflict('the lease would be over meanwhile')


def check_unpassed(before: leases.Lease, after: leases.Lease,
                   planned: datetime.datetime,
                   moment: datetime.datetime) -> None:
    """Check that no date of a lease has passed since its plan.

    Comes last in the transaction that changes it: until somebody has written
    that it has begun, or is over, no generation tells.

    :param before: as it was.
    :param after: as it becomes.
    :param planned: when its plan was made.
    :param moment: the present time.
    :raises Conflict: it has begun, has been fixed, or is over; or it would
        have been over before it was written.
    """
    for lease in (before, after):
        fixed = None if lease.between is None else lease.between.fix_at
        if fixed is not None and planned < fixed <= moment:
            raise db_connection.Conflict('the lease is fixed by now')
    if planned < before.start <= moment:
        raise db_connection.Conflict('the lease has begun meanwhile')
    # NOTE: a lease that is over is void, and no change brings it back.
    if planned < before.end <= moment:
        raise db_connection.Conflict('the lease is over meanwhile')
    # NOTE: a lease that its owner ends now ends a second after the plan.
    if (after.end != before.end and after.end <= moment
            and moment - planned > _OLD):
        raise db_connection.Conflict('the new end has passed meanwhile')


def check_movable(moved: Iterable[leases.NodeBooking],
                  planned: datetime.datetime,
                  moment: datetime.datetime) -> None:
    """Check that no booking that moves to another node has begun meanwhile.

    Comes last in the transaction that moves it.

    :param planned: when that was planned.
    :param moment: the present time.
    :raises Conflict: one has begun; it stays where it is.
    """
    if any(planned < row.starts_at <= moment for row in moved):
        raise db_connection.Conflict(
            'a lease that was to be moved has begun meanwhile')


def soonest(between: leases.Between,
            now: datetime.datetime) -> datetime.datetime:
    """Return the first whole minute at which a lease may still begin.

    :param between: says how long before that it is to be fixed.
    """
    at = now + datetime.timedelta(seconds=between.fix_before)
    return at.replace(second=0, microsecond=0) + _MINUTE


def check_ahead(lease: leases.Lease, moment: datetime.datetime) -> None:
    """Check that a lease that was moved does not begin in the past.

    Comes last in the transaction that writes it.

    :raises Conflict: it does.
    """
    if lease.start < moment:
        raise db_connection.Conflict('the lease would have begun meanwhile')


def starting_at(lease: leases.Lease, begin: datetime.datetime,
                now: datetime.datetime) -> leases.Lease:
    """Return a lease as it is when it starts at another instant.

    It lasts as long, and its bookings stay as they are.
    """
    by = begin - lease.start
    end = lease.end + by
    told = None if lease.before_end is None else lease.before_end + by
    return dataclasses.replace(
        lease, start=begin, end=end, before_end=told, updated_at=now,
        between=None if lease.between is None
        else lease.between.fixed_for(begin, now),
        events=events(lease, begin, told, end, now))


def events(lease: leases.Lease, begin: datetime.datetime,
           told: datetime.datetime | None, end: datetime.datetime,
           now: datetime.datetime) -> tuple[leases.Event, ...]:
    """Return the events of a lease that gets other dates.

    :param told: when it is told that the end is near.
    """
    times = {leases.EventType.START: begin, leases.EventType.END: end,
             leases.EventType.BEFORE_END: told}
    return tuple(_event(event, times[event.type], now)
                 for event in lease.events)


def _event(event: leases.Event, time: datetime.datetime | None,
           now: datetime.datetime) -> leases.Event:
    if time is None or time == event.time:
        return event
    # NOTE: the end is near once more after an extension, and is told again.
    status = (leases.EventStatus.UNDONE
              if event.type is leases.EventType.BEFORE_END and time > now
              else event.status)
    return dataclasses.replace(event, time=time, status=status,
                               updated_at=now)
