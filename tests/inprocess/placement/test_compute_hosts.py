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

"""Compute hosts that an operator opens to leases."""

import dataclasses

from ironic_reservations import errors
from ironic_reservations.engine import hosts
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.lease_providers import names
from ironic_reservations.model import inventories
from ironic_reservations.model import mirrored_node
from tests import leasing
from tests import world
from tests.inprocess.placement import ground
from tests.inprocess.placement import in_memory


class TestAdd(ground.TestCase):

    def inventories(self, uuid: str) -> dict[str, inventories.Inventory]:
        """Read what a compute host has, from its row."""
        return dict(hosts.find(self.engine, uuid).node.inventories or ())

    def test_compute_host_is_opened_by_its_name_and_by_its_uuid(
            self) -> None:
        for number, by_name in enumerate((True, False)):
            uuid = self.nodes.add_host(f'compute-{number}', VCPU=4.0)
            made = hosts.add(self.engine, f'compute-{number}' if by_name
                             else uuid.upper(), {'rack': 'a'})
            host = hosts.get(self.engine, made.id)
            self.assertEqual(made, host)
            self.assertEqual(
                (uuid, f'compute-{number}', True, None, {'rack': 'a'}),
                (host.node.uuid, host.node.name, host.node.compute,
                 host.node.provision_state, dict(host.capabilities)))
            there = self.inventories(uuid)
            self.assertEqual((32, 16384, 200), tuple(
                there[name].capacity
                for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')))
            self.assertEqual(8, there['VCPU'].max_unit)

    def test_what_others_use_is_counted_and_what_is_held_is_not(
            self) -> None:
        uuid = self.nodes.add_host()
        self.nodes.serve(uuid, VCPU=2, MEMORY_MB=512)
        self.client.put_allocations(consumers.fresh(), in_memory.wanted(
            {uuid: {'VCPU': 3}}))
        hosts.add(self.engine, uuid, {})
        there = self.inventories(uuid)
        self.assertEqual((2, 6, 512, 0), (
            there['VCPU'].used, there['VCPU'].capacity,
            there['MEMORY_MB'].used, there['DISK_GB'].used))

    def test_traits_are_known_and_a_disabled_service_is_maintenance(
            self) -> None:
        uuid, disabled = self.nodes.add_host(), self.nodes.add_host()
        for host, *traits in ((uuid, 'HW_CPU_X86_AVX2'),
                              (disabled, 'COMPUTE_STATUS_DISABLED')):
            self.there.trait(host, *traits)
            hosts.add(self.engine, host, {})
        self.assertEqual(
            [(False, {'HW_CPU_X86_AVX2'}), (True, {
                'COMPUTE_STATUS_DISABLED'})],
            [(found.maintenance, set(found.traits)) for found in (
                hosts.find(self.engine, each).node
                for each in (uuid, disabled))])

    def test_node_of_ironic_comes_first(self) -> None:
        node, = self.world.enrol()
        self.nodes.add_host(node)
        self.assertFalse(hosts.add(self.engine, node, {}).node.compute)

    def test_what_is_no_compute_host_is_none(self) -> None:
        """A node's provider, a child, what has no VCPUs, what is not there.
        """
        host = self.nodes.add_host('compute-1')
        child = names.child_of(host)
        self.client.create_provider(child, 'a child', host)
        self.nodes.offer(child, {'VCPU': in_memory.ONE})
        of_a_node = self.nodes.add()
        unequipped = self.nodes.add()
        self.world.ironic.put(mirrored_node.Node(of_a_node))
        self.nodes.offer(of_a_node, {'VCPU': in_memory.ONE})
        self.world.ironic.answers_nothing = True
        for name in (child, 'a child', unequipped, 'compute', 'compute-10',
                     ' compute-1', world.new_uuid(), '?&=/%'):
            refused = self.assertRaises(errors.HostNotFound, hosts.add,
                                        self.engine, name, {})
            self.assertIn('Ironic has no node', str(refused))
            self.assertIn('Placement has no compute host', str(refused))
        self.assertEqual([], hosts.page(self.engine))

    def test_node_that_ironic_knows_by_its_uuid_only_is_no_compute_host(
            self) -> None:
        node = self.nodes.add_host('called so in Placement')
        self.world.ironic.put(mirrored_node.Node(node))
        self.assertRaises(errors.HostNotFound, hosts.add, self.engine,
                          'called so in Placement', {})

    def test_compute_host_is_added_once(self) -> None:
        uuid = self.nodes.add_host('compute-1')
        other = dataclasses.replace(self.world.another_engine(),
                                    placement=self.engine.placement)
        self.world.before_next_write(lambda: hosts.add(other, uuid, {}))
        for _ in range(2):
            refused = self.assertRaises(errors.HostExists, hosts.add,
                                        self.engine, 'compute-1', {})
            self.assertIn('compute host compute-1', str(refused))
        self.assertEqual(1, len(hosts.page(self.engine)))

    def test_placement_that_is_down_is_told(self) -> None:
        """What Ironic has can be opened all the same."""
        self.nodes.add_host('compute-1')
        node = self.enrol()
        self.network.down = True
        self.assertRaises(errors.PlacementUnavailable, hosts.add,
                          self.engine, 'compute-1', {})
        hosts.add(self.engine, node, {})

    def test_without_placement_only_ironic_is_asked(self) -> None:
        self.nodes.add_host('compute-1')
        refused = self.assertRaises(errors.HostNotFound, hosts.add,
                                    self.world.engine, 'compute-1', {})
        self.assertNotIn('Placement', str(refused))

    def test_class_is_one_of_ironic(self) -> None:
        self.nodes.add_host()
        node = self.enrol()
        self.assertEqual([node], [host.node.uuid for host in hosts.add_class(
            self.engine, 'gold', {})])


class TestRemove(ground.TestCase):

    def test_nothing_of_it_is_left_but_what_nova_may_know(self) -> None:
        """Trap 1: its reservation provider stays."""
        uuid = self.nodes.add_host()
        child = names.child_of(uuid)
        self.client.create_provider(child, child, uuid)
        self.there.trait(uuid, 'HW_CPU_X86_AVX2')
        host = hosts.add(self.engine, uuid, {'rack': 'a'})
        hosts.remove(self.engine, host.id)
        self.assertEqual(({}, set(), []), (
            self.world.mirrored(), self.world.traits(uuid),
            hosts.page(self.engine)))
        self.assertEqual({}, leasing.Leasing(self.world).stale())
        self.assertEqual(uuid, self.client.provider(child).parent)
        self.assertEqual(uuid, hosts.add(self.engine, uuid, {}).node.uuid)

    def test_node_of_ironic_stays_mirrored(self) -> None:
        node = self.enrol()
        hosts.remove(self.engine, hosts.add(self.engine, node, {}).id)
        self.assertEqual({node}, self.world.mirrored().keys())
