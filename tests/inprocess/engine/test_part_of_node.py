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

"""A node that has a parent in Ironic is promised with that one only."""

from ironic_reservations import errors
from ironic_reservations.engine import hosts
from ironic_reservations.engine import leasable
from ironic_reservations.engine.leases import heal as lease_heal
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.engine import timelines


@servers.also
class TestPartOfNode(timelines.TestCase):
    """The holder of its parent would power it off."""

    def adopt(self, node):
        """Give a node a parent, and have the mirror see it."""
        parent = world.new_uuid()
        self.world.change(node, parent_node=parent)
        return parent

    def test_no_new_lease_gets_it(self):
        (node,) = self.leasing.hosts(1)
        parent = self.adopt(node)
        refused = self.leasing.refused(1, 2)
        self.assertIn('is a part of another node', str(refused))
        # Its project may see neither of them.
        self.assertNotIn(parent, str(refused.details))
        self.world.change(node, parent_node=None)
        self.assertEqual({node}, self.leasing.nodes(self.leasing.create(1, 2)))

    def test_lease_to_come_leaves_it(self):
        self.leasing.hosts(2)
        made = self.leasing.create(1, 2)
        (node,) = self.leasing.nodes(made)
        self.adopt(node)
        self.assertEqual(1, lease_heal.heal(self.engine))
        self.assertNotEqual({node}, self.leasing.nodes(made))

    def test_lease_that_has_started_keeps_it(self):
        """As a host that is closed; it is not extended there."""
        self.leasing.hosts(2)
        made = self.leasing.started(0, 2)
        (node,) = self.leasing.nodes(made)
        parent = self.adopt(node)
        self.assertEqual({node}, self.leasing.nodes(made))
        refused = self.assert_refused(errors.LeaseRefused, made, end=3)
        self.assertIn(f'is a part of node {parent}', str(refused))

    def test_it_is_not_opened(self):
        """By name, by class or with all nodes."""
        (node,) = self.world.enrol(resource_class='gold')
        parent = self.adopt(node)
        refused = self.assertRaises(errors.InvalidValue, hosts.add,
                                    self.engine, node, {})
        self.assertIn(parent, str(refused))
        self.assertRaises(errors.HostNotFound, hosts.add_class, self.engine,
                          'gold', {})
        self.configure(hosts='all')
        leasable.sync(self.engine)
        self.assertEqual([], hosts.page(self.engine))
        self.world.change(node, parent_node=None)
        leasable.sync(self.engine)
        self.assertEqual([node], [host.node.uuid for host in hosts.page(
            self.engine)])
        self.leasing.create(1, 2, leasing.wish(1))

    def test_its_host_is_deleted(self):
        """With all nodes, which opened no such node again."""
        self.configure(hosts='all')
        (node,) = self.leasing.hosts(1)
        host = self.leasing.host_id(node)
        self.assertRaises(errors.HostDecided, hosts.remove, self.engine, host)
        self.adopt(node)
        hosts.remove(self.engine, host)
        leasable.sync(self.engine)
        self.assertEqual([], hosts.page(self.engine))
