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


"""The hosts that each project may have; a feature limits them."""

from __future__ import annotations

import datetime
from typing import Protocol

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states
from ironic_reservations.planner import loans


class HostLimits(Protocol):
    """Limits of all hosts, kept with them."""

    def put(self, number: int, here: host_states.HostState | None) -> bool:
        """Store the state of a host.

        :param here: the state; ``None``: the host has been removed.
        :returns: whether bookings may now move to other hosts than before.
        """

    def loans(self, instant: int) -> loans.Loans:
        """Return the hosts that projects have only until an instant."""

    def narrow(self, here: host_states.HostState,
               drawn: list[bookings.Booking], now: datetime.datetime,
               margin: int) -> tuple[list[bookings.Booking], list[int]]:
        """Return bookings that can move only to hosts that they may have.

        :returns: the bookings, and the instants from which some of them may
            move to more hosts.
        """
