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

"""A server is stopped, or what is said to it is swallowed on the way.

The connection stays open, and TCP acknowledges everything. On PostgreSQL
whoever had asked waited until the server went on.
"""

from unittest import mock

import fixtures
from pymysql import connections
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection
from ironic_reservations.db import tables
from tests import world
from tests.inprocess.db import base
from tests.real import proxy

_STATEMENT = 2
#: What is added to it here: the server still is the first to give up.
_MORE = 1
#: The limit of a new connection.
_CONNECT = 1


class _SilentServer:
    """To be run on each database of a server."""

    driver: str | None = None

    def setUp(self):
        super().setUp()
        self.world = self.useFixture(world.World(
            self.url, ironic__confirm='mirror'))
        (self.node,) = self.world.enrol()
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_reservations.db.sessions.MORE', _MORE))
        self.way = self.useFixture(proxy.Proxy(self.url))
        there = sa.make_url(self.way.url)
        self.database = connection.Database(world.configured(
            there.set(drivername=self.driver or there.drivername)
            .render_as_string(hide_password=False),
            database__lock_timeout=1, database__connect_timeout=_CONNECT,
            database__statement_timeout=_STATEMENT))
        self.addCleanup(self.database.close)
        self.update = sa.update(tables.nodes).where(
            tables.nodes.c.uuid == self.node).values(generation=7)

    def test_statement_that_is_never_answered_ends(self):
        """And the next connection is used."""
        count = sa.select(sa.func.count()).select_from(tables.nodes)
        with self.database.read() as reading:
            self.assertEqual(1, reading.scalar(count))

        def read():
            with self.database.read() as reading:
                self.way.fall_silent()
                reading.scalar(count)
        self.assertRaises(errors.DatabaseUnavailable, read)
        self.way.let_through()
        with self.database.read() as reading:
            self.assertEqual(1, reading.scalar(count))

    def test_commit_that_is_never_answered_ends_and_is_not_known(self):
        """It may or may not have been done."""
        def write():
            with self.database.write() as writing:
                writing.execute(self.update)
                self.way.fall_silent()
        self.assertRaises(errors.OutcomeUnknown, write)

    def test_another_transaction_in_the_way_is_told_from_silence(self):
        """Whoever has waited for its lock plans again."""
        def write():
            with self.database.write() as writing:
                writing.execute(self.update)
        with self.world.engine.database.write() as other:
            other.execute(self.update)
            self.assertRaises(connection.Conflict, write)

    def test_missing_tables_are_told_from_silence(self):
        """Whoever runs this has to do something."""
        def read():
            with self.database.read() as reading:
                reading.execute(sa.text('SELECT * FROM no_such_table'))
        told = self.assertRaises(errors.DatabaseUnavailable, read)
        self.assertIn('ironic-reservations-dbsync upgrade', str(told))

    def test_statement_that_takes_its_time_is_answered(self):
        """One connection is shut down for another's silence by nobody."""
        sleep = sa.select(
            sa.func.pg_sleep(_STATEMENT - 1) if self.kind == 'postgresql'
            else sa.func.sleep(_STATEMENT - 1))
        for _ in range(3):
            with self.database.read() as reading:
                reading.execute(sleep)


class TestOnMariaDB(_SilentServer, base.DatabaseTestCase):
    kind = 'mysql'

    def test_greeting_was_awaited_as_long_as_an_answer(self):
        """A request waited twice as long for a server that stood still."""
        awaited = []
        greeted = connections.Connection._get_server_information

        def greet(made):
            awaited.append(made._read_timeout)
            greeted(made)
        with mock.patch.object(connections.Connection,
                               '_get_server_information', greet):
            with self.database.read() as reading:
                made = reading.connection.driver_connection
        self.assertEqual([_CONNECT], awaited)
        self.assertEqual(_STATEMENT + _MORE, made._read_timeout)


class TestOnPostgreSQL(_SilentServer, base.DatabaseTestCase):
    kind = 'postgresql'


class TestOnPostgreSQLWithPsycopg3(_SilentServer, base.DatabaseTestCase):
    kind = 'postgresql'
    driver = 'postgresql+psycopg'
