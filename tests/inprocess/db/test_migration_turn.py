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


"""Whose turn it is to migrate is said by a row, and by no lock of a server.

GET_LOCK of one node of a Galera cluster is not known to the next, and some
releases refuse it there: of two upgrades at once on two nodes, one ended with
raw errors ("Table already exists", "expected to match one row").
"""

import contextlib
import dataclasses
import os
import signal
import time
from typing import Any

import fixtures
import sqlalchemy as sa
import testtools

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_lock
from ironic_reservations.db import migration_turn
from tests import forks
from tests import world
from tests.real import databases

#: Holders that beat no more are dead after a second.
_QUICK = migration_turn.Pace(beat=0.1, pause=0.05, reads=20)
_PACE = 'ironic_reservations.db.migration_turn.PACE'
_TURN = migration_turn.TABLE.name
#: How long whatever has to happen is waited for, in seconds.
_LONG = 300


def _die_at(url: str, allowed: int, outcomes: Any) -> None:
    """Migrate until so many statements have been sent about the turn."""
    # NOTE: with many beats, there were as many statements to die at.
    migration_turn.PACE = dataclasses.replace(_QUICK, beat=1)
    sent = 0

    def count(_: Any, __: Any, statement: str, *args: Any) -> None:
        nonlocal sent
        if _TURN in statement:
            if sent == allowed:
                os.kill(os.getpid(), signal.SIGKILL)
            sent += 1
    sa.event.listen(sa.Engine, 'before_cursor_execute', count)
    migrate.upgrade(db_connection.Database(world.configured(url)))
    outcomes.put('done')


def _hold(url: str, holds: Any) -> None:
    """Have the turn until this process is killed."""
    with migration_lock.alone(
            db_connection.Database(world.configured(url)), _LONG):
        holds.set()
        time.sleep(_LONG)


def _upgrade(url: str) -> None:
    migrate.upgrade(db_connection.Database(world.configured(url)))


class TestTurnOnMysql(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(_PACE, _QUICK))
        self.url = self.useFixture(databases.Database('mysql')).url
        self.database = self.opened()
        self.server = sa.create_engine(self.url)
        self.addCleanup(self.server.dispose)

    def opened(self) -> db_connection.Database:
        database = db_connection.Database(world.configured(self.url))
        self.addCleanup(database.close)
        return database

    def row(self) -> tuple[Any, ...]:
        with self.server.connect() as connection:
            return tuple(connection.execute(sa.select(
                migration_turn.TABLE)).one())

    def test_no_lock_of_a_server_is_relied_on(self) -> None:
        def refuse(_: Any, __: Any, statement: str, *args: Any) -> None:
            self.assertNotIn('get_lock', statement.lower())
        sa.event.listen(sa.Engine, 'before_cursor_execute', refuse)
        self.addCleanup(sa.event.remove, sa.Engine, 'before_cursor_execute',
                        refuse)
        with migration_lock.alone(self.database, _LONG):
            refused = self.assertRaises(
                migration_lock.AnotherMigrates, migrate.upgrade,
                self.opened(), wait=0.3)
        self.assertIn(f'process {os.getpid()}', str(refused))
        migrate.upgrade(self.opened())
        self.assertEqual(migrate.head(), migrate.version(self.database))

    def test_holder_tells_that_it_lives(self) -> None:
        with migration_lock.alone(self.database, _LONG):
            _, token, beats, _ = self.row()
            deadline = time.monotonic() + _LONG
            while self.row()[2] == beats:
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(token, self.row()[1])
        self.assertIsNone(self.row()[1])

    def test_holder_that_was_killed_is_followed(self) -> None:
        holds = forks.CONTEXT.Event()
        holder = forks.CONTEXT.Process(target=_hold, args=(self.url, holds))
        holder.start()
        self.assertTrue(holds.wait(_LONG))
        os.kill(holder.pid, signal.SIGKILL)
        holder.join()
        self.assertIsNotNone(self.row()[1])
        migrate.upgrade(self.database)
        self.assertEqual(migrate.head(), migrate.version(self.database))

    def test_process_that_dies_at_any_statement_is_followed(self) -> None:
        """At each that is about the turn: before it is one's, and after."""
        allowed, done = 0, False
        while not done:
            outcomes = forks.CONTEXT.SimpleQueue()
            dying = forks.CONTEXT.Process(
                target=_die_at, args=(self.url, allowed, outcomes))
            dying.start()
            dying.join()
            done = not outcomes.empty()
            allowed += 1
        self.assertGreater(allowed, 3)
        self.assertEqual(migrate.head(), migrate.version(self.database))
        self.assertIsNone(self.row()[1])

    def test_stopped_one_that_goes_on_begins_no_statement(self) -> None:
        """Nor does its end end the turn of the one that has followed it."""
        stopped = migration_turn.Turn(
            self.server, migration_turn.Pace(beat=_LONG))
        follower = migration_turn.Turn(self.server, _QUICK)
        with contextlib.ExitStack() as stack:
            with stopped.taken(_LONG):
                stopped.check()
                stack.enter_context(follower.taken(_LONG))
                stopped._renew()
                self.assertRaises(migration_turn.Overtaken, stopped.check)
            follower._renew()
            follower.check()
        self.assertIsNone(self.row()[1])

    def test_migration_that_another_one_overtakes_comes_to_its_end(self):
        """All that the other one has made is found, and skipped."""
        overtaken = []

        def overtake(_: Any, __: Any, statement: str, *args: Any) -> None:
            if not overtaken and statement.startswith('CREATE INDEX'):
                overtaken.append(statement)
                with self.server.begin() as connection:
                    connection.execute(sa.update(
                        migration_turn.TABLE).values(token=None))
                other = forks.CONTEXT.Process(target=_upgrade,
                                              args=(self.url,))
                other.start()
                other.join()
        sa.event.listen(sa.Engine, 'before_cursor_execute', overtake)
        self.addCleanup(sa.event.remove, sa.Engine, 'before_cursor_execute',
                        overtake)
        migrate.upgrade(self.database)
        self.assertEqual(1, len(overtaken))
        self.assertEqual(migrate.head(), migrate.version(self.database))

    def test_statement_of_a_dead_migration_has_time_to_end(self) -> None:
        """All five attempts failed within the second that it took."""
        pauses: list[float] = []

        def run_once(*args: Any) -> None:
            if len(pauses) < 4:
                raise migration_turn.Overtaken('1684, concurrent DDL')

        migrate.upgrade(self.database)
        for name, patch in (('_run_once', run_once),
                            ('time.sleep', pauses.append)):
            self.useFixture(fixtures.MonkeyPatch(
                f'ironic_reservations.db.migrate.{name}', patch))
        migrate.upgrade(self.database)
        self.assertEqual(4 * [_QUICK.beat], pauses)
