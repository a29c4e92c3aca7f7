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

"""The present holder of a node, its end, and the next holder."""

from __future__ import annotations

import dataclasses
import datetime
import functools

from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation
from ironic_reservations.model import node_window


@dataclasses.dataclass(frozen=True)
class HostView:
    """The promises of a node, as they were read at one moment.

    :ivar now: the instant for which all attributes are computed.
    :ivar row: its reservation, live or not.
    :ivar bookings: the present and future bookings of leases, by start.
    :ivar windows: the maintenance windows that are not over.
    :ivar busy_until: the time by which the requests in flight should have been
        answered, if they were read; the node is kept for them until their
        outcome is known.
    """

    node_uuid: str
    now: datetime.datetime
    row: node_reservation.Reservation | None = None
    bookings: tuple[leases.NodeBooking, ...] = ()
    windows: tuple[node_window.NodeWindow, ...] = ()
    busy_until: datetime.datetime | None = None

    @property
    def reservation(self) -> node_reservation.Reservation | None:
        """The live reservation."""
        row = self.row
        return row if row is not None and row.live(self.now) else None

    @property
    def void(self) -> node_reservation.Reservation | None:
        """The reservation that is over, but whose row still exists."""
        return self.row if self.reservation is None else None

    @functools.cached_property
    def present(self) -> tuple[leases.NodeBooking, ...]:
        """The bookings that have the node, or whose node is being put back."""
        return tuple(booking for booking in self.bookings
                     if booking.has_node(self.now))

    @property
    def lease(self) -> leases.NodeBooking | None:
        """The booking that may use the node.

        It is ``None`` while the node is being put back after a lease.
        """
        there = self.present
        return None if not there or any(
            booking.over(self.now) for booking in there) else there[0]

    @property
    def holder(self) -> str | None:
        """The uuid of the reservation or booking that may use the node."""
        reservation = self.reservation
        if reservation is not None:
            return None if reservation.over(self.now) else reservation.uuid
        return None if self.lease is None else self.lease.uuid

    @property
    def held(self) -> bool:
        """Whether any holder may use the node."""
        return self.holder is not None

    @property
    def being_put_back(self) -> bool:
        """Whether the node is being put back after a promise."""
        return not self.held and (self.reservation is not None
                                  or bool(self.present))

    @property
    def claimed(self) -> bool:
        """Whether any holder has the node, or a lease gets it later."""
        return self.reservation is not None or bool(self.bookings)

    def shows(self, proof: str | None) -> bool:
        """Return whether a proof is that of the present holder."""
        reservation, lease = self.reservation, self.lease
        return proof is not None and (
            reservation is not None and reservation.uuid == proof
            or lease is not None and lease.reservation_id == proof)

    @property
    def maintained_until(self) -> datetime.datetime | None:
        """The end of the maintenance window that has the node."""
        return max((each.ends_at for each in self.windows
                    if each.has_node(self.now)), default=None)

    @property
    def leaves_maintenance(self) -> bool:
        """Whether Ironic still shows the maintenance of an ended window."""
        return any(each.late(self.now) for each in self.windows)

    def interruption(self, booking: leases.NodeBooking) -> str | None:
        """Return the maintenance window that interrupts a booking, in words.
        """
        return node_window.interruption(self.windows, booking.starts_at,
                                        booking.ends_at, self.now)

    @property
    def next_lease(self) -> datetime.datetime | None:
        """The start of the first future booking of a lease."""
        return min((booking.starts_at for booking in self.bookings
                    if booking.to_come(self.now)), default=None)

    @property
    def next_window(self) -> datetime.datetime | None:
        """The start of the first future maintenance window."""
        return min((each.starts_at for each in self.windows
                    if each.stands(self.now) and not each.has_node(self.now)),
                   default=None)

    @property
    def next_claim(self) -> datetime.datetime | None:
        """The start of the next booking or window."""
        return min((each for each in (self.next_lease, self.next_window)
                    if each is not None), default=None)

    @property
    def next_change(self) -> datetime.datetime | None:
        """The next instant at which an answer changes without a commit."""
        promises: tuple[leases.NodeBooking | node_window.NodeWindow, ...] = (
            *self.bookings, *self.windows)
        instants = [each.starts_at for each in promises]
        instants += [each.ends_at for each in promises]
        if self.row is not None and (
                self.row.state is node_reservation.State.RESERVED):
            instants.append(self.row.expires_at)
        return min((each for each in instants if each > self.now),
                   default=None)
