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

"""A migration that is killed at any statement can be run again.

On MariaDB one process after the other makes a single change (or some) and is
killed before the next one, so that each state between two statements is one
that a migration begins with.  SQLite and PostgreSQL take all of it back, which
is tried at some places in each direction.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import itertools
import os
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_turn
from tests.inprocess.schema import each_database
from tests.inprocess.schema import seen
from tests.real import databases

#: How many changes a process makes before it is killed: one by one takes
#: long, and is asked for by a variable of the environment.
_AT_ONCE = 1 if os.environ.get('IRONIC_RESERVATIONS_TEST_EVERY_KILL') else 6
#: Where else all is taken back: after so many changes.
_PLACES = (1, 9)
_LOOKS = ('SELECT', 'PRAGMA', 'SHOW', 'DESCRIBE', 'SET', 'BEGIN')
_ROWS = ('INSERT', 'UPDATE', 'DELETE')


class _Killed(BaseException):
    """The process is gone."""


class Killer:
    """Lets a migration change one thing more, and then no more.

    :ivar statements: how many that change something have been run.
    """

    def __init__(self, allowed: int | None = None) -> None:
        self.allowed = allowed
        self.statements: list[str] = []

    def __call__(self, _connection: Any, _cursor: Any, statement: str,
                 *args: Any) -> None:
        """Die before a statement that is one too many."""
        word = statement.split(maxsplit=1)[0].upper()
        # NOTE: whose turn it is, other tests are about.
        if word in _LOOKS or migration_turn.TABLE.name in statement:
            return
        if len(self.statements) == self.allowed:
            raise _Killed
        self.statements.append(word)

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Watch all engines: migrations have one of their own."""
        sa.event.listen(sa.Engine, 'before_cursor_execute', self)
        try:
            yield
        finally:
            sa.event.remove(sa.Engine, 'before_cursor_execute', self)


def _insert_rows(connection: sa.Connection) -> None:
    """Write what revision 0005 has of nodes, promises and holds."""
    for statement in (
            'INSERT INTO nodes (id, uuid, generation, maintenance, retired, '
            'reservable, observed_at, revision) VALUES '
            "(7, 'n1', 3, false, false, true, '2026-01-01 00:00:00', 2), "
            "(8, 'n2', 4, false, false, true, '2026-01-01 00:00:00', 2)",
            "INSERT INTO node_traits (node_uuid, trait) VALUES ('n1', 'T')",
            'INSERT INTO reservations (id, uuid, node_uuid, instance_uuid, '
            'created_at, expires_at, state, immediate) VALUES '
            "(5, 'r', 'n1', 'i', '2026-01-01 00:00:00', "
            "'2026-01-02 00:00:00', 'reserved', 1)",
            'INSERT INTO leases (id, generation, name, starts_at, ends_at, '
            'status, degraded, created_at, attempts) VALUES '
            "('l', 4, 'x', '2026-01-01 00:00:00', '2026-01-02 00:00:00', "
            "'ACTIVE', false, '2026-01-01 00:00:00', 0)",
            'INSERT INTO holds (id, generation, consumer_uuid, node_uuid, '
            'owner, resource_class, project_id, user_id, state, landed, '
            "created_at, deadline, live) VALUES (9, 1, 'c', 'n1', 'r', "
            "'CUSTOM_GOLD', 'p', 'u', 'active', true, "
            "'2026-01-01 00:00:00', '2026-01-01 00:00:00', 1), "
            "(10, 1, 'd', 'n1', 'r', 'CUSTOM_GOLD', 'p', 'u', 'releasing', "
            "true, '2026-01-01 00:00:00', '2026-01-01 00:00:00', NULL)",
            'INSERT INTO providers_seen (provider_uuid, generation, '
            'resource_class, expected, seen_at) VALUES '
            "('n1', 3, 'CUSTOM_GOLD', 'c', '2026-01-01 00:00:00')"):
        connection.execute(sa.text(statement))


@each_database.on(databases.KINDS)
class _KilledOn:

    def new_database(self) -> db_connection.Database:
        """Return a database with rows, at a revision in the middle."""
        database = self.opened(
            self.useFixture(databases.Database(self.kind)).url)
        migrate.upgrade(database, '0005')
        with database.write() as connection:
            _insert_rows(connection)
        return database

    def state(self, database: db_connection.Database) -> tuple[Any, ...]:
        """Return the schema, what is in it, and how old it is."""
        with database.read() as connection:
            tables = seen.seen(connection)
            rows = {
                name: sorted(
                    tuple(str(row._mapping[column]) for column, *_
                          in tables[name]['columns'])
                    for row in connection.execute(
                        sa.text(f'SELECT * FROM {name}')))
                for name in ('nodes', 'node_traits', 'reservations', 'leases',
                             'holds', 'providers_seen')
                if name in tables}
        return tables, rows, migrate.version(database)

    def in_turn(self, change: Callable[[], None],
                at_once: int = _AT_ONCE) -> int:
        """Kill and run again until it comes to its end; return how often."""
        allowed = at_once
        for times in itertools.count():
            killer = Killer(allowed)
            try:
                with killer.at_work():
                    change()
                return times
            except BaseException:
                # NOTE: SQLAlchemy cuts the connection of the killed, and
                # what others do with it then fails.
                if len(killer.statements) < allowed:
                    raise
            # NOTE: rows that nobody has committed are gone again.
            allowed = (allowed + 1 if killer.statements[-1] in _ROWS
                       else at_once)

    def some(self, change: Callable[[], None],
             count: Callable[[], None]) -> Iterator[None]:
        """Kill at some statements, for all of which is taken back."""
        killer = Killer()
        with killer.at_work():
            count()
        total = len(killer.statements)
        for allowed in range(1, total, max(1, total // 4)):
            killer = Killer(allowed)
            with killer.at_work(), contextlib.suppress(BaseException):
                change()
            self.assertEqual(allowed, len(killer.statements))
            yield

    def test_upgrade(self) -> None:
        """It comes to its end, and out as if nobody had been killed."""
        undisturbed, database = self.new_database(), self.new_database()

        def upgrade(which: db_connection.Database = database) -> None:
            migrate.upgrade(which)
        if self.kind == 'mysql':
            upgrade(undisturbed)
            self.assertGreater(self.in_turn(upgrade, 1), 5)
        else:
            before = self.state(database)
            for _ in self.some(upgrade, lambda: upgrade(undisturbed)):
                self.assertEqual(before, self.state(database))
            upgrade()
        wanted = self.state(undisturbed)
        self.assertEqual(migrate.head(), wanted[2])
        self.assertEqual(wanted, self.state(database))
        self.assertIn("'l'", str(wanted[1]['leases']))
        self.assertIn("'node'", str(wanted[1]['holds']))
        self.assertIn("'node'", str(wanted[1]['providers_seen']))

    def test_upgrade_from_nothing_and_all_the_way_back(self) -> None:
        """The same in both directions: on MariaDB for each migration."""
        database = self.opened()
        undisturbed = self.new_database()
        migrate.upgrade(undisturbed)
        self.in_turn_or_taken_back(database,
                                   lambda: migrate.upgrade(database))
        self.assertEqual(self.state(undisturbed)[0], self.state(database)[0])
        for revision in ('0005', '0001'):
            self.in_turn_or_taken_back(undisturbed, functools.partial(
                migrate.downgrade, undisturbed, revision, accept_loss=True))
            migrate.downgrade(database, revision, accept_loss=True)
            self.assertEqual(self.state(database)[0],
                             self.state(undisturbed)[0])
        self.assertIn("'r'", str(self.state(undisturbed)[1]['reservations']))

    def in_turn_or_taken_back(self, database: db_connection.Database,
                              change: Callable[[], None]) -> None:
        if self.kind == 'mysql':
            self.in_turn(change)
            return
        before = self.state(database)
        for allowed in _PLACES:
            killer = Killer(allowed)
            with killer.at_work(), contextlib.suppress(BaseException):
                change()
            self.assertEqual(allowed, len(killer.statements))
            self.assertEqual(before, self.state(database))
        change()
