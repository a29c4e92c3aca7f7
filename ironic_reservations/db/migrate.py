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

"""Upgrades and downgrades the schema of a database."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import pathlib
import time

from alembic import command
from alembic import config as alembic_config
from alembic import migration
from alembic import script
from alembic import util as alembic_util
from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import causes
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import histories
from ironic_reservations.db import migration_lock
from ironic_reservations.db import migration_turn
from ironic_reservations.db import tables
from ironic_reservations.model import count_text

LOG = log.getLogger(__name__)

_HERE = pathlib.Path(__file__).parent / 'migrations'

#: Tables that a downgrade may empty without permission: they are filled again
#: when needed, or belong to rows of other tables.
_NOT_ASKED = frozenset({
    tables.nodes, tables.node_traits, tables.claims, tables.changes,
    tables.providers_seen, tables.placement_drift, tables.host_capabilities,
    tables.lease_reservations, tables.lease_events,
    tables.maintenance_nodes, tables.usable_bookings, tables.observations,
    tables.histories})

#: The message of alembic if another migration has changed the revision.
_NOT_THE_REVISION = 'expected to match one row'
#: How often a migration is tried that conflicts with others.
_TIMES = 5


class UnknownRevision(Exception):
    """This release does not know a revision of the schema."""


class WouldLoseRows(Exception):
    """A downgrade would lose rows that cannot be restored."""


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
    """Return the revision of the database; ``None`` for an empty one."""
    with database.read() as connection:
        return migration.MigrationContext.configure(
            connection).get_current_revision()


def check_known(database: db_connection.Database) -> None:
    """Check that this release knows the revision of the database.

    :raises UnknownRevision: this release does not know the revision, and
        cannot use the schema.
    """
    _check_known(version(database))


def _check_known(present: str | None) -> None:
    known = script.ScriptDirectory.from_config(_config()).walk_revisions()
    if present is not None and present not in {
            each.revision for each in known}:
        raise UnknownRevision(
            f'The database is at revision {present}, which this release does '
            'not know: a later release or a development version has made its '
            'tables. Use that version, or name an empty database in '
            '[database] connection and run "ironic-reservations-dbsync '
            'create_schema".')


def upgrade(database: db_connection.Database, revision: str = 'head',
            wait: float = migration_lock.WAIT) -> None:
    """Upgrade the database to a revision.

    Steps that have been done already are skipped.

    :param wait: how long to wait for another migration, in seconds.
    :raises AnotherMigrates: the wait would be longer.
    :raises TableInUse: another program has locked a table.
    :raises UnknownRevision: the revision does not exist, or this release does
        not know the revision of the database.
    :raises DatabaseUnavailable: the database does not answer, or refuses.
    """
    _run(database, command.upgrade, revision, wait)
    # Another migration may have written it at the same time.
    with contextlib.suppress(db_connection.Conflict), (
            database.write()) as connection:
        histories.note(connection)


def create_schema(database: db_connection.Database) -> None:
    """Create all tables in an empty database.

    :raises ValueError: there are tables already.
    :raises UnknownRevision: another release has created tables.
    """
    check_known(database)
    if version(database) is not None:
        raise ValueError('the database already has a schema; run "upgrade" to '
                         'bring it up to date')
    upgrade(database)


def downgrade(database: db_connection.Database, revision: str,
              accept_loss: bool = False,
              wait: float = migration_lock.WAIT) -> None:
    """Downgrade the database to an older revision.

    :param accept_loss: drop tables and columns even if they contain data.
    :param wait: as for :func:`upgrade`.
    :raises WouldLoseRows: a table or column to drop contains data, and
        ``accept_loss`` is false.
    :raises UnknownRevision: as for :func:`upgrade`.
    """
    check_known(database)
    held = {} if accept_loss else _held(database)
    if held:
        listed = ', '.join(f'{count_text.counted(count, "row")} in {name}'
                           for name, count in held.items())
        raise WouldLoseRows(
            f'older tables have no place for {listed}, which would be lost. '
            'The previous release runs on the tables as they are: install it, '
            'and leave them. Otherwise end the leases and reservations first, '
            'wait until requests in flight are settled (about two minutes), '
            'and copy what is to be kept, or accept the loss with '
            '--accept-data-loss.')
    _run(database, command.downgrade, revision, wait)


def _held(database: db_connection.Database) -> dict[str, int]:
    """Return the number of rows that would be lost, by table name."""
    with database.read() as connection:
        present = sa.inspect(connection).get_table_names()
        return {table.name: count for table in tables.metadata.sorted_tables
                if table not in _NOT_ASKED and table.name in present
                and (count := connection.execute(sa.select(
                    sa.func.count()).select_from(table)).scalar_one())}


def at_start(database: db_connection.Database) -> None:
    """Create or upgrade the tables if a process may do so when it starts.

    It may do so with a SQLite file, and elsewhere with [database] upgrade.

    :raises UnknownRevision: a later release has upgraded a SQLite file.
    :raises AnotherMigrates: another process has been migrating for too long.
    :raises DatabaseUnavailable: the database does not answer, or refuses.
    """
    try:
        _at_start(database)
    except errors.DatabaseUnavailable as exc:
        # The operator reads the last line of a process that does not start.
        raise errors.DatabaseUnavailable(
            'The database of the reservations cannot be used: '
            f'{causes.of(exc)}') from exc


def _at_start(database: db_connection.Database) -> None:
    sqlite = database.engine.dialect.name == 'sqlite'
    if not sqlite and database.options.upgrade != 'on_start':
        return
    present = version(database)
    if present == head():
        return
    if not sqlite:
        try:
            _check_known(present)
        except UnknownRevision:
            # This release runs on the tables of the next one.
            LOG.warning('The tables are those of a later release, %s, and '
                        'are left as they are', present)
            return
    upgrade(database)


def _run(database: db_connection.Database,
         step: Callable[[alembic_config.Config, str], None],
         revision: str, wait: float) -> None:
    for left in reversed(range(_TIMES)):
        try:
            _run_once(database, step, revision, wait)
            return
        except migration_turn.Overtaken as exc:
            # Steps that the other migration has done are skipped.
            if not left:
                raise migration_lock.AnotherMigrates(
                    'another process changes the same tables at the same time '
                    f'({exc}). Stop it, and run the command again.') from exc
            LOG.warning('Another migration runs at the same time, so this one '
                        'begins again: %s', exc)
            # The server completes a statement whose client is dead.
            time.sleep(migration_turn.PACE.beat)


def _revision(connection: sa.Connection) -> str | None:
    began = connection.in_transaction()
    revision = migration.MigrationContext.configure(
        connection).get_current_revision()
    if not began:
        # Alembic would not commit inside an open transaction.
        connection.rollback()
    return revision


def _run_once(database: db_connection.Database,
              step: Callable[[alembic_config.Config, str], None],
              revision: str, wait: float) -> None:
    config = _config()
    with db_connection.translated(), migration_lock.alone(
            database, wait) as connection:
        # Not before, since SQLite does not answer during another
        # migration.
        _check_known(_revision(connection))
        config.attributes['connection'] = connection
        try:
            step(config, revision)
        except alembic_util.CommandError as exc:
            if _NOT_THE_REVISION in str(exc):
                raise migration_turn.Overtaken(str(exc)) from exc
            raise UnknownRevision(str(exc)) from exc
