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

import fixtures
import sqlalchemy as sa
import testtools

from ironic_reservations.cmd import dbsync
from ironic_reservations.db import connection
from tests import world


class MigrationTestCase(testtools.TestCase):
    """On an empty SQLite file; subclasses say where else."""

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
        with self.database.read() as opened:
            return set(sa.inspect(opened).get_table_names())

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
