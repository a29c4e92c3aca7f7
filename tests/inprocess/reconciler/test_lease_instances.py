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

"""The flavor that the instances of a reservation are made with."""

import testtools

from ironic_reservations.features.placement.lease_providers import (
    machine as lease_providers,
)
from ironic_reservations.features.placement.lease_providers import names
from ironic_reservations.features.placement.lease_providers import (
    private_flavors,
)
from ironic_reservations.model import flavors
from ironic_reservations.model import instance_flavors
from ironic_reservations.model import instance_reservations


def specs(request=None, source=None):
    """Return what servers ask for besides the class of the reservation."""
    wanted = instance_reservations.InstanceReservation(
        'id', 'reservation', 2, 512, 5, 1, request=request, flavor=source)
    flavor = private_flavors.of_instances(wanted, False)
    assert (flavor.vcpus, flavor.memory_mb, flavor.disk_gb) == wanted.sizes
    found = lease_providers.extra_specs(
        'reservation', flavor, lease_providers.Slots('SLOT', 'LEASES'))
    del found['resources:' + names.class_of('reservation')]
    return found


ZEROS = {'resources:VCPU': '0', 'resources:MEMORY_MB': '0',
         'resources:DISK_GB': '0', 'resources:SLOT': '1'}


class TestFlavor(testtools.TestCase):

    def test_held_sizes_are_asked_for_as_zeros(self):
        """The hold on the host has them already."""
        self.assertEqual(ZEROS, specs())

    def test_flavor_that_was_named_leaves_its_traits(self):
        """What it asks of the node is held; what the node is like is not."""
        self.assertEqual(
            {**ZEROS, 'trait:CUSTOM_A': 'required',
             'trait:CUSTOM_B': 'forbidden'},
            specs(flavors.Request((flavors.Group(
                '', (('CUSTOM_GOLD', 1),), frozenset({'CUSTOM_A'}),
                frozenset({'CUSTOM_B'})),), None)))

    def test_what_is_held_of_a_compute_host_is_asked_for_once(self):
        """All classes, also those of groups, and the sizes it overrides."""
        source = flavors.Flavor(2, 512, 5, ephemeral_gb=7, swap_mb=100,
                                extra_specs={
            'resources:VCPU': '4', 'resources_gpu:VGPU': '1',
            'trait_gpu:CUSTOM_FAST': 'required',
            'resources_net:CUSTOM_NIC': '2', 'group_policy': 'none',
            'hw:mem_page_size': 'large', 'quota:disk_read_iops_sec': '9'})
        self.assertEqual(
            {**ZEROS, 'trait:CUSTOM_FAST': 'required',
             'hw:mem_page_size': 'large', 'quota:disk_read_iops_sec': '9'},
            specs(instance_flavors.request(source), source))

    def test_disks_besides_the_root_disk_are_those_of_the_flavor(self):
        """Servers have them; what they need of the host is held already."""
        source = flavors.Flavor(2, 512, 5, ephemeral_gb=7, swap_mb=100)
        flavor = private_flavors.of_instances(
            instance_reservations.InstanceRequest.of_flavor(
                'f', source).reserved('id', 'reservation', 1), False)
        self.assertEqual((2, 512, 5, 7, 100),
                         lease_providers.sizes_of(flavor))
