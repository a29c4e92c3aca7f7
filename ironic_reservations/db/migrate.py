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

"""Bringing a database to the schema of this release, and back."""

from __future__ import annotations

from collections.abc import Callable
import pathlib

from alembic import command
from alembic import config as alembic_config
from alembic import migration
from alembic import script
from alembic import util as alembic_util
import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import migration_lock
from ironic_reservations.db import tables

_HERE = pathlib.Path(__file__).parent / 'migrations'


class UnknownRevision(Exception):
    """There is no such revision of the schema."""


class WouldLoseRows(Exception):
    """A downgrade would drop tables that are not empty."""


def _config() -> alembic_config.Config:
    config = alembic_config.Config()
    config.set_main_option('script_location', str(_HERE))
    return config


def head() -> str:
    """Return the revision of this release."""
    revision = script.ScriptDirectory.from_config(
        _config()).get_current_head()
    assert revision is not None
    return revision


def version(database: db_connection.Database) -> str | None:
    """Give the revision of the database; ``None`` for an empty one."""
    with database.read() as connection:
        return migration.MigrationContext.configure(
            connection).get_current_revision()


def upgrade(database: db_connection.Database, revision: str = 'head',
            wait: float = migration_lock.WAIT) -> None:
    """Bring the database to a revision; what is done already is skipped.

    :param wait: for how long, in seconds, another process that does the same
        is waited for.
    :raises AnotherMigrates: it takes longer than that.
    :raises TableInUse: another program keeps a table from being changed.
    :raises UnknownRevision: there is no such revision.
    :raises DatabaseUnavailable: the database does not answer, or refuses.
    """
    _run(database, command.upgrade, revision, wait)


def create_schema(database: db_connection.Database) -> None:
    """Make all tables in an empty database.

    :raises ValueError: there are tables of ours already.
    """
    if version(database) is not None:
        raise ValueError('the database already has a schema; run "upgrade" to '
                         'bring it up to date')
    upgrade(database)


def downgrade(database: db_connection.Database, revision: str,
              accept_loss: bool = False,
              wait: float = migration_lock.WAIT) -> None:
    """Bring the database back to an older revision.

    :param accept_loss: drop tables even if they hold rows.
    :param wait: as for :func:`upgrade`.
    :raises WouldLoseRows: they do, and the loss was not accepted.
    :raises UnknownRevision: there is no such revision.
    """
    if not accept_loss:
        with database.read() as connection:
            present = sa.inspect(connection).get_table_names()
            held = {
                table.name: count for table in (
                    tables.reservations, tables.passages, tables.leases,
                    tables.hosts, tables.holds,
                    tables.instance_reservations)
                if table.name in present
                and (count := connection.execute(
                    sa.select(sa.func.count()).select_from(table)).scalar())}
        if held:
            listed = ', '.join(f'{count} rows in {name}'
                               for name, count in held.items())
            raise WouldLoseRows(
                f'this would delete existing promises ({listed}). Delete the '
                'reservations first, or accept the loss with '
                '--accept-data-loss.')
    _run(database, command.downgrade, revision, wait)


def ensure_sqlite(database: db_connection.Database) -> None:
    """Make or update the tables of a SQLite file, so that one option is all.

    On the engines that several hosts share, the operator decides when.
    """
    if database.engine.dialect.name == 'sqlite' and (
            version(database) != head()):
        upgrade(database)


def _run(database: db_connection.Database,
         step: Callable[[alembic_config.Config, str], None],
         revision: str, wait: float) -> None:
    config = _config()
    with db_connection.translated(), migration_lock.alone(
            database, wait) as connection:
        config.attributes['connection'] = connection
        try:
            step(config, revision)
        except alembic_util.CommandError as exc:
            raise UnknownRevision(str(exc)) from exc
