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

"""The holders of a node now and later."""

from __future__ import annotations

import dataclasses
import datetime

from ironic_reservations.model import leases
from ironic_reservations.model import maintenance
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons


@dataclasses.dataclass(frozen=True)
class Occupancy:
    """The holders of a node now and later.

    :ivar reservation: the live reservation, if there is one.
    :ivar busy_until: the time by which the requests in flight should have been
        answered; the node is kept for them until their outcome is known.
    :ivar leased: the leases of the node.
    :ivar closed: whether the request has no reservation or lease, but needs
        one.
    :ivar unheld: the reason why a hold in Placement failed, if one was tried.
    """

    reservation: node_reservation.Reservation | None = None
    busy_until: datetime.datetime | None = None
    leased: leases.Leased = leases.UNLEASED
    closed: bool = False
    unheld: reasons.Reason | None = None

    @property
    def maintained(self) -> maintenance.Maintained:
        """The maintenance windows of the node."""
        return self.leased.maintained

    @property
    def later(self) -> datetime.datetime | None:
        """The start of the next booking; ``None`` without one."""
        return min((each for each in (self.leased.later,
                                      self.maintained.later)
                    if each is not None), default=None)
