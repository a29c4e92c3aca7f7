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

"""Steps of migrations that can be repeated.

MariaDB commits every change of a table separately. A migration that is killed
there is half done, and the next run begins with its first step again. Each of
these steps therefore inspects the database, and makes only missing changes.
Migrations must use these steps alone.

A migration that changes rows uses :func:`copy_rows`, or :func:`execute` with a
condition that excludes the rows that have been changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
from typing import Any

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

#: The type of an instant, to the microsecond on all databases.
INSTANT = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql',
                                     'mariadb')

#: The type of a counter that never restarts. SQLite assigns numbers only in a
#: column of the type INTEGER.
BIG = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')

#: The type of texts longer than 64 KiB.
LONG_TEXT = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')

_MYSQL = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8mb4',
          'mysql_collate': 'utf8mb4_bin'}

_Columns = Sequence[str]


def create_table(name: str, *items: sa.schema.SchemaItem,
                 indexes: Sequence[_Columns] = (),
                 autoincrement: bool = False) -> None:
    """Create a table with its indexes.

    Constraints and indexes get their names by the convention of the tables.

    :param items: columns and constraints.
    :param indexes: the columns of each index.
    :param autoincrement: never reuse an integer primary key, not even on
        SQLite.
    """
    if not _inspect().has_table(name):
        op.create_table(name, *items, sqlite_autoincrement=autoincrement,
                        **_MYSQL)
    for columns in indexes:
        create_index('_'.join(('ix', name, *columns)), name, columns)


def drop_table(name: str) -> None:
    """Drop a table with its rows."""
    if _inspect().has_table(name):
        op.drop_table(name)


def create_index(name: str, table: str, columns: _Columns) -> None:
    """Create a non-unique index; see also :meth:`Table.unique`."""
    if name not in _indexes(table):
        op.create_index(name, table, list(columns))


def drop_index(name: str, table: str) -> None:
    """Drop an index."""
    if name in _indexes(table):
        op.drop_index(name, table)


@contextlib.contextmanager
def alter_table(name: str) -> Iterator[Table]:
    """Open a table for changes, which are made at the end of the block.

    SQLite recreates a table that it cannot alter, once for all changes of the
    block; rows, the autoincrement counter and references of other tables are
    kept. Before a column is dropped, its indexes have to be dropped.
    """
    # SQLAlchemy does not reflect AUTOINCREMENT, and a recreated table
    # would continue its counter from its highest row.
    autoincrement = _is_sqlite() and _is_autoincrement(name)
    given = _given(name) if autoincrement else None
    with op.batch_alter_table(
            name, table_kwargs={'sqlite_autoincrement': True}
            if autoincrement else {}) as batch:
        yield Table(name, batch)
    if given is not None:
        _remember(name, given)


def copy_rows(source: sa.Select[Any], table: str, key: _Columns) -> None:
    """Insert the rows of a query, except for rows that exist.

    :param source: a query whose columns have the names of the table's columns.
    :param key: the columns that identify a row.
    """
    wanted = source.subquery()
    names = list(wanted.columns.keys())
    target = sa.table(table, *(sa.column(name) for name in names))
    there = sa.select(sa.literal(1)).select_from(target).where(
        *(target.c[name] == wanted.columns[name] for name in key))
    op.execute(target.insert().from_select(
        names, sa.select(wanted).where(~there.exists())))


def execute(statement: str | sa.Executable) -> None:
    """Run a statement whose condition excludes the rows already changed."""
    op.execute(statement)


class Table:
    """Changes of a table; changes that were made already are skipped.

    :ivar name: the name of the table.
    """

    def __init__(self, name: str, batch: Any) -> None:
        self.name = name
        self._batch = batch
        inspector = _inspect()
        self._columns = {column['name']: column
                         for column in inspector.get_columns(name)}
        self._uniques = {unique['name'] for unique
                         in inspector.get_unique_constraints(name)}
        self._foreign_keys = {key['name'] for key
                              in inspector.get_foreign_keys(name)}

    def add_column(self, column: sa.Column[Any]) -> None:
        """Add a column that may be NULL, or has a server default.

        The previous release does not know the column, and must still be able
        to insert rows.
        """
        if column.name not in self._columns:
            self._batch.add_column(column)

    def drop_column(self, name: str) -> None:
        """Drop a column."""
        if name in self._columns:
            self._batch.drop_column(name)

    def alter_column(self, name: str, *,
                     type_: sa.types.TypeEngine[Any] | None = None,
                     nullable: bool | None = None) -> None:
        """Change the type of a column, or whether it may be NULL.

        :param type_: the new type; ``None``: no change.
        :param nullable: whether it may be NULL; ``None``: no change.
        """
        now = self._columns[name]
        changes: dict[str, Any] = {}
        if type_ is not None and _differs(now['type'], type_):
            changes['type_'] = type_
        if nullable is not None and nullable != now['nullable']:
            changes['nullable'] = nullable
        if changes:
            # MariaDB needs the whole definition of the column.
            default = now['default']
            if op.get_bind().dialect.name in ('mysql', 'mariadb'):
                changes['existing_autoincrement'] = (
                    now.get('autoincrement') is True)
            self._batch.alter_column(
                name, existing_type=now['type'],
                existing_nullable=now['nullable'],
                existing_server_default=(
                    False if default is None else sa.text(default)),
                **changes)

    def unique(self, name: str, columns: _Columns) -> None:
        """Create a unique constraint."""
        if name not in self._uniques:
            self._batch.create_unique_constraint(name, list(columns))

    def drop_unique(self, name: str) -> None:
        """Drop a unique constraint."""
        if name in self._uniques:
            self._batch.drop_constraint(name, type_='unique')

    def foreign_key(self, name: str, columns: _Columns, other: str,
                    other_columns: _Columns,
                    ondelete: str | None = None) -> None:
        """Create a foreign key."""
        if name not in self._foreign_keys:
            self._batch.create_foreign_key(
                name, other, list(columns), list(other_columns),
                ondelete=ondelete)

    def drop_foreign_key(self, name: str) -> None:
        """Drop a foreign key."""
        if name in self._foreign_keys:
            self._batch.drop_constraint(name, type_='foreignkey')


def _inspect() -> sa.Inspector:
    # A new inspector for each call, since it caches its results.
    return sa.inspect(op.get_bind())


def _indexes(table: str) -> set[str | None]:
    return {index['name'] for index in _inspect().get_indexes(table)}


def _differs(one: sa.types.TypeEngine[Any],
             other: sa.types.TypeEngine[Any]) -> bool:
    return op.get_context().impl.compare_type(sa.Column('a', one),
                                              sa.Column('a', other))


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == 'sqlite'


def _is_autoincrement(table: str) -> bool:
    made = op.get_bind().scalar(
        sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' "
                'AND name = :name'), {'name': table})
    return 'AUTOINCREMENT' in (made or '').upper()


def _given(table: str) -> int:
    """Return the highest id that SQLite has assigned; 0: none."""
    bind = op.get_bind()
    given = 0
    if _inspect().has_table('sqlite_sequence'):
        given = bind.scalar(
            sa.text('SELECT seq FROM sqlite_sequence WHERE name = :name'),
            {'name': table}) or 0
    return max(given, bind.scalar(
        sa.select(sa.func.max(sa.literal_column('rowid'))).select_from(
            sa.table(table))) or 0)


def _remember(table: str, given: int) -> None:
    bind = op.get_bind()
    names = {'name': table, 'seq': given}
    found = bind.execute(
        sa.text('UPDATE sqlite_sequence SET seq = MAX(seq, :seq) '
                'WHERE name = :name'), names)
    if not found.rowcount:
        bind.execute(sa.text('INSERT INTO sqlite_sequence (name, seq) '
                             'VALUES (:name, :seq)'), names)
