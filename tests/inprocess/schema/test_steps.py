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

"""Each step of a migration can be taken again, wherever it was stopped."""

from collections.abc import Callable
import contextlib
import os
from typing import Any

from alembic import migration
from alembic import operations
import sqlalchemy as sa
from sqlalchemy import pool

from ironic_reservations.db.migrations import steps
from tests.inprocess.schema import each_database
from tests.inprocess.schema import seen
from tests.real import databases


class _Killed(BaseException):
    """The process is gone."""


def _base() -> None:
    steps.create_table(
        'owners', sa.Column('id', sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_owners'))
    steps.create_table(
        'things',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('name', sa.String(36), nullable=False),
        sa.Column('live', sa.SmallInteger),
        sa.Column('amount', sa.Integer, nullable=False, server_default='7'),
        sa.Column('owner', sa.String(36)),
        sa.Column('maker', sa.String(36)),
        sa.Column('gone', sa.Text),
        sa.PrimaryKeyConstraint('id', name='pk_things'),
        sa.ForeignKeyConstraint(['maker'], ['owners.id'],
                                name='fk_things_maker'),
        sa.UniqueConstraint('name', name='uq_things_name'),
        indexes=[['live']], autoincrement=True)
    steps.create_table(
        'parts',
        sa.Column('thing_id', sa.Integer, nullable=False),
        sa.Column('name', sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint('thing_id', 'name', name='pk_parts'),
        sa.ForeignKeyConstraint(['thing_id'], ['things.id'],
                                name='fk_parts_thing_id',
                                ondelete='CASCADE'))


def _rows() -> None:
    steps.execute("INSERT INTO things (id, name, live, owner) "
                  "VALUES (1, 'a', 1, NULL), (9, 'b', NULL, NULL)")
    steps.execute("INSERT INTO parts (thing_id, name) VALUES (1, 'p')")


def _change() -> None:
    """All kinds of steps."""
    steps.create_table(
        'named', sa.Column('id', sa.Integer, nullable=False),
        sa.Column('name', sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_named'),
        indexes=[['name']], autoincrement=True)
    steps.copy_rows(sa.text('SELECT id, name FROM things').columns(
        sa.column('id', sa.Integer), sa.column('name', sa.String)).subquery(
            ).select(), 'named', ['id'])
    steps.drop_index('ix_things_live', 'things')
    with steps.alter_table('things') as things:
        things.add_column(sa.Column('made_at', steps.INSTANT))
        things.add_column(sa.Column('size', sa.Integer, nullable=False,
                                    server_default='3'))
        things.alter_column('live', type_=sa.String(36))
        things.alter_column('name', nullable=True)
        things.alter_column('amount', type_=steps.BIG)
        things.alter_column('id', type_=sa.Integer())
        things.drop_unique('uq_things_name')
        things.unique('uq_things_name_live', ['name', 'live'])
        things.foreign_key('fk_things_owner', ['owner'], 'owners', ['id'])
        things.drop_foreign_key('fk_things_maker')
        things.drop_column('gone')
    steps.create_index('ix_things_made_at_id', 'things', ['made_at', 'id'])
    steps.execute("UPDATE things SET live = 'node' WHERE live = '1'")
    steps.create_index('ix_things_size', 'things', ['size'])
    steps.drop_index('ix_things_size', 'things')
    steps.drop_table('not_there')


@each_database.on(databases.KINDS)
class _StepsOn:

    def setUp(self) -> None:
        super().setUp()
        self.left: int | None = None
        self.done = 0

    def new_engine(self) -> sa.Engine:
        url = self.useFixture(databases.Database(self.kind)).url
        engine = sa.create_engine(url, poolclass=pool.NullPool)
        self.addCleanup(engine.dispose)
        return engine

    @contextlib.contextmanager
    def dying_at(self, connection: sa.Connection, number: int | None) -> Any:
        """Let the process die before a statement."""
        self.done = 0

        def count(*args: object) -> None:
            if self.done == number:
                raise _Killed
            self.done += 1
        sa.event.listen(connection, 'before_cursor_execute', count)
        yield

    def run_steps(self, engine: sa.Engine, change: Callable[[], None],
                  die_at: int | None = None) -> bool:
        """Return whether the process lived to the end."""
        with engine.connect() as connection:
            context = migration.MigrationContext.configure(connection)
            with self.dying_at(connection, die_at), (
                    operations.Operations.context(context)):
                try:
                    change()
                    connection.commit()
                except _Killed:
                    return False
                except BaseException:
                    # NOTE: for the killed SQLAlchemy cuts the connection, and
                    # what others try to clean up by it fails.
                    if not connection.invalidated:
                        raise
                    return False
        return True

    def state(self, engine: sa.Engine) -> tuple[Any, ...]:
        with engine.connect() as connection:
            return (seen.seen(connection), *(
                [tuple(row) for row in connection.execute(sa.text(query))]
                for query in (
                    'SELECT id, name, live, amount, size FROM things '
                    'ORDER BY id', 'SELECT * FROM parts',
                    'SELECT id, name FROM named ORDER BY id')))

    def before(self) -> sa.Engine:
        engine = self.new_engine()
        self.run_steps(engine, _base)
        self.run_steps(engine, _rows)
        return engine

    def test_rows_are_kept_and_changed(self) -> None:
        """What the steps say is what there is afterwards."""
        engine = self.before()
        self.run_steps(engine, _change)
        schema, things, parts, named = self.state(engine)
        self.assertEqual([(1, 'a', 'node', 7, 3), (9, 'b', None, 7, 3)],
                         things)
        self.assertEqual([(1, 'p')], parts)
        self.assertEqual([(1, 'a'), (9, 'b')], named)
        things = schema['things']
        self.assertEqual(
            {'id', 'name', 'live', 'amount', 'owner', 'maker', 'made_at',
             'size'},
            {name for name, *_ in things['columns']})
        self.assertTrue(things['counts on'])
        self.assertEqual(['fk_things_owner'],
                         [name for name, *_ in things['foreign keys']])
        self.assertEqual([('uq_things_name_live', ['name', 'live'])],
                         things['unique'])
        indexes = {name for name, _ in things['indexes']}
        self.assertIn('ix_things_made_at_id', indexes)
        self.assertNotIn('ix_things_live', indexes)

    def test_second_run_changes_nothing(self) -> None:
        """A step that is done is left out."""
        engine = self.before()
        self.run_steps(engine, _change)
        wanted = self.state(engine)
        self.run_steps(engine, _change)
        self.assertEqual(wanted, self.state(engine))

    def test_stopped_before_any_statement_it_comes_to_its_end(self) -> None:
        """Killed at each statement in turn, and run again."""
        engine = self.before()
        self.run_steps(engine, _change)
        wanted, statements = self.state(engine), self.done
        # NOTE: to die at a look is to die before the next change.
        for number in self.telling(statements):
            engine = self.before()
            self.assertFalse(self.run_steps(engine, _change, number))
            self.assertTrue(self.run_steps(engine, _change))
            self.assertEqual(wanted, self.state(engine), number)
            engine.dispose()

    def telling(self, statements: int) -> list[int]:
        """Return the numbers of the statements that write."""
        engine, telling = self.before(), []
        with engine.connect() as connection:
            def note(_conn: Any, _cursor: Any, statement: str,
                     *args: object) -> None:
                if not statement.lstrip().upper().startswith(
                        ('SELECT', 'PRAGMA', 'SHOW', 'DESCRIBE')):
                    telling.append(self.done - 1)
            context = migration.MigrationContext.configure(connection)
            with self.dying_at(connection, None), (
                    operations.Operations.context(context)):
                sa.event.listen(connection, 'before_cursor_execute', note)
                _change()
            connection.rollback()
        self.assertGreater(len(telling), 8)
        # NOTE: all of them take long; the others take all of it back.
        every = os.environ.get('IRONIC_RESERVATIONS_TEST_EVERY_KILL')
        return telling if every else telling[
            ::3 if self.kind == 'mysql' else 6]

    def test_numbers_of_rows_go_on_where_they_were(self) -> None:
        """A table that is made anew gives no number twice."""
        engine = self.before()
        self.run_steps(engine, _change)
        self.run_steps(engine, lambda: (
            steps.execute('DELETE FROM things WHERE id > 1')))

        def again() -> None:
            with steps.alter_table('things') as things:
                things.alter_column('amount', nullable=True)
                things.unique('uq_things_size', ['size'])
            steps.execute("INSERT INTO things (name) VALUES ('c')")
        if self.kind != 'sqlite':
            # NOTE: the rows above named their numbers themselves.
            self.run_steps(engine, lambda: steps.execute(
                'ALTER TABLE things AUTO_INCREMENT = 10'
                if self.kind == 'mysql' else
                "SELECT setval('things_id_seq', 9)"))
        self.run_steps(engine, lambda: steps.execute(
            'UPDATE things SET size = id'))
        self.run_steps(engine, again)
        with engine.connect() as connection:
            self.assertEqual(
                [1, 10], list(connection.scalars(
                    sa.text('SELECT id FROM things ORDER BY id'))))
