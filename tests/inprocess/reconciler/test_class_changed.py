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

"""Facts that change under a promise: what was asked for is what is given.

A node that was promised to a lease of gold became silver, and the lease
started on it, nothing flagged, though a gold one was free.
"""

from ironic_reservations.engine.leases import heal as lease_heal
from tests import leasing
from tests.inprocess.reconciler import leases

GOLD = leasing.wish_of('gold')


class TestClassChanged(leases.TestCase):

    def silver(self, node):
        self.ironic.change(node, resource_class='silver')

    def changed(self):
        """Return a lease to come, its node, now silver, and another one."""
        nodes = {*self.leasing.hosts(2, resource_class='gold')}
        lease = self.leasing.create(1, 3, GOLD)
        (changed,) = self.leasing.nodes(lease)
        self.silver(changed)
        return lease, changed, nodes - {changed}

    def test_lease_to_come_leaves_a_node_that_is_not_what_it_asked_for(self):
        lease, changed, others = self.changed()
        self.watch()
        self.assertEqual(others, self.leasing.nodes(lease))
        self.assertEqual((False, False), self.flags(lease))
        # And does not come back.
        self.ironic.change(changed, resource_class='gold')
        for _ in range(2):
            self.watch()
            self.assertEqual(others, self.leasing.nodes(lease))

    def test_all_that_can_be_asked_for_counts(self):
        """Properties and traits as well as classes."""
        for before, after, asked in (
                ({'properties': (('cpus', '8'),)},
                 {'properties': (('cpus', '4'),)}, '[">=", "$vcpus", "8"]'),
                ({'traits': frozenset({'CUSTOM_FAST'})},
                 {'traits': frozenset()},
                 '["==", "$traits", "CUSTOM_FAST"]')):
            self.leasing.hosts(2, **before)
            lease = self.leasing.create(1, 3, leasing.wish(properties=asked))
            (changed,) = self.leasing.nodes(lease)
            self.ironic.change(changed, **after)
            self.watch()
            self.assertNotEqual({changed}, self.leasing.nodes(lease))

    def test_lease_without_another_node_is_flagged_and_keeps_its_place(self):
        (node,) = self.leasing.hosts(1, resource_class='gold')
        lease = self.leasing.create(1, 3, GOLD)
        self.silver(node)
        self.watch()
        self.assertEqual((True, True), self.flags(lease))
        self.leasing.refused(1, 2)
        told = len(self.heard.told)
        self.watch()
        self.assertEqual(told, len(self.heard.told))
        self.ironic.change(node, resource_class='gold')
        self.watch()
        self.assertEqual((False, False), self.flags(lease))
        self.assertEqual({node}, self.leasing.nodes(lease))

    def test_lease_does_not_start_where_another_node_is_what_it_asks(self):
        """Seen at the start, although no pass came by before."""
        lease, changed, others = self.changed()
        self.work_at(1)
        self.assertEqual(others, self.leasing.nodes(lease))
        self.assert_status(leases.STATUS.ACTIVE, lease)
        self.assertEqual((False, False), self.flags(lease))
        self.assertIsNone(self.ironic.there[changed].lessee)

    def test_lease_that_finds_no_other_node_starts_and_is_flagged(self):
        (node,) = self.leasing.hosts(1, resource_class='gold')
        lease = self.leasing.create(1, 3, GOLD)
        self.silver(node)
        self.work_at(1)
        self.assert_status(leases.STATUS.ACTIVE, lease)
        self.assertEqual((True, True), self.flags(lease))
        for _ in range(2):
            self.watch()
            self.assertEqual((True, True), self.flags(lease))
        (gold,) = self.leasing.hosts(1, resource_class='gold')
        self.watch()
        self.assertEqual({node}, self.leasing.nodes(lease))
        self.leasing.change(lease, heal=True)
        self.assertEqual({gold}, self.leasing.nodes(lease))
        self.watch()
        self.assertEqual((False, False), self.flags(lease))

    def test_started_lease_is_flagged_and_stays(self):
        self.leasing.hosts(2, resource_class='gold')
        lease = self.leasing.create(0, 3, GOLD)
        self.work()
        (node,) = self.leasing.nodes(lease)
        self.silver(node)
        self.watch()
        self.assertEqual(({node}, (True, True)),
                         (self.leasing.nodes(lease), self.flags(lease)))
        self.ironic.change(node, resource_class='gold')
        self.watch()
        self.assertEqual((False, False), self.flags(lease))

    def test_reservation_of_a_node_is_for_the_node(self):
        """Whatever it has become."""
        (node,) = self.leasing.hosts(1, resource_class='gold')
        held = self.world.reserve(node, ttl=3600)
        self.silver(node)
        self.watch()
        self.assertEqual('reserved', self.world.state_of(held))

    def test_state_that_was_asked_for_is_one_at_the_start(self):
        """Who asks for an available node gets one, whoever has it before."""
        (node,) = self.leasing.hosts(1)
        lease = self.leasing.create(1, 3, leasing.wish(
            properties='["==", "$status", "available"]'))
        before = self.leasing.create(0, 1)
        self.work()
        self.ironic.deploy(node)
        self.watch()
        self.assertEqual((False, False), self.flags(lease))
        self.assertEqual({node}, self.leasing.nodes(before))

    def test_healing_twice_changes_nothing_more(self):
        self.leasing.hosts(3, resource_class='gold')
        made = [self.leasing.create(1, 3, GOLD) for _ in range(2)]
        for lease in made:
            for node in self.leasing.nodes(lease):
                self.silver(node)
        self.leasing.refresh()
        lease_heal.heal(self.engine)
        there = [self.leasing.nodes(lease) for lease in made]
        for _ in range(3):
            self.assertEqual(0, lease_heal.heal(self.engine))
            self.assertEqual(there, [self.leasing.nodes(lease)
                                     for lease in made])
