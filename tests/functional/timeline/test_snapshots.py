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

"""What a snapshot shows, and what it leaves behind, on each database."""

from __future__ import annotations

import threading

import sqlalchemy as sa

from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from ironic_reservations.db import tables
from tests import world
from tests.real import databases


class _Snapshots:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        url = self.useFixture(databases.Database(self.kind)).url
        database = connection.Database(world.configured(url))
        migrate.upgrade(database)
        database.close()
        self.world = self.useFixture(world.World(url))
        self.database = self.world.engine.database

    def count(self, opened):
        return opened.execute(sa.select(sa.func.count()).select_from(
            tables.nodes)).scalar_one()

    def test_queries_of_a_snapshot_see_one_moment(self):
        with self.database.snapshot() as opened:
            before = self.count(opened)
            other = threading.Thread(target=self.world.enrol)
            other.start()
            other.join()
            self.assertEqual(before, self.count(opened))
        with self.database.snapshot() as opened:
            self.assertEqual(before + 1, self.count(opened))

    def test_isolation_of_a_snapshot_does_not_leak_into_writes(self):
        self.world.enrol()
        with self.database.snapshot() as opened:
            self.count(opened)
        with self.database.write() as opened:
            before = self.count(opened)
            if self.kind == 'sqlite':
                # There, nobody else writes meanwhile.
                return
            other = threading.Thread(target=self.world.enrol)
            other.start()
            other.join()
            self.assertEqual(before + 1, self.count(opened))


class TestOnSQLite(_Snapshots, world.TestCase):
    kind = 'sqlite'


class TestOnMariaDB(_Snapshots, world.TestCase):
    kind = 'mysql'


class TestOnPostgreSQL(_Snapshots, world.TestCase):
    kind = 'postgresql'
