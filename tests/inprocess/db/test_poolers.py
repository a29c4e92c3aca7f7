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


"""PgBouncer gives each transaction another session of PostgreSQL.

Seen: limits that one connection had set for its session were in force in
transactions of others, so that requests had those of the clock, or none; and
what psycopg 3 had prepared in one session was run in another, by the same
name: once an UPDATE of one table ran the DELETE of another.
"""

from concurrent import futures
import threading

import sqlalchemy as sa
import testtools

from ironic_reservations import errors
from ironic_reservations.cmd import status
from ironic_reservations.db import clock
from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from ironic_reservations.db import postgresql
from tests import world
from tests.inprocess.db import base
from tests.inprocess.db import migrating
from tests.real import databases
from tests.real import proxy
from tools import own_pooler
from tools import own_server

_LIMITS = ('lock_timeout', 'statement_timeout',
           'idle_in_transaction_session_timeout')
_SHOWN = sa.select(*(sa.func.current_setting(name) for name in _LIMITS))
_OF_REQUESTS = ('5s', '30s', '1min')
_OF_THE_CLOCK = ('1s', '3s', '3s')
_OF_SNAPSHOTS = ('5s', '30s', '30s')
_THREADS = 8
#: More than psycopg 3 runs a statement before it prepares it.
_TIMES = 12


def _is_installed() -> None:
    own_server.program(own_pooler.PROGRAM)


class _Behind(base.DatabaseTestCase):
    """Behind a pooler with two sessions of the server.

    :cvar driver: of PostgreSQL.
    """

    kind = 'postgresql'
    driver: str

    @classmethod
    def setUpClass(cls) -> None:
        databases.need(_is_installed)
        super().setUpClass()
        pooler = own_pooler.OwnPooler(cls.url)
        pooler.setUp()
        cls.addClassCleanup(pooler.cleanUp)
        cls.direct, cls.url = cls.url, sa.make_url(pooler.url).set(
            drivername=f'postgresql+{cls.driver}').render_as_string(
                hide_password=False)

    def setUp(self) -> None:
        super().setUp()
        self.database = connection.Database(world.configured(self.url))
        self.addCleanup(self.database.close)

    def limits(self, database: connection.Database) -> tuple[str, ...]:
        with database.read() as reading:
            return tuple(reading.execute(_SHOWN).one())

    def test_each_transaction_has_the_limits_of_its_own_database(self) -> None:
        of_clock = self.database.alone()
        self.addCleanup(of_clock.close)
        for _ in range(_TIMES):
            self.assertEqual(_OF_REQUESTS, self.limits(self.database))
            self.assertEqual(_OF_THE_CLOCK, self.limits(of_clock))
            with self.database.snapshot() as reading:
                self.assertEqual(_OF_SNAPSHOTS,
                                 tuple(reading.execute(_SHOWN).one()))
                self.assertEqual('repeatable read', reading.scalar(
                    sa.text('SHOW transaction_isolation')))

    def test_transactions_of_others_have_none_of_ours(self) -> None:
        """No session of the server keeps a setting."""
        self.limits(self.database)
        others = sa.create_engine(self.url)
        self.addCleanup(others.dispose)
        before = sa.create_engine(self.direct)
        self.addCleanup(before.dispose)
        settings = sa.text('SELECT name, setting FROM pg_settings WHERE name '
                           "LIKE '%timeout' OR name LIKE 'tcp%'")
        with others.connect() as opened, before.connect() as direct:
            self.assertEqual(set(direct.execute(settings)),
                             set(opened.execute(settings)))

    def test_statements_of_many_threads_are_their_own(self) -> None:
        """They are run, each as it is, more often than one is prepared."""
        marks = sa.Table('marks_of_threads', sa.MetaData(),
                         sa.Column('thread', sa.Integer, primary_key=True),
                         sa.Column('times', sa.Integer))
        with self.database.write() as writing:
            marks.create(writing)
            writing.execute(sa.insert(marks), [
                {'thread': number, 'times': 0} for number in range(_THREADS)])
        self.addCleanup(self.drop, marks)
        begun = threading.Barrier(_THREADS)

        def count(number: int) -> None:
            begun.wait()
            # NOTE: so that each has another statement of the same name.
            mine = sa.update(marks).where(
                marks.c.thread == number, *[sa.literal(1) == 1] * number
            ).values(times=marks.c.times + 1)
            for _ in range(_TIMES):
                with self.database.write() as writing:
                    self.assertEqual(1, writing.execute(mine).rowcount)
        with futures.ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(count, range(_THREADS)))
        with self.database.read() as reading:
            self.assertEqual({_TIMES}, set(reading.scalars(
                sa.select(marks.c.times))))

    def drop(self, table: sa.Table) -> None:
        with self.database.write() as writing:
            table.drop(writing)

    def test_node_is_promised_once_to_clients_at_once(self) -> None:
        promised = self.useFixture(world.World(
            self.url, ironic__confirm='mirror'))
        node, other = promised.enrol(2)
        with futures.ThreadPoolExecutor(_THREADS) as pool:
            asked = [pool.submit(promised.reserve, node)
                     for _ in range(_THREADS)]
            futures.wait(asked)
        made, = (each.result() for each in asked if not each.exception())
        self.assertEqual([made.uuid], list(promised.reservations()))
        self.assertEqual(2, len({promised.reserve(other).node_uuid, node}))

    def test_time_of_the_database_is_known(self) -> None:
        known = clock.DatabaseClock(self.database)
        self.addCleanup(known.close)
        self.assertIsNotNone(known().tzinfo)


class TestPostgresqlWithPsycopg2(_Behind):
    driver = 'psycopg2'


class TestPostgresqlWithPsycopg3(_Behind):
    driver = 'psycopg'


del _Behind


class TestCommandsOnPostgresql(migrating.MigrationTestCase):
    """What commands do and say behind a pooler."""

    def setUp(self) -> None:
        databases.need(_is_installed)
        super().setUp()

    def empty_database(self) -> str:
        made = self.useFixture(databases.Database('postgresql')).url
        return sa.make_url(self.useFixture(own_pooler.OwnPooler(made)).url
                           ).set(drivername='postgresql+psycopg'
                                 ).render_as_string(hide_password=False)

    def check(self) -> tuple[int, str]:
        code, said, _ = self.command(
            run=lambda arguments: status.main([*arguments, 'upgrade',
                                               'check']))
        return code, ' '.join(said.replace('|', ' ').split())

    def test_tables_are_made_and_the_pooler_is_named(self) -> None:
        self.assertEqual((0, migrate.head(), ''),
                         self.command('create_schema'))
        code, said = self.check()
        self.assertEqual(0, code, said)
        self.assertIn('A pooler, such as PgBouncer, is between this host and '
                      'PostgreSQL. Time limits are set for each transaction, '
                      'and nothing is prepared on the server.', said)
        with self.config.open('a') as config:
            config.write('connection_parameters = prepare_threshold=5\n')
        code, said = self.check()
        self.assertEqual(1, code, said)
        self.assertIn('one statement may be run in place of another', said)


class TestPostgresqlItself(base.DatabaseTestCase):
    """There is no pooler, or it gives each connection its own session."""

    kind = 'postgresql'

    def test_pooler_of_sessions_is_one(self) -> None:
        databases.need(_is_installed)
        way = self.useFixture(own_pooler.OwnPooler(self.url, mode='session'))
        for driver in postgresql.DRIVERS:
            with self.opened_with(driver, way.url).read() as reading:
                self.assertIs(True, postgresql.has_pooler(reading))

    def test_server_itself_is_no_pooler(self) -> None:
        for driver in postgresql.DRIVERS:
            with self.opened_with(driver).read() as reading:
                self.assertIs(False, postgresql.has_pooler(reading))

    def test_statements_are_prepared_if_the_operator_says_so(self) -> None:
        for said, wanted in ((None, None), ('none', None), ('7', 7)):
            database = self.opened_with('psycopg', prepare_threshold=said)
            with database.read() as reading:
                driver = reading.connection.driver_connection
                self.assertEqual(wanted, driver.prepare_threshold)

    def test_word_that_is_no_number_is_named(self) -> None:
        database = self.opened_with('psycopg', prepare_threshold='often')
        with testtools.ExpectedException(errors.DatabaseUnavailable), (
                database.read()):
            pass

    def test_transactions_take_no_more_questions_than_without_limits(self):
        """That whether it lives, BEGIN with limits, a query, and the end."""
        for driver in postgresql.DRIVERS:
            way = self.useFixture(proxy.Proxy(self.url))
            database = self.opened_with(driver, way.url)
            for opened in (database.read, database.snapshot, database.write):
                for asked in (None, 4):
                    before = way.asked
                    with opened() as connected:
                        connected.execute(_SHOWN)
                    if asked is not None:
                        self.assertEqual(asked, way.asked - before,
                                         (driver, opened))

    def opened_with(self, driver: str, url: str | None = None,
                    **parameters: str | None) -> connection.Database:
        named = sa.make_url(url or self.url)
        database = connection.Database(world.configured(named.set(
            drivername=f'postgresql+{driver}').update_query_dict(
                {name: value for name, value in parameters.items()
                 if value is not None}).render_as_string(
                     hide_password=False)))
        self.addCleanup(database.close)
        return database
