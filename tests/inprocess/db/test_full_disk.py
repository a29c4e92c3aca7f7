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

"""A full disk is said to be one.

Seen: the client was told that the connection was lost during a commit, and
that the request may have been carried out.
"""

import errno
import pathlib
import sqlite3
from unittest import mock

import fixtures
import psycopg
import pymysql
import sqlalchemy as sa
import testtools

from ironic_reservations import errors
from ironic_reservations.db import causes
from ironic_reservations.db import connection
from ironic_reservations.db import driver_errors
from ironic_reservations.db import migrate
from tests import world

_FULL = sqlite3.OperationalError('database or disk is full')
#: There was no room for the index beside the file when it was opened. The
#: operator was told of an I/O error.
_NO_INDEX = sqlite3.OperationalError('disk I/O error')
_NO_INDEX.sqlite_errorname = 'SQLITE_IOERR_SHMSIZE'
_ROW = ("INSERT INTO claims (name, owner, expires_at) "
        "VALUES ('full', hex(zeroblob({})), '2030-01-01')")


class TestFullDisk(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.logged = self.useFixture(fixtures.FakeLogger())
        file = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                            'x.sqlite')
        self.database = connection.Database(
            world.configured(f'sqlite:///{file}'))
        self.addCleanup(self.database.close)
        migrate.upgrade(self.database)

    def _write(self, size=1):
        with self.database.write() as opened:
            opened.exec_driver_sql(_ROW.format(size))

    def _check(self, size=1):
        told = self.assertRaises(errors.DatabaseUnavailable, self._write, size)
        self.assertEqual('service.database_unavailable', told.code)
        self.assertIn('is full, so nothing was promised', str(told))
        self.assertIn('disk is full. Make room', causes.of(told))
        self.assertIn('disk of the database of the reservations is full',
                      self.logged.output)
        self.assertNotIn('outcome', self.logged.output)
        with self.database.read() as opened:
            self.assertEqual([], opened.exec_driver_sql(
                "SELECT name FROM claims WHERE name = 'full'").all())

    def test_statement_finds_no_room(self):
        def limit(opened, _):
            pages, = opened.execute('PRAGMA page_count').fetchone()
            opened.execute(f'PRAGMA max_page_count = {pages}')
        self.database.close()
        sa.event.listen(self.database.engine, 'connect', limit)
        self._check(10_000_000)

    def test_commit_finds_no_room(self):
        """Its outcome is known: SQLite has not written its mark."""
        with mock.patch.object(self.database.engine.dialect, 'do_commit',
                               side_effect=_FULL):
            self._check()
        self._write()

    def test_commit_that_fails_otherwise_is_not_known(self):
        with mock.patch.object(
                self.database.engine.dialect, 'do_commit',
                side_effect=sqlite3.OperationalError('disk I/O error')):
            self.assertRaises(errors.OutcomeUnknown, self._write)

    def test_errors_of_each_database(self):
        """MariaDB may have told other servers of what it then refuses."""
        for error, known in (
                (_FULL, (True, True)), (_NO_INDEX, (True, False)),
                (psycopg.errors.DiskFull('no space left'), (True, True)),
                (pymysql.err.OperationalError(1114, 'The table is full'),
                 (True, False)),
                (pymysql.err.OperationalError(1021, 'Disk full'),
                 (True, False)),
                (OSError(errno.ENOSPC, 'No space left'), (True, False)),
                (sqlite3.OperationalError('disk I/O error'), (False, False)),
                (pymysql.err.OperationalError(2013, 'Lost connection'),
                 (False, False))):
            with self.subTest(error=error):
                self.assertEqual(known, (
                    driver_errors.is_of_full_disk(error),
                    driver_errors.refused_commit(error)))
