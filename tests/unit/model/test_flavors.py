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

"""Flavors and classes of nodes: read as Nova reads them, or refused."""

import hypothesis
from hypothesis import strategies as st
import os_resource_classes
import testscenarios
import testtools

from ironic_reservations.model import flavors
from tests.unit.model import flavors_of_all_kinds as all_kinds
from tests.unit.model import installed_nova
from tests.unit.model import nova_flavors

SIZES = {'VCPU': 4, 'MEMORY_MB': 8192, 'DISK_GB': 40}
NO_SIZES = {'resources:VCPU': '0', 'resources:MEMORY_MB': '0',
            'resources:DISK_GB': '0'}
GOLD = {'resources:CUSTOM_GOLD': '1'}


def flavor(specs=None, **sizes):
    """Return a flavor of 4 VCPU, 8 GB and 40 GB."""
    return flavors.Flavor(**{'vcpus': 4, 'ram_mb': 8192, 'disk_gb': 40,
                             'extra_specs': specs or {}, **sizes})


def totals(specs=None, **sizes):
    """Read a flavor, and return the sums by class."""
    return flavors.read(flavor(specs, **sizes)).totals()


_NO_VCPU = {'MEMORY_MB': 8192, 'DISK_GB': 40}
#: The requested amount of each class, by extra specs and sizes.
_TOTALS = {
    'sizes_are_asked_for_by_default': ({}, {}, SIZES),
    'custom_class_is_added_to_the_sizes':
        (GOLD, {}, {**SIZES, 'CUSTOM_GOLD': 1}),
    'zero_removes_a_size': ({'resources:VCPU': '0'}, {}, _NO_VCPU),
    'zeros_and_a_custom_class_are_the_bare_metal_flavor':
        ({**NO_SIZES, **GOLD}, {}, {'CUSTOM_GOLD': 1}),
    'amount_overrides_a_size':
        ({'resources:VCPU': '2'}, {}, {**SIZES, 'VCPU': 2}),
    'zero_in_a_group_removes_the_size_too':
        ({'resources1:VCPU': '0'}, {}, _NO_VCPU),
    'pcpu_takes_the_place_of_vcpu':
        ({'resources:PCPU': '2'}, {}, {**_NO_VCPU, 'PCPU': 2}),
    'same_class_in_two_groups_is_summed':
        ({'resources:CUSTOM_GOLD': '2', 'resources_b:CUSTOM_GOLD': '3'}, {},
         {**SIZES, 'CUSTOM_GOLD': 5}),
    'ephemeral_disk_is_disk':
        ({}, {'ephemeral_gb': 20}, {**SIZES, 'DISK_GB': 60}),
    'boot_from_volume_drops_the_root_disk':
        ({}, {'boots_from_volume': True, 'ephemeral_gb': 20, 'swap_mb': 5},
         {**SIZES, 'DISK_GB': 21}),
    'boot_from_volume_without_other_disks':
        ({}, {'boots_from_volume': True}, {'VCPU': 4, 'MEMORY_MB': 8192}),
    'other_keys_are_of_no_account': (
        {'quota:vif': '1', 'resource:VCPU': 'x', 'resources': 'x',
         'capabilities:boot_mode': 'uefi', 'hw:cpu_policy': 'shared',
         'hw:mem_encryption': 'false'}, {}, SIZES),
    **{f'swap_of_{swap}_is_rounded_up_to_gigabytes':
       ({}, {'swap_mb': swap}, {**SIZES, 'DISK_GB': disk})
       for swap, disk in ((0, 40), (1, 41), (1024, 41), (1025, 42))},
    **{f'amount_{text!r}_is_what_int_reads':
       ({'resources:CUSTOM_GOLD': text}, {}, {**SIZES, 'CUSTOM_GOLD': amount})
       for text, amount in ((' 1 ', 1), ('+1', 1), ('1_0', 10), ('007', 7))}}


class TestTotals(testscenarios.WithScenarios, testtools.TestCase):
    """Each line of the table of Nova's interpretation of extra specs."""

    scenarios = [(name, dict(zip(('specs', 'sizes', 'expected'), row,
                                 strict=True)))
                 for name, row in _TOTALS.items()]

    def test_totals(self):
        self.assertEqual(self.expected, totals(self.specs, **self.sizes))


class TestResources(testtools.TestCase):

    def test_amount_in_a_group_takes_the_place_of_the_size(self):
        request = flavors.read(flavor({'resources1:VCPU': '2'}))
        self.assertEqual({**SIZES, 'VCPU': 2}, request.totals())
        self.assertEqual((('VCPU', 2),), request.groups[1].resources)

    def test_standard_classes_are_those_of_openstack(self):
        self.assertEqual(set(os_resource_classes.STANDARDS),
                         flavors.STANDARD)


class TestTraits(testtools.TestCase):

    def test_traits_go_with_their_group(self):
        request = flavors.read(flavor(
            {**GOLD, 'trait:CUSTOM_A': 'required',
             'trait:CUSTOM_B': 'forbidden', 'trait_net:CUSTOM_C': 'required',
             'resources_net:CUSTOM_NIC': '2'}))
        plain, net = request.groups
        self.assertEqual(({'CUSTOM_A'}, {'CUSTOM_B'}),
                         (plain.required, plain.forbidden))
        self.assertEqual(('_net', {'CUSTOM_C'}, (('CUSTOM_NIC', 2),)),
                         (net.suffix, net.required, net.resources))

    def test_query_is_what_placement_takes(self):
        request = flavors.read(flavor(
            {**NO_SIZES, **GOLD, 'resources1:VGPU': '1',
             'trait1:CUSTOM_A': 'required', 'trait1:CUSTOM_B': 'forbidden',
             'resources2:VGPU': '1', 'group_policy': 'isolate'}))
        self.assertEqual(
            [('resources', 'CUSTOM_GOLD:1'), ('resources1', 'VGPU:1'),
             ('required1', 'CUSTOM_A,!CUSTOM_B'), ('resources2', 'VGPU:1'),
             ('group_policy', 'isolate')], request.query())

    def test_other_keys_become_traits_as_with_nova(self):
        request = flavors.read(flavor(
            {'os:secure_boot': 'required', 'hw:maxphysaddr_mode': 'emulate',
             'hw:pci_numa_affinity_policy': 'socket'}))
        self.assertEqual(
            {'COMPUTE_SECURITY_UEFI_SECURE_BOOT',
             'COMPUTE_ADDRESS_SPACE_EMULATED',
             'COMPUTE_SOCKET_PCI_NUMA_AFFINITY'}, request.groups[0].required)

    def test_dedicated_cpus_are_pcpus(self):
        dedicated = {'hw:cpu_policy': 'dedicated'}
        self.assertEqual({**SIZES, 'PCPU': 4, 'VCPU': None},
                         {'VCPU': None, **totals(dedicated)})
        self.assertEqual(5, totals(
            {**dedicated, 'hw:emulator_threads_policy': 'isolate'})['PCPU'])
        isolated, = flavors.read(flavor(
            {**dedicated, 'hw:cpu_thread_policy': 'isolate'})).groups
        required, = flavors.read(flavor(
            {**dedicated, 'hw:cpu_thread_policy': 'require'})).groups
        self.assertEqual(isolated.forbidden, required.required)
        self.assertEqual({'HW_CPU_HYPERTHREADING'}, required.required)


class TestRefusals(testtools.TestCase):
    """Keys that Nova drops with a warning, or that Placement answers with 400.
    """

    def refused(self, key, specs, **sizes):
        error = self.assertRaises(flavors.FlavorRefused, totals, specs,
                                  **sizes)
        self.assertEqual(key, error.key)
        self.assertIn(key.strip(), str(error))

    def test_amounts_that_nova_drops(self):
        for text in ('-1', 'one', '1.0', '', ' ', '1e3', '0x10', '1__0',
                     '9' * 5000, str(2 ** 31)):
            self.refused('resources:CUSTOM_GOLD',
                         {'resources:CUSTOM_GOLD': text})

    def test_classes_that_nova_drops_or_placement_refuses(self):
        for name in ('GOLD', 'vcpu', 'custom_gold', 'CUSTOM_gold-1', '',
                     'CUSTOM_', 'CUSTOM_GOLD\n', ' VCPU',
                     'CUSTOM_' + 'A' * 249):
            self.refused(f'resources:{name}', {f'resources:{name}': '1'})

    def test_traits_that_nova_drops_or_placement_refuses(self):
        self.refused('trait:CUSTOM_A', {'trait:CUSTOM_A': 'maybe'})
        self.refused('trait:CUSTOM_A', {'trait:CUSTOM_A': 'Required'})
        self.refused('trait:custom-a', {'trait:custom-a': 'required'})
        self.refused('trait:', {'trait:': 'required'})

    def test_groups_that_cannot_be_named(self):
        for suffix in ('a' * 65, '!', ' net', 'é'):
            self.refused(f'resources{suffix}:VCPU',
                         {f'resources{suffix}:VCPU': '1'})
            self.refused(f'trait{suffix}:CUSTOM_A',
                         {f'trait{suffix}:CUSTOM_A': 'required'})

    def test_group_policy_that_nova_drops(self):
        self.refused('group_policy', {'group_policy': 'any'})

    def test_several_groups_without_a_policy(self):
        groups = {'resources1:VGPU': '1', 'resources2:VGPU': '1'}
        self.refused('group_policy', groups)
        self.assertEqual(2, totals({**groups, 'group_policy': 'none'})['VGPU'])

    def test_trait_of_a_group_without_resources(self):
        self.refused('trait1:CUSTOM_A', {'trait1:CUSTOM_A': 'required',
                                         'resources1:VGPU': '0'})
        self.refused('trait:CUSTOM_A',
                     {**NO_SIZES, 'trait:CUSTOM_A': 'required',
                      'resources1:CUSTOM_GOLD': '1'})

    def test_trait_that_is_required_and_forbidden(self):
        self.refused('hw:cpu_thread_policy',
                     {'hw:cpu_policy': 'dedicated',
                      'hw:cpu_thread_policy': 'isolate',
                      'trait:HW_CPU_HYPERTHREADING': 'required'})

    def test_flavor_that_asks_for_nothing(self):
        self.refused('', NO_SIZES)
        self.refused('', {}, vcpus=0, ram_mb=0, disk_gb=0)

    def test_sizes_that_are_none(self):
        self.refused('swap_mb', {}, swap_mb=-1)
        self.refused('vcpus', {}, vcpus=2 ** 31)

    def test_keys_that_ask_for_what_cannot_be_known(self):
        for key, value in (('accel:device_profile', 'fpga'),
                           ('hw:pmem', '6GB'), ('hw:tpm_version', '2.0'),
                           ('hw:mem_encryption', 'True'),
                           ('hw:cpu_policy', 'mixed'),
                           ('hw:cpu_policy', 'pinned'),
                           ('hw:cpu_thread_policy', 'isolate'),
                           ('hw:emulator_threads_policy', 'isolate')):
            self.refused(key, {key: value})
        self.refused('hw:cpu_policy', {'hw:cpu_policy': 'dedicated',
                                       'resources:PCPU': '4'})


class TestClassOfNode(testtools.TestCase):

    def test_name_is_that_of_nova(self):
        for name, expected in (
                ('baremetal-gold', 'CUSTOM_BAREMETAL_GOLD'),
                ('Baremetal Gold', 'CUSTOM_BAREMETAL_GOLD'),
                ('CUSTOM_GOLD', 'CUSTOM_CUSTOM_GOLD'),
                ('--a..b--', 'CUSTOM__A_B_'), ('größe', 'CUSTOM_GR_E'),
                ('ß', 'CUSTOM__'), ('1', 'CUSTOM_1')):
            self.assertEqual(expected, flavors.class_of_node(name))

    def test_node_without_a_class_has_none(self):
        self.assertRaises(ValueError, flavors.class_of_node, '')
        self.assertRaises(ValueError, flavors.class_of_node, None)

    def test_name_has_to_fit(self):
        self.assertEqual(255, len(flavors.class_of_node('a' * 248)))
        self.assertRaises(ValueError, flavors.class_of_node, 'a' * 249)

    def test_collisions_are_found(self):
        self.assertEqual(
            {'CUSTOM_A_B': ['A B', 'a-b']},
            flavors.collisions(['a-b', 'A B', 'gold', 'gold', 'ab']))

    @hypothesis.given(st.text(min_size=1, max_size=80))
    def test_every_other_name_is_one_of_openstack(self, name):
        self.assertEqual(os_resource_classes.normalize_name(name),
                         flavors.class_of_node(name))
        self.assertRegex(flavors.class_of_node(name), r'\ACUSTOM_[A-Z0-9_]+\Z')


class TestAgainstNova(testtools.TestCase):
    """A flavor is read as Nova reads it, or refused; nothing gets lost."""

    @hypothesis.given(all_kinds.FLAVORS)
    @hypothesis.example(flavors.Flavor(
        vcpus=0, ram_mb=0, disk_gb=0, swap_mb=1,
        extra_specs={'resources:CUSTOM_gold-1': '0'}))
    def test_flavor_is_read_as_nova_reads_it_or_refused(self, any_flavor):
        reading = nova_flavors.read(any_flavor)
        try:
            request = flavors.read(any_flavor)
        except flavors.FlavorRefused as refused:
            self.assertTrue(reading.dropped or
                            not nova_flavors.taken_by_placement(reading),
                            refused)
            return
        self.assertEqual([], reading.dropped)
        self.assertTrue(nova_flavors.taken_by_placement(reading))
        self.assertEqual(reading.groups, all_kinds.as_nova(request))
        self.assertEqual(reading.policy, request.group_policy)


class TestAgainstTheInstalledNova(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.nova = self.useFixture(installed_nova.InstalledNova())

    def test_it_reads_as_is_told_here(self):
        # The first call takes as long as Nova takes to start.
        @hypothesis.settings(deadline=None)
        @hypothesis.given(all_kinds.FLAVORS)
        def check(any_flavor):
            reading = nova_flavors.read(any_flavor)
            self.assertEqual((reading.groups, reading.policy),
                             self.nova.read(any_flavor))
        check()

    def test_it_reads_dedicated_cpus_as_we_do(self):
        for specs in ({}, {'hw:cpu_thread_policy': 'isolate'},
                      {'hw:cpu_thread_policy': 'require'},
                      {'hw:emulator_threads_policy': 'isolate'},
                      {'hw:cpu_thread_policy': 'prefer',
                       'os:secure_boot': 'required'}):
            pinned = flavor({'hw:cpu_policy': 'dedicated', **specs})
            self.assertEqual(all_kinds.as_nova(flavors.read(pinned)),
                             self.nova.read(pinned)[0])
