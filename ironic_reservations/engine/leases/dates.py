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

import dataclasses
import datetime

from ironic_reservations.db import connection as db_connection
from ironic_reservations.model import leases

#: A plan that is older does not promise what would have begun by now.
_OLD = datetime.timedelta(minutes=1)


def check_begun(lease: leases.Lease, planned: datetime.datetime,
                moment: datetime.datetime) -> None:
    """Check that a lease was not planned long before it is promised.

    Comes last in the transaction that writes it: a process may have stood
    still meanwhile.

    :param planned: when its plan was made.
    :param moment: the present time.
    :raises Conflict: it would have begun meanwhile.
    """
    if lease.start <= moment and moment - planned > _OLD:
        raise db_connection.Conflict('the lease would have begun meanwhile')


def check_ahead(lease: leases.Lease, moment: datetime.datetime) -> None:
    """Check that a lease that was moved does not begin in the past.

    Comes last in the transaction that writes it.

    :raises Conflict: it does.
    """
    if lease.start < moment:
        raise db_connection.Conflict('the lease would have begun meanwhile')


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
