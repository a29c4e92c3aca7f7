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

"""Convert the bookings that the planner granted to rows."""

from __future__ import annotations

from collections.abc import Sequence
import uuid as uuid_module

from ironic_reservations.engine import snapshots
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings


def rows(snapshot: snapshots.Snapshot, reservation_id: str,
         granted: Sequence[bookings.Booking], project_id: str | None,
         first: int = 0) -> tuple[leases.NodeBooking, ...]:
    """Return the rows for granted bookings, which have no ids yet.

    :param first: the place of the first row in its reservation.
    """
    return tuple(
        leases.NodeBooking(0,
                           reservation_id,
                           first + place,
                           snapshot.host_set.uuids[booking.node],
                           instants.moment(booking.start),
                           instants.moment(booking.end),
                           project_id=project_id,
                           uuid=str(uuid_module.uuid4()))
        for place, booking in enumerate(granted))
