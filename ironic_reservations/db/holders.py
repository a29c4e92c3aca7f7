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

"""Reads who has a node now, in one statement."""

from __future__ import annotations

import datetime

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import tables
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation

_r = tables.reservations.c


def read(connection: sa.Connection, node_uuid: str, now: datetime.datetime,
         soon: datetime.datetime | None = None
         ) -> tuple[node_reservation.Reservation | None,
                    list[leases.NodeBooking]]:
    """Return the live reservation of a node, and the bookings that have it.

    :param soon: bookings that start by then are returned, too.
    """
    # SELECT ... FROM reservations WHERE node_uuid = ?
    #   AND (it is live OR it has the node [OR it starts soon])
    held: node_reservation.Reservation | None = None
    bookings: list[leases.NodeBooking] = []
    for row in connection.execute(sa.select(
            _r.id, _r.uuid, _r.instance_uuid, _r.created_at, _r.updated_at,
            _r.starts_at, _r.expires_at, _r.state, _r.project_id,
            _r.immediate, _r.lease_reservation_id, _r.place, _r.lessee,
            _r.acted
    ).where(_r.node_uuid == node_uuid,
            sa.or_(conditions.live(now), conditions.has_node(now),
                   *([] if soon is None else [sa.and_(
                       conditions.to_come(now), _r.starts_at <= soon)])))):
        if row.immediate is not None:
            held = node_reservation.Reservation(
                uuid=row.uuid, node_uuid=node_uuid,
                instance_uuid=row.instance_uuid, created_at=row.created_at,
                updated_at=row.updated_at, expires_at=row.expires_at,
                state=node_reservation.State(row.state),
                project_id=row.project_id, id=row.id, acted=row.acted)
        else:
            bookings.append(leases.NodeBooking(
                row.id, row.lease_reservation_id, row.place, node_uuid,
                row.starts_at, row.expires_at,
                leases.BookingState(row.state), row.lessee,
                project_id=row.project_id, uuid=row.uuid))
    return held, bookings
