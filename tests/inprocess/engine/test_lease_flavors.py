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

"""Leases of instances whose flavor is read from Nova, or comes with them."""

import dataclasses
from typing import Any
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from tests import leasing
from tests import small_nova
from tests.inprocess.engine import timelines

#: What a flavor of bare metal asks for.
GOLD = {'resources:CUSTOM_GOLD': '1', 'resources:VCPU': '0',
        'resources:MEMORY_MB': '0', 'resources:DISK_GB': '0'}


def named(flavor_id: str, amount: int = 1) -> leases.LeaseReservationRequest:
    """Ask for instances of a flavor of Nova."""
    return leases.LeaseReservationRequest(
        amount, amount, flavor_id=flavor_id,
        resource_type=instance_reservations.FLAVOR_INSTANCE)


def given(flavor: flavors.Flavor,
          amount: int = 1) -> leases.LeaseReservationRequest:
    """Ask for instances of a flavor that comes with the request."""
    return leases.LeaseReservationRequest(
        amount, amount,
        resource_type=instance_reservations.FLAVOR_INSTANCE,
        instances=instance_reservations.InstanceRequest.of_flavor('f', flavor))


class TestCase(timelines.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.nova = self.useFixture(small_nova.SmallNova())
        self.engine = dataclasses.replace(self.engine, nova=self.nova.client)
        self.leasing = leasing.Leasing(self.world, self.engine)

    def nodes(self, count: int = 1, **known: Any) -> list[str]:
        """Open gold nodes to leases."""
        return self.leasing.hosts(count, **{
            'resource_class': 'gold', 'properties': leasing.sizes(4), **known})

    def wanted(self, lease: leases.Lease
               ) -> instance_reservations.InstanceReservation:
        """Read what the only reservation of a lease asks for."""
        (reservation,) = self.leasing.reload(lease).reservations
        assert reservation.instances is not None
        return reservation.instances


class TestNodes(TestCase):

    def test_flavor_of_bare_metal_gets_nodes_of_its_class(self) -> None:
        """Whatever sizes it says: Nova offers nodes by their class."""
        self.nodes(resource_class='silver')
        gold = self.nodes(2)
        self.nova.flavor('7', 'bm.gold', 64, 1, 500, extra_specs=GOLD)
        made = self.leasing.create(1, 3, named('7', 2))
        self.assertEqual(set(gold), self.leasing.nodes(made))
        wanted = self.wanted(made)
        self.assertEqual(made.reservations[0].instances, wanted)
        self.assertEqual(('7', (64, 1, 500), 2, None), (
            wanted.source_flavor_id, wanted.sizes, wanted.amount,
            wanted.affinity))
        self.assertEqual((('CUSTOM_GOLD', 1),), wanted.need.amounts)
        self.leasing.refused(2, 4, named('7'))
        self.assertEqual([], self.leasing.overlaps())

    def test_traits_that_it_names_count(self) -> None:
        self.nodes()
        self.nodes(traits=frozenset({'CUSTOM_FAST', 'CUSTOM_OLD'}))
        (fast,) = self.nodes(traits=frozenset({'CUSTOM_FAST'}))
        self.nova.flavor('7', 'bm.gold', extra_specs={
            **GOLD, 'trait:CUSTOM_FAST': 'required',
            'trait:CUSTOM_OLD': 'forbidden'})
        self.assertEqual({fast}, self.leasing.nodes(
            self.leasing.create(1, 3, named('7'))))
        refused = self.leasing.refused(1, 3, named('7', 2))
        self.assertIn('1 CUSTOM_GOLD', str(refused))
        self.assertIn('the traits CUSTOM_FAST, not CUSTOM_OLD', str(refused))

    def test_sizes_count_where_it_has_no_class(self) -> None:
        self.nodes(properties=leasing.sizes(2))
        (large,) = self.nodes(properties=leasing.sizes(4, local_gb=11))
        self.nova.flavor('1', 'small', 1, 512, 5, ephemeral=5, swap=1)
        self.assertEqual({large}, self.leasing.nodes(
            self.leasing.create(1, 3, named('1'))))


class TestComputeHosts(TestCase):

    def test_flavor_gets_a_share(self) -> None:
        """What it asks for, and not what it says: two servers a host."""
        hosts = self.leasing.compute_hosts(2, vcpus=8)
        self.nova.flavor('1', 'double', 2, 512, 5, extra_specs={
            'resources:VCPU': '4'})
        made = self.leasing.create(1, 3, named('1', 4))
        self.assertEqual(set(hosts), self.leasing.nodes(made))
        self.assertEqual(
            (('DISK_GB', 5), ('MEMORY_MB', 512), ('VCPU', 4)),
            self.wanted(made).need.amounts)
        self.assertEqual((2, 512, 5), self.wanted(made).sizes)
        refused = self.leasing.refused(2, 4, named('1'))
        self.assertEqual('shortage', self.code(refused))

    def test_all_disks_of_a_flavor_are_held(self) -> None:
        self.leasing.compute_hosts(disk_gb=17)
        self.nova.flavor('1', 'disks', 1, 1, 5, ephemeral=10, swap=1025)
        made = self.leasing.create(1, 3, named('1'))
        self.assertEqual(17, dict(self.wanted(made).need.amounts)['DISK_GB'])
        flavor = self.wanted(made).flavor
        assert flavor is not None
        self.assertEqual((5, 10, 1025), (
            flavor.disk_gb, flavor.ephemeral_gb, flavor.swap_mb))


class TestNames(TestCase):

    def test_flavor_is_found_by_its_name(self) -> None:
        self.nodes()
        for number in range(5):
            self.nova.flavor(f'id-{number}', f'flavor {number}', number + 1)
        made = self.leasing.create(1, 3, named('flavor 3'))
        self.assertEqual(4, self.wanted(made).vcpus)
        self.assertEqual('flavor 3', self.wanted(made).source_flavor_id)

    def test_each_name_in_a_request_had_nova_list_all_flavors(self) -> None:
        self.nodes(4)
        for number in range(4):
            self.nova.flavor(f'id-{number}', f'flavor {number}')
        with mock.patch.object(
                self.nova.client, 'flavors',
                side_effect=self.nova.client.flavors) as listed:
            self.leasing.create(1, 3, *(
                named(f'flavor {number}') for number in range(4)))
        self.assertEqual(1, listed.call_count)

    def test_id_comes_before_the_name_of_another(self) -> None:
        self.nodes()
        self.nova.flavor('1', '2', 1)
        self.nova.flavor('2', '1', 2)
        self.assertEqual(1, self.wanted(
            self.leasing.create(1, 3, named('1'))).vcpus)

    def test_nova_is_asked_once_a_flavor(self) -> None:
        self.nodes(3)
        self.nova.flavor('1', 'small')
        self.leasing.create(1, 3, named('1'), leasing.wish(), named('1'))
        self.assertEqual(['GET /v2.1/flavors/1'], self.nova.asked)

    def test_flavor_that_is_not_there(self) -> None:
        self.nodes()
        refused = self.assertRaises(
            errors.FlavorNotFound, self.leasing.create, 1, 3,
            leasing.wish(), named('none'))
        self.assertIn("reservations[1]: Nova has no flavor with the id or "
                      "name 'none'", str(refused))
        self.assertEqual([], self.leasing.rows())

    def test_private_flavor_is_for_those_who_may_use_it(self) -> None:
        """Others are told what they are told of one that is not there."""
        self.nodes(2)
        self.nova.flavor('secret', 'hidden', 3, public=False)
        self.nova.flavors['secret'].projects = {'theirs'}
        told = {str(self.assertRaises(
            errors.FlavorNotFound, self.leasing.create, 1, 3,
            named(ident))).replace(ident, '?')
            for ident in ('secret', 'hidden', 'nothing')}
        self.assertEqual(1, len(told))
        self.assertRaises(errors.FlavorNotFound, self.leasing.create, 1, 3,
                          named('secret'), project_id=None)
        for ident in ('secret', 'hidden'):
            self.leasing.create(1, 3, named(ident), project_id='theirs')

    def test_nova_that_is_down_is_told(self) -> None:
        self.nodes()
        self.nova.flavor('1', 'small')
        self.nova.answer = 503
        self.assertRaises(errors.NovaUnavailable, self.leasing.create, 1, 3,
                          named('1'))
        self.assertEqual([], self.leasing.rows())

    def test_without_nova_nobody_can_be_asked(self) -> None:
        self.nodes()
        refused = self.assertRaises(
            errors.InvalidValue, lease_create.create,
            dataclasses.replace(self.engine, nova=None),
            leasing.ask(1, 3, named('1')))
        self.assertIn('not connected to Nova', str(refused))

    def test_flavor_that_cannot_be_read_is_refused_by_its_key(self) -> None:
        self.nodes()
        for key, specs in (
                ('resources:CUSTOM_GOLD', {'resources:CUSTOM_GOLD': 'one'}),
                ('resources:GOLD', {'resources:GOLD': '1'}),
                ('trait:CUSTOM_A', {'trait:CUSTOM_A': 'perhaps'}),
                ('hw:pmem', {'hw:pmem': '6GB'}),
                ('hw:cpu_policy', {'hw:cpu_policy': 'dedicated'}),
                ('resources:PCPU', {'resources:PCPU': '1'}),
                ('group_policy', {'resources1:CUSTOM_A': '1', 'group_policy':
                             'isolate', 'resources2:CUSTOM_B': '1'}),
                ('requests no resources', {
                    'resources:VCPU': '0', 'resources:MEMORY_MB': '0',
                    'resources:DISK_GB': '0'}),
                ('extra specs', {f'hw:{number}': 'x' * 255
                                 for number in range(128)})):
            self.nova.flavor('1', 'bad', extra_specs=specs)
            refused = self.assertRaises(errors.InvalidValue,
                                        self.leasing.create, 1, 3, named('1'))
            self.assertIn(key, str(refused))
            self.assertIn("reservations[0]: the flavor '1'", str(refused))
        self.assertEqual([], self.leasing.rows())


class TestSent(TestCase):
    """A flavor that comes with the request, and Nova.

    The private flavor of the lease has its other properties, which only
    administrators may set in Nova.
    """

    def test_property_of_a_sent_flavor_gave_devices_that_nobody_leased(
            self) -> None:
        self.leasing.compute_hosts()
        for key, value in (('pci_passthrough:alias', 'gpu:8'),
                           ('quota:vif_outbound_peak', '0'),
                           ('os:secure_boot', 'required'),
                           ('aggregate_instance_extra_specs:x', 'y'),
                           ('resources', 'VCPU')):
            refused = self.assertRaises(
                errors.InvalidValue, self.leasing.create, 1, 3,
                leasing.wish(), given(flavors.Flavor(
                    1, 512, 5, extra_specs={key: value})))
            self.assertIn(f"reservations[1]: flavor: the extra spec '{key}'",
                          str(refused))
        self.assertEqual([], self.leasing.rows())

    def test_resources_and_traits_may_be_sent(self) -> None:
        self.nodes(traits=frozenset({'CUSTOM_FAST'}))
        made = self.leasing.create(1, 3, given(flavors.Flavor(
            1, 512, 5, extra_specs={**GOLD, 'group_policy': 'none',
                                    'trait:CUSTOM_FAST': 'required'})))
        self.assertEqual((('CUSTOM_GOLD', 1),), self.wanted(made).need.amounts)

    def test_flavor_without_nova_gives_nobody_anything(self) -> None:
        self.engine = dataclasses.replace(self.engine, nova=None)
        self.leasing = leasing.Leasing(self.world, self.engine)
        self.nodes()
        sent = flavors.Flavor(1, 512, 5, extra_specs={
            **GOLD, 'capabilities:boot_mode': 'uefi'})
        made = self.leasing.create(1, 3, given(sent))
        self.assertEqual(sent, self.wanted(made).flavor)


class TestAgain(TestCase):

    def test_request_is_served_once_whatever_the_flavor_has_become(
            self) -> None:
        self.nodes(2)
        self.nova.flavor('1', 'small')
        ask = leasing.ask(1, 3, named('1'), key='key')
        made = lease_create.create(self.engine, ask)
        self.nova.flavor('1', 'small', 4)
        self.assertEqual(made.id, lease_create.create(self.engine, ask).id)
        self.nova.answer = 503
        self.assertEqual(made.id, lease_create.create(self.engine, ask).id)
        self.assertRaises(
            errors.IdempotencyKeyReused, lease_create.create, self.engine,
            dataclasses.replace(ask, reservations=(named('2'),)))
        self.assertEqual(1, len(self.leasing.rows()))

    def test_update_keeps_what_the_flavor_was(self) -> None:
        """It is not asked for again."""
        fast = frozenset({'CUSTOM_FAST'})
        self.nodes(2, traits=fast)
        self.nodes(2)
        self.nova.flavor('7', 'bm.gold', extra_specs={
            **GOLD, 'trait:CUSTOM_FAST': 'required'})
        made = self.leasing.create(1, 3, named('7'))
        before = self.wanted(made)
        self.nova.flavors.clear()
        self.nova.asked.clear()
        self.leasing.resize_instances(made, 2)
        self.assertEqual(dataclasses.replace(before, amount=2),
                         self.wanted(made))
        self.assertRaises(errors.LeaseRefused, self.leasing.resize_instances,
                          made, 3)
        for change in ({'vcpus': 4}, {'affinity': True,
                                      'keeps_affinity': False}):
            self.assertRaises(errors.InvalidValue,
                              self.leasing.resize_instances, made, **change)
        self.assertEqual([], self.nova.asked)
        self.assertEqual({}, self.leasing.stale())

    def every_offer_is_accepted(self,
                                wish: leases.LeaseReservationRequest) -> None:
        self.nodes(2)
        self.leasing.create(4, 6, leasing.wish())
        kinds = set()
        for offer in self.leasing.refused(3, 5, wish).details['offers']:
            kinds.add(offer['kind'])
            made = self.leasing.post(offer)
            self.assertEqual((('CUSTOM_GOLD', 1),),
                             self.wanted(made).need.amounts)
            self.assertEqual('flavor:instance',
                             made.reservations[0].resource_type)
            self.leasing.end(made)
        self.assertEqual({'later', 'earlier', 'shorter', 'fewer'}, kinds)

    def test_every_offer_is_accepted_as_it_is(self) -> None:
        self.nova.flavor('7', 'bm.gold', extra_specs=GOLD)
        self.every_offer_is_accepted(named('bm.gold', 2))

    def test_every_offer_without_nova_is_accepted_as_it_is(self) -> None:
        self.every_offer_is_accepted(given(flavors.Flavor(
            1, 1, 1, 1, 1, extra_specs=GOLD), 2))
        self.assertEqual([], self.nova.asked)

    def test_flavor_of_no_size_at_all(self) -> None:
        """Nova has none, and a document may say so."""
        self.nodes()
        made = self.leasing.create(1, 3, given(flavors.Flavor(
            0, 0, 0, extra_specs=GOLD)))
        self.assertEqual((0, 0, 0), self.wanted(made).sizes)
