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

"""The class of a lease in the hands of a migration of Nova.

A server of the lease is resized to another flavor, and nobody has confirmed
it: what it had before is the migration's now, a consumer that Nova wrote by a
version of Placement's API that knows no types.  Such a type reads "unknown",
and cannot be written.  The lease was DELETING for ever.
"""

from __future__ import annotations

import dataclasses

from ironic_reservations.clouds import placement
from ironic_reservations.engine.placement import lease_provider_calls
from ironic_reservations.lifecycle.placement import lease_providers as machine
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import reserved

#: What Nova writes allocations by.
_NOVAS = (1, 36)


class TestMigrationConsumer(reserved.TestCase):

    def _resized(self, wanted: machine.Desired, host: str) -> str:
        """Have the class be a migration's, and return its uuid."""
        migration = world.new_uuid()
        nova = placement.Placement(self.there.sender(), placement.ADMIN)
        nova.version, nova._old_until = _NOVAS, float('inf')
        answer = nova.put_allocations(migration, in_memory.wanted(
            {host: {reserved.SLOT: 1}, lease_provider_calls.child_of(host): {
                wanted.class_name: 1}}))
        self.assertTrue(answer.done, answer)
        self.assertEqual(placement.NO_TYPE, self.client.consumer(
            migration).consumer_type)
        return migration

    def test_lease_that_ends_takes_the_class_back_from_it(self) -> None:
        """Whatever else it has is Nova's, and stays as it is."""
        host = self.host()
        for servers in (machine.Servers.DELETE, machine.Servers.LEAVE):
            wanted = self.brought(self.wanted({host: 1}))
            migration = self._resized(wanted, host)
            self.brought(dataclasses.replace(wanted, active=False,
                                             servers=servers))
            self.assert_nothing()
            there = self.client.consumer(migration)
            self.assertEqual(({host: {reserved.SLOT: 1}}, placement.NO_TYPE),
                             (there.allocations, there.consumer_type))

    def test_migration_that_has_the_class_alone_has_nothing_left(
            self) -> None:
        host = self.host()
        wanted = self.brought(self.wanted({host: 1}))
        migration = self._resized(wanted, host)
        there = self.client.consumer(migration)
        nova = placement.Placement(self.there.sender(), placement.ADMIN)
        nova.version, nova._old_until = _NOVAS, float('inf')
        self.assertTrue(nova.put_allocations(migration, dataclasses.replace(
            in_memory.wanted({lease_provider_calls.child_of(host): {
                wanted.class_name: 1}}), generation=there.generation)).done)
        self.brought(dataclasses.replace(wanted, active=False))
        self.assert_nothing()
        self.assertEqual({}, self.client.consumer(migration).allocations)
