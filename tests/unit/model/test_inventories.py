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

"""Inventories of hosts and needs of instances, as Placement counts them."""

import dataclasses

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.model import flavors
from ironic_reservations.model import host_inventories
from ironic_reservations.model import inventories
from ironic_reservations.model import mirrored_node

HOST = {'VCPU': inventories.Inventory(8, 2, 2.0, 1, 4),
        'MEMORY_MB': inventories.Inventory(4096, 0, 1.5, 512, 4096, 512),
        'DISK_GB': inventories.Inventory(100)}


def _request(**extra_specs):
    return flavors.read(flavors.Flavor(
        2, 1024, 10, extra_specs={
            key.replace('__', ':'): value
            for key, value in extra_specs.items()}))


class TestCapacity(testtools.TestCase):

    def test_reserved_is_taken_off_before_the_ratio(self):
        self.assertEqual(12, HOST['VCPU'].capacity)
        self.assertEqual(6144, HOST['MEMORY_MB'].capacity)

    def test_more_reserved_than_there_is_leaves_nothing(self):
        self.assertEqual(0, inventories.Inventory(4, 8, 16.0).capacity)

    @hypothesis.given(
        st.integers(0, 10 ** 6), st.integers(0, 10 ** 6),
        st.floats(0.0625, 64), st.integers(0, 10 ** 7), st.integers(1, 9))
    def test_takes_what_placement_would(self, total, reserved, ratio, used,
                                        wanted):
        """Placement compares the sum with the product."""
        reserved = min(reserved, total)
        self.assertEqual(
            (total - reserved) * ratio >= used + wanted,
            inventories.Inventory(total, reserved, ratio).capacity
            >= used + wanted)


class TestRoom(testtools.TestCase):

    def test_empty_host_has_room_up_to_its_limits(self):
        self.assertIs(True, inventories.has_room(
            HOST, inventories.of_sizes(4, 4096, 100)))

    def test_each_limit_counts_alone(self):
        """More than a unit, less, no multiple, and more than there is."""
        for size in (5, 512, 1), (1, 256, 1), (1, 600, 1), (1, 512, 101):
            self.assertIs(False, inventories.has_room(
                HOST, inventories.of_sizes(*size)), size)
        self.assertIs(False, inventories.has_room(HOST, (('PCPU', 1),)))

    def test_class_of_which_none_is_needed_may_be_missing(self):
        diskless = {name: HOST[name] for name in ('VCPU', 'MEMORY_MB')}
        self.assertIs(True, inventories.has_room(
            diskless, inventories.of_sizes(1, 512, 0)))

    def test_instance_that_needs_nothing_is_refused(self):
        self.assertRaises(ValueError, inventories.of_sizes, 0, 0, 0)
        self.assertRaises(ValueError, inventories.of_sizes, -1, 512, 0)


class TestNodes(testtools.TestCase):

    def test_node_has_its_sizes_and_one_of_its_class(self):
        node = mirrored_node.Node(
            'u', resource_class='baremetal-gold', properties=(
                ('cpus', '16'), ('memory_mb', '65536'), ('local_gb', '1000')))
        there = host_inventories.of(node)
        self.assertEqual({'VCPU': 16, 'MEMORY_MB': 65536, 'DISK_GB': 1000,
                          'CUSTOM_BAREMETAL_GOLD': 1},
                         inventories.capacities(there))
        self.assertIs(True, inventories.has_room(
            there, inventories.of_sizes(16, 65536, 1000)))
        self.assertIs(False, inventories.has_room(
            there, inventories.of_sizes(17, 1, 1)))

    def test_size_that_ironic_does_not_know_is_no_size(self):
        for value in ('', 'None', '-4', '4.5', '\u0664'):
            self.assertEqual({}, host_inventories.of(mirrored_node.Node(
                'u', properties=(('cpus', value),))))

    def test_flavor_of_a_class_goes_to_nodes_of_the_class(self):
        request = _request(
            resources__CUSTOM_GOLD='1', resources__VCPU='0',
            resources__MEMORY_MB='0', resources__DISK_GB='0',
            trait__CUSTOM_FAST='required', trait__CUSTOM_OLD='forbidden')
        self.assertEqual((('CUSTOM_GOLD', 1),),
                         inventories.of_request(request))
        for resource_class, traits, expected in (
                ('gold', {'CUSTOM_FAST'}, True), ('gold', (), False),
                ('gold', {'CUSTOM_FAST', 'CUSTOM_OLD'}, False),
                ('silver', {'CUSTOM_FAST'}, False)):
            node = mirrored_node.Node('u', resource_class=resource_class,
                                      traits=frozenset(traits))
            self.assertEqual(expected, inventories.suits(
                request, host_inventories.of(node), node.traits))


class TestFlavors(testtools.TestCase):

    def test_sizes_of_all_groups_are_one_need(self):
        request = _request(resources_a__VCPU='2', resources_b__VCPU='3',
                           group_policy='none')
        self.assertEqual(
            (('DISK_GB', 10), ('MEMORY_MB', 1024), ('VCPU', 5)),
            inventories.of_request(request))
        self.assertTrue(inventories.suits(request, HOST, frozenset()))

    def test_all_groups_together_have_to_fit(self):
        request = _request(resources_a__DISK_GB='60',
                           resources_b__DISK_GB='60', group_policy='none')
        self.assertFalse(inventories.suits(request, HOST, frozenset()))

    def test_groups_of_different_providers_are_refused(self):
        refused = self.assertRaises(
            flavors.FlavorRefused, inventories.of_request,
            _request(resources_a__VCPU='2', resources_b__VCPU='3',
                     group_policy='isolate'))
        self.assertEqual('group_policy', refused.key)

    def test_each_way_to_write_an_amount_is_one_value(self):
        self.assertEqual(
            inventories.amounts({'VCPU': 1, 'DISK_GB': 2, 'PCPU': 0}),
            inventories.amounts({'DISK_GB': 2, 'VCPU': 1}))

    def test_inventory_is_a_value(self):
        self.assertEqual(HOST['DISK_GB'], dataclasses.replace(
            HOST['DISK_GB'], total=100))
