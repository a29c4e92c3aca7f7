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

"""Kept connections to SQLite are like new ones to whoever comes next."""

import sqlalchemy as sa

from ironic_reservations.db import tables
from tests import world


class TestKept(world.TestCase):

    def setUp(self):
        super().setUp()
        self.database = self.new_world().engine.database

    def driver_connection(self):
        with self.database.read() as opened:
            return opened.connection.driver_connection

    def test_one_connection_serves_one_after_another(self):
        first = self.driver_connection()
        with self.database.write():
            pass
        self.assertIs(first, self.driver_connection())

    def test_none_is_kept_beside_other_processes(self):
        shared = self.useFixture(world.World(self.database.url))
        self.database = shared.engine.database
        self.assertIsNot(*(self.driver_connection() for _ in range(2)))

    def test_what_the_product_sets_is_set(self):
        for _ in range(2):
            with self.database.read() as opened:
                self.assertEqual(('wal', 1, 0), tuple(
                    opened.exec_driver_sql(f'PRAGMA {name}').scalar()
                    for name in ('journal_mode', 'foreign_keys',
                                 'synchronous')))

    def test_no_transaction_is_left_open(self):
        """Each of the three kinds, one after another, whether it fails."""
        ways = (self.database.read, self.database.snapshot,
                self.database.write)
        for before in ways:
            for fails in (False, True):
                for after in ways:
                    self.end(before, fails)
                    self.assertFalse(
                        self.driver_connection().in_transaction)
                    with after() as opened:
                        opened.execute(sa.select(tables.claims)).all()
                        self.assertTrue(opened.connection
                                        .driver_connection.in_transaction)

    def test_nothing_of_a_failed_transaction_is_read(self):
        def write(opened):
            opened.exec_driver_sql('CREATE TABLE half (done INTEGER)')
            raise ZeroDivisionError
        try:
            with self.database.write() as opened:
                write(opened)
        except ZeroDivisionError:
            pass
        self.assertNotIn('half', sa.inspect(
            self.database.engine).get_table_names())

    def end(self, way, fails):
        try:
            with way() as opened:
                opened.execute(sa.select(tables.claims)).all()
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            pass
