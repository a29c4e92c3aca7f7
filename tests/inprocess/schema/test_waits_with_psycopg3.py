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
"""A migration with psycopg 3 names what it has waited for.

The code of a lock time-out was looked for under the name of psycopg2 alone, so
that the command ended with a traceback.
"""

from __future__ import annotations

from unittest import mock

import sqlalchemy as sa
import testtools

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_lock
from tests import world
from tests.real import databases


class TestWaitsWithPsycopg3(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        made = self.useFixture(databases.Database('postgresql')).url
        self.database = db_connection.Database(world.configured(sa.make_url(
            made).set(drivername='postgresql+psycopg').render_as_string(
                hide_password=False)))
        self.addCleanup(self.database.close)

    def test_another_migration_is_named(self) -> None:
        with migration_lock.alone(self.database, 1):
            refused = self.assertRaises(
                migration_lock.AnotherMigrates, migrate.upgrade,
                self.database, wait=0.3)
        self.assertIn('another process is migrating', str(refused))

    @mock.patch.object(migration_lock, '_TABLE_WAIT', 0.3)
    def test_locked_table_is_named(self) -> None:
        with self.database.engine.begin() as other:
            other.execute(sa.text('CREATE TABLE nodes (id INTEGER)'))
            refused = self.assertRaises(migration_lock.TableInUse,
                                        migrate.upgrade, self.database)
        self.assertIn('has locked a table', str(refused))
