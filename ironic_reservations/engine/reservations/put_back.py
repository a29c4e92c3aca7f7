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

"""Restore nodes after acts of the holders of reservations.

A lease that is being deleted takes the place of such a reservation. It has no
events, since it promises nothing. A worker for leases puts the node back,
cleans it, and deletes the lease.
"""

from __future__ import annotations

import datetime
import uuid as uuid_module

from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation


def lease(reservation: node_reservation.Reservation,
          now: datetime.datetime) -> leases.Lease:
    """Return the lease that takes the place of a reservation."""
    lease_id, asked = str(uuid_module.uuid4()), str(uuid_module.uuid4())
    # The uuid of the reservation: the handover and the hold in Placement
    # are the same.
    booking = leases.NodeBooking(
        0, asked, 0, reservation.node_uuid, now, now,
        leases.BookingState.ENDING, project_id=reservation.project_id,
        uuid=reservation.uuid)
    return leases.Lease(
        # A name that nobody can have taken before.
        lease_id, f'reservation-{reservation.uuid}-{lease_id[:8]}', now, now,
        leases.LeaseStatus.DELETING, now,
        project_id=reservation.project_id, user_id=reservation.user_id,
        reservations=(leases.LeaseReservation(
            asked, leases.ReservationStatus.DELETED, 1, 1, now,
            str(uuid_module.uuid4()), bookings=(booking,)),))
