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

"""End reservations, and have nodes that their holders acted on put back.

A lease that is being deleted takes the place of such a reservation. It has no
events, since nobody was promised it; the worker of leases puts the node back,
cleans it, and deletes the lease.
"""

from __future__ import annotations

import datetime
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation


def end(connection: sa.Connection, reservation: node_reservation.Reservation,
        now: datetime.datetime, puts_back: bool) -> None:
    """Write the end of a reservation, within a larger transaction.

    :param reservation: as it was read.
    :param puts_back: whether the node is put back.
    :raises Conflict: it has changed since.
    """
    db_reservations.delete(connection, reservation)
    if puts_back:
        lease = _lease(reservation, now)
        db_leases.insert(connection, lease, now, None, None)
        db_bookings.insert_many(connection, lease.bookings, lease.user_id,
                                now)


def _lease(reservation: node_reservation.Reservation,
           now: datetime.datetime) -> leases.Lease:
    lease_id, asked = str(uuid_module.uuid4()), str(uuid_module.uuid4())
    # NOTE: the uuid of the reservation: the handover and the hold in Placement
    # are the same.
    booking = leases.NodeBooking(
        0, asked, 0, reservation.node_uuid, now, now,
        leases.BookingState.ENDING, project_id=reservation.project_id,
        uuid=reservation.uuid)
    return leases.Lease(
        # NOTE: a name that nobody can have taken before.
        lease_id, f'reservation-{reservation.uuid}-{lease_id[:8]}', now, now,
        leases.LeaseStatus.DELETING, now,
        project_id=reservation.project_id, user_id=reservation.user_id,
        reservations=(leases.LeaseReservation(
            asked, leases.ReservationStatus.DELETED, 1, 1, now,
            str(uuid_module.uuid4()), bookings=(booking,)),))
