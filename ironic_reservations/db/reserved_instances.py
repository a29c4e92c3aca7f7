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

"""Reads the hosts that leases have now, for checks of servers."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import leases

_l = tables.lease_reservations.c
_r = tables.reservations.c
_u = tables.lease_usage.c


@dataclasses.dataclass(frozen=True)
class Share:
    """The part of a host that a lease reservation has.

    :ivar state: the state of its bookings.
    :ivar count: the number of instances.
    """

    reservation_id: str
    node_uuid: str
    state: leases.BookingState
    project_id: str | None
    count: int


def read_shares(connection: sa.Connection, now: datetime.datetime,
                kinds: Collection[str]) -> list[Share]:
    """Return the parts of hosts with bookings that have started.

    :param kinds: values of ``resource_type`` of the lease reservations.
    """
    # SELECT lease_reservation_id, node_uuid, state, MAX(project_id), COUNT(*)
    #   FROM reservations JOIN lease_reservations ON ...
    #   WHERE resource_type IN (...) AND (state != 'planned'
    #     OR starts_at <= ?) GROUP BY lease_reservation_id, node_uuid, state
    query = sa.select(
        _r.lease_reservation_id.label('reservation_id'), _r.node_uuid,
        _r.state, sa.func.max(_r.project_id).label('project_id'),
        sa.func.count().label('count')
    ).select_from(tables.reservations.join(
        tables.lease_reservations, _l.id == _r.lease_reservation_id)
    ).where(_l.resource_type.in_(kinds), sa.or_(
        _r.state != leases.BookingState.PLANNED.value, _r.starts_at <= now)
    ).group_by(_r.lease_reservation_id, _r.node_uuid, _r.state)
    return store.read(Share, connection.execute(query))


def is_known(connection: sa.Connection, reservation_id: str) -> bool:
    """Return whether a lease reservation exists or existed."""
    # SELECT id FROM lease_reservations WHERE id = ?
    #   UNION ALL SELECT reservation_id FROM lease_usage
    #     WHERE reservation_id = ?
    return connection.execute(sa.union_all(
        sa.select(_l.id).where(_l.id == reservation_id),
        sa.select(_u.reservation_id).where(
            _u.reservation_id == reservation_id))).first() is not None
