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

"""Transactions: short, one at a time, never open over a network call."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import datetime
import pathlib
import random
import sqlite3
import threading
import time
from typing import Any

from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import engines
from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors

LOG = log.getLogger(__name__)


#: What MariaDB and PostgreSQL say of a table or a column that is not there.
_NO_SUCH = (1146, 1054, '42P01', '42703')


#: How long, in seconds, another writer is waited for.
_SQLITE_PATIENCE = 30
_SQLITE_PAUSES = (0.002, 0.02)

#: What MariaDB calls the type of a time on the wire.
_DATETIME = 12


class Conflict(Exception):
    """Somebody else committed first: look again, and plan again."""


def default_connection(conf: cfg.ConfigOpts) -> str:
    """Give the URL of the database that is used where none is configured."""
    return f'sqlite:///{conf.state_path}/reservations.sqlite'


class Database:
    """The engine, made when it is first needed.

    :param conf: the options of [database], and [DEFAULT] state_path.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._lock = threading.Lock()
        self._engine: sa.Engine | None = None
        self.url: str = conf.database.connection or default_connection(conf)

    @property
    def engine(self) -> sa.Engine:
        """The SQLAlchemy engine.

        :raises DatabaseUnavailable: the URL cannot be used.
        """
        if self._engine is None:
            with self._lock:
                if self._engine is None:
                    self._engine = self._make()
        return self._engine

    def _make(self) -> sa.Engine:
        options = self._conf.database
        with translated():
            if self.url == default_connection(self._conf):
                pathlib.Path(self._conf.state_path).mkdir(
                    parents=True, exist_ok=True)
            engine = engines.create_engine(
                self.url,
                sqlite_fk=True,
                sqlite_synchronous=options.sqlite_synchronous,
                mysql_sql_mode=options.mysql_sql_mode,
                connection_recycle_time=options.connection_recycle_time,
                connection_debug=options.connection_debug,
                max_pool_size=options.max_pool_size,
                max_overflow=options.max_overflow,
                pool_timeout=options.pool_timeout,
                connection_parameters=options.connection_parameters,
                # NOTE: no sleep whenever a connection is given back, which
                # is meant for green threads; a busy machine takes long to
                # wake up from it.
                thread_checkin=False,
                # NOTE: a database that is down must not hold up the start
                # of Ironic's API; requests find out, and say so.
                max_retries=0)
            _tune(engine)
        return engine

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a connection for queries.

        :raises DatabaseUnavailable: the database does not answer.
        """
        with translated(), self.engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Open a connection whose queries all see one and the same moment.

        :raises Conflict: another transaction was in the way.
        :raises DatabaseUnavailable: the database does not answer.
        """
        with translated(), self.engine.connect() as connection, (
                connection.begin()):
            # NOTE: SQLite knows nothing else. Said of this transaction
            # alone: what is said of a connection outlives its return to the
            # pool on MariaDB, and writes would lock gaps.
            if connection.dialect.name != 'sqlite':
                connection.exec_driver_sql(
                    'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open a transaction that is committed at the end.

        :raises Conflict: another transaction was in the way; nothing has
            been written.
        :raises DatabaseUnavailable: the database does not answer.
        """
        with translated(), self.engine.connect() as connection:
            sqlite = connection.dialect.name == 'sqlite'
            if sqlite:
                # NOTE: keeps oslo.db from beginning a deferred transaction:
                # two of those that both read and then write end in "database
                # is locked" at once, whatever the time-out.
                connection.info['in_transaction'] = True
            with connection.begin():
                if sqlite:
                    connection.exec_driver_sql('BEGIN IMMEDIATE')
                yield connection

    def close(self) -> None:
        """Give the connections back."""
        if self._engine is not None:
            self._engine.dispose()


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Say in this project's words what a database complains about.

    :raises Conflict: another transaction was in the way.
    :raises DatabaseUnavailable: anything else.
    """
    try:
        yield
    except (db_exc.DBDeadlock, db_exc.DBDuplicateEntry,
            db_exc.DBReferenceError) as exc:
        raise Conflict(str(exc)) from exc
    except (db_exc.DBError, sa.exc.SQLAlchemyError, OSError,
            ImportError) as exc:
        if 'database is locked' in str(exc):
            raise Conflict(str(exc)) from exc
        if _misses_tables(exc):
            raise errors.DatabaseUnavailable(
                'The database of the reservations has no tables, or old '
                'ones. Run "ironic-reservations-dbsync upgrade" and try '
                'again.') from exc
        # NOTE: the driver's words may hold addresses and statements; they
        # go to the log, never to a client.
        LOG.exception('The database of the reservations failed')
        raise errors.DatabaseUnavailable(
            'The database of the reservations does not answer, so nothing '
            'was promised or changed. Try again later; if it lasts, tell the '
            'operator.') from exc


def _misses_tables(exc: BaseException) -> bool:
    if isinstance(exc, db_exc.DBNonExistentTable):
        return True
    driver = getattr(exc, 'inner_exception', None) or exc
    driver = getattr(driver, 'orig', None) or driver
    return (getattr(driver, 'pgcode', None) in _NO_SUCH
            or next(iter(driver.args), None) in _NO_SUCH
            or 'no such column' in str(driver))


def _tune(engine: sa.Engine) -> None:
    name = engine.dialect.name
    if name == 'sqlite':
        sa.event.listen(engine, 'connect', _on_sqlite_connect)
    elif name in ('mysql', 'mariadb'):
        # NOTE: repeatable reads lock the gaps between rows, which turns
        # inserts for different nodes into deadlocks; every write of ours
        # names the generation that it saw, so nothing is lost.
        sa.event.listen(engine, 'connect', _on_mysql_connect)


def _on_sqlite_connect(connection: Any, record: Any) -> None:
    connection.execute(f'PRAGMA busy_timeout = {_SQLITE_PATIENCE * 1000}')
    deadline = time.monotonic() + _SQLITE_PATIENCE
    while True:
        try:
            connection.execute('PRAGMA journal_mode = WAL')
        except sqlite3.OperationalError as exc:
            # NOTE: for this one lock SQLite does not wait: whoever opens a
            # new file while another process writes is refused at once.
            if 'locked' not in str(exc) or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(*_SQLITE_PAUSES))
        else:
            return


def _on_mysql_connect(connection: Any, record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
    decoders = getattr(connection, 'decoders', None)
    if decoders is not None:
        # NOTE: PyMySQL reads times by a regular expression, which takes more
        # of a long list than everything else does.
        decoders[_DATETIME] = datetime.datetime.fromisoformat
