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

"""Each migration says whether the previous release runs on its tables.

``NNNN_expand_*.py`` only adds, so that the previous release can go on.
``NNNN_contract_*.py`` takes away what the previous release does not use any
more.  What is told apart, and how, is tried with migrations of either kind.
"""

from collections.abc import Callable
import pathlib
import re
import shutil

from alembic import config as alembic_config
from alembic import migration
from alembic import operations
from alembic import script
import fixtures
import sqlalchemy as sa
from sqlalchemy import pool
import testtools

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import migrate
from ironic_reservations.db.migrations import steps
from tests import servers
from tests import world
from tests.inprocess.db import expansion
from tests.inprocess.db import migrating

_FIRST = '0001_initial.py'
_NAME = re.compile(r'(\d{4})_(expand|contract)_[a-z0-9_]+\.py')
_PLANTED = '''
import sqlalchemy as sa
from ironic_reservations.db.migrations import steps
revision = '0002'
down_revision = '0001'


def upgrade():
    with steps.alter_table('hosts') as hosts:
        hosts.{}
'''
_ADD = "add_column(sa.Column('rack', sa.String(36)))"
_TAKE_AWAY = "drop_column('updated_at')"


def _kinds(versions: pathlib.Path) -> list[tuple[str, str]]:
    """Return the revisions after the first one, and the kind of each."""
    kinds = []
    for name in sorted(each.name for each in versions.glob('*.py')):
        if name != _FIRST:
            found = _NAME.fullmatch(name)
            if found is None:
                raise AssertionError(
                    f'{name} has to be named NNNN_expand_WORDS.py or '
                    'NNNN_contract_WORDS.py.')
            kinds.append((found[1], found[2]))
    return kinds


def _faults(database: db_connection.Database) -> list[str]:
    """Return what migrations do that their names do not say."""
    def after(revision: str) -> expansion.Schema:
        migrate.upgrade(database, revision)
        with database.read() as connection:
            return expansion.read(connection)
    before, faults = after('0001'), []
    for revision, kind in _kinds(migrate._HERE / 'versions'):
        now = after(revision)
        if kind == 'expand':
            faults += expansion.breaks(before, now)
        else:
            faults += [f'{each} is added by a contraction'
                       for each in expansion.adds(before, now)]
        before = now
    return faults


class TestNames(testtools.TestCase):

    def test_each_migration_is_named_for_what_it_is(self) -> None:
        """They are one line of revisions, in the order of their numbers."""
        config = alembic_config.Config()
        config.set_main_option('script_location', str(migrate._HERE))
        there = [each.revision for each in script.ScriptDirectory.from_config(
            config).walk_revisions()]
        self.assertEqual(['0001', *(revision for revision, _ in _kinds(
            migrate._HERE / 'versions'))], there[::-1])

    def test_name_that_says_neither_is_refused(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name in (_FIRST, '0002_expand_notes.py', '0003_contract_notes.py'):
            (folder / name).touch()
        self.assertEqual([('0002', 'expand'), ('0003', 'contract')],
                         _kinds(folder))
        for name in ('0004_notes.py', '4_expand_notes.py', '0004_expand.py'):
            (folder / name).touch()
            self.assertRaises(AssertionError, _kinds, folder)
            (folder / name).unlink()


@servers.also_empty
class TestMigrations(migrating.MigrationTestCase):

    def test_migrations_do_what_their_names_say(self) -> None:
        self.assertEqual([], _faults(self.database))
        self.assertEqual(migrate.head(), migrate.version(self.database))

    def _planted(self, kind: str, change: str) -> list[str]:
        """Return what is found where there is one migration more."""
        url = self.empty_database()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                              'migrations')
        shutil.copytree(migrate._HERE, folder)
        for each in (folder / 'versions').glob('*.py'):
            if each.name != _FIRST:
                each.unlink()
        (folder / 'versions' / f'0002_{kind}_hosts.py').write_text(
            _PLANTED.format(change))
        with fixtures.MonkeyPatch('ironic_reservations.db.migrate._HERE',
                                  folder):
            database = db_connection.Database(world.configured(url))
            self.addCleanup(database.close)
            return _faults(database)

    def test_planted_migrations_are_told_apart(self) -> None:
        self.assertEqual([], self._planted('expand', _ADD))
        self.assertEqual(['hosts: column updated_at is gone'],
                         self._planted('expand', _TAKE_AWAY))
        self.assertEqual([], self._planted('contract', _TAKE_AWAY))
        self.assertEqual(['hosts.rack is added by a contraction'],
                         self._planted('contract', _ADD))


def _create_owners() -> None:
    steps.create_table(
        'owners',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('name', sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_owners'),
        sa.UniqueConstraint('name', name='uq_owners_name'))


def _create_things(*more: sa.schema.SchemaItem,
                   default: str | None = '3') -> None:
    steps.create_table(
        'things',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('name', sa.String(36), nullable=False),
        sa.Column('size', sa.Integer, nullable=False, server_default=default),
        sa.Column('note', sa.Text),
        sa.Column('owner_id', sa.Integer),
        sa.PrimaryKeyConstraint('id', name='pk_things'),
        sa.ForeignKeyConstraint(['owner_id'], ['owners.id'],
                                name='fk_things_owner_id'), *more,
        indexes=[['name']])


def _create_parts(ondelete: str | None) -> None:
    steps.create_table(
        'parts',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('thing_id', sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_parts'),
        sa.UniqueConstraint('thing_id', name='uq_parts_thing_id'),
        sa.ForeignKeyConstraint(['thing_id'], ['things.id'],
                                ondelete=ondelete, name='fk_parts_thing_id'))


def _with_column(things: steps.Table, default: str | None) -> None:
    things.add_column(sa.Column('seen', sa.Integer, server_default=default))
    things.unique('uq_things_name_seen', ['name', 'seen'])


def _longer_index(_: steps.Table) -> None:
    steps.create_index('ix_things_name_size', 'things', ['name', 'size'])
    steps.drop_index('ix_things_name', 'things')


_Change = Callable[[steps.Table], object]
_ADDITIONS: tuple[_Change, ...] = (
    lambda _: _create_parts('CASCADE'),
    lambda things: steps.create_index('ix_things_size', 'things', ['size']),
    lambda things: things.add_column(sa.Column(
        'seen', sa.Boolean, nullable=False, server_default=sa.false())),
    lambda things: _with_column(things, None),
    lambda things: things.alter_column('size', type_=sa.BigInteger()),
    lambda things: things.alter_column('name', type_=sa.String(80)),
    _longer_index)
_FAULTS: dict[str, _Change] = {
    'parts: rows of things cannot be deleted, since thing_id refers to them':
        lambda _: _create_parts(None),
    'things: column note is gone': lambda things: things.drop_column('note'),
    'things: column note may not be NULL any more':
        lambda things: things.alter_column('note', nullable=False),
    'things: column name may be NULL':
        lambda things: things.alter_column('name', nullable=True),
    'things: column name has another type':
        lambda things: things.alter_column('name', type_=sa.String(20)),
    'things: column size has another type':
        lambda things: things.alter_column('size', type_=sa.SmallInteger()),
    'things: column note has another type':
        lambda things: things.alter_column('note', type_=sa.String(20)),
    'things: name have to be unique':
        lambda things: things.unique('uq_things_name', ['name']),
    'things: name, seen have to be unique':
        lambda things: _with_column(things, '0'),
    'things: the foreign key of owner_id is another one':
        lambda things: things.drop_foreign_key('fk_things_owner_id'),
    'things: the foreign key of size is another one':
        lambda things: things.foreign_key('fk_things_size', ['size'],
                                          'owners', ['id'], 'CASCADE'),
    'things: name have no index any more':
        lambda _: steps.drop_index('ix_things_name', 'things')}
#: Of tables that are made once more.
_OTHERS: dict[str, Callable[[], None]] = {
    'things: column must would have to be written':
        lambda: _create_things(sa.Column('must', sa.Integer, nullable=False)),
    'things: column size has another default':
        lambda: _create_things(default=None),
    'things: the conditions of its rows are others':
        lambda: _create_things(sa.CheckConstraint('size > 1',
                                                  name='ck_things_size')),
    'table things is gone': lambda: None}


@servers.also_empty
class TestExpansion(testtools.TestCase):
    """What the previous release can go on with, on tables made for it."""

    kind = 'sqlite'

    def setUp(self) -> None:
        super().setUp()
        self.engine = sa.create_engine(self.empty_database(),
                                       poolclass=pool.NullPool)
        self.addCleanup(self.engine.dispose)

    def empty_database(self) -> str:
        folder = self.useFixture(fixtures.TempDir()).path
        return f'sqlite:///{folder}/scratch.sqlite'

    def _breaks(self, change: Callable[[], object]) -> list[str]:
        """Return what is broken by a change of two new tables."""
        with self.engine.connect() as connection, (
                operations.Operations.context(
                    migration.MigrationContext.configure(connection))):
            for name in ('parts', 'things', 'owners'):
                steps.drop_table(name)
            _create_owners()
            _create_things()
            before = expansion.read(connection)
            change()
            found = expansion.breaks(before, expansion.read(connection))
            connection.commit()
        return found

    def _change_things(self, change: _Change) -> Callable[[], None]:
        def changed() -> None:
            with steps.alter_table('things') as things:
                change(things)
        return changed

    def _instead_of_things(self, create: Callable[[], None]
                           ) -> Callable[[], None]:
        def changed() -> None:
            steps.drop_table('things')
            create()
        return changed

    def test_additions_break_nothing(self) -> None:
        for place, change in enumerate(_ADDITIONS):
            self.assertEqual([], self._breaks(self._change_things(change)),
                             place)

    def test_each_fault_is_found(self) -> None:
        for fault, change in _FAULTS.items():
            self.assertEqual([fault], self._breaks(
                self._change_things(change)), fault)

    def test_faults_of_other_tables_are_found(self) -> None:
        for fault, create in _OTHERS.items():
            self.assertEqual([fault], self._breaks(
                self._instead_of_things(create)), fault)
