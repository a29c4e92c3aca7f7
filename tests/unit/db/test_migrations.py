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

"""Migrations of a SQLite file, by functions and by the command."""

import contextlib
import io
import pathlib

from alembic import autogenerate
from alembic import migration
import fixtures
import sqlalchemy as sa
import testtools

from ironic_reservations.cmd import dbsync
from ironic_reservations.cmd import status
from ironic_reservations.db import connection
from ironic_reservations.db import holds as db_holds
from ironic_reservations.db import migrate
from ironic_reservations.db import tables
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
        """Run a command; gives its status and what it said."""
        said, complained = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), (
                contextlib.redirect_stderr(complained)):
            code = run(['--config-file', str(self.config), *arguments])
        return code, said.getvalue().strip(), complained.getvalue().strip()


class TestMigrations(MigrationTestCase):

    def test_upgrade_gives_exactly_the_tables_of_the_code(self):
        migrate.upgrade(self.database)
        with self.database.read() as opened:
            context = migration.MigrationContext.configure(
                opened, opts={'compare_type': True,
                              'compare_server_default': True})
            self.assertEqual([], autogenerate.compare_metadata(
                context, tables.metadata))

    def test_upgraded_database_works(self):
        migrate.upgrade(self.database)
        self.a_promise()

    def test_upgrade_twice_changes_nothing(self):
        migrate.upgrade(self.database)
        held = self.a_promise()
        migrate.upgrade(self.database)
        again = self.useFixture(world.World(self.url))
        self.assertEqual([held.uuid], list(again.reservations()))
        self.assertEqual(migrate.head(),
                         migrate.version(self.database))

    def test_schema_is_created_once(self):
        migrate.create_schema(self.database)
        self.assertRaises(ValueError, migrate.create_schema, self.database)

    def test_downgrade_is_refused_while_promises_stand(self):
        migrate.upgrade(self.database)
        self.a_promise()
        refused = self.assertRaises(
            migrate.WouldLoseRows, migrate.downgrade, self.database, 'base')
        self.assertIn('1 rows in reservations', str(refused))
        self.assertIn('reservations', self.tables())

    def test_downgrade_without_promises_takes_all_tables_away(self):
        migrate.upgrade(self.database)
        migrate.downgrade(self.database, 'base')
        self.assertEqual({'alembic_version'}, self.tables())
        self.assertIsNone(migrate.version(self.database))

    def test_downgrade_and_upgrade_come_out_the_same(self):
        migrate.upgrade(self.database)
        self.a_promise()
        migrate.downgrade(self.database, 'base', accept_loss=True)
        migrate.upgrade(self.database)
        self.test_upgrade_gives_exactly_the_tables_of_the_code()

    def test_leases_live_through_instances_coming_and_going(self):
        """What 0005 adds takes nothing away that was there before."""
        migrate.upgrade(self.database)
        held = self.a_promise()
        for _ in range(2):
            migrate.downgrade(self.database, '0004', accept_loss=True)
            self.assertNotIn('instance_reservations', self.tables())
            migrate.upgrade(self.database, '0005')
            self.assertIn('instance_reservations', self.tables())
        migrate.upgrade(self.database)
        again = self.useFixture(world.World(self.url))
        self.assertEqual([held.uuid], list(again.reservations()))

    def test_holds_live_through_compute_hosts_coming_and_going(self):
        """0006 has another word for what a whole node is held by."""
        migrate.upgrade(self.database, '0005')
        with self.database.write() as connection:
            connection.execute(sa.text(
                'INSERT INTO holds (generation, consumer_uuid, node_uuid, '
                'owner, resource_class, project_id, user_id, state, landed, '
                "created_at, deadline, live) VALUES (1, 'c', 'n', 'o', "
                "'CUSTOM_GOLD', 'p', 'u', 'active', true, "
                "'2026-01-01 00:00:00', '2026-01-01 00:00:00', 1)"))
        for _ in range(2):
            migrate.upgrade(self.database, '0006')
            with self.database.read() as connection:
                held, = db_holds.read_of_node(connection, 'n')
                self.assertEqual({'CUSTOM_GOLD': 1}, held.resources)
                self.assertEqual('node', connection.scalar(
                    sa.text('SELECT live FROM holds')))
            migrate.downgrade(self.database, '0005', accept_loss=True)
            with self.database.read() as connection:
                self.assertEqual(1, connection.scalar(
                    sa.text('SELECT live FROM holds')))

    def test_unknown_revision_changes_nothing(self):
        migrate.upgrade(self.database)
        for step in (migrate.upgrade, migrate.downgrade):
            self.assertRaises(migrate.UnknownRevision, step, self.database,
                              'no-such-revision')
        self.assertEqual(migrate.head(),
                         migrate.version(self.database))


class TestDbsync(MigrationTestCase):

    def test_new_database_is_empty_then_at_the_head(self):
        head = migrate.head()
        self.assertEqual((0, 'empty', ''), self.command('version'))
        self.assertEqual((0, head, ''), self.command('upgrade'))
        self.assertEqual((0, head, ''), self.command('version'))

    def test_schema_is_created_once(self):
        self.assertEqual(0, self.command('create_schema')[0])
        code, said, complained = self.command('create_schema')
        self.assertEqual((1, ''), (code, said))
        self.assertIn('run "upgrade"', complained)

    def test_downgrade_wants_the_loss_accepted(self):
        self.command('upgrade')
        self.a_promise()
        code, said, complained = self.command('downgrade', 'base')
        self.assertEqual((1, ''), (code, said))
        self.assertIn('--accept-data-loss', complained)
        self.assertEqual((0, 'empty', ''), self.command(
            'downgrade', 'base', '--accept-data-loss'))
        self.assertEqual({'alembic_version'}, self.tables())

    def test_unknown_revision_is_one_sentence(self):
        self.command('upgrade')
        code, _, complained = self.command('upgrade', '--revision', 'nope')
        self.assertEqual(1, code)
        self.assertEqual(1, len(complained.splitlines()))
        self.assertIn('nope', complained)

    def test_without_a_command_it_says_which_there_are(self):
        raised = self.assertRaises(SystemExit, self.command)
        self.assertNotEqual(0, raised.code)

    def test_missing_configuration_file_is_one_sentence(self):
        self.config.unlink()
        code, _, complained = self.command('version')
        self.assertEqual((1, 1), (code, len(complained.splitlines())))


class TestDbsyncFiles(MigrationTestCase):
    """What can be wrong with a SQLite file."""

    def test_directory_that_is_missing_is_one_sentence(self):
        self.config.write_text(
            '[database]\nconnection = sqlite:////nowhere/at/all.sqlite\n')
        for command in ('version', 'upgrade', 'create_schema'):
            code, _, complained = self.command(command)
            self.assertEqual((1, 1), (code, len(complained.splitlines())),
                             complained)
            self.assertIn('ironic-reservations-dbsync: ', complained)
            self.assertRegex(complained, 'unable to open|No such file')

    def test_file_that_is_no_database_is_one_sentence(self):
        path = self.config.with_name('text')
        path.write_text('No database at all. ' * 100)
        self.config.write_text(
            f'[database]\nconnection = sqlite:///{path}\n')
        code, _, complained = self.command('upgrade')
        self.assertEqual((1, 1), (code, len(complained.splitlines())),
                         complained)
        self.assertIn('not a database', complained)

    def test_default_database_is_made_in_the_state_path(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                              'not', 'there', 'yet')
        self.config.write_text(f'[DEFAULT]\nstate_path = {folder}\n')
        self.assertEqual(0, self.command('upgrade')[0])
        self.assertTrue((folder / 'reservations.sqlite').exists())


class TestStatus(MigrationTestCase):

    def _check(self):
        code, said, _ = self.command(
            run=lambda arguments: status.main([*arguments, 'upgrade',
                                               'check']))
        return code, said

    def test_database_at_the_head_is_safe(self):
        migrate.upgrade(self.database)
        code, said = self._check()
        self.assertEqual(0, code, said)
        self.assertIn('Database schema', said)
        self.assertIn('Success', said)

    def test_empty_database_is_not(self):
        code, said = self._check()
        self.assertEqual(2, code)
        self.assertIn('ironic-reservations-dbsync', said)

    def test_policy_file_in_json_is_not(self):
        migrate.upgrade(self.database)
        policies = self.config.with_name('policy.json')
        policies.write_text('{}')
        with self.config.open('a') as config:
            config.write(f'[oslo_policy]\npolicy_file = {policies}\n')
        code, said = self._check()
        self.assertEqual(2, code)
        self.assertIn('oslopolicy-convert', said)
