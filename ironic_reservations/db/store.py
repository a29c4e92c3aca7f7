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

"""Rows as values of frozen classes: read by name, and written as read.

A class describes the rows of a table: each field with a column of its name is
read from this column and written to it. Statements that write or delete a row
compare it with the values that were read, and raise ``Conflict`` if it has
changed since.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import enum
import functools
import operator
from typing import Any
from typing import Generic
from typing import get_type_hints
from typing import TypeVar

import sqlalchemy as sa

from ironic_reservations.db import connection as connection_module

_T = TypeVar('_T')
#: The number of values that one statement may have in a list.
_PIECE = 500
#: The values of fields by the values of their columns, or a function for them.
_Decoder = Mapping[Any, Any] | Callable[[Any], Any]


class Record(Generic[_T]):
    """Makes values of a class from rows, by the names of their columns."""

    def __init__(self, kind: type[_T],
                 decode: Mapping[str, _Decoder] | None = None) -> None:
        """Describe the rows of a query.

        :param kind: a dataclass or a named tuple; its enumerations are read
            from their values.
        :param decode: the value of a field from the value of its column.
        """
        self.kind = kind
        hints = get_type_hints(kind)
        self.fields = tuple(
            [each.name for each in dataclasses.fields(kind) if each.init]
            if dataclasses.is_dataclass(kind) else hints)
        self._decode: dict[str, _Decoder] = {
            name: {each.value: each for each in hints[name]}
            for name in self.fields if isinstance(hints[name], enum.EnumMeta)}
        self._decode.update(decode or {})
        self._makers: dict[tuple[Any, ...], Callable[..., _T]] = {}

    def reader(self, result: sa.CursorResult[Any], *given: str,
               prefix: str = '') -> Callable[..., _T]:
        """Return a function that makes a value from a row of a result.

        Fields without a column have their defaults.

        :param given: fields whose values are given with a row, in this order.
        :param prefix: the prefix of the names of the columns.
        """
        key = prefix, given, *result.keys()
        found = self._makers.get(key)
        if found is None:
            found = self._makers[key] = self._maker(*key)
        return found

    def all(self, result: sa.CursorResult[Any]) -> list[_T]:
        """Return the values of all rows."""
        return [*map(self.reader(result), result)]

    def first(self, result: sa.CursorResult[Any]) -> _T | None:
        """Return the value of the only row, ``None`` without one."""
        row = result.one_or_none()
        return None if row is None else self.reader(result)(row)

    def _maker(self, prefix: str, given: tuple[str, ...],
               *names: str) -> Callable[..., _T]:
        scope: dict[str, Any] = {'kind': self.kind}
        values, lacks = [], False
        for name in self.fields:
            if name in given:
                value = name
            elif prefix + name in names:
                assert names.count(prefix + name) == 1, name
                value = f'row[{names.index(prefix + name)}]'
                decoder = self._decode.get(name)
                if decoder is not None:
                    scope[f'of_{name}'] = decoder
                    value = (f'of_{name}[{value}]'
                             if isinstance(decoder, Mapping)
                             else f'of_{name}({value})')
            else:
                lacks = True
                continue
            values.append(f'{name}={value}' if lacks else value)
        # Compiled like dataclasses: a loop would double the cost of a row.
        made: Callable[..., _T] = eval(  # noqa: S307
            f'lambda {", ".join(("row", *given))}: kind({", ".join(values)})',
            scope)
        return made


class Rows(Record[_T]):
    """The rows of a table that have the fields of a class.

    :ivar columns: the columns of the fields, selected by the names of fields.
    :ivar as_read: the condition that a row is as it was read; its values come
        from :meth:`read`.
    :ivar inserting: a statement that inserts rows with given values.
    :ivar updating: a statement that sets columns to given values.
    """

    def __init__(self, kind: type[_T], table: sa.Table, what: str, *,
                 as_read: Collection[str] = (),
                 changing: Collection[str] = (),
                 where: Collection[sa.ColumnElement[bool]] = (),
                 named: Mapping[str, str] | None = None,
                 apart: Collection[str] = (),
                 decode: Mapping[str, _Decoder] | None = None,
                 encode: Mapping[str, Callable[[Any], Any]] | None = None
                 ) -> None:
        """Describe the rows of a table.

        :param what: the name of a row for the error message, which may contain
            fields of the row: ``{0.uuid}``.
        :param as_read: the fields that are compared with the values as read.
        :param changing: the fields that an update writes.
        :param where: further conditions on a row to be written.
        :param named: the columns of fields that have other names.
        :param apart: fields that the caller reads and writes itself.
        :param decode: the value of a field from the value of its column.
        :param encode: the value of a column from the value of its field.
        """
        super().__init__(kind, decode)
        self._what = what
        self._table = table
        named = {name: (named or {}).get(name, name) for name in self.fields
                 if name not in apart}
        self._columns = {name: table.c[column] for name, column
                         in named.items() if column in table.c}
        self.columns = self.labelled()
        self._encode: dict[str, Callable[[Any], Any]] = dict.fromkeys(
            self._decode.keys() & self._columns.keys() - (decode or {}).keys(),
            _value)
        self._encode.update(encode or {})
        self.as_read = (*(_as_read(name, self._columns[name])
                          for name in as_read), *where)
        self._read = {name: f'read_{name}' for name in as_read}
        self.inserting = sa.insert(table)
        self.updating = sa.update(table).where(*self.as_read)
        self._deleting = sa.delete(table).where(*self.as_read)
        assigned = table.autoincrement_column
        self._inserted = {name: column.key for name, column
                          in self._columns.items() if column is not assigned}
        self._changing = {name: self._inserted[name] for name in changing}

    def labelled(self, prefix: str = '') -> tuple[sa.ColumnElement[Any], ...]:
        """Return the columns, by names with a prefix."""
        return tuple(column if column.key == prefix + name
                     else column.label(prefix + name)
                     for name, column in self._columns.items())

    def _values(self, row: _T, names: Mapping[str, str]) -> dict[str, Any]:
        """Return values of columns."""
        return {key: self._encode[name](getattr(row, name))
                if name in self._encode else getattr(row, name)
                for name, key in names.items()}

    def values(self, row: _T) -> dict[str, Any]:
        """Return the values of a new row."""
        return self._values(row, self._inserted)

    def values_or_nulls(self, row: _T | None) -> dict[str, Any]:
        """Return the values of a part of a row, or ``None`` for each."""
        return (dict.fromkeys(self._inserted.values()) if row is None
                else self.values(row))

    def read(self, row: _T) -> dict[str, Any]:
        """Return the values of :attr:`as_read`."""
        return self._values(row, self._read)

    def insert(self, connection: sa.Connection, rows: Iterable[_T],
               **more: Any) -> None:
        """Write new rows in one statement; the database assigns numbers.

        :param more: the values of other columns.
        :raises oslo_db.exception.DBDuplicateEntry: a row with the same key
            exists already.
        """
        # INSERT INTO ... (...) VALUES (...), ...
        # Values as parameters cost SQLAlchemy much less.
        values = [{**self.values(row), **more} for row in rows]
        if values:
            connection.execute(self.inserting, values)

    def insert_one(self, connection: sa.Connection, row: _T,
                   **more: Any) -> Any:
        """Write a new row, and return the number that it was assigned."""
        result = connection.execute(self.inserting,
                                    {**self.values(row), **more})
        assert result.inserted_primary_key is not None
        return result.inserted_primary_key[0]

    def update(self, connection: sa.Connection, before: _T, after: _T,
               statement: sa.Update | None = None, **more: Any) -> None:
        """Write the fields of a row that change, as :meth:`try_update`.

        :raises Conflict: the row has changed since it was read.
        """
        if not self.try_update(connection, before, after, statement, **more):
            raise _changed_since(self._what.format(before))

    def try_update(self, connection: sa.Connection, before: _T, after: _T,
                   statement: sa.Update | None = None, **more: Any) -> bool:
        """Write the fields of a row that change.

        :param before: as it was read.
        :param statement: :attr:`updating` with further conditions.
        :param more: the values of other columns and conditions.
        :returns: whether the row was as it was read.
        """
        # UPDATE ... SET (the fields that change) WHERE (it is as it was read)
        lost = [name for name, key in self._inserted.items()
                if name not in self._changing and name not in self._read
                and key not in more and getattr(before, name) != getattr(
                    after, name)]
        if lost:
            raise ValueError(f'{", ".join(lost)} cannot be changed')
        return bool(connection.execute(
            self.updating if statement is None else statement,
            {**self._values(after, self._changing), **more,
             **self.read(before)}).rowcount)

    def delete(self, connection: sa.Connection, before: _T) -> None:
        """Delete a row, as :meth:`try_delete`.

        :raises Conflict: the row has changed since it was read.
        """
        if not self.try_delete(connection, before):
            raise _changed_since(self._what.format(before))

    def try_delete(self, connection: sa.Connection, before: _T) -> bool:
        """Delete a row.

        :param before: as it was read.
        :returns: whether it was as it was read.
        """
        # DELETE FROM ... WHERE (it is as it was read)
        return bool(connection.execute(self._deleting,
                                       self.read(before)).rowcount)

    def delete_all(self, connection: sa.Connection,
                   rows: Collection[_T]) -> None:
        """Delete rows in one statement.

        :param rows: as they were read.
        :raises Conflict: one of the rows has changed since.
        """
        # DELETE FROM ... WHERE id IN (...) AND (id, ...) IN ((?, ...), ...)
        # The first condition is for the index: MariaDB uses none for tuples.
        if rows:
            values = [tuple(self.read(row).values()) for row in rows]
            check(connection.execute(self._deleting_all, {
                'of_keys': [key for key, *_ in values], 'of_rows': values}),
                len(rows), self._what.format(next(iter(rows))))

    @functools.cached_property
    def _deleting_all(self) -> sa.Delete:
        columns = [self._columns[name] for name in self._read]
        return sa.delete(self._table).where(
            columns[0].in_(sa.bindparam('of_keys', expanding=True)),
            sa.tuple_(*columns).in_(sa.bindparam('of_rows', expanding=True)))


class OfNodes:
    """A query for the rows of all nodes, or of some; each is built once."""

    def __init__(self, query: sa.Select[Any],
                 node_uuid: sa.ColumnElement[str]) -> None:
        self._all = query
        self._some = query.where(node_uuid.in_(
            sa.bindparam('uuids', expanding=True)))

    def execute(self, connection: sa.Connection,
                node_uuids: Collection[str] | None
                ) -> sa.CursorResult[Any]:
        """Return the rows.

        :param node_uuids: ``None``: all nodes.
        """
        if node_uuids is None:
            return connection.execute(self._all)
        return connection.execute(self._some, {'uuids': list(node_uuids)})


def pieces(values: Iterable[Any]) -> Iterator[Sequence[Any]]:
    """Yield the sorted values in lists that one statement may have."""
    ordered = sorted(values)
    for first in range(0, len(ordered), _PIECE):
        yield ordered[first:first + _PIECE]


def check(result: sa.CursorResult[Any], count: int, what: str) -> None:
    """Check that a statement found every row unchanged since it was read.

    :param count: the number of rows that had to be written.
    :param what: the name of such a row, for the error message.
    :raises Conflict: one of the rows has changed since it was read.
    """
    if result.rowcount != count:
        raise _changed_since(what)


def _changed_since(what: str) -> connection_module.Conflict:
    return connection_module.Conflict(
        f'{what} has changed since it was read')


def _value(state: enum.Enum) -> Any:
    return state.value


def _as_read(name: str, column: sa.Column[Any]) -> sa.ColumnElement[bool]:
    read = sa.bindparam(f'read_{name}', type_=column.type)
    return (column.is_not_distinct_from(read) if column.nullable
            else column == read)


def values_of(result: sa.CursorResult[Any], *names: str
              ) -> Callable[[sa.Row[Any]], Any]:
    """Return a function that reads one column, or a tuple of several.

    For many rows, it is faster than attributes.
    """
    return operator.itemgetter(*map([*result.keys()].index, names))


@functools.cache
def record(kind: type[_T]) -> Record[_T]:
    """Return the record of a class whose fields need no decoding."""
    return Record(kind)


def read(kind: type[_T], result: sa.CursorResult[Any]) -> list[_T]:
    """Return the rows of a result as values of a class."""
    return record(kind).all(result)
