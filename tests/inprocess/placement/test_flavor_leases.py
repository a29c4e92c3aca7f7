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

"""Leases of flavors, from what Nova says of them to the last server.

Where servers go is asked of the real Placement, as Nova's scheduler does.
"""

import dataclasses
from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import placement
from ironic_reservations.engine import hosts
from ironic_reservations.features.placement import compute_mirror
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import small_nova
from tests import world
from tests.inprocess.placement import beside
from tests.inprocess.placement import ground
from tests.inprocess.placement import in_memory

SLOT, LEASE_SLOT = in_memory.SLOT, in_memory.LEASE_SLOT
ZEROS = {f'resources:{name}': '0' for name in machine.SIZES}
GOLD = {**ZEROS, 'resources:CUSTOM_GOLD': '1'}


def named(flavor_id: str, amount: int = 1) -> leases.LeaseReservationRequest:
    """Ask for instances of a flavor."""
    return leases.LeaseReservationRequest(
        amount, amount, flavor_id=flavor_id,
        resource_type=instance_reservations.FLAVOR_INSTANCE)


class _Flavors:
    """Of a test case with a Placement and a Nova.

    :ivar client: of the Placement.
    """

    world: world.World
    engine: engine_module.Engine
    client: placement.Placement
    endpoint: str

    def begin(self) -> None:
        """Have a Nova, and somebody who works."""
        self.nova = self.useFixture(small_nova.SmallNova())
        self.nova.deleted = self.client.delete_allocations
        self.engine = dataclasses.replace(
            self.engine, nova=self.nova.client, clock=self.world.clock)
        self.leasing = leasing.Leasing(self.world, self.engine)
        self.crew = lease_workers.LeaseWorkers(self.engine)
        self.providers = in_memory.Nodes(self.client)
        self.client.ensure_class(SLOT)
        self.client.ensure_class(LEASE_SLOT)

    def traits(self, provider: str, *traits: str) -> None:
        """Have Placement say which traits a host has."""
        in_memory.put_traits(in_memory.sender_to(self.endpoint), self.client,
                             provider, *traits)

    def node(self, *traits: str) -> str:
        """Return a gold node that is open to leases."""
        uuid, = self.world.enrol(resource_class='gold',
                                 traits=frozenset(traits))
        self.providers.add(uuid)
        self.providers.offer(uuid, {in_memory.GOLD: in_memory.ONE,
                                    SLOT: in_memory.ONE,
                                    LEASE_SLOT: in_memory.ONE})
        self.traits(uuid, *traits)
        hosts.add(self.engine, uuid, {})
        return uuid

    def host(self, *traits: str, **there: Any) -> str:
        """Return a compute host that is open to leases."""
        uuid = self.providers.add_host(**there)
        self.traits(uuid, *traits)
        hosts.add(self.engine, uuid, {})
        return uuid

    def work(self, hours: float) -> None:
        """Have all be worked on that is due then."""
        self.world.clock.now = leasing.at(hours)
        for _ in range(2):
            self.crew.one_pass()
            self.world.clock.advance(400)
        self.crew.one_pass()

    def started(self, *wishes: leases.LeaseReservationRequest) -> leases.Lease:
        """Return a lease that has started."""
        lease = self.leasing.create(1, 4, *wishes)
        self.work(1)
        lease = self.leasing.reload(lease)
        self.assertIs(leases.LeaseStatus.ACTIVE, lease.status, lease.waiting)
        return lease

    def ways(self, flavor_id: str) -> list[dict[str, Any]]:
        """Ask where Nova could put a server of a flavor now."""
        shown = self.nova.flavors[flavor_id].document
        request = flavors.read(flavors.Flavor(
            shown['vcpus'], shown['ram'], shown['disk'],
            shown['OS-FLV-EXT-DATA:ephemeral'], shown['swap'] or 0,
            shown['extra_specs']))
        return self.client.candidates(request.query())

    def boot(self, flavor_id: str) -> str:
        """Have a server of a flavor run, and return its host."""
        way = self.ways(flavor_id)[0]
        uuid = self.nova.boot(flavor_id, leasing.PROJECT)
        answer = self.client.put_allocations(uuid, in_memory.wanted(
            way, consumer_type='INSTANCE'))
        self.assertTrue(answer.done, answer)
        host, = (each for each, has in way.items()
                 if {SLOT, LEASE_SLOT} & has.keys())
        return host

    def reserved(self, lease: leases.Lease, place: int, host: str,
                 slot: str = SLOT) -> list[dict[str, Any]]:
        """Return the only way to a server of a reservation."""
        name = names.class_of(lease.reservations[place].id)
        return [{host: {slot: 1},
                 names.child_of(host): {name: 1}}]


class _Life(_Flavors):
    """To be run on each database."""

    def setUp(self) -> None:
        super().setUp()
        self.begin()

    def test_servers_get_what_their_flavor_was(self) -> None:
        """On a node by its class, and on a compute host in shares."""
        plain, fast, host = self.node(), self.node('CUSTOM_FAST'), self.host(
            'CUSTOM_SSD')
        self.nova.flavor('7', 'bm.gold', 64, 1024, 500, extra_specs={
            **GOLD, 'trait:CUSTOM_FAST': 'required',
            'capabilities:boot_mode': 'uefi'})
        self.nova.flavor('8', 'bm.any', extra_specs=GOLD)
        self.nova.flavor('9', 'double', 2, 512, 5, ephemeral=10, swap=1000,
                         extra_specs={'resources:VCPU': '4',
                                      'trait:CUSTOM_SSD': 'required',
                                      'hw:mem_page_size': 'large'})
        lease = self.started(named('7'), named('double', 2))
        self.assertEqual({fast, host}, self.leasing.nodes(lease))
        node, share = (each.id for each in lease.reservations)
        self.assertEqual([[], []], [self.ways('7'), self.ways('9')])
        self.assertEqual([{plain: {'CUSTOM_GOLD': 1}}], self.ways('8'))
        self.assertEqual(self.reserved(lease, 0, fast), self.ways(node))
        self.assertEqual(self.reserved(lease, 1, host, LEASE_SLOT),
                         self.ways(share))
        self.assertEqual((64, 1024, 500, 0, ''), self.sizes(node))
        self.assertEqual((2, 512, 5, 10, 1000), self.sizes(share))
        self.assertEqual('uefi', self.nova.flavors[node].extra_specs[
            'capabilities:boot_mode'])
        self.assertEqual('large', self.nova.flavors[share].extra_specs[
            'hw:mem_page_size'])

        self.assertEqual([fast, host, host], [
            self.boot(each) for each in (node, share, share)])
        self.assertEqual([[], []], [self.ways(node), self.ways(share)])
        self.assertEqual({'DISK_GB': 32, 'MEMORY_MB': 1024, 'VCPU': 8,
                          LEASE_SLOT: 2}, self.usage(host))
        self.work(4)
        self.assertIs(leases.LeaseStatus.TERMINATED,
                      self.leasing.reload(lease).status)
        self.assertEqual({}, self.nova.servers)
        self.assertEqual({'7', '8', '9'}, {*self.nova.flavors})
        self.assertEqual([{}, {}], [self.usage(fast), self.usage(host)])
        self.assertEqual(([{fast: {'CUSTOM_GOLD': 1}}], [host]), (
            self.ways('7'), [*self.ways('9')[0]]))

    def sizes(self, flavor_id: str) -> tuple[Any, ...]:
        """Read what Nova makes servers of a flavor with."""
        shown = self.nova.flavors[flavor_id].document
        return (shown['vcpus'], shown['ram'], shown['disk'],
                shown['OS-FLV-EXT-DATA:ephemeral'], shown['swap'])

    def usage(self, host: str) -> dict[str, int]:
        """Read what is used of a host."""
        return {name: used for name, used
                in (self.client.usages(host) or {}).items() if used}


class _OnDatabases(_Life, beside.Beside):
    """With rows and a Placement over a real database."""


class TestOnMariaDB(_OnDatabases, world.TestCase):

    kind = 'mysql'


class TestOnPostgreSQL(_OnDatabases, world.TestCase):

    kind = 'postgresql'


class TestInMemory(_Life, ground.TestCase):
    """And what one of them is enough for."""

    def setUp(self) -> None:
        super().setUp()
        self.endpoint = self.there.endpoint

    def test_classes_of_all_groups_are_held_and_asked_for_once(self) -> None:
        """A group's traits count on the host that has its resources."""
        host, other = self.host('CUSTOM_NET'), self.host()
        for each in (host, other):
            self.client.ensure_class('CUSTOM_NIC')
            self.providers.offer_also(each, 'CUSTOM_NIC', total=4, max_unit=4)
        self.crew_looks_at_hosts()
        self.nova.flavor('1', 'nic', 1, 1, 1, extra_specs={
            'resources_net:CUSTOM_NIC': '2',
            'trait_net:CUSTOM_NET': 'required', 'group_policy': 'none'})
        lease = self.started(named('nic', 2))
        self.assertEqual({host}, self.leasing.nodes(lease))
        self.assertEqual(4, self.usage(host)['CUSTOM_NIC'])
        self.assertEqual([], self.ways('1'))
        ident = lease.reservations[0].id
        self.assertEqual(self.reserved(lease, 0, host, LEASE_SLOT),
                         self.ways(ident))
        self.assertEqual([host, host], [self.boot(ident) for _ in range(2)])
        self.assertEqual(4, self.usage(host)['CUSTOM_NIC'])

    def crew_looks_at_hosts(self) -> None:
        """Have what compute hosts have be read anew."""
        compute_mirror.ComputeMirror(self.engine).refresh()

    def test_amount_that_grows_is_of_the_flavor_as_it_was(self) -> None:
        host = self.host()
        self.nova.flavor('1', 'double', 2, 512, 5, extra_specs={
            'resources:VCPU': '4'})
        lease = self.started(named('1'))
        self.nova.flavor('1', 'double', 8, 8192, 50)
        self.leasing.resize_instances(lease, 2)
        self.work(2)
        ident = lease.reservations[0].id
        self.assertEqual({'DISK_GB': 10, 'MEMORY_MB': 1024, 'VCPU': 8},
                         self.usage(host))
        self.assertEqual((2, 512, 5, 0, ''), self.sizes(ident))
        self.assertEqual([host, host], [self.boot(ident) for _ in range(2)])
