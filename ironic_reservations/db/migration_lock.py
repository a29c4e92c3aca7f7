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

"""Ensures that one migration of a database runs at a time.

The lock is released when the process or its host dies: on PostgreSQL it is an
advisory lock, on SQLite the lock of a file beside the database, and on MariaDB
a row that all nodes of a cluster have (:mod:`.migration_turn`).
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import fcntl
import hashlib
import pathlib
import time

from oslo_db.sqlalchemy import engines
import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import driver_errors
from ironic_reservations.db import migration_turn
from ironic_reservations.db import postgresql
from ironic_reservations.db import sessions
from ironic_reservations.db import sqlite_file

#: How long to wait for another migration of the database, in seconds.
WAIT = 600

#: How long to wait for the lock of a table, in seconds. Other users of the
#: table wait for the migration meanwhile.
_TABLE_WAIT = 30

_MYSQL = ('mysql', 'mariadb')
#: The variables of a session that migrates, on MariaDB.
_UNLIMITED = {'max_statement_time': 0, 'idle_transaction_timeout': 0,
              'lock_wait_timeout': _TABLE_WAIT,
              'innodb_lock_wait_timeout': _TABLE_WAIT}
#: The variables of a session that reads or writes the row of the turn.
_OF_THE_TURN = {'max_statement_time': 5, 'lock_wait_timeout': 5,
                'innodb_lock_wait_timeout': 5}
#: The errors of MariaDB if two migrations make the same change at once: the
#: object to create exists, the object to drop is gone, or a table has changed.
_OF_TWO_AT_ONCE = (1050, 1051, 1060, 1061, 1062, 1091, 1213, 1684)

#: The errors of MariaDB and PostgreSQL for a lock timeout.
_TOO_LONG = (1205, '55P03')

_FILE_PAUSE = 0.05


class AnotherMigrates(Exception):
    """Another process has been migrating the database for too long."""


class TableInUse(Exception):
    """Another program has locked a table."""


@contextlib.contextmanager
def alone(database: db_connection.Database,
          wait: float) -> Iterator[sa.Connection]:
    """Open a connection for a migration while no other one runs.

    It has no time limits, unlike the connections of requests, since changing a
    large table takes long. On SQLite and PostgreSQL a transaction is open,
    which ends with the block.

    :param wait: how long to wait for another migration, in seconds.
    :raises AnotherMigrates: the wait would be longer.
    :raises TableInUse: another program has locked a table.
    :raises Overtaken: another migration seemed to be dead, and is not.
    """
    with _engine(database, _UNLIMITED) as engine:
        name = engine.dialect.name
        if name == 'sqlite':
            opened = _sqlite(engine, wait)
        elif name == 'postgresql':
            opened = _postgresql(engine, wait)
        else:
            opened = _mysql(database, engine, wait)
        with opened as connection:
            try:
                yield connection
            except Exception as exc:
                if name in _MYSQL and (
                        driver_errors.caused(exc, _OF_TWO_AT_ONCE)):
                    raise migration_turn.Overtaken(_first_line(exc)) from exc
                if driver_errors.caused(exc, _TOO_LONG):
                    raise TableInUse(
                        'a transaction of another program has locked a table '
                        f'for {_TABLE_WAIT} s. Nothing is lost. End that '
                        'transaction, or wait for it, and run the command '
                        f'again ({_first_line(exc)}).') from exc
                raise


@contextlib.contextmanager
def _engine(database: db_connection.Database,
            variables: Mapping[str, float],
            url: sa.URL | None = None) -> Iterator[sa.Engine]:
    """Open an engine without the limits of requests.

    :param variables: the variables of sessions on MariaDB.
    :param url: by default the URL of the database.
    """
    usual = database.engine
    if usual.dialect.name == 'sqlite' and usual.url.database in (
            None, '', ':memory:'):
        # Another engine would open another in-memory database.
        yield usual
        return
    engine = engines.create_engine(
        url or database.url, mysql_sql_mode=database.options.mysql_sql_mode,
        connection_parameters=database.options.connection_parameters,
        max_retries=0, thread_checkin=False)
    sa.event.listen(engine, 'do_connect', postgresql.never_prepare)
    if engine.dialect.name in _MYSQL:
        sa.event.listen(
            engine, 'connect', lambda connection, record:
            sessions.set_mariadb(connection, variables))
        sa.event.listen(engine, 'connect', sessions.see_what_is_committed)
    try:
        yield engine
    finally:
        engine.dispose()


@contextlib.contextmanager
def _sqlite(engine: sa.Engine, wait: float) -> Iterator[sa.Connection]:
    with _file_lock(engine.url.database, wait), (
            engine.connect()) as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        # Recreating a table must not delete rows that refer to it. This
        # has to be set before a transaction begins.
        driver.execute(f'PRAGMA busy_timeout = {_TABLE_WAIT * 1000}')
        enforced, = driver.execute('PRAGMA foreign_keys').fetchone()
        driver.execute('PRAGMA foreign_keys = OFF')
        try:
            # Keeps oslo.db from beginning another transaction.
            connection.info['in_transaction'] = True
            with connection.begin():
                connection.exec_driver_sql('BEGIN IMMEDIATE')
                yield connection
                broken = connection.exec_driver_sql(
                    'PRAGMA foreign_key_check').all()
                if broken:
                    raise ValueError(
                        'some rows would refer to rows that do not exist, so '
                        f'nothing was changed: {broken[:5]}')
        finally:
            driver.execute(f'PRAGMA foreign_keys = {enforced}')


@contextlib.contextmanager
def _file_lock(path: str | None, wait: float) -> Iterator[None]:
    if not path:
        yield
        return
    deadline = time.monotonic() + wait
    file = pathlib.Path(f'{path}.lock')
    sqlite_file.make(file)
    with file.open('w') as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise _another(wait) from None
                time.sleep(_FILE_PAUSE)
        yield


@contextlib.contextmanager
def _postgresql(engine: sa.Engine, wait: float) -> Iterator[sa.Connection]:
    with engine.connect() as connection, connection.begin():
        for limit in ('statement_timeout',
                      'idle_in_transaction_session_timeout'):
            connection.exec_driver_sql(f'SET LOCAL {limit} = 0')
        _set_local_lock_timeout(connection, wait)
        try:
            # The lock belongs to the transaction, since a pooler may give
            # each transaction another session.
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(
                _number('ironic_reservations migration'))))
        except Exception as exc:
            if driver_errors.caused(exc, _TOO_LONG):
                raise _another(wait) from exc
            raise
        _set_local_lock_timeout(connection, _TABLE_WAIT)
        yield connection


def _set_local_lock_timeout(connection: sa.Connection, wait: float) -> None:
    # 0 would mean no limit.
    connection.exec_driver_sql(
        f'SET LOCAL lock_timeout = {max(1, round(wait * 1000))}')


@contextlib.contextmanager
def _mysql(database: db_connection.Database, engine: sa.Engine,
           wait: float) -> Iterator[sa.Connection]:
    options = database.options
    # The wait for an answer is limited as well.
    url = sessions.with_limits(sa.make_url(database.url), sessions.QUICK,
                               options.connection_parameters)
    with _engine(database, _OF_THE_TURN, url) as others:
        turn = migration_turn.Turn(others)
        try:
            with turn.taken(wait), engine.connect() as connection:
                sa.event.listen(connection, 'before_cursor_execute',
                                turn.check)
                try:
                    yield connection
                finally:
                    if not connection.invalidated:
                        connection.rollback()
        except migration_turn.StillTaken as exc:
            raise _another(wait, exc.holder) from exc


def _number(name: str) -> int:
    """Return a 63-bit key for the name of a lock."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8],
                          'big') >> 1


def _another(wait: float, holder: str = '') -> AnotherMigrates:
    return AnotherMigrates(
        'another process is migrating this database'
        f'{holder and f" ({holder})"} and has not finished '
        f'within {wait:g} s, so nothing was changed. Wait for it, or stop it '
        'if it makes no progress, and run the command again.')


def _first_line(exc: BaseException) -> str:
    return str(exc).partition('\n')[0]
