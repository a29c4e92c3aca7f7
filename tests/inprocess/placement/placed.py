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

"""Scratch databases of a Placement, which makes its tables itself.

To make them takes it longer than to start, so they are made once in a process
of the tests for each of the Placements that it has at a time.
"""

import pathlib

from placement.db.sqlalchemy import models
import sqlalchemy as sa

from tests.real import migrated

#: Those in which Placement writes rows of its own when it starts.
_NAMES = ('resource_classes', 'traits')


class _Kept(migrated.Kept):

    def _make_tables(self) -> None:
        """Leave that to Placement."""

    def empty(self) -> None:
        """Leave what Placement has written when it started."""
        with self._engine.begin() as opened:
            there = set(sa.inspect(opened).get_table_names())
            # NOTE: providers name each other.
            self._check_keys(opened, False)
            for table in reversed(models.BASE.metadata.sorted_tables):
                if table.name in there:
                    opened.execute(table.delete().where(
                        table.c.name.startswith('CUSTOM_', autoescape=True))
                        if table.name in _NAMES else table.delete())
            self._check_keys(opened, True)

    def _check_keys(self, opened: sa.Connection, check: bool) -> None:
        if self._kind == 'mysql':
            opened.execute(sa.text(f'SET foreign_key_checks = {check:d}'))

    def count_anew(self) -> None:
        """Leave that: what Placement has written has ids."""


class Database(migrated.Database):
    """A database for one Placement, with its tables or without any."""

    keeps = _Kept

    def _fill(self, sqlite: pathlib.Path) -> None:
        """Leave that to Placement."""
