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

"""Reads the holders of a node in one statement."""

from __future__ import annotations

import datetime

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import conditions
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.db import tables
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation

_r = tables.reservations.c
_BOOKED = 'booked_'
_HOLDERS = sa.select(_r.immediate, *db_reservations.RESERVATION.columns,
                     *db_bookings.BOOKING.labelled(_BOOKED))


def read(connection: sa.Connection, node_uuid: str, now: datetime.datetime,
         soon: datetime.datetime | None = None
         ) -> tuple[node_reservation.Reservation | None,
                    list[leases.NodeBooking]]:
    """Return the live reservation of a node, and the bookings that have it.

    :param soon: bookings that start by this time are returned, too.
    """
    # SELECT ... FROM reservations WHERE node_uuid = ?
    #   AND (it is live OR it has the node [OR it starts soon])
    held: node_reservation.Reservation | None = None
    bookings: list[leases.NodeBooking] = []
    rows = connection.execute(_HOLDERS.where(
        _r.node_uuid == node_uuid,
        sa.or_(conditions.live(now), conditions.has_node(now),
               *([] if soon is None else [sa.and_(
                   conditions.to_come(now), _r.starts_at <= soon)]))))
    reservation = db_reservations.RESERVATION.reader(rows)
    booking = db_bookings.BOOKING.reader(rows, prefix=_BOOKED)
    for row in rows:
        if row.immediate is not None:
            held = reservation(row)
        else:
            bookings.append(booking(row))
    return held, bookings
