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

"""A database is restored while leases go on, and their ends come."""

from tests.inprocess.reconciler import leases

_STATUS = leases.STATUS


class TestRestoredDuringLeases(leases.TestCase):

    def test_lease_that_ends_meanwhile_gives_its_node_back_later(self):
        lease = self.started()
        (node,) = self.leasing.nodes(lease)
        self.ironic.deploy(node, 'one')
        self.watch()
        self.at(3.999)
        self.world.restored()
        self.work_at(4)
        self.assertIn('request', self.lease(lease).waiting)
        self.assertEqual('active', self.ironic.there[node].provision_state)
        self.world.find_out()
        for _ in range(4):
            self.soon()
            self.world.find_out()
        self.assertIs(_STATUS.TERMINATED, self.lease(lease).status)
        self.assertEqual('available', self.ironic.there[node].provision_state)

    def test_lease_that_starts_meanwhile_gets_its_node_unflagged(self):
        self.leasing.hosts()
        lease = self.leasing.create(1, 4)
        self.at(0.999)
        self.world.restored()
        self.work_at(1)
        self.assertIs(_STATUS.STARTING, self.lease(lease).status)
        self.assertGreater(self.due(lease), self.world.clock())
        self.watch()
        self.assertFalse(self.lease(lease).degraded)
        self.world.find_out()
        self.soon()
        self.assertIs(_STATUS.ACTIVE, self.lease(lease).status)

    def test_restored_again_and_again_does_not_lose_the_lease(self):
        lease = self.started()
        for _ in range(3):
            self.world.restored()
            self.watch()
            self.soon()
        self.world.find_out()
        self.assertIs(_STATUS.ACTIVE, self.lease(lease).status)
        self.assertFalse(self.lease(lease).degraded)
        self.assertEqual([], self.world.in_flight())
