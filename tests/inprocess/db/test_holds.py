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


"""Rows of holds, on each database: see test_use_cases."""

from __future__ import annotations

import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import holds as db_holds
from ironic_reservations.db import providers_seen
from ironic_reservations.db import tables
from ironic_reservations.lifecycle.placement import holds
from tests import servers
from tests import world

_LATER = world.NOON + datetime.timedelta(seconds=80)


@servers.also
class TestReleased(world.TestCase):
    """MariaDB takes the columns of an UPDATE one by one, the others not."""

    def setUp(self) -> None:
        super().setUp()
        self.database = self.new_world().engine.database

    def released(self, state: holds.HoldState) -> holds.Hold:
        """Have a hold released that nothing is promised for, and return it."""
        with self.database.write() as connection:
            before = db_holds.insert(connection, holds.Hold(
                0, world.new_uuid(), world.new_uuid(), world.new_uuid(),
                (('CUSTOM_GOLD', 1),), 'a-project', 'a-user', state,
                world.NOON, _LATER, confirmed=True))
            self.assertEqual(1, db_holds.release_forsaken(
                connection, world.NOON, 10))
            after = db_holds.read(connection, before.id)
        assert after is not None
        self.assertIs(holds.HoldState.RELEASING, after.state)
        return after

    def test_what_nobody_works_on_is_due_at_once(self) -> None:
        self.assertEqual(world.NOON,
                         self.released(holds.HoldState.ACTIVE).deadline)

    def test_what_somebody_works_on_keeps_its_deadline(self) -> None:
        self.assertEqual(_LATER,
                         self.released(holds.HoldState.PROMISING).deadline)


@servers.also
class TestReleaseBefore(world.TestCase):
    """It may run beside this one, and knows three of the columns by others."""

    def setUp(self) -> None:
        super().setUp()
        self.database = self.new_world().engine.database

    def execute(self, statement: sa.Executable) -> None:
        with self.database.write() as connection:
            connection.execute(statement)

    def read(self) -> list[holds.Hold]:
        with self.database.read() as connection:
            return db_holds.read_all(connection)

    def intend(self, **more: Any) -> holds.Hold:
        """Write a hold as this release does."""
        with self.database.write() as connection:
            return db_holds.insert(connection, holds.Hold(
                0, world.new_uuid(), world.new_uuid(), world.new_uuid(),
                more.pop('amounts', (('CUSTOM_GOLD', 1),)), 'a-project',
                'a-user', holds.HoldState.RESERVING, world.NOON, _LATER,
                **more))

    def columns(self, *names: str) -> tuple[Any, ...]:
        """Read columns of the one row."""
        with self.database.read() as connection:
            return tuple(connection.execute(sa.select(
                *(tables.holds.c[name] for name in names))).one())

    def test_holds_that_it_has_written_are_read(self) -> None:
        for amounts, resource_class, live in (
                (None, 'CUSTOM_GOLD', 'node'), ('{"VCPU": 2}', None, 'me')):
            self.execute(sa.insert(tables.holds).values(
                consumer_uuid=world.new_uuid(), node_uuid=world.new_uuid(),
                owner='me', resource_class=resource_class, amounts=amounts,
                project_id='a-project', user_id='a-user', state='active',
                landed=True, created_at=world.NOON, deadline=_LATER,
                generation=0, live=live))
        self.assertEqual(
            [({'CUSTOM_GOLD': 1}, True, True), ({'VCPU': 2}, False, True)],
            [(row.resources, row.exclusive, row.confirmed)
             for row in self.read()])

    def test_holds_that_it_has_confirmed_are_confirmed(self) -> None:
        self.intend()
        self.assertFalse(self.read()[0].confirmed)
        self.execute(sa.update(tables.holds).values(
            landed=True, state='active',
            generation=tables.holds.c.generation + 1))
        self.assertTrue(self.read()[0].confirmed)

    def test_it_reads_whole_nodes(self) -> None:
        hold = self.intend()
        self.assertEqual(
            ('CUSTOM_GOLD', None, False, 'node'),
            self.columns('resource_class', 'amounts', 'landed', 'live'))
        with self.database.write() as connection:
            db_holds.change(connection, hold, world.NOON, confirmed=True,
                            state=holds.HoldState.ACTIVE)
        self.assertEqual((True, True), self.columns('landed', 'confirmed'))

    def test_it_reads_shares(self) -> None:
        hold = self.intend(amounts=(('DISK_GB', 3), ('VCPU', 2)),
                           exclusive=False)
        self.assertEqual(
            (None, '{"DISK_GB": 3, "VCPU": 2}', hold.owner),
            self.columns('resource_class', 'amounts', 'live'))

    def test_providers_that_it_has_seen_are_looked_at_again(self) -> None:
        kinds = {'CUSTOM_GOLD': providers_seen.Kind.NODE,
                 'COMPUTE_HOST': providers_seen.Kind.COMPUTE_HOST,
                 'CUSTOM_RESERVATION': providers_seen.Kind.LEASE_PROVIDER}
        for name in kinds:
            self.execute(sa.insert(tables.providers_seen).values(
                provider_uuid=name, generation=3, resource_class=name,
                expected='me', seen_at=world.NOON))
        with self.database.read() as connection:
            self.assertEqual(
                {name: providers_seen.Seen(3, kind, None)
                 for name, kind in kinds.items()},
                providers_seen.read(connection))

    def test_it_tells_providers_apart_and_looks_at_them_again(self) -> None:
        """None is in order by what it would write itself."""
        with self.database.write() as connection:
            providers_seen.write(connection, {
                kind.value: providers_seen.Seen(3, kind, 'a-fingerprint')
                for kind in providers_seen.Kind}, (), world.NOON)
        with self.database.read() as connection:
            self.assertEqual(
                {('node', '', 'a-fingerprint'),
                 ('compute_host', 'COMPUTE_HOST', 'a-fingerprint'),
                 ('lease_provider', 'CUSTOM_RESERVATION', 'a-fingerprint')},
                {tuple(row) for row in connection.execute(sa.select(
                    tables.providers_seen.c.provider_uuid,
                    tables.providers_seen.c.resource_class,
                    tables.providers_seen.c.expected))})
