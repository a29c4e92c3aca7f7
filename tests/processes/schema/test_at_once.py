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

"""Several upgrades at once: each waits for the one before it.

Of three on MariaDB two ended with "Table already exists".
"""

from __future__ import annotations

import sqlalchemy as sa
import testtools

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_lock
from tests import world
from tests.processes.schema import at_once
from tests.real import databases


class _AtOnceOn:

    kind: str

    def setUp(self) -> None:
        super().setUp()
        self.url = self.useFixture(databases.Database(self.kind)).url
        self.database = db_connection.Database(world.configured(
            self.url, database__upgrade='on_start'))
        self.addCleanup(self.database.close)

    def test_three_at_once_all_succeed(self) -> None:
        """None ends with an error, and the schema is whole."""
        self.assertEqual([migrate.head()] * 3, at_once.versions(
            migrate.upgrade, [self.url] * 3))

    def test_one_that_does_not_come_to_an_end_is_told_of(self) -> None:
        """After the limit, in words; nothing has been changed."""
        with migration_lock.alone(self.database, 1):
            refused = self.assertRaises(
                migration_lock.AnotherMigrates, migrate.upgrade,
                self.database, wait=0.3)
        self.assertIn('another process is migrating', str(refused))
        self.assertIsNone(migrate.version(self.database))


class _OnStart(_AtOnceOn):
    """A server, whose tables are upgraded at a start only by the option."""

    def test_three_that_start_at_once_upgrade_where_they_may(self) -> None:
        urls = [self.url] * 3
        self.assertEqual([None] * 3, at_once.versions(migrate.at_start, urls))
        self.assertEqual([migrate.head()] * 3, at_once.versions(
            migrate.at_start, urls, database__upgrade='on_start'))

    def test_start_leaves_the_tables_of_a_later_release(self) -> None:
        migrate.upgrade(self.database)
        with self.database.write() as opened:
            opened.execute(sa.text(
                "UPDATE alembic_version SET version_num = '9999'"))
        migrate.at_start(self.database)
        self.assertEqual('9999', migrate.version(self.database))


for _kind in databases.KINDS:
    _name = f'TestAtOnceOn{_kind.title()}'
    globals()[_name] = type(
        _name, (_AtOnceOn if _kind == 'sqlite' else _OnStart,
                testtools.TestCase),
        {'kind': _kind, '__module__': __name__})
