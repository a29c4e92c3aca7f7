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

"""The dates of a lease: their changes, and the last check of them."""

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
    """Check that a new lease has not begun long ago when it is written.

    Comes last in the transaction, since the process may have stood still
    after it planned the lease.

    :param planned: when the lease was planned.
    :param moment: the present time.
    :raises Conflict: the lease would have begun meanwhile, or be over.
    """
    if lease.start <= moment and moment - planned > _OLD:
        raise db_connection.Conflict('the lease would have begun meanwhile')
    if lease.end <= moment:
        raise db_connection.Conflict('the lease would be over meanwhile')


def check_unpassed(before: leases.Lease, after: leases.Lease,
                   planned: datetime.datetime,
                   moment: datetime.datetime) -> None:
    """Check that no date of a changed lease has passed since it was planned.

    Comes last in the transaction.  The generation of a lease does not change
    when one of its dates passes, but only when the reconciler acts on it.

    :param before: the lease as it was.
    :param after: the lease as it is written.
    :param planned: when the change was planned.
    :param moment: the present time.
    :raises Conflict: the lease has begun, has been fixed, or is over; or its
        new end has passed.
    """
    for lease in (before, after):
        fixed = None if lease.between is None else lease.between.fix_at
        if fixed is not None and planned < fixed <= moment:
            raise db_connection.Conflict('the lease is fixed by now')
    if planned < before.start <= moment:
        raise db_connection.Conflict('the lease has begun meanwhile')
    # NOTE: a lease that is over must not come back by a change.
    if planned < before.end <= moment:
        raise db_connection.Conflict('the lease is over meanwhile')
    # NOTE: an owner who ends a lease now gets an end one second after the
    # plan, which may pass before the COMMIT.
    if (after.end != before.end and after.end <= moment
            and moment - planned > _OLD):
        raise db_connection.Conflict('the new end has passed meanwhile')


def check_movable(moved: Iterable[leases.NodeBooking],
                  planned: datetime.datetime,
                  moment: datetime.datetime) -> None:
    """Check that no booking that moves to another node has begun meanwhile.

    Comes last in the transaction.

    :param planned: when the moves were planned.
    :param moment: the present time.
    :raises Conflict: one has begun, and must stay where it is.
    """
    if any(planned < row.starts_at <= moment for row in moved):
        raise db_connection.Conflict(
            'a lease that was to be moved has begun meanwhile')


def soonest(between: leases.Between,
            now: datetime.datetime) -> datetime.datetime:
    """Return the first whole minute at which a lease may still start.

    :param between: its open dates, with the notice that its owner gets.
    """
    at = now + datetime.timedelta(seconds=between.fix_before)
    return at.replace(second=0, microsecond=0) + _MINUTE


def check_ahead(lease: leases.Lease, moment: datetime.datetime) -> None:
    """Check that the new start of a lease is still ahead.

    Comes last in the transaction.

    :raises Conflict: it has passed.
    """
    if lease.start < moment:
        raise db_connection.Conflict('the lease would have begun meanwhile')


def starting_at(lease: leases.Lease, begin: datetime.datetime,
                now: datetime.datetime) -> leases.Lease:
    """Return a lease with another start and the same length.

    Its bookings are left unchanged.
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
    # NOTE: after an extension, before_end_lease comes a second time.
    status = (leases.EventStatus.UNDONE
              if event.type is leases.EventType.BEFORE_END and time > now
              else event.status)
    return dataclasses.replace(event, time=time, status=status,
                               updated_at=now)
