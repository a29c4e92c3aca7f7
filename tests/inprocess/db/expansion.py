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

"""What a migration has done to a schema that the previous release runs on.

That release reads and writes what it knows: nothing of it may be gone or
another one, and what it does not know must not have to be written.
"""

from collections.abc import Iterator
import dataclasses
from typing import Any

import sqlalchemy as sa

_Key = tuple[str, ...]

#: From the narrowest to the widest, as databases name them.
_INTEGERS = ('SMALLINT', 'INTEGER', 'BIGINT')
#: With these, the previous release deletes rows that new ones refer to.
_GIVES_WAY = ('CASCADE', 'SET NULL')


@dataclasses.dataclass(frozen=True)
class Table:
    """A table, as the database describes it.

    :ivar columns: by name.
    :ivar primary: the columns of the primary key.
    :ivar unique: the columns of each unique constraint and unique index.
    :ivar indexes: the columns of each index that is not unique.
    :ivar references: the columns of each foreign key, with what it refers to
        and what happens when that is deleted.
    :ivar checks: the conditions, by the names of the constraints.
    """

    columns: dict[str, dict[str, Any]]
    primary: _Key
    unique: frozenset[_Key]
    indexes: frozenset[_Key]
    references: dict[_Key, tuple[str, _Key, str]]
    checks: dict[str, str]


Schema = dict[str, Table]


def read(connection: sa.Connection) -> Schema:
    """Return the tables of a database, by name."""
    there = sa.inspect(connection)
    return {name: _table(there, name) for name in there.get_table_names()}


def _table(there: sa.Inspector, name: str) -> Table:
    indexes = there.get_indexes(name)
    unique = [each['column_names'] for each
              in there.get_unique_constraints(name)]
    return Table(
        {each['name']: dict(each) for each in there.get_columns(name)},
        tuple(there.get_pk_constraint(name)['constrained_columns']),
        frozenset(tuple(each) for each in [*unique, *(
            index['column_names'] for index in indexes if index['unique'])]),
        frozenset(tuple(index['column_names']) for index in indexes
                  if not index['unique']),
        {tuple(each['constrained_columns']): (
            each['referred_table'], tuple(each['referred_columns']),
            (each.get('options') or {}).get('ondelete') or '')
         for each in there.get_foreign_keys(name)},
        {str(each['name']): each['sqltext']
         for each in there.get_check_constraints(name)})


def breaks(before: Schema, after: Schema) -> list[str]:
    """Return what the previous release would miss, or could not write.

    :returns: nothing if all that it knows is there, and is as it was.
    """
    found = [f'table {name} is gone' for name in sorted(before.keys()
                                                        - after.keys())]
    for name, table in after.items():
        if name in before:
            found += [f'{name}: {each}' for each in (
                *_columns(before[name], table), *_keys(before[name], table))]
        found += [
            f'{name}: rows of {other} cannot be deleted, since '
            f'{", ".join(key)} refers to them'
            for key, (other, _, ondelete) in table.references.items()
            if other in before and ondelete not in _GIVES_WAY
            and (name not in before
                 or key not in before[name].references)]
    return found


def adds(before: Schema, after: Schema) -> list[str]:
    """Return the tables and columns that a migration has added."""
    return [*(after.keys() - before.keys()), *(
        f'{name}.{column}' for name in before.keys() & after.keys()
        for column in after[name].columns.keys() - before[name].columns.keys()
    )]


def _columns(before: Table, after: Table) -> Iterator[str]:
    for name in sorted(before.columns.keys() - after.columns.keys()):
        yield f'column {name} is gone'
    for name, column in after.columns.items():
        old = before.columns.get(name)
        if old is None:
            if not column['nullable'] and column['default'] is None:
                yield f'column {name} would have to be written'
            continue
        if old['nullable'] is not column['nullable']:
            yield (f'column {name} may be NULL' if column['nullable']
                   else f'column {name} may not be NULL any more')
        if old['default'] != column['default']:
            yield f'column {name} has another default'
        if not _holds(old['type'], column['type']):
            yield f'column {name} has another type'


def _holds(before: sa.types.TypeEngine[Any],
           after: sa.types.TypeEngine[Any]) -> bool:
    """Return whether a type has all values of another one, and reads so."""
    names = type(before).__name__, type(after).__name__
    if set(names) <= set(_INTEGERS):
        return _INTEGERS.index(names[0]) <= _INTEGERS.index(names[1])
    if names == ('VARCHAR', 'VARCHAR'):
        return _length(before) <= _length(after)
    return repr(before) == repr(after)


def _length(text: sa.types.TypeEngine[Any]) -> float:
    length: int | None = getattr(text, 'length', None)
    return float('inf') if length is None else length


def _keys(before: Table, after: Table) -> Iterator[str]:
    if before.primary != after.primary:
        yield 'the primary key is another one'
    for key in sorted(before.unique - after.unique):
        yield f'{", ".join(key)} are not unique any more'
    # NOTE: only NULLs differ from each other, and the previous release leaves
    # columns NULL that it does not know, unless they have a default.
    left_null = {name for name, column in after.columns.items()
                 if name not in before.columns and column['nullable']
                 and column['default'] is None}
    for key in sorted(after.unique - before.unique):
        if not left_null & set(key):
            yield f'{", ".join(key)} have to be unique'
    for key in sorted(each for each in before.indexes if not any(
            other[:len(each)] == each
            for other in after.indexes | after.unique)):
        yield f'{", ".join(key)} have no index any more'
    for key in sorted(before.references.keys() | after.references.keys()):
        there = before.references.get(key)
        if there is None and not set(key) & before.columns.keys():
            continue
        if there != after.references.get(key):
            yield f'the foreign key of {", ".join(key)} is another one'
    if before.checks != after.checks:
        yield 'the conditions of its rows are others'
