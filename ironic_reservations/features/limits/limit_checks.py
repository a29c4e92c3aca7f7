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

"""Read the holdings of projects, and check limits again on commit.

Concurrent requests of a project are counted one after the other: a transaction
that writes leases of a project waits for the others of that project first.
Only bookings and leases that are not over are read.
"""

from __future__ import annotations

import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.features.limits import lease_limits
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.planner import allowance

#: The kind of the locks of projects.
KIND = 'leases'


def read(allowed: limits.Limits, connection: sa.Connection | None,
         project_id: str | None, now: datetime.datetime,
         *without: str) -> lease_limits.Project:
    """Read the holdings of a project.

    :param connection: ``None``: as if the project had no bookings.
    :param without: ids of leases to leave out.
    """
    if connection is None:
        return lease_limits.Project(allowed, (), 0, now)
    held = [allowance.Held(*row) for row in db_bookings.read_of_project(
        connection, project_id, now, *without,
        texts=bool(allowed.classes))]
    count = (db_leases.count_live(connection, project_id, *without)
             if allowed.max_leases_per_project else 0)
    return lease_limits.Project(allowed, held, count, now)


def check_again(allowed: limits.Limits, connection: sa.Connection,
                lease: leases.Lease, now: datetime.datetime,
                before: leases.Lease | None) -> None:
    """Check the limits again, in the transaction that writes a lease.

    :param allowed: with limits that count.
    :param lease: the lease as it is written.
    :param before: the lease as it was; ``None``: it is new.
    :raises Conflict: the lease would exceed a limit, since the project has got
        other bookings meanwhile.
    """
    there = read(allowed, connection, lease.project_id, now, lease.id)
    try:
        if before is None:
            there.check_one_more()
        there.check_lease(lease, before)
    except errors.LeaseLimit as exc:
        # The next attempt finds this early, and answers with offers.
        raise db_connection.Conflict(str(exc)) from exc


def check_slid(allowed: limits.Limits, connection: sa.Connection,
               lease: leases.Lease, now: datetime.datetime) -> None:
    """Check the limits again for a lease with new dates, after all writes.

    :param allowed: with limits that count.
    :raises Conflict: the lease would exceed a limit, since its project has got
        other bookings meanwhile.
    """
    there = read(allowed, connection, lease.project_id, now, lease.id)
    if not there.permits_lease(lease):
        raise db_connection.Conflict(
            'the project of a lease got something else meanwhile')
