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

"""What a worker does for a lease of instances."""

from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import offers
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.placement import reserved

PLANNED, BOUND, ENDING = (leases.BookingState.PLANNED,
                          leases.BookingState.BOUND,
                          leases.BookingState.ENDING)


class TestTurn(reserved.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.mine = True
        self.context = lease_context.Context(
            self.engine, 'lease', leasing.at(1), lambda: self.mine)
        self.ident = world.new_uuid()

    def bookings(self, *on: tuple[str, leases.BookingState]
                 ) -> list[leases.NodeBooking]:
        """Return the bookings of instances on hosts."""
        return [leases.NodeBooking(
            number, self.ident, number, host, leasing.at(1), leasing.at(4),
            state, project_id=reserved.PROJECT)
            for number, (host, state) in enumerate(on)]

    def give(self, *on: tuple[str, leases.BookingState]) -> tuple[str, ...]:
        """Have the instances given that are on these hosts."""
        return offers.offer(
            self.context, self.ident, reserved.PROJECT, self.bookings(*on),
            reserved.FLAVOR)

    def take_back(self, *on: str) -> tuple[str, ...]:
        """Have all taken back."""
        return offers.withdraw(
            self.context, self.ident,
            self.bookings(*((host, ENDING) for host in on)))

    def had(self, counts: dict[str, int]) -> machine.Desired:
        """Return what the reservation is to have."""
        return self.wanted(counts, reservation_id=self.ident)

    def test_servers_stay_where_nodes_are_left_as_they_are(self) -> None:
        host = self.host()
        self.give((host, BOUND))
        running = self.boot(self.had({host: 1}), host)
        self.world.conf.set_override('end_action', 'leave', 'leases')
        self.assertEqual((), self.take_back(host))
        self.assertIn(running, self.nova.servers)
        self.assert_nothing()

    def test_lease_of_another_worker_is_left_to_him(self) -> None:
        host = self.host()
        self.mine = False
        self.assertRaises(lease_context.Lost, self.give, (host, PLANNED))
        self.assert_nothing()
