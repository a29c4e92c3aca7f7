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

"""Scratch databases that have our tables."""

from __future__ import annotations

import atexit
import os
import pathlib
import time

import sqlalchemy as sa

from ironic_reservations.db import connection
from ironic_reservations.db import histories
from ironic_reservations.db import migrate
from ironic_reservations.db import tables
from tests import world
from tests.real import databases

#: How long connections may take to end that a test has closed, in seconds.
_ENDS_WITHIN = 2
_OTHERS = {
    'mysql': 'SELECT COUNT(*) FROM information_schema.processlist '
             'WHERE db = DATABASE() AND id <> CONNECTION_ID()',
    'postgresql': 'SELECT COUNT(*) FROM pg_stat_activity WHERE datname = '
                  'current_database() AND pid <> pg_backend_pid()',
}
_COUNTED = ('SELECT table_name FROM information_schema.tables '
            'WHERE table_schema = DATABASE() AND auto_increment > 1')
_COUNT_ANEW = ('SELECT setval(format(\'%I.%I\', schemaname, sequencename)'
               '::regclass, start_value, false) FROM pg_sequences '
               'WHERE last_value IS NOT NULL')


class Kept:
    """A database of a server that tests have one after the other.

    It is dropped when this process ends.

    :param kind: of the server.
    :raises unittest.SkipTest: no server answers, and need not.
    :ivar url: where it is.
    """

    def __init__(self, kind: str) -> None:
        self._made = databases.Database(kind)
        self._made.setUp()
        self._kind = kind
        self._owner = os.getpid()
        self.url = self._made.url
        atexit.register(self.drop)
        self._make_tables()
        self._engine = sa.create_engine(self.url, pool_pre_ping=True)

    def _make_tables(self) -> None:
        database = connection.Database(world.configured(self.url))
        migrate.upgrade(database)
        database.close()

    def drop(self) -> None:
        """Drop it."""
        atexit.unregister(self.drop)
        # NOTE: a child that is forked inherits this, but not the database.
        if os.getpid() == self._owner:
            self._engine.dispose()
            self._made.cleanUp()

    def empty(self) -> None:
        """Leave all tables as they are when they are new."""
        ours = tables.metadata.sorted_tables
        with self._engine.begin() as opened:
            # NOTE: there are tests that drop one.
            there = set(sa.inspect(opened).get_table_names())
            if not there.issuperset(table.name for table in ours):
                tables.metadata.create_all(opened)
            # NOTE: few tables have rows, and one question finds them.
            filled = set(opened.scalars(sa.union_all(*(
                sa.select(sa.literal(table.name)).where(
                    sa.exists(sa.select(1).select_from(table)))
                for table in ours))))
            for table in reversed(ours):
                if table.name in filled:
                    opened.execute(table.delete())
            histories.note(opened)

    def count_anew(self) -> None:
        """Have ids begin where they begin in a database that is new."""
        with self._engine.begin() as opened:
            if self._kind == 'postgresql':
                opened.execute(sa.text(_COUNT_ANEW))
                return
            for name in opened.scalars(sa.text(_COUNTED)).all():
                opened.execute(sa.text(
                    f'ALTER TABLE {name} AUTO_INCREMENT = 1'))

    def is_left_alone(self) -> bool:
        """Tell whether nobody else is connected, who could still write."""
        deadline = time.monotonic() + _ENDS_WITHIN
        with self._engine.connect() as opened:
            while opened.scalar(sa.text(_OTHERS[self._kind])):
                if time.monotonic() > deadline:
                    return False
                opened.rollback()
                time.sleep(0.01)
        return True


#: By the server: those that no test has now.
_free: dict[tuple[type[Kept], str], list[Kept]] = {}


class Database(databases.Database):
    """A database of the newest schema, without rows.

    That of a server is one that a test before has left, if there is any.
    """

    keeps = Kept

    def _setUp(self) -> None:
        if self.kind == 'sqlite':
            super()._setUp()
            self._fill(pathlib.Path(sa.make_url(self.url).database or ''))
            return
        free = _free.setdefault((self.keeps, self.kind), [])
        kept = free.pop() if free else self.keeps(self.kind)
        self.addCleanup(self._give_back, kept)
        self.url = kept.url

    def _fill(self, sqlite: pathlib.Path) -> None:
        sqlite.write_bytes(world.empty_sqlite())

    def _give_back(self, kept: Kept) -> None:
        if not kept.is_left_alone():
            kept.drop()
            return
        kept.empty()
        kept.count_anew()
        _free[self.keeps, self.kind].append(kept)
