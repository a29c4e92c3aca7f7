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

import dataclasses

from ironic_reservations.clouds import placement
from ironic_reservations.features.placement.lease_providers import (
    calls as lease_provider_calls,
)
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names
from tests import small_nova
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import reserved

#: What Nova writes allocations by.
_NOVAS = (1, 36)


class TestMigrationConsumer(reserved.TestCase):

    def _resized(self, wanted: machine.Desired, host: str,
                 migration: str | None = None) -> str:
        """Have the class be a migration's, and return its uuid."""
        migration = migration or world.new_uuid()
        nova = placement.Placement(self.there.sender(), placement.ADMIN)
        nova.version, nova._old_until = _NOVAS, float('inf')
        answer = nova.put_allocations(migration, in_memory.wanted(
            {host: {reserved.SLOT: 1}, names.child_of(host): {
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
            in_memory.wanted({names.child_of(host): {
                wanted.class_name: 1}}), generation=there.generation)).done)
        self.brought(dataclasses.replace(wanted, active=False))
        self.assert_nothing()
        self.assertEqual({}, self.client.consumer(migration).allocations)

    def _known(self) -> tuple[machine.Desired, str, str]:
        """Return a lease whose server Nova has resized, and both uuids."""
        host = self.host()
        wanted = self.brought(self.wanted({host: 1}))
        server = self.nova.boot(wanted.reservation_id)
        migration = self.nova.resize(server, 'plain')
        self._resized(wanted, host, migration)
        self.nova.confirmed = self.client.delete_allocations
        return dataclasses.replace(wanted, active=False), server, migration

    def test_resize_away_from_a_lease_is_confirmed_when_it_ends(self) -> None:
        """Reverted, it had the flavor of the lease that was over, uncounted.

        Another project then leased the whole host, and booted on it: 16 VCPUs
        of 10 were in use, and the audit said that nothing was wrong.
        """
        wanted, server, migration = self._known()
        self.brought(wanted)
        self.assert_nothing()
        left = self.nova.servers[server]
        self.assertEqual(('ACTIVE', 'plain'), (left.status, left.flavor))
        self.assertEqual({}, self.client.consumer(migration).allocations)

    def test_resize_to_another_lease_is_confirmed_too(self) -> None:
        """Reverted, the server outlived both leases."""
        wanted, server, _ = self._known()
        other = self.brought(self.wanted({}))
        self.nova.servers[server].flavor = other.reservation_id
        self.brought(wanted)
        self.assert_active(other)
        self.assertEqual('ACTIVE', self.nova.servers[server].status)

    def test_resize_under_way_is_waited_for(self) -> None:
        wanted, server, migration = self._known()
        for status in ('pre-migrating', 'migrating', 'post-migrating',
                       'reverting', 'confirming'):
            self.nova.servers[server].status = 'RESIZE'
            self.nova.migrations[migration].status = status
            self.assertEqual((
                f'the resize of the server {server} has yet to be confirmed '
                'or reverted',), self.bring(wanted))
        self.assertEqual({wanted.class_name}, self.classes())
        self.nova.servers[server].status = 'VERIFY_RESIZE'
        self.nova.migrations[migration].status = 'finished'
        self.brought(wanted)
        self.assert_nothing()

    def test_migration_that_has_failed_has_nothing_left(self) -> None:
        """Nova reverts none that has failed, and deletes no allocations."""
        wanted, server, migration = self._known()
        self.nova.migrations[migration].status = 'error'
        left = self.nova.servers[server]
        left.status, left.task_state = 'ERROR', 'resize_reverting'
        self.assertEqual((
            f'the migration {migration} of the server {server} has ended '
            'or failed, and still has its allocations, which Nova may still '
            'change',), self.bring(wanted))
        self.assertEqual({wanted.class_name}, self.classes())
        left.task_state = None
        self.brought(wanted)
        self.assert_nothing()
        self.assertIn(server, self.nova.servers)
        self.assertEqual([{reserved.SLOT: 1}], [
            *self.client.consumer(migration).allocations.values()])

    def test_nova_deletes_what_a_migration_has_after_its_end(self) -> None:
        """We were quicker: 409 for Nova, whose server was then in ERROR."""
        wanted, server, migration = self._known()
        there = self.nova.migrations[migration]
        there.status = 'confirmed'
        there.changed = f'{self.engine.clock():%Y-%m-%dT%H:%M:%SZ}'
        self.nova.servers[server].status = 'ACTIVE'
        self.assertEqual((
            f'the migration {migration} of the server {server} has ended or '
            'failed, and still has its allocations, which Nova may still '
            'change',), self.bring(wanted))
        self.assertIn({wanted.class_name: 1}, [
            *self.client.consumer(migration).allocations.values()])
        # Nova has died in between.
        self.world.clock.advance(61)
        self.brought(wanted)
        self.assert_nothing()

    def test_server_that_failed_to_leave_the_lease_is_deleted_first(
            self) -> None:
        """It has the flavor of the lease again, and its migration the class.
        """
        wanted, server, migration = self._known()
        self.nova.migrations[migration].status = 'error'
        self.nova.servers[server].flavor = wanted.reservation_id
        self.nova.deleting = True
        self.assertNotEqual((), self.bring(wanted))
        self.assertEqual({wanted.class_name}, self.classes())
        self.nova.vanish()
        self.brought(wanted)
        self.assert_nothing()

    def test_failed_migration_is_told_where_servers_are_left(self) -> None:
        wanted, server, migration = self._known()
        self.nova.migrations[migration].status = 'error'
        wanted = dataclasses.replace(wanted, servers=machine.Servers.WAIT)
        self.assertEqual((
            f'the migration {migration} of the server {server} has ended '
            'or failed, and still has its allocations',),
            self.bring(wanted))

    def test_failed_migrations_are_read_no_further_than_needed(self) -> None:
        """Nova keeps each that has ever failed."""
        wanted, _, migration = self._known()
        self.nova.migrations[migration].status = 'error'
        self.nova.migrations.update({
            f'ffffffff-0000-0000-0000-{number:012}': small_nova.Migration(
                world.new_uuid(), 'plain', 'error') for number in range(9)})
        self.nova.asked.clear()
        seen = lease_provider_calls.observe(self.engine, wanted)
        self.assertEqual({migration}, seen.resizes.keys())
        self.assertEqual(len(lease_provider_calls._UNDER_WAY) + 2,
                         self.nova.asked.count('GET /v2.1/os-migrations'))

    def test_where_servers_are_left_the_owner_is_waited_for(self) -> None:
        wanted, server, _ = self._known()
        wanted = dataclasses.replace(wanted, servers=machine.Servers.WAIT)
        self.assertIn(f'the resize of the server {server} has yet',
                      self.bring(wanted)[0])
        self.assertTrue(self.nova.client.confirm_resize(server).done)
        self.brought(wanted)
        self.assert_nothing()

    def test_resize_of_a_server_that_is_gone_keeps_nothing(self) -> None:
        wanted, server, _ = self._known()
        del self.nova.servers[server]
        self.brought(wanted)
        self.assert_nothing()
