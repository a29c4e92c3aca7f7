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

"""Databases that are migrated."""

import contextlib
import io
import pathlib

from alembic import autogenerate
from alembic import migration
import fixtures
import sqlalchemy as sa
import testtools

from ironic_reservations.cmd import dbsync
from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_turn
from ironic_reservations.db import tables
from tests import world
from tests.real import migrated


def differences(database):
    """Return how the tables of a database differ from those of the code."""
    with database.read() as opened:
        return autogenerate.compare_metadata(
            migration.MigrationContext.configure(
                opened, opts={'compare_type': True,
                              'include_name': _is_of_the_code,
                              'compare_server_default': _default_differs}),
            tables.metadata)


def _is_of_the_code(name, kind, parents):
    """Leave out what migrations themselves need on MariaDB."""
    return kind != 'table' or name != migration_turn.TABLE.name


def _default_differs(context, inspected, column, there, _, wanted):
    """Compare defaults; MariaDB shows FALSE as 0."""
    if isinstance(column.type, sa.Boolean) and there in ('0', '1'):
        return (there == '1') is not (wanted in ('1', 'true'))
    return None


class _AtTheHead(migrated.Database):
    """Is at the head again when others get it, or they do not get it.

    To make all tables anew takes a server seconds, and a way back to an older
    revision is most often a short one.
    """

    def _fill(self, sqlite):
        super()._fill(sqlite)
        # NOTE: as the product makes it; what others may read is warned of.
        sqlite.chmod(0o600)

    def _give_back(self, kept):
        database = connection.Database(world.configured(kept.url))
        with contextlib.closing(database):
            try:
                migrate.upgrade(database)
                same = not differences(database)
            except Exception:
                same = False
        if same:
            super()._give_back(kept)
        else:
            kept.drop()


class MigrationTestCase(testtools.TestCase):
    """On an empty SQLite file; subclasses say where else."""

    kind = 'sqlite'

    def setUp(self):
        super().setUp()
        self.url = self.empty_database()
        self.database = connection.Database(world.configured(self.url))
        self.addCleanup(self.database.close)
        folder = self.useFixture(fixtures.TempDir()).path
        self.config = pathlib.Path(folder, 'ironic-reservations.conf')
        self.config.write_text(f'[database]\nconnection = {self.url}\n')

    def empty_database(self):
        folder = self.useFixture(fixtures.TempDir()).path
        return f'sqlite:///{folder}/reservations.sqlite'

    def tables(self):
        """Return the names of all tables but what migrations need."""
        with self.database.read() as opened:
            return {*sa.inspect(opened).get_table_names()} - {
                migration_turn.TABLE.name}

    def a_promise(self):
        promised = self.useFixture(world.World(self.url))
        return promised.reserve(*promised.enrol())

    def command(self, *arguments, run=dbsync.main):
        """Run a command, and return its status and what it said."""
        said, complained = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), (
                contextlib.redirect_stderr(complained)):
            code = run(['--config-file', str(self.config), *arguments])
        return code, said.getvalue().strip(), complained.getvalue().strip()


class AtHeadTestCase(MigrationTestCase):
    """On a database that has all tables, and no rows."""

    def at_revision(self, revision):
        """Have the database be at a revision, with the tables as they are."""
        self._write_revision(revision)
        self.addCleanup(self._write_revision, migrate.head())

    def _write_revision(self, revision):
        with self.database.write() as opened:
            opened.execute(sa.text(
                'UPDATE alembic_version SET version_num = :revision'),
                {'revision': revision})

    def empty_database(self):
        return self.useFixture(_AtTheHead(self.kind)).url
