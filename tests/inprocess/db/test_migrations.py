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

import datetime
import pathlib
from unittest import mock

import fixtures
import sqlalchemy as sa

from ironic_reservations.cmd import status
from ironic_reservations.db import migrate
from ironic_reservations.db import nodes
from ironic_reservations.db import tables
from ironic_reservations.model import mirrored_node
from tests import servers
from tests import world
from tests.inprocess.db import migrating

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


@servers.also_empty
class TestFromNothing(migrating.MigrationTestCase):

    def test_upgrade_gives_exactly_the_tables_of_the_code(self):
        migrate.upgrade(self.database)
        self.assertEqual([], migrating.differences(self.database))
        self.a_promise()

    def test_schema_is_created_once(self):
        migrate.create_schema(self.database)
        self.assertRaises(ValueError, migrate.create_schema, self.database)


@servers.also_of_kind
class TestMigrations(migrating.AtHeadTestCase):

    def test_upgrade_again_changes_nothing(self):
        held = self.a_promise()
        migrate.upgrade(self.database)
        again = self.useFixture(world.World(self.url))
        self.assertEqual([held.uuid], list(again.reservations()))
        self.assertEqual(migrate.head(),
                         migrate.version(self.database))

    def test_downgrade_is_refused_while_promises_stand(self):
        self.a_promise()
        refused = self.assertRaises(
            migrate.WouldLoseRows, migrate.downgrade, self.database, 'base')
        self.assertIn('1 row in reservations', str(refused))
        self.assertIn('reservations', self.tables())

    def drop(self, table):
        with self.database.write() as connection:
            table.drop(connection)

    def test_downgrade_is_refused_where_usage_would_be_forgotten(self):
        with self.database.write() as connection:
            connection.execute(sa.insert(tables.lease_usage).values(
                reservation_id='r', resource_class='gold', lease_id='l',
                resource_type='physical:host', amount=1, starts_at=NOON,
                ended_at=NOON, bookings=1, promised_seconds=1,
                bound_seconds=1))
        refused = self.assertRaises(
            migrate.WouldLoseRows, migrate.downgrade, self.database, 'base')
        self.assertIn('1 row in lease_usage', str(refused))
        migrate.downgrade(self.database, 'base', accept_loss=True)
        self.assertEqual({'alembic_version'}, self.tables())

    def test_downgrade_asks_about_whatever_is_not_known_to_be_rebuilt(self):
        """A table that is new is asked about, until somebody says not to."""
        new = sa.Table('new', sa.MetaData(), sa.Column('x', sa.Integer))
        listed = [*tables.metadata.sorted_tables, new]
        with self.database.write() as connection:
            new.create(connection)
            connection.execute(sa.insert(new), {'x': 1})
        self.addCleanup(self.drop, new)
        with mock.patch.object(tables.metadata.__class__, 'sorted_tables',
                               listed):
            refused = self.assertRaises(
                migrate.WouldLoseRows, migrate.downgrade, self.database,
                '-1')
        self.assertIn('1 row in new', str(refused))

    def test_downgrade_without_promises_takes_all_tables_away(self):
        migrate.downgrade(self.database, 'base')
        self.assertEqual({'alembic_version'}, self.tables())
        self.assertIsNone(migrate.version(self.database))

    def test_downgrade_and_upgrade_come_out_the_same(self):
        self.a_promise()
        migrate.downgrade(self.database, 'base', accept_loss=True)
        migrate.upgrade(self.database)
        self.assertEqual([], migrating.differences(self.database))

    def test_unknown_revision_changes_nothing(self):
        for step in (migrate.upgrade, migrate.downgrade):
            self.assertRaises(migrate.UnknownRevision, step, self.database,
                              'no-such-revision')
        self.assertEqual(migrate.head(),
                         migrate.version(self.database))

    def test_database_of_an_unknown_revision_is_left_alone(self):
        """Whichever way it is to be migrated."""
        self.at_revision('0032')
        there = self.tables()
        for step in (migrate.upgrade, migrate.create_schema,
                     lambda database: migrate.downgrade(
                         database, 'base', accept_loss=True)):
            refused = self.assertRaises(migrate.UnknownRevision, step,
                                        self.database)
            self.assertIn('at revision 0032', str(refused))
        self.assertEqual((there, '0032'),
                         (self.tables(), migrate.version(self.database)))


@servers.also_empty
class TestDbsync(migrating.MigrationTestCase):

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


@servers.also_of_kind
class TestDbsyncAtHead(migrating.AtHeadTestCase):

    def test_downgrade_wants_the_loss_accepted(self):
        self.a_promise()
        code, said, complained = self.command('downgrade', 'base')
        self.assertEqual((1, ''), (code, said))
        self.assertIn('--accept-data-loss', complained)
        self.assertEqual((0, 'empty', ''), self.command(
            'downgrade', 'base', '--accept-data-loss'))
        self.assertEqual({'alembic_version'}, self.tables())

    def test_unknown_revision_is_one_sentence(self):
        code, _, complained = self.command('upgrade', '--revision', 'nope')
        self.assertEqual(1, code)
        self.assertEqual(1, len(complained.splitlines()))
        self.assertIn('nope', complained)

    def test_database_of_an_unknown_revision_is_one_line(self):
        self.at_revision('0032')
        self.assertEqual((0, '0032', ''), self.command('version'))
        for arguments in (('upgrade',), ('create_schema',),
                          ('downgrade', 'base', '--accept-data-loss')):
            code, said, complained = self.command(*arguments)
            self.assertEqual((1, ''), (code, said))
            self.assertEqual(1, len(complained.splitlines()), complained)
            self.assertIn('0032, which this release does not know',
                          complained)
            self.assertIn('create_schema', complained)


class TestDbsyncFiles(migrating.MigrationTestCase):
    """What can be wrong with a SQLite file, and with the command itself."""

    def test_without_a_command_it_says_which_there_are(self):
        raised = self.assertRaises(SystemExit, self.command)
        self.assertNotEqual(0, raised.code)

    def test_missing_configuration_file_is_one_sentence(self):
        self.config.unlink()
        code, _, complained = self.command('version')
        self.assertEqual((1, 1), (code, len(complained.splitlines())))

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


class _Checked(migrating.MigrationTestCase):

    def _check(self):
        code, said, _ = self.command(
            run=lambda arguments: status.main([*arguments, 'upgrade',
                                               'check']))
        return code, said


@servers.also_empty
class TestStatusOfNothing(_Checked):

    def test_empty_database_is_not_safe(self):
        code, said = self._check()
        self.assertEqual(2, code)
        self.assertIn('ironic-reservations-dbsync', said)


class TestStatusOfDrivers(_Checked):

    def test_driver_that_waits_for_a_silent_server_is_warned_of(self):
        """Of all drivers that are known none is."""
        for driver, warned in (
                ('postgresql+psycopg2', False), ('postgresql+psycopg', False),
                ('mysql+pymysql', False), ('mysql+mysqlconnector', True),
                ('sqlite', False), ('postgresql+pg8000', True)):
            self.config.write_text(
                f'[database]\nconnection = {driver}:///not/there\n')
            _, said = self._check()
            self.assertIs(warned, f'With {driver}, nothing' in ' '.join(
                said.replace('|', ' ').split()), said)


@servers.also_of_kind
class TestStatus(migrating.AtHeadTestCase, _Checked):

    def test_database_at_the_head_is_safe(self):
        code, said = self._check()
        self.assertEqual(0, code, said)
        self.assertIn('Database schema', said)
        self.assertIn('Success', said)

    def test_nodes_that_no_process_follows_are_warned_of(self):
        with self.database.write() as opened:
            nodes.insert_node(opened, mirrored_node.Node(
                '11111111-0000-0000-0000-000000000001'), NOON)
        code, said = self._check()
        self.assertEqual(1, code, said)
        self.assertIn('No process mirrors', said)

    def test_unknown_revision_is_not(self):
        self.at_revision('0032')
        code, said = self._check()
        self.assertEqual(2, code)
        self.assertIn('0032', said)
        self.assertIn('create_schema', said)
        self.assertNotIn('Traceback', said)

    def test_policy_file_in_json_is_not(self):
        policies = self.config.with_name('policy.json')
        policies.write_text('{}')
        with self.config.open('a') as config:
            config.write(f'[oslo_policy]\npolicy_file = {policies}\n')
        code, said = self._check()
        self.assertEqual(2, code)
        self.assertIn('oslopolicy-convert', said)
