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

On MariaDB one process after the other makes a single change and is killed
before the next one, so that each state between two statements is one that a
migration begins with.  SQLite and PostgreSQL take all of it back, which is
tried at some places in each direction.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import itertools
import os
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_turn
from ironic_reservations.db import tables
from tests.inprocess.schema import each_database
from tests.inprocess.schema import seen
from tests.real import databases

#: At how many places all is taken back: each takes long, and is asked for by a
#: variable of the environment.
_PLACES = (1000 if os.environ.get('IRONIC_RESERVATIONS_TEST_EVERY_KILL')
           else 6)
_READS = ('SELECT', 'PRAGMA', 'SHOW', 'DESCRIBE', 'SET', 'BEGIN')
_ROWS = ('INSERT', 'UPDATE', 'DELETE')


class _Killed(BaseException):
    """The process is gone."""


class Killer:
    """Lets a migration change one thing more, and then no more.

    :ivar statements: those that have been run and change something.
    """

    def __init__(self, allowed: int | None = None) -> None:
        self.allowed = allowed
        self.statements: list[str] = []

    def __call__(self, _connection: Any, _cursor: Any, statement: str,
                 *args: Any) -> None:
        """Die before a statement that is one too many."""
        word = statement.split(maxsplit=1)[0].upper()
        # NOTE: whose turn it is, other tests are about.
        if word in _READS or migration_turn.TABLE.name in statement:
            return
        if len(self.statements) == self.allowed:
            raise _Killed
        self.statements.append(statement)

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Watch all engines: migrations have one of their own."""
        sa.event.listen(sa.Engine, 'before_cursor_execute', self)
        try:
            yield
        finally:
            sa.event.remove(sa.Engine, 'before_cursor_execute', self)


@each_database.on(databases.KINDS)
class _KilledOn:

    def state(self, database: db_connection.Database) -> tuple[Any, ...]:
        """Return the schema, and how old it is."""
        with database.read() as connection:
            there = seen.seen(connection)
        # NOTE: what migrations themselves need stays on the way back.
        there.pop(migration_turn.TABLE.name, None)
        return there, migrate.version(database)

    def in_turn(self, change: Callable[[], None]) -> int:
        """Kill and run again until it comes to its end; return how often."""
        allowed = 1
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
            allowed = (allowed + 1 if killer.statements[-1].lstrip().upper()
                       .startswith(_ROWS) else 1)

    def taken_back(self, database: db_connection.Database,
                   statements: Sequence[str],
                   change: Callable[[], None]) -> int:
        """Kill at some statements, for all of which is taken back."""
        # The revision is the last statement of the transaction. The history
        # is written after that.
        total = 1 + max(place for place, each in enumerate(statements)
                        if 'alembic_version' in each)
        before = self.state(database)
        places = range(1, total, max(1, total // _PLACES))
        for allowed in places:
            killer = Killer(allowed)
            with killer.at_work(), contextlib.suppress(BaseException):
                change()
            self.assertEqual(allowed, len(killer.statements))
            self.assertEqual(before, self.state(database))
        change()
        return len(places)

    def test_up_and_down_and_up(self) -> None:
        """It comes to its end, and out as if nobody had been killed."""
        undisturbed, database = self.opened(self.useFixture(
            databases.Database(self.kind)).url), self.opened()
        for change in (migrate.upgrade, _all_the_way_back, migrate.upgrade):
            killer = Killer()
            with killer.at_work():
                change(undisturbed)
            if self.kind == 'mysql':
                killed = self.in_turn(lambda c=change: c(database))
            else:
                killed = self.taken_back(
                    database, killer.statements,
                    lambda c=change: c(database))
            self.assertGreaterEqual(killed, len(tables.metadata.tables)
                                    if self.kind == 'mysql' else 5)
            self.assertEqual(self.state(undisturbed), self.state(database))
        self.assertEqual(migrate.head(), migrate.version(database))


def _all_the_way_back(database: db_connection.Database) -> None:
    migrate.downgrade(database, 'base')
