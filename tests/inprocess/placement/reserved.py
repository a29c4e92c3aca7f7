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

"""A Placement and a Nova for leases of instances."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import nova
from ironic_reservations.features.placement.lease_providers import converge
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names
from tests import small_nova
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import ground
from tests.inprocess.placement import in_memory

SLOT = in_memory.SLOT
SLOTS = machine.Slots(SLOT, in_memory.LEASE_SLOT)
PROJECT = 'a-project'
FLAVOR = machine.DesiredFlavor(2, 4096, 10)

Offers = dict[str, dict[str, tuple[int, int]]]


class TestCase(ground.TestCase):
    """With hosts that have slots."""

    def setUp(self) -> None:
        super().setUp()
        self.nova = self.useFixture(small_nova.SmallNova())
        self.to_nova = faults.Network(self.nova.sender())
        self.engine = dataclasses.replace(
            self.engine, nova=nova.Nova(self.to_nova, authenticated=False))
        self.nova.deleted = self.client.delete_allocations
        self.client.ensure_class(SLOT)
        self.client.ensure_class(in_memory.LEASE_SLOT)

    def host(self, slots: int = 4) -> str:
        """Make the provider of a host as nova-compute does, and return it."""
        host = self.enrol()
        self.nodes.offer_also(host, SLOT, total=slots)
        return host

    def wanted(self, counts: Mapping[str, int], **more: Any
               ) -> machine.Desired:
        """Return a reservation that is active."""
        return machine.Desired(**{
            'reservation_id': world.new_uuid(), 'project_id': PROJECT,
            'counts': counts, 'active': True, 'flavor': FLAVOR, **more})

    def bring(self, wanted: machine.Desired,
              engine: engine_module.Engine | None = None
              ) -> tuple[str, ...]:
        """Have a pass made."""
        return converge.bring(engine or self.engine, wanted)

    def brought(self, wanted: machine.Desired) -> machine.Desired:
        """Have passes made that come to an end, and return what was wanted."""
        self.assertEqual((), self.bring(wanted))
        return wanted

    def mortal(self, steps: faults.Steps) -> engine_module.Engine:
        """Return the engine of a process that dies at a step."""
        return faults.mortal(self.engine, self.there.sender(), steps,
                             self.nova.sender())

    def boot(self, wanted: machine.Desired, host: str,
             known: bool = True) -> str:
        """Have a server run by the lease, as Nova's scheduler claims it.

        :param known: whether Nova still knows it.
        """
        uuid = world.new_uuid()
        answer = self.try_boot(wanted, host, uuid)
        self.assertTrue(answer.done, answer)
        if known:
            self.nova.boot(wanted.reservation_id, PROJECT, uuid=uuid)
        return uuid

    def try_boot(self, wanted: machine.Desired, host: str, uuid: str
                 ) -> Any:
        """Claim what the flavor asks for."""
        return self.client.put_allocations(uuid, in_memory.wanted(
            {host: {self.slot(host): 1}, names.child_of(host): {
                wanted.class_name: 1}}, consumer_type='INSTANCE'))

    def slot(self, host: str) -> str:
        """Return what the scheduler finds a host by."""
        return SLOT

    def offers(self) -> Offers:
        """Return (total, reserved) of each class of a reservation, by host."""
        found: Offers = {}
        for provider in self.client.providers():
            there = self.client.inventories(provider.uuid)
            assert there is not None
            ours = {name: (offer['total'], offer['reserved'])
                    for name, offer in there.by_class.items()
                    if names.reservation_of(name) is not None}
            if ours:
                self.assertEqual(
                    names.child_of(provider.parent or ''),
                    provider.uuid)
                found[provider.parent or ''] = ours
        return found

    def classes(self) -> set[str]:
        """Return the classes of reservations."""
        return {name for name in self.client.classes()
                if name.startswith(names.PREFIX)}

    def assert_active(self, *wanted: machine.Desired) -> None:
        """All is there that these are to have, and nothing else."""
        expected: Offers = {}
        for each in wanted:
            for host, total in each.counts.items():
                expected.setdefault(host, {})[each.class_name] = (total, 0)
        self.assertEqual(expected, self.offers())
        self.assertEqual({each.class_name for each in wanted},
                         self.classes())
        self.assertEqual(
            {each.reservation_id: (machine.extra_specs(
                each.reservation_id, each.flavor, SLOTS), {each.project_id})
             for each in wanted if each.flavor is not None},
            {ident: (flavor.extra_specs, flavor.projects)
             for ident, flavor in self.nova.flavors.items()})

    def assert_nothing(self) -> None:
        """Nothing is left of any reservation but empty providers."""
        self.assert_active()
