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

"""The release before runs on the new tables, on the way there and back.

It reads and writes what it knows: nothing of that may be gone, and what it
does not know must not have to be written.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from alembic import config as alembic_config
from alembic import script
import sqlalchemy as sa

from ironic_reservations.db import migrate
from tests import servers
from tests.inprocess.db import migrating

#: From where on releases run beside each other.
_FIRST = '0006'


@dataclasses.dataclass(frozen=True)
class _Shape:
    """What there is: columns and unique keys, by table."""

    columns: dict[str, dict[str, Any]]
    keys: dict[str, set[tuple[str, ...]]]


def _revisions() -> list[str]:
    config = alembic_config.Config()
    config.set_main_option('script_location', str(migrate._HERE))
    found = [each.revision for each in script.ScriptDirectory.from_config(
        config).walk_revisions()]
    return [each for each in reversed(found) if each >= _FIRST]


@servers.also_empty
class TestReleaseBefore(migrating.MigrationTestCase):

    def _shape(self) -> _Shape:
        with self.database.read() as connection:
            there = sa.inspect(connection)
            keys = there.get_multi_unique_constraints()
            return _Shape(_columns(there), {
                name: {tuple(each['column_names']) for each in of_table}
                for (_, name), of_table in keys.items()})

    def test_each_revision_adds_and_takes_nothing_away(self) -> None:
        """Columns that are added to a table may be left out by who writes."""
        first, *later = _revisions()
        migrate.upgrade(self.database, first)
        before = self._shape()
        for revision in later:
            migrate.upgrade(self.database, revision)
            after = self._shape()
            for table, columns in before.columns.items():
                self.assertLessEqual(columns.keys(),
                                     after.columns[table].keys(), revision)
                for name, column in after.columns[table].items():
                    old = columns.get(name)
                    must = not column['nullable'] and (
                        column['default'] is None
                        and column.get('autoincrement') is not True)
                    if old is None:
                        self.assertFalse(
                            must, f'{revision}: {table}.{name} is to be '
                            'written, and the release before does not')
                    elif old['nullable']:
                        self.assertTrue(
                            column['nullable'], f'{revision}: {table}.{name} '
                            'may be NULL for the release before')
                added = after.keys[table] - before.keys[table]
                for key in added:
                    self.assertTrue(
                        set(key) - columns.keys(), f'{revision}: {table} '
                        f'refuses what the release before writes: {key}')
            before = after
        self.assertEqual(migrate.head(), later[-1])

    def test_a_way_back_leaves_what_was_there_before(self) -> None:
        """Each revision down and up again comes out the same.

        By one step, and by all of them.
        """
        migrate.upgrade(self.database)
        before, above = {}, migrate.head()
        for revision in reversed(_revisions()[:-1]):
            migrate.downgrade(self.database, revision)
            before[revision] = self._columns()
            migrate.upgrade(self.database, above)
            migrate.downgrade(self.database, revision)
            self.assertEqual(before[revision], self._columns(), revision)
            above = revision
        migrate.upgrade(self.database)
        for revision, columns in before.items():
            migrate.downgrade(self.database, revision)
            self.assertEqual(columns, self._columns(), revision)

    def _columns(self) -> dict[str, list[str]]:
        with self.database.read() as connection:
            return {name: sorted(columns) for name, columns
                    in _columns(sa.inspect(connection)).items()}


def _columns(there: sa.Inspector) -> dict[str, dict[str, Any]]:
    return {name: {each['name']: each for each in of_table}
            for (_, name), of_table in there.get_multi_columns().items()}
