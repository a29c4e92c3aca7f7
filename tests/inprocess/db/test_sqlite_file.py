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

"""The file with every proof in it is its owner's alone.

It used to be 0644 in a folder that all may look into.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib

import fixtures
import testtools

from ironic_reservations.cmd import status
from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from tests import world


class TestSqliteFile(testtools.TestCase):

    def setUp(self):
        super().setUp()
        # NOTE: as most systems have it.
        self.addCleanup(os.umask, os.umask(0o022))
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def modes(self, folder):
        return {file.name: oct(file.stat().st_mode & 0o777)
                for file in folder.iterdir()}

    def check(self, file):
        config = self.folder / 'ironic-reservations.conf'
        config.write_text(f'[database]\nconnection = sqlite:///{file}\n')
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = status.main(['--config-file', str(config), 'upgrade',
                                'check'])
        return code, ' '.join(said.getvalue().split())

    def test_database_and_all_beside_it_are_the_owners(self):
        """While it is open, when there is a log of writes."""
        state = self.folder / 'state'
        conf = world.configured(None)
        conf.set_override('state_path', str(state))
        database = connection.Database(conf)
        migrate.upgrade(database)
        with database.write() as opened:
            opened.exec_driver_sql('DELETE FROM claims')
            there = self.modes(state)
        self.assertEqual(
            {'reservations.sqlite', 'reservations.sqlite-wal',
             'reservations.sqlite-shm', 'reservations.sqlite.lock'},
            there.keys())
        self.assertEqual({'0o600'}, set(there.values()), there)
        self.assertEqual(0o700, state.stat().st_mode & 0o777)

    def test_lax_file_is_warned_of_and_works(self):
        """One that is there stays as its operator has made it."""
        file = self.folder / 'reservations.sqlite'
        file.touch(0o644)
        migrate.upgrade(connection.Database(
            world.configured(f'sqlite:///{file}')))
        code, said = self.check(file)
        self.assertEqual(1, code, said)
        self.assertIn('chmod 600', said)
        self.assertEqual(0o644, file.stat().st_mode & 0o777)
        file.chmod(0o600)
        self.assertEqual(0, self.check(file)[0])
