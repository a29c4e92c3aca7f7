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

"""The instants at which a decision about a node may become wrong.

At the start or the end of a promise, no generation changes.  So a decision is
compared with the clock again before it is committed.
"""

from __future__ import annotations

from collections.abc import Iterable
import datetime

from ironic_reservations.model import leases
from ironic_reservations.model import maintenance
from ironic_reservations.model import node_reservation


def of_node(held: node_reservation.Reservation | None,
            bookings: Iterable[leases.NodeBooking],
            windows: Iterable[maintenance.NodeWindow] = ()
            ) -> list[datetime.datetime]:
    """Return the starts and ends of all promises of a node.

    :param held: the reservation of the node; it does not expire while it is
        in use.
    """
    found = [each for booking in bookings
             for each in (booking.starts_at, booking.ends_at)]
    found.extend(each for window in windows
                 for each in (window.starts_at, window.ends_at))
    if held is not None and held.state is node_reservation.State.RESERVED:
        found.append(held.expires_at)
    return found
