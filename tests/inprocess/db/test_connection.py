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

"""Who is in the way, as SQLite and MariaDB say it."""

import pathlib
import sqlite3
import threading
import time
from unittest import mock

import fixtures
from oslo_config import cfg
from oslo_db import options as db_options
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import pysqlite
import testtools

from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.db import connection
from tests import world
from tests.real import databases
from tools import free_ports


class TestPool(testtools.TestCase):
    """How many connections a process keeps."""

    def test_one_for_each_thread(self):
        conf = project_conf.load(config_files=[])
        self.assertGreaterEqual(conf.database.max_pool_size,
                                conf.api.threads)

    def test_ironic_keeps_the_default_of_its_own(self):
        project_conf.load(config_files=[])
        ironic = cfg.ConfigOpts()
        ironic.register_opts(db_options.database_opts, 'database')
        ironic([])
        self.assertEqual(5, ironic.database.max_pool_size)


class TestFailures(testtools.TestCase):
    """The lines of the log if the database fails."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())

    def fail(self, url, statement='SELECT 1'):
        database = connection.Database(world.configured(url))
        self.addCleanup(database.close)

        def ask():
            with database.read() as opened:
                opened.exec_driver_sql(statement)
        self.assertRaises(errors.DatabaseUnavailable, ask)
        return [line for line in self.log.output.splitlines()
                if 'The database of the reservations failed: ' in line]

    def test_server_that_is_down_is_one_line(self):
        """Each request, and each loop, wrote a hundred lines."""
        url = (f'mysql+pymysql://u:s3cret@127.0.0.1:{free_ports.free_port()}'
               '/x')
        for _ in range(2):
            self.assertEqual(1, len(self.fail(url)))
        self.assertIn("Can't connect", self.log.output)
        self.assertNotIn('Traceback', self.log.output)
        self.assertNotIn('s3cret', self.log.output)

    def test_statement_that_is_wrong_has_its_traceback(self):
        self.assertEqual(1, len(self.fail('sqlite://', 'SELECT nothing(1)')))
        self.assertIn('Traceback', self.log.output)


class TestFirstConnection(testtools.TestCase):
    """The server is lost while SQLAlchemy examines it."""

    def test_server_that_is_lost_at_once_does_not_answer(self):
        """SQLAlchemy then fails with an error that says nothing."""
        log = self.useFixture(fixtures.FakeLogger())
        database = connection.Database(world.configured('sqlite://'))
        self.addCleanup(database.close)

        def initialize(dialect, opened):
            opened.connection.dbapi_connection.close()
            opened.exec_driver_sql('SELECT 1')
        with mock.patch.object(pysqlite.SQLiteDialect_pysqlite, 'initialize',
                               initialize):
            self.assertRaises(errors.DatabaseUnavailable,
                              database.read().__enter__)
        self.assertIn('closed database', log.output)


class TestSqlite(testtools.TestCase):
    """SQLite waits for a lock, but not for that of its journal's mode."""

    def test_start_while_another_process_writes_is_not_locked_out(self):
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'new.sqlite'
        other = sqlite3.connect(path, isolation_level=None,
                                check_same_thread=False)
        self.addCleanup(other.close)
        other.execute('CREATE TABLE there (id INTEGER)')
        other.execute('BEGIN IMMEDIATE')
        other.execute('INSERT INTO there VALUES (1)')
        # NOTE: it sleeps once it has been locked out.
        self.enterContext(mock.patch.object(
            time, 'sleep', lambda _: other.execute('COMMIT')))

        database = connection.Database(world.configured(f'sqlite:///{path}'))
        self.addCleanup(database.close)
        with database.read() as opened:
            self.assertEqual('wal', opened.exec_driver_sql(
                'PRAGMA journal_mode').scalar())
            self.assertEqual(1, opened.exec_driver_sql(
                'SELECT COUNT(*) FROM there').scalar())
        self.assertFalse(other.in_transaction)

    def _database(self, **options):
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'new.sqlite'
        database = connection.Database(
            world.configured(f'sqlite:///{path}', **options))
        self.addCleanup(database.close)
        return database

    def _begun(self, database, begins):
        """Note who begins a transaction that writes."""
        def note(_connection, _cursor, statement, *_rest):
            if statement == 'BEGIN IMMEDIATE':
                begins(threading.current_thread().name)
        sa.event.listen(database.engine, 'before_cursor_execute', note)

    def _other(self, database):
        def write():
            with database.write():
                pass
        other = threading.Thread(target=write, name='other', daemon=True)
        self.addCleanup(other.join, 60)
        return other

    def test_threads_that_write_queue_in_the_process(self):
        """SQLite has them sleep, and lets one of them wait for half a minute.
        """
        database = self._database()
        order, queues = [], threading.Event()
        self._begun(database, order.append)
        other = self._other(database)
        turn = database._turn

        class Turn:
            def acquire(self, timeout):
                queues.set()
                return turn.acquire(timeout=timeout)

            def release(self):
                turn.release()
        with database.write():
            database._turn = Turn()
            other.start()
            self.assertTrue(queues.wait(300))
            order.append('commit')
        other.join(300)
        self.assertEqual([threading.current_thread().name, 'commit', 'other'],
                         order)

    def test_thread_that_has_queued_for_long_asks_sqlite(self):
        """One that never lets go does not stop all others for ever."""
        database = self._database(database__lock_timeout=1)
        begun = threading.Event()
        self._begun(database, lambda name: name == 'other' and begun.set())
        other = self._other(database)
        with database.write():
            other.start()
            self.assertTrue(begun.wait(60))


class TestMariadb(testtools.TestCase):

    def test_number_that_could_not_be_had_is_waited_for_again(self):
        """MariaDB says so where the lock on the numbers took too long."""
        made = self.useFixture(databases.Database('mysql'))
        conf = project_conf.load(config_files=[])
        conf.set_override('connection', made.url, 'database')
        database = connection.Database(conf)
        self.addCleanup(database.close)

        def write():
            with database.write() as writing:
                writing.exec_driver_sql(
                    "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1467, "
                    "MESSAGE_TEXT = 'Failed to read auto-increment value'")
        self.assertRaises(connection.Conflict, write)
