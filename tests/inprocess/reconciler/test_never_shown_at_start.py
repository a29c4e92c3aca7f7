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

"""A node that Ironic never shows kept its lease from starting, for ever.

Other nodes were free, and Ironic showed them.
"""

from tests import leasing
from tests.inprocess.reconciler import leases


class TestNeverShownAtStart(leases.TestCase):

    def setUp(self):
        super().setUp()
        self.nodes = self.leasing.hosts(4)

    def make(self, count=1, wanted=''):
        """Return a lease that starts now, with the uuids of its nodes."""
        self.made = self.leasing.create(
            0, 10, leasing.wish(count, properties=wanted))
        return [each.node_uuid for each in self.made.bookings]

    def held(self):
        """Return the nodes of the lease."""
        return {each.node_uuid for each in self.lease(self.made).bookings}

    def test_only_node_is_replaced(self):
        failing, = self.make()
        self.ironic.fails.add(failing)
        self.soon(4, times=5)
        self.assertEqual({failing}, self.held())
        self.soon(4, times=30)
        self.assert_status(leases.STATUS.ACTIVE, self.made)
        self.assertNotIn(failing, self.held())

    def test_one_of_three_is_replaced(self):
        failing, *others = self.make(3)
        self.ironic.fails.add(failing)
        self.soon(4, times=40)
        self.assert_status(leases.STATUS.ACTIVE, self.made)
        self.assertEqual({*self.nodes} - {failing}, self.held())

    def test_next_ones_are_not_shown_either(self):
        failing, = self.make()
        last = self.nodes[-1] if failing != self.nodes[-1] else self.nodes[0]
        self.ironic.fails.update({*self.nodes} - {last})
        self.soon(4, times=60)
        self.assertEqual({last}, self.held())
        self.assert_status(leases.STATUS.ACTIVE, self.made)

    def test_nothing_moves_while_ironic_is_down(self):
        before = {*self.make(3)}
        self.ironic.fails.update(self.nodes)
        self.soon(4, times=60)
        self.assertEqual(before, self.held())
        self.assertIn('Ironic answered 500', self.lease(self.made).waiting)

    def test_nothing_moves_where_no_other_node_is_free(self):
        before = {*self.make(4)}
        self.ironic.fails.add(self.nodes[0])
        self.soon(4, times=40)
        self.assertEqual(before, self.held())

    def test_node_that_the_lease_names_stays(self):
        failing, = self.make(wanted=f'["==", "$node_uuid", "{self.nodes[0]}"]')
        self.ironic.fails.add(failing)
        self.soon(4, times=40)
        self.assertEqual({failing}, self.held())
