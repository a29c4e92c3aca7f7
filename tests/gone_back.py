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

"""A database that goes back to an earlier state while processes use it.

That is what they see if a dump is restored, or if a replica is promoted that
never got the last commits.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
from unittest import mock

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import tables

_TABLES = tables.metadata.sorted_tables


class Dump:
    """All rows, and the next numbers, of a database at one moment."""

    def __init__(self, database: db_connection.Database) -> None:
        self._database = database
        with database.snapshot() as connection:
            self._rows = {table: [row._asdict() for row in
                                  connection.execute(sa.select(table))]
                          for table in _TABLES}
            self._numbers = {
                column: connection.scalar(sa.select(sa.func.max(column))) or 0
                for column in map(_numbered, _TABLES) if column is not None}

    def restore(self) -> None:
        """Have the database be as it was."""
        with self._database.write() as connection:
            for table in reversed(_TABLES):
                connection.execute(sa.delete(table))
            for table, rows in self._rows.items():
                if rows:
                    connection.execute(sa.insert(table), rows)
            kind = connection.dialect.name
            for column, last in self._numbers.items():
                connection.execute(_COUNT_FROM[kind](column, last))

    def restore_before_answer(self, seen: Callable[[], object]) -> None:
        """Restore it after the next COMMIT, whose answer is lost.

        :param seen: called while the COMMIT is there for all to see.
        """
        database = self._database
        real = database.write

        @contextlib.contextmanager
        def write() -> Iterator[sa.Connection]:
            answered.stop()
            with real() as opened:
                yield opened
            seen()
            self.restore()
            raise errors.OutcomeUnknown
        answered = mock.patch.object(database, 'write', write)
        answered.start()


@contextlib.contextmanager
def undone(database: db_connection.Database) -> Iterator[None]:
    """Have what is written meanwhile be gone afterwards."""
    dump = Dump(database)
    yield
    dump.restore()


def _numbered(table: sa.Table) -> sa.Column[int] | None:
    """Return the column of a table that the database numbers."""
    return table.autoincrement_column


def _on_sqlite(column: sa.Column[int], last: int) -> sa.TextClause:
    return sa.text('UPDATE sqlite_sequence SET seq = :last WHERE name = :name'
                   ).bindparams(last=last, name=column.table.name)


def _on_mysql(column: sa.Column[int], last: int) -> sa.TextClause:
    return sa.text(
        f'ALTER TABLE {column.table.name} AUTO_INCREMENT = {last + 1}')


def _on_postgresql(column: sa.Column[int], last: int) -> sa.TextClause:
    return sa.text(
        'SELECT setval(pg_get_serial_sequence(:name, :key), :next, false)'
    ).bindparams(name=column.table.name, key=column.name, next=last + 1)


_COUNT_FROM = {'sqlite': _on_sqlite, 'mysql': _on_mysql,
               'mariadb': _on_mysql, 'postgresql': _on_postgresql}
