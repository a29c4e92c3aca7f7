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

"""Read leases."""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import Engine
from ironic_reservations.engine import seen
from ironic_reservations.model import leases


def unknown(lease_id: str) -> errors.LeaseNotFound:
    """Return the error for a lease that does not exist."""
    return errors.LeaseNotFound(
        f'There is no lease {lease_id}: it never existed, was deleted, or '
        'belongs to another project.')


def get(engine: Engine, lease_id: str,
        project_id: str | None = None) -> leases.Lease:
    """Read one lease.

    :param project_id: the project that it must belong to; ``None``: any.
    :raises LeaseNotFound: there is no such lease.
    """
    with engine.database.snapshot() as connection:
        return read(connection, lease_id, project_id)


def read(connection: sa.Connection, lease_id: str,
         project_id: str | None = None) -> leases.Lease:
    """Read one lease, as :func:`get`, in a snapshot of the caller."""
    found = db_leases.read_one(connection, lease_id)
    if found is None or project_id not in (None, found.project_id):
        raise unknown(lease_id)
    return found


@dataclasses.dataclass(frozen=True)
class Found:
    """A lease and the generations of its nodes, read at the same moment.

    :ivar nodes: only nodes that still exist.
    """

    lease: leases.Lease
    nodes: seen.Seen


def get_with_nodes(engine: Engine, lease_id: str,
                   project_id: str | None = None) -> Found:
    """Read one lease, and the generations of its nodes at the same moment.

    :param project_id: the project that it must belong to; ``None``: any.
    :raises LeaseNotFound: there is no such lease.
    """
    with engine.database.snapshot() as connection:
        lease = read(connection, lease_id, project_id)
        return Found(lease, seen.read(connection, {
            booking.node_uuid for booking in lease.bookings}))


def page(engine: Engine, project_id: str | None = None,
         limit: int | None = None, marker: str | None = None,
         ended_since: datetime.datetime | None = None,
         chosen: leases.Filter = leases.ALL) -> list[leases.Lease]:
    """Read leases, the oldest first.

    :param project_id: read only leases of this project; ``None``: of all.
    :param marker: the id of the last lease of the previous page.
    :param ended_since: exclude leases that ended before this instant.
    :param chosen: read only leases that match.
    :raises LeaseNotFound: the marker is no lease.
    """
    last = None if marker is None else get(engine, marker, project_id)
    with engine.database.snapshot() as connection:
        return db_leases.read_page(connection, project_id, last, limit,
                                   ended_since, engine.lease_parts, chosen)
