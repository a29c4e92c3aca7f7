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

"""ironic-reservations-status: upgrade checks, and the options that are set."""

from __future__ import annotations

from collections.abc import Callable
import functools
import logging
import os
import shutil
import sys
import traceback

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck
import sqlalchemy as sa

from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.clouds import ironic_versions
from ironic_reservations.cmd import mistakes
from ironic_reservations.cmd import settings
from ironic_reservations.conf import ignored
from ironic_reservations.db import causes
from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from ironic_reservations.db import postgresql
from ironic_reservations.db import sessions
from ironic_reservations.db import sqlite_file
from ironic_reservations.engine import ironic_api

_NAME = 'ironic-reservations-status'
_NOWHERE = logging.NullHandler()
#: The exit status if the checks failed.
_BROKEN = 255
_MIB = 1024 * 1024
#: How much free space the folder of a SQLite file should have, in bytes, and
#: how little is a failure: less than SQLite's log of writes needs.
_ROOM, _NO_ROOM = 100 * _MIB, 5 * _MIB
#: The drivers that limit the wait for an answer.
_DRIVERS = {'postgresql': 'postgresql+psycopg2 or postgresql+psycopg',
            'mysql': 'mysql+pymysql or mysql+mysqldb',
            'mariadb': 'mariadb+pymysql or mariadb+mysqldb'}


def _check(check: Callable[[cfg.ConfigOpts], upgradecheck.Result]
           ) -> Callable[[Checks], upgradecheck.Result]:
    return lambda checks: check(checks._conf)


def _always(check: Callable[[Checks], upgradecheck.Result]
            ) -> Callable[[Checks], upgradecheck.Result]:
    """Return a check that fails alone if it cannot run."""
    @functools.wraps(check)
    def checked(checks: Checks) -> upgradecheck.Result:
        try:
            return check(checks)
        except cfg.Error as exc:
            return upgradecheck.Result(upgradecheck.Code.FAILURE, str(exc))
        except Exception as exc:
            return upgradecheck.Result(
                upgradecheck.Code.FAILURE,
                f'The check could not run: {type(exc).__name__}: {exc}')
    return checked


class Checks(upgradecheck.UpgradeCommands):  # type: ignore[misc]
    """The checks before a new release is started.

    :param conf: the configuration of the project.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def _schema(self) -> upgradecheck.Result:
        database = mistakes.database_of(self._conf)
        try:
            migrate.check_known(database)
            have, want = migrate.version(database), migrate.head()
            if have == want and database.engine.dialect.name != 'sqlite':
                # A replica, for instance, answers all queries. Nothing is
                # committed.
                with database.read() as opened:
                    opened.exec_driver_sql(
                        'DELETE FROM alembic_version WHERE 1 = 0')
        except migrate.UnknownRevision as exc:
            return upgradecheck.Result(upgradecheck.Code.FAILURE, str(exc))
        except errors.DatabaseUnavailable as exc:
            if isinstance(exc.__cause__, sqlite_file.NoFile):
                return upgradecheck.Result(
                    upgradecheck.Code.FAILURE,
                    'Run "ironic-reservations-dbsync upgrade" as the user of '
                    'the service, or start it: there is no file '
                    f'{exc.__cause__.filename} yet. If the service runs, it '
                    'has another file: run the check with its options and '
                    'its environment.')
            return upgradecheck.Result(
                upgradecheck.Code.FAILURE,
                f'The database cannot be used: {causes.of(exc)}')
        finally:
            # SQLite keeps files beside the database while it is open, and the
            # next check examines the files.
            database.close()
        if have == want:
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(
            upgradecheck.Code.FAILURE,
            f"The database is at {have or 'no revision'}, but this release "
            f'needs {want}. Run "ironic-reservations-dbsync upgrade".')

    def _policy_file(self) -> upgradecheck.Result:
        path = self._conf.find_file(self._conf.oslo_policy.policy_file)
        if path is not None and path.endswith('.json'):
            return upgradecheck.Result(
                upgradecheck.Code.FAILURE,
                f'{path} is JSON; convert it with '
                'oslopolicy-convert-json-to-yaml.')
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)

    def _database_file(self) -> upgradecheck.Result:
        file = sqlite_file.path(
            sa.make_url(connection.Database(self._conf).url))
        try:
            lax = [] if file is None else sqlite_file.read_by_others(file)
        except PermissionError as exc:
            return upgradecheck.Result(
                upgradecheck.Code.FAILURE,
                f'{exc}. Run the check as the user of the service, and give '
                f'{file.parent if file else ""} to that user.')
        if file is not None and file.exists() and not os.access(
                file, os.W_OK):
            return upgradecheck.Result(
                upgradecheck.Code.FAILURE,
                f'The user of this check may not write to {file}. Run the '
                'check as the user of the service, and give the file to that '
                'user.')
        if file is not None and file.parent.is_dir():
            free = shutil.disk_usage(file.parent).free
            if free < _ROOM:
                return upgradecheck.Result(
                    upgradecheck.Code.WARNING if free > _NO_ROOM
                    else upgradecheck.Code.FAILURE,
                    f'The file system of {file.parent} has {free // _MIB} MiB '
                    'free. If it is full, no change can be written, and '
                    'requests for reservations are refused. Make room there.')
        if not lax:
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(
            upgradecheck.Code.WARNING,
            'Users other than its owner may read the database file, which '
            'contains the proof of every reservation. Run "chmod 600 '
            f'{" ".join(map(str, lax))}".')

    def _database_driver(self) -> upgradecheck.Result:
        url = sa.make_url(connection.Database(self._conf).url)
        if sessions.knows_silence(url):
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(
            upgradecheck.Code.WARNING,
            f'With {url.drivername}, nothing limits the wait for an answer '
            'from a stopped database. Use '
            f'{_DRIVERS.get(url.get_backend_name(), "another driver")} in '
            '[database] connection.')

    def _pooler(self) -> upgradecheck.Result:
        database = mistakes.database_of(self._conf)
        try:
            if sa.make_url(database.url).get_backend_name() != 'postgresql':
                return upgradecheck.Result(upgradecheck.Code.SUCCESS)
            url = database.engine.url
            with database.read() as opened:
                found = postgresql.has_pooler(opened)
            prepares = postgresql.prepares(url)
        except errors.DatabaseUnavailable:
            return upgradecheck.Result(
                upgradecheck.Code.WARNING,
                'It is not known whether a pooler is in between: the database '
                'does not answer.')
        finally:
            database.close()
        if found is None:
            return upgradecheck.Result(
                upgradecheck.Code.SUCCESS,
                f'With {url.drivername}, it is not known whether a pooler is '
                'in between. Time limits are set for each transaction.')
        if not found:
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        said = ('A pooler, such as PgBouncer, is between this host and '
                'PostgreSQL. Time limits are set for each transaction')
        if prepares:
            return upgradecheck.Result(
                upgradecheck.Code.WARNING,
                f'{said}, but with prepare_threshold, psycopg 3 prepares '
                'statements, whose names belong to a session: with pool_mode '
                '= transaction, one statement may be run in place of another. '
                'Remove prepare_threshold from [database] connection, unless '
                'the pooler keeps prepared statements apart.')
        return upgradecheck.Result(
            upgradecheck.Code.SUCCESS,
            f'{said}, and nothing is prepared on the server.')

    def _ironic_api(self) -> upgradecheck.Result:
        newest = ironic_versions.installed()
        if newest is None:
            try:
                newest = ironic.Ironic.over_http(self._conf).newest_version()
            except (errors.ReservationError, cfg.Error) as exc:
                return upgradecheck.Result(
                    upgradecheck.Code.SUCCESS,
                    f'The version of Ironic is not known: {exc}')
        if newest is None or not ironic_api.not_reviewed(newest):
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(upgradecheck.Code.WARNING,
                                   ironic_api.warning(newest))

    def _environment(self) -> upgradecheck.Result:
        sentences = ignored.variables(self._conf)
        if not sentences:
            return upgradecheck.Result(upgradecheck.Code.SUCCESS)
        return upgradecheck.Result(upgradecheck.Code.WARNING,
                                   ' '.join(sentences))

    _upgrade_checks = tuple((name, _always(check)) for name, check in (
        ('Environment variables', _environment),
        ('Database schema', _schema),
        ('Database file', _database_file),
        ('Database driver', _database_driver),
        ('Database pooler', _pooler),
        ('Policy file format', _policy_file),
        ('Ironic API', _ironic_api),
        *((name, _check(check)) for name, check in mistakes.ALL)))


def main(argv: list[str] | None = None) -> int:
    """Run the checks; return 0 for success, 1 for warnings, 2 for failures."""
    # A failure is a result, not a traceback of the handler of last resort.
    logging.getLogger().addHandler(_NOWHERE)
    command = cfg.SubCommandOpt('command', title='commands',
                                handler=_add_commands)
    try:
        # Each command shows the ignored variables itself.
        conf = project_conf.load(
            sys.argv[1:] if argv is None else argv, prog=_NAME,
            cli_opts=[command, mistakes.IRONIC_CONFIG],
            warn=lambda sentence: None)
        if conf.command.name == 'config':
            return settings.run(conf, conf.command.json)
        # oslo.upgradecheck reads --json from there.
        upgradecheck.CONF = conf
        return int(Checks(conf).check())
    except cfg.Error as exc:
        print(f'{_NAME}: {exc}', file=sys.stderr)
    except Exception:
        print(f'Error:\n{traceback.format_exc()}')
    return _BROKEN


def _add_commands(subparsers: object) -> None:
    add = subparsers.add_parser  # type: ignore[attr-defined]
    upgrade = add('upgrade', help='Check the installation, for example before '
                                  'an upgrade. Exit status: 0 without '
                                  'findings, 1 with warnings, 2 with '
                                  'failures, 255 if the checks could not run.')
    upgrade.add_argument('check')
    shown = add('config', help='Show each option that is set, its value, and '
                               'the file, line or variable that sets it. '
                               'Secrets are masked.')
    for parser in (upgrade, shown):
        parser.add_argument('--json', action='store_true',
                            help='Print JSON.')
