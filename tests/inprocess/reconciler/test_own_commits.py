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

"""A process knows the leases that it has started and ended itself."""

from tests import leasing
from tests.inprocess.reconciler import leases


class TestOwnCommits(leases.TestCase):

    def assert_known(self) -> None:
        """Check that a snapshot reads no bookings, and has what is stored.

        NOTE: of nodes whose lessee was written it reads what Ironic says.
        """
        with self.world.statements() as sent:
            self.leasing.snapshot()
        self.assertNotIn('lease_reservations', str(sent))
        self.assertEqual({}, self.leasing.stale())

    def test_lease_that_starts_and_ends_is_not_read_again(self):
        self.leasing.hosts(2)
        lease = self.leasing.create(1, 3, leasing.wish(2))
        self.assert_known()
        for hours, states in ((1, [leasing.BOUND] * 2), (3, [])):
            self.work_at(hours)
            self.assertEqual(states, [row.state for row
                                      in self.lease(lease).bookings])
            self.assert_known()

    def test_lease_that_ends_and_keeps_its_node_is_not_read_again(self):
        lease = self.started()
        # NOTE: in this state, Ironic undeploys nothing.
        self.ironic.change(self.node_of(lease), provision_state='deploy hold')
        self.work_at(4)
        self.assertEqual(leasing.ENDING, self.lease(lease).bookings[0].state)
        self.assert_known()

    def test_lease_of_instances_that_starts_and_ends_is_not_read_again(self):
        self.leasing.hosts(1, properties=leasing.sizes(4))
        lease = self.leasing.create(1, 3, leasing.instances(1, 2))
        for hours in (1, 3):
            self.work_at(hours)
            self.assert_known()
        self.soon()
        self.assertEqual((), self.lease(lease).bookings)
        self.assert_known()

    def test_lease_that_never_started_is_not_read_again(self):
        self.leasing.hosts(1)
        lease = self.leasing.create(1, 2)
        self.work_at(3)
        self.assertEqual((), self.lease(lease).bookings)
        self.assert_known()

    def test_start_that_another_process_makes_is_read(self):
        self.leasing.hosts(1)
        lease = self.leasing.create(1, 3)
        self.at(1)
        self.work(self.another_crew())
        self.assertEqual(leasing.BOUND, self.lease(lease).bookings[0].state)
        self.assertEqual({}, self.leasing.stale())
