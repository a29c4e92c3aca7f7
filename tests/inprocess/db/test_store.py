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

"""Rows are made to values by name, and written as they were read."""

import ast
import dataclasses
import datetime
import enum
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import store
from ironic_reservations.db import tables
from tests import servers
from tests import timeline_writes
from tests import world

_T = tables.calendar_tokens.c


class _Role(enum.StrEnum):
    READER = 'reader'
    MEMBER = 'member'


@dataclasses.dataclass(frozen=True)
class _Token:
    digest: str
    owner: str
    user: str
    role: _Role
    created_at: datetime.datetime
    fingerprint: str | None = None
    known: bool = False


_TOKEN = store.Rows(
    _Token, tables.calendar_tokens, 'token {0.digest}',
    as_read=('digest', 'role', 'fingerprint'),
    changing=('user', 'role', 'fingerprint'),
    named={'user': 'user_id', 'role': 'roles'})
_READER = _Token('a', 'owner of a', 'ann', _Role.READER, world.NOON)
_MEMBER = _Token('b', 'owner of b', 'bob', _Role.MEMBER, world.NOON, 'print')


@servers.also
class TestStore(world.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.database = self.new_world().engine.database
        with self.database.write() as connection:
            _TOKEN.insert(connection, [_READER, _MEMBER], project_id='')

    def read(self) -> list[_Token]:
        with self.database.read() as connection:
            return _TOKEN.all(connection.execute(
                sa.select(*_TOKEN.columns).order_by(_T.digest)))

    def test_rows_are_read_as_they_were_written(self) -> None:
        self.assertEqual([_READER, _MEMBER], self.read())

    def test_character_of_four_bytes_is_stored(self) -> None:
        """MariaDB refused it, and the answer was that it did not answer."""
        smile = dataclasses.replace(_READER, digest='c', owner='c',
                                    user='ann \U0001f600')
        with self.database.write() as connection:
            _TOKEN.insert(connection, [smile], project_id='')
        self.assertIn(smile, self.read())

    def test_fields_without_a_column_are_given_with_the_row(self) -> None:
        with self.database.read() as connection:
            rows = connection.execute(sa.select(
                *_TOKEN.labelled('of_token_'), _T.digest))
            made = _TOKEN.reader(rows, 'known', prefix='of_token_')
            self.assertEqual(
                {'a': dataclasses.replace(_READER, known=True),
                 'b': dataclasses.replace(_MEMBER, known=True)},
                {row.digest: made(row, True) for row in rows})

    def test_fields_that_change_are_written(self) -> None:
        """What another one has written in other columns stays."""
        with self.database.write() as connection:
            connection.execute(sa.update(tables.calendar_tokens)
                               .where(_T.digest == 'a').values(owner='other'))
            _TOKEN.update(connection, _READER, dataclasses.replace(
                _READER, user='eve'), project_id='p')
        self.assertEqual([dataclasses.replace(
            _READER, owner='other', user='eve'), _MEMBER], self.read())

    def test_difference_that_would_not_be_written_is_a_mistake(self) -> None:
        with self.database.write() as connection:
            self.assertRaisesRegex(
                ValueError, 'owner cannot be changed', _TOKEN.update,
                connection, _READER, dataclasses.replace(_READER, owner='x'))
            # Unless the caller writes it.
            _TOKEN.update(connection, _READER, dataclasses.replace(
                _READER, owner='x'), owner='y')
        self.assertEqual([dataclasses.replace(_READER, owner='y'), _MEMBER],
                         self.read())

    def test_row_that_has_changed_is_left_alone(self) -> None:
        """Also if NULL was read, or has been written since."""
        for read in (dataclasses.replace(_READER, role=_Role.MEMBER),
                     dataclasses.replace(_READER, fingerprint='print'),
                     dataclasses.replace(_MEMBER, fingerprint=None)):
            with self.database.write() as connection:
                self.assertFalse(_TOKEN.try_delete(connection, read))
                self.assertFalse(_TOKEN.try_update(
                    connection, read, dataclasses.replace(read, user='eve')))
                self.assertRaisesRegex(
                    db_connection.Conflict, f'token {read.digest} has changed',
                    _TOKEN.delete, connection, read)
                self.assertRaises(
                    db_connection.Conflict, _TOKEN.update, connection, read,
                    dataclasses.replace(read, user='eve'))
        self.assertEqual([_READER, _MEMBER], self.read())

    def test_row_as_it_was_read_is_deleted(self) -> None:
        with self.database.write() as connection:
            _TOKEN.delete(connection, _READER)
        self.assertEqual([_MEMBER], self.read())

    def test_several_are_deleted_only_if_none_has_changed(self) -> None:
        rows = store.Rows(_Token, tables.calendar_tokens, 'a token',
                          as_read=('digest', 'role'),
                          named={'user': 'user_id', 'role': 'roles'})

        def delete(*read: _Token) -> None:
            with self.database.write() as connection:
                rows.delete_all(connection, read)
        # Each value is one of those that were read, but of the other row.
        self.assertRaises(db_connection.Conflict, delete, _READER,
                          dataclasses.replace(_MEMBER, role=_Role.READER))
        self.assertEqual([_READER, _MEMBER], self.read())
        delete(_READER, _MEMBER)
        delete()
        self.assertEqual([], self.read())


class TestPositions(world.TestCase):
    """A column that is added before others changes no value."""

    def test_no_row_is_read_by_position(self) -> None:
        self.assertEqual([], [
            f'{path.name}:{line}'
            for path in timeline_writes.PACKAGE.rglob('*.py')
            if timeline_writes.has_statements(str(path))
            for line in _positions(path.read_text())])

    def test_one_that_is_would_be_found(self) -> None:
        for source in ('row[1]', 'row[2:13]', 'f(*row)', 'f(*row[1:])',
                       'rows[0][4:]'):
            self.assertEqual([1], list(_positions(source)), source)


def _positions(source: str) -> list[int]:
    return [node.lineno for node in ast.walk(ast.parse(source))
            if _is_position(node)]


def _is_position(node: Any) -> bool:
    if isinstance(node, ast.Starred):
        return ast.unparse(node.value) == 'row'
    return isinstance(node, ast.Subscript) and (
        isinstance(node.slice, ast.Slice)
        or isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, int)) and (
        ast.unparse(node.value) == 'row' or (
            isinstance(node.value, ast.Subscript)
            and ast.unparse(node.value.value) == 'rows'))
