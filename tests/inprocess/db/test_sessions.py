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

"""What each session of a database is told about waiting."""

import pymysql
import sqlalchemy as sa
import testtools

from ironic_reservations import errors
from ironic_reservations.conf import times
from ironic_reservations.db import connection
from ironic_reservations.db import sessions
from tests import world
from tests.real import databases

LIMITS = sessions.Limits(lock=3, statement=20, idle=4, connect=6, unused=600)


class Server:
    """The driver's connection to a server, which notes what it is told."""

    def __init__(self, version='10.11.2-MariaDB', refuses=None, **variables):
        self.version = version
        self.refuses = refuses
        self.variables = variables
        self.told = []
        self.found = None

    def get_server_info(self):
        return self.version

    def cursor(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None

    def execute(self, statement):
        if self.refuses:
            raise self.refuses
        self.told.append(statement)
        name = statement.rpartition("LIKE '")[2].rstrip("'")
        value = self.variables.get(name)
        self.found = None if value is None else (name, value)

    def fetchone(self):
        return self.found


class TestUrl(testtools.TestCase):

    def query(self, url, parameters=''):
        return dict(sessions.with_limits(
            sa.make_url(url), LIMITS, parameters).query)

    def test_drivers_are_told_how_long_to_wait(self):
        for driver in ('pymysql', 'mysqldb'):
            self.assertEqual(
                {'connect_timeout': '6', 'read_timeout': '25',
                 'write_timeout': '25', 'charset': 'utf8mb4'}, self.query(f'mysql+{driver}://h/d'))
        told = self.query('postgresql+psycopg2://h/d')
        self.assertEqual('6', told['connect_timeout'])
        self.assertEqual('10000', told['tcp_user_timeout'])
        self.assertEqual('1', told['keepalives'])

    def test_drivers_that_have_other_names_for_it_are_told_nothing(self):
        for url in ('sqlite:////a/b', 'postgresql+pg8000://h/d'):
            self.assertEqual({}, self.query(url))

    def test_what_the_operator_says_goes_first(self):
        url = 'mysql+pymysql://h/d?read_timeout=99&charset=utf8mb3'
        told = self.query(url, 'write_timeout=98')
        self.assertEqual({'charset': 'utf8mb3', 'read_timeout': '99',
                          'connect_timeout': '6'}, told)


class TestMySQL(testtools.TestCase):

    def test_mysql_is_refused_by_its_name(self):
        """It has no limit for idle transactions, and is tried by nobody."""
        server = Server('8.0.36', pymysql.OperationalError(
            1193, "Unknown system variable 'max_statement_time'"))
        refused = self.assertRaises(
            sessions.NotServed, sessions.mariadb_listener(LIMITS), server,
            None)
        for said in ('8.0.36', 'MySQL is not served', 'max_statement_time',
                     'MariaDB'):
            self.assertIn(said, str(refused))

    def test_server_that_is_lost_meanwhile_is_not_called_another_one(self):
        lost = pymysql.OperationalError(2013, 'Lost connection')
        self.assertIs(lost, self.assertRaises(
            pymysql.OperationalError, sessions.mariadb_listener(LIMITS),
            Server(refuses=lost), None))

    def test_whoever_asks_is_told_that_the_operator_has_to_act(self):
        def refused():
            with connection.translated():
                raise sessions.NotServed('the server is 8.0.36')
        told = self.assertRaises(errors.DatabaseUnavailable, refused)
        self.assertIn('does not support the database server', str(told))
        self.assertNotIn('8.0.36', str(told))

    def test_galera_reads_what_any_node_has_committed(self):
        for variables, waits in (({'wsrep_on': 'ON'}, True),
                                 ({'wsrep_on': 'OFF'}, False), ({}, False)):
            server = Server(**variables)
            sessions.read_what_is_committed(server, None)
            self.assertEqual(
                waits, 'SET SESSION wsrep_sync_wait = 1' in server.told)


class TestServers(testtools.TestCase):
    """The servers take what they are told."""

    def shown(self, kind, query, **options):
        conf = world.configured(
            self.useFixture(databases.Database(kind)).url, **{
                'database__lock_timeout': 3, 'database__statement_timeout': 20,
                'database__idle_in_transaction_timeout': 4, **options})
        database = connection.Database(conf)
        self.addCleanup(database.close)
        with database.read() as opened:
            return [tuple(row) for row in opened.exec_driver_sql(query)]

    def test_mariadb(self):
        self.assertEqual([(3, 3, 20, 20, 4, 7200)], self.shown(
            'mysql',
            'SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, '
            '@@max_statement_time, @@idle_transaction_timeout, '
            '@@idle_write_transaction_timeout, @@wait_timeout'))

    def test_postgresql(self):
        self.assertEqual(
            [('idle_in_transaction_session_timeout', '4000'),
             ('lock_timeout', '3000'), ('statement_timeout', '20000'),
             ('tcp_keepalives_idle', '10'), ('tcp_user_timeout', '10000')],
            self.shown(
                'postgresql',
                'SELECT name, setting FROM pg_settings WHERE name IN '
                "('lock_timeout', 'statement_timeout', 'tcp_user_timeout', "
                "'idle_in_transaction_session_timeout', "
                "'tcp_keepalives_idle') ORDER BY name"))

    def test_limit_of_a_century_is_the_longest_of_the_server(self):
        """Each connection failed: the server took no such value."""
        for kind, query, longest in (
                ('mysql', 'SELECT @@max_statement_time', 31536000),
                ('postgresql', 'SHOW statement_timeout', '2147483647ms')):
            self.assertEqual([(longest,)], self.shown(
                kind, query, database__statement_timeout=times.CENTURY))
