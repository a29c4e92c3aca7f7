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

from concurrent import futures
import contextlib
import io
import os
import pathlib
import subprocess
import sys
from unittest import mock

import fixtures
import testtools

from ironic_reservations import errors
from ironic_reservations.cmd import status
from ironic_reservations.db import causes
from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from ironic_reservations.db import sqlite_file
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

    def test_second_engine_of_a_process_drops_no_locks(self):
        """Another process took the log away under the first one's feet."""
        file = self.folder / 'reservations.sqlite'
        first = connection.Database(world.configured(f'sqlite:///{file}'))
        self.addCleanup(first.close)
        migrate.upgrade(first)
        with first.write() as opened:
            opened.exec_driver_sql('DELETE FROM claims')
        second = first.alone()
        self.addCleanup(second.close)
        with second.read() as opened:
            opened.exec_driver_sql('SELECT * FROM claims').all()
        log = file.with_name(file.name + '-wal')
        before = log.stat().st_ino
        self.look(file)
        self.assertEqual(before, log.stat().st_ino)
        with first.write() as opened:
            opened.exec_driver_sql(
                "INSERT INTO claims (name, owner, expires_at) "
                "VALUES ('look', 'x', '2030-01-01')")
        self.assertEqual("[('look',)]", self.look(file))

    def look(self, file):
        """Return the claims, as another process reads them."""
        return subprocess.run(
            [sys.executable, '-c', 'import sqlite3, sys\n'
             'there = sqlite3.connect(sys.argv[1])\n'
             'print(there.execute("SELECT name FROM claims").fetchall())\n'
             'there.close()', str(file)],
            check=True, capture_output=True, text=True).stdout.strip()

    def test_made_by_two_at_once(self):
        """And one that is there is not opened."""
        file = self.folder / 'reservations.sqlite'
        with futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(sqlite_file.make, [file] * 64))
        self.assertEqual({file.name: '0o600'}, self.modes(self.folder))
        file.write_text('kept')
        file.chmod(0)
        sqlite_file.make(file)
        file.chmod(0o600)
        self.assertEqual('kept', file.read_text())

    def test_made_where_a_link_leads(self):
        file = self.folder / 'reservations.sqlite'
        file.symlink_to(self.folder / 'elsewhere')
        sqlite_file.make(file)
        self.assertEqual('0o600', self.modes(self.folder)['elsewhere'])

    def test_folder_that_is_missing_is_named(self):
        """A temporary name was told, and the default folder."""
        missing = self.folder / 'missing'
        database = connection.Database(
            world.configured(f'sqlite:///{missing}/x.sqlite'))
        said = causes.of(self.assertRaises(
            errors.DatabaseUnavailable, lambda: database.engine))
        self.assertIn(f"No such file or directory: '{missing}'.", said)
        self.assertIn(f'install -d -o USER -g GROUP -m 0700 {missing}"', said)

    def test_file_of_another_user_is_told_with_the_remedy(self):
        """SQLite only says that it is readonly."""
        file = self.folder / 'reservations.sqlite'
        migrate.upgrade(connection.Database(
            world.configured(f'sqlite:///{file}')))
        database = connection.Database(
            world.configured(f'sqlite:///{file}'))
        self.addCleanup(database.close)

        # Root, who may run the tests, may write to each file.
        def write():
            with database.write() as opened:
                opened.exec_driver_sql('PRAGMA query_only = ON')
                opened.exec_driver_sql('DELETE FROM nodes')
        said = causes.of(self.assertRaises(errors.DatabaseUnavailable, write))
        self.assertIn('must belong to the user of the service', said)

    def test_disk_that_is_almost_full_is_found_by_the_check(self):
        """Every check passed on a disk that was full."""
        file = self.folder / 'reservations.sqlite'
        database = connection.Database(world.configured(f'sqlite:///{file}'))
        migrate.upgrade(database)
        database.close()
        for free, code in ((60, 1), (0, 2)):
            with mock.patch.object(status.shutil, 'disk_usage',
                                   return_value=mock.Mock(free=free << 20)):
                self.assertIn(f'has {free} MiB free', self.check(file)[1])
                self.assertEqual(code, self.check(file)[0])

    def test_lax_file_is_warned_of_and_works(self):
        """One that is there stays as its operator has made it."""
        file = self.folder / 'reservations.sqlite'
        file.touch(0o644)
        database = connection.Database(
            world.configured(f'sqlite:///{file}'))
        migrate.upgrade(database)
        database.close()
        code, said = self.check(file)
        self.assertEqual(1, code, said)
        self.assertIn('chmod 600', said)
        self.assertEqual(0o644, file.stat().st_mode & 0o777)
        # NOTE: nobody has it open any more.
        self.assertEqual({file.name, f'{file.name}.lock',
                          'ironic-reservations.conf'},
                         self.modes(self.folder).keys())
        file.chmod(0o600)
        self.assertEqual(0, self.check(file)[0])

    def test_start_that_fails_ends_with_the_cause(self):
        """The last line is all that a journal may show."""
        (self.folder / 'file').touch()
        database = connection.Database(world.configured(
            f'sqlite:///{self.folder}/file/reservations.sqlite'))
        failure = self.assertRaises(errors.DatabaseUnavailable,
                                    migrate.at_start, database)
        self.assertIn(f"Not a directory: '{self.folder}/file'.",
                      str(failure))
        self.assertIn(f'-m 0700 {self.folder}/file"', str(failure))
