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

"""Only the lease requests a flavor's resources from Placement."""

from __future__ import annotations

import dataclasses

import hypothesis
from hypothesis import strategies as st
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
from ironic_reservations.model import mirrored_node
from tests.unit.model import flavors_of_all_kinds as all_kinds
from tests.unit.model import installed_nova

CLASS = names.class_of('reservation')
SLOT = 'CUSTOM_SLOT'
#: Extra specs that describe how servers are built; some of them are also
#: traits.
_OTHERS = st.lists(st.sampled_from((
    ('hw:mem_page_size', 'large'), ('os:secure_boot', 'required'),
    ('hw:cpu_thread_policy', 'prefer'), ('capabilities:boot_mode', 'uefi'),
    ('resources', 'what'), ('traits_of_mine', 'none')))).map(dict)
FLAVORS = st.builds(
    lambda flavor, others: dataclasses.replace(
        flavor, extra_specs={**flavor.extra_specs, **others}),
    all_kinds.FLAVORS, _OTHERS)


def private(flavor: flavors.Flavor) -> flavors.Flavor:
    """Return the private flavor that a lease has for another flavor."""
    made = private_flavors.of_instances(
        instance_reservations.InstanceRequest.of_flavor('f', flavor).reserved(
            'id', 'reservation', 1), False)
    return flavors.Flavor(
        *lease_providers.sizes_of(made),
        lease_providers.extra_specs(
            'reservation', made, lease_providers.Slots(SLOT, 'LEASES')))


def asked_by_lease(flavor: flavors.Flavor) -> tuple[
        dict[str, int], frozenset[str], frozenset[str]]:
    """Return the extra specs for servers, without held resources."""
    groups = flavors.read(flavor).groups
    return ({CLASS: 1, SLOT: 1},
            frozenset().union(*(group.required for group in groups)),
            frozenset().union(*(group.forbidden for group in groups)))


def reservable(flavor: flavors.Flavor) -> bool:
    """Return whether some host could match the flavor."""
    try:
        instance_flavors.request(flavor)
    except flavors.FlavorRefused:
        return False
    _, required, forbidden = asked_by_lease(flavor)
    return not required & forbidden


class TestPrivateFlavors(testtools.TestCase):

    @hypothesis.given(FLAVORS.filter(reservable))
    def test_servers_ask_for_the_lease_and_the_traits_only(
            self, flavor: flavors.Flavor) -> None:
        """All other extra specs of the flavor stay."""
        made = private(flavor)
        self.assertEqual({'': asked_by_lease(flavor)},
                         all_kinds.as_nova(flavors.read(made)))
        self.assertEqual(
            {key: value for key, value in flavor.extra_specs.items()
             if not flavors.asks(key)},
            {key: value for key, value in made.extra_specs.items()
             if not flavors.asks(key)})
        self.assertEqual((flavor.disk_gb, flavor.ephemeral_gb,
                          flavor.swap_mb),
                         (made.disk_gb, made.ephemeral_gb, made.swap_mb))

    def test_nova_accepts_the_flavor_of_any_node(self) -> None:
        """An owner who wrote many digits kept a lease from its offer."""
        most = flavors.MAX_AMOUNT
        made = private_flavors.of_hosts([mirrored_node.Node(
            'node', properties=(('cpus', '9' * 254), ('local_gb', '0'),
                                ('memory_mb', str(most + 1))))])
        self.assertEqual((most, most, 1),
                         (made.vcpus, made.memory_mb, made.disk_gb))

    def test_so_they_do_by_the_installed_nova(self) -> None:
        nova = self.useFixture(installed_nova.InstalledNova())

        # The first call takes as long as Nova takes to start.
        @hypothesis.settings(deadline=None)
        @hypothesis.given(FLAVORS.filter(reservable))
        def check(flavor: flavors.Flavor) -> None:
            self.assertEqual(({'': asked_by_lease(flavor)}, None),
                             nova.read(private(flavor)))
        check()
