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

"""ironic-reservations-dbsync: creates and upgrades the tables."""

from __future__ import annotations

import logging
import sys

from oslo_config import cfg

from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.db import causes
from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_lock
from ironic_reservations.db import sqlite_file

_NOWHERE = logging.NullHandler()


def _add_commands(subparsers: object) -> None:
    add = subparsers.add_parser  # type: ignore[attr-defined]
    add('create_schema', help='Create all tables in an empty database.')
    upgrade = add('upgrade', help='Upgrade the database to the schema of this '
                                  'release.')
    upgrade.add_argument('--revision', default='head',
                         help='The revision to stop at.')
    add('version', help='Print the revision of the database.')
    downgrade = add('downgrade', help='Downgrade the database to an older '
                                      'revision. Refused if that would delete '
                                      'rows.')
    downgrade.add_argument('revision', help='The revision to go back to; '
                                            '"base" removes all tables.')
    downgrade.add_argument('--accept-data-loss', action='store_true',
                           help='Downgrade even if rows are lost.')


def _run(conf: cfg.ConfigOpts) -> int:
    command = conf.command
    # To ask for the version creates no file, which may belong to a user who
    # is not that of the service.
    database = connection.Database(conf, create=command.name != 'version')
    if command.name == 'create_schema':
        migrate.create_schema(database)
    elif command.name == 'upgrade':
        migrate.upgrade(database, command.revision)
    elif command.name == 'downgrade':
        migrate.downgrade(database, command.revision,
                          command.accept_data_loss)
    try:
        print(migrate.version(database) or 'empty')
    except errors.DatabaseUnavailable as exc:
        if not isinstance(exc.__cause__, sqlite_file.NoFile):
            raise
        print('empty')
    return 0


def _warn(sentence: str) -> None:
    print(f'ironic-reservations-dbsync: {sentence}', file=sys.stderr)


def main(argv: list[str] | None = None) -> int:
    """Run the command; the exit status is 0 for success."""
    # A failure is printed as one sentence with its cause, and not as a
    # traceback of the handler of last resort.
    logging.getLogger().addHandler(_NOWHERE)
    command = cfg.SubCommandOpt('command', title='commands',
                                handler=_add_commands)
    try:
        conf = project_conf.load(sys.argv[1:] if argv is None else argv,
                                 prog='ironic-reservations-dbsync',
                                 cli_opts=[command], warn=_warn)
        return _run(conf)
    except errors.DatabaseUnavailable as exc:
        print('ironic-reservations-dbsync: the database cannot be used: '
              f'{causes.of(exc)}', file=sys.stderr)
        return 1
    except (ValueError, OSError, connection.Conflict, migrate.WouldLoseRows,
            migrate.UnknownRevision, migration_lock.AnotherMigrates,
            migration_lock.TableInUse, cfg.Error) as exc:
        print(f'ironic-reservations-dbsync: {exc}', file=sys.stderr)
        return 1
