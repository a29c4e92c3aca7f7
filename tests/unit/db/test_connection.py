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

"""Connections to SQLite, which several processes open at once."""

from __future__ import annotations

import pathlib
import sqlite3
import threading

import fixtures
import testtools

from ironic_reservations.db import connection
from tests import world


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
        done = threading.Timer(0.3, other.execute, ('COMMIT',))
        done.start()
        self.addCleanup(done.join)

        database = connection.Database(world.configured(f'sqlite:///{path}'))
        self.addCleanup(database.close)
        with database.read() as opened:
            self.assertEqual('wal', opened.exec_driver_sql(
                'PRAGMA journal_mode').scalar())
            self.assertEqual(1, opened.exec_driver_sql(
                'SELECT COUNT(*) FROM there').scalar())
