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

import os
import pathlib
import threading

import sqlalchemy as sa
import testtools

from ironic_reservations import errors
from ironic_reservations.db import connection
from ironic_reservations.db import tables
from tests import world


class TestKeptConnections(world.TestCase):

    def setUp(self):
        super().setUp()
        self.database = self.new_world().engine.database
        self.file = pathlib.Path(sa.make_url(self.database.url).database)

    def driver_connection(self):
        with self.database.read() as opened:
            return opened.connection.driver_connection

    def test_one_connection_serves_one_after_another(self):
        first = self.driver_connection()
        with self.database.write():
            pass
        self.assertIs(first, self.driver_connection())

    def test_each_of_many_threads_has_one_at_once(self):
        """None waits for another's, however many there are."""
        count = 3 * self.database.options.max_pool_size
        together = threading.Barrier(count, timeout=60)
        seen = set()

        def read():
            with self.database.read() as opened:
                opened.execute(sa.select(tables.claims)).all()
                seen.add(id(opened.connection.driver_connection))
                together.wait()
        threads = [threading.Thread(target=read) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(count, len(seen))

    def test_child_gets_none_of_its_parents(self):
        """SQLite does not allow it even to close them."""
        with self.database.read() as opened:
            opened.execute(sa.select(tables.claims)).all()
        child = os.fork()
        if not child:
            inherited = True
            try:
                inherited = self.opened_by_this_process()
            finally:
                os._exit(bool(inherited))
        self.assertEqual(0, os.waitstatus_to_exitcode(
            os.waitpid(child, 0)[1]))
        with self.database.read() as opened:
            opened.execute(sa.select(tables.claims)).all()
            self.assertTrue(self.opened_by_this_process())

    def opened_by_this_process(self):
        folder = pathlib.Path('/proc/self/fd')
        return [each for each in folder.iterdir()
                if each.is_symlink()
                and os.path.realpath(each).startswith(str(self.file))]

    def test_file_that_was_put_in_its_place_is_read(self):
        """As an operator does it who goes back to a backup."""
        with self.database.write() as opened:
            opened.exec_driver_sql('CREATE TABLE newer (id INTEGER)')
        backup = self.file.with_name('backup')
        backup.write_bytes(world.empty_sqlite())
        for beside in ('-wal', '-shm'):
            self.file.with_name(self.file.name + beside).unlink()
        backup.rename(self.file)
        for _ in range(2):
            self.assertNotIn('newer', self.table_names())
        with self.database.write() as opened:
            opened.exec_driver_sql('CREATE TABLE newest (id INTEGER)')
        other = connection.Database(world.configured(self.database.url))
        self.addCleanup(other.close)
        self.assertIn('newest', self.table_names(other))

    def test_file_that_is_gone_has_no_tables(self):
        self.driver_connection()
        self.file.unlink()
        with testtools.ExpectedException(errors.DatabaseUnavailable), (
                self.database.read()) as opened:
            opened.execute(sa.select(tables.claims))

    def table_names(self, database=None):
        with (database or self.database).read() as opened:
            return sa.inspect(opened).get_table_names()

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
        self.assertNotIn('half', self.table_names())

    def end(self, way, fails):
        try:
            with way() as opened:
                opened.execute(sa.select(tables.claims)).all()
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            pass
