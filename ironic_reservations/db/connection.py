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

"""Transactions: short, and never open during a network call."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import datetime
import threading
from typing import Any

from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import engines
from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations import log_repeats
from ironic_reservations.db import driver_errors
from ironic_reservations.db import postgresql
from ironic_reservations.db import server_identity
from ironic_reservations.db import sessions
from ironic_reservations.db import sqlite_file
from ironic_reservations.model import proofs

LOG = log.getLogger(__name__)
#: The loops and the requests of a process meet the same failure.
_failures = log_repeats.Repeats()


#: The errors of MariaDB and PostgreSQL for a missing table or column.
_NO_SUCH = (1146, 1054, '42P01', '42703')


#: The errors of PostgreSQL for a conflict with another transaction:
#: serialization failure, deadlock, lock timeout; and the error of MariaDB if
#: it could not assign an auto-increment value because of one of the last two.
_OUTRUN = ('40001', '40P01', '55P03', 1467)

_MYSQL = ('mysql', 'mariadb')
#: The type code of DATETIME in MariaDB's protocol.
_DATETIME = 12


class Conflict(Exception):
    """Another transaction has committed first; read and plan again."""


class Locked(Conflict):
    """The database reported a lock conflict, which may last."""


def default_connection(conf: cfg.ConfigOpts) -> str:
    """Return the URL of the default database."""
    return f'sqlite:///{conf.state_path}/reservations.sqlite'


class Database:
    """The database; its SQLAlchemy engine is created on first use.

    :param conf: the options of [database], and [DEFAULT] state_path.
    :param limits: time limits; by default those of the configuration.
    :param create: whether a SQLite file is created if there is none.
    """

    def __init__(self, conf: cfg.ConfigOpts,
                 limits: sessions.Limits | None = None,
                 create: bool = True) -> None:
        self._conf = conf
        self._create = create
        self._limits = limits or sessions.Limits.configured(conf)
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._engine: sa.Engine | None = None
        self.options = conf.database
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
            file = sqlite_file.path(sa.make_url(self.url))
            if file is not None and not self._create:
                sqlite_file.check(file)
            elif file is not None:
                if self.url == default_connection(self._conf):
                    sqlite_file.make_folder(file.parent)
                sqlite_file.make(file)
            engine = engines.create_engine(
                sessions.with_limits(sa.make_url(self.url), self._limits,
                                     options.connection_parameters),
                sqlite_fk=True,
                sqlite_synchronous=options.sqlite_synchronous,
                mysql_sql_mode=options.mysql_sql_mode,
                mysql_wsrep_sync_wait=options.mysql_wsrep_sync_wait,
                connection_recycle_time=options.connection_recycle_time,
                connection_debug=options.connection_debug,
                max_pool_size=options.max_pool_size,
                max_overflow=options.max_overflow,
                pool_timeout=options.pool_timeout,
                connection_parameters=options.connection_parameters,
                # No ``sleep(0)`` when a connection is returned. It is
                # meant for green threads, and slow on a busy machine.
                thread_checkin=False,
                # A database that is down must not block the start of
                # Ironic's API; requests are refused until it is up.
                max_retries=0)
            # Parameters may contain proofs, and the log has more readers
            # than the API has users.
            engine.hide_parameters = True
            shorten(engine)
            _name_loss(engine)
            _tune(engine, self._limits)
            if file is not None:
                sqlite_file.keep_connections(engine, file,
                                             options.max_pool_size)
            if (engine.dialect.name in _MYSQL
                    and options.mysql_wsrep_sync_wait is None):
                sa.event.listen(engine, 'connect',
                                sessions.read_what_is_committed)
        return engine

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a connection for queries."""
        with translated(), self.engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Open a connection whose queries see one consistent state.

        :raises Conflict: another transaction was in the way.
        """
        # The transaction only reads; it is rolled back when the
        # connection is returned.
        with translated(), self.engine.connect() as connection:
            connection.begin()
            # SQLite has no other isolation. It is set for this
            # transaction alone: a setting of the connection would outlive its
            # return to the pool on MariaDB, and writes would lock gaps.
            if connection.dialect.name != 'sqlite':
                connection.exec_driver_sql(sessions.snapshot(
                    connection.dialect, self._limits))
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open a transaction that is committed at the end.

        :raises Conflict: another transaction was in the way; nothing has
            been written.
        :raises OutcomeUnknown: the database did not answer whether it has
            committed.
        :raises DatabaseUnavailable: the database does not answer; nothing
            has been written.
        """
        with translated(), self._queued(), (
                self.engine.connect()) as connection:
            sqlite = connection.dialect.name == 'sqlite'
            if sqlite:
                # Keeps oslo.db from beginning a deferred transaction: if
                # two of these read and then write, one fails at once with
                # "database is locked", and does not wait for the time-out.
                connection.info['in_transaction'] = True
            transaction = connection.begin()
            try:
                if sqlite:
                    connection.exec_driver_sql('BEGIN IMMEDIATE')
                yield connection
            except BaseException:
                transaction.rollback()
                raise
            _commit(connection, transaction)

    @contextlib.contextmanager
    def _queued(self) -> Iterator[None]:
        """Wait until no other thread of this process writes to SQLite.

        In SQLite itself, a waiting writer sleeps and tries again, with pauses
        that grow, so that on a busy machine a thread may wait for half a
        minute. After the limit, a waiting thread continues, and SQLite reports
        the conflict.
        """
        queued = (self.engine.dialect.name == 'sqlite'
                  and self._turn.acquire(timeout=self._limits.lock))
        try:
            yield
        finally:
            if queued:
                self._turn.release()

    def alone(self) -> Database:
        """Return the same database with its own connections.

        Their time limits are short.
        """
        return Database(self._conf, sessions.QUICK, self._create)

    def close(self) -> None:
        """Close the connections."""
        if self._engine is not None:
            self._engine.dispose()


def _commit(connection: sa.Connection,
            transaction: sa.RootTransaction) -> None:
    """Commit, and distinguish a refusal from a missing answer."""
    try:
        transaction.commit()
    except BaseException as exc:
        # A connection in an unknown state must not be used again, and
        # an error while returning it would hide this one.
        connection.invalidate()
        if (not isinstance(exc, Exception) or _in_the_way(exc)
                or driver_errors.refused_commit(driver_errors.of(exc))):
            raise
        LOG.exception('The outcome of a COMMIT is not known: the connection '
                      'to the database of the reservations was lost')
        raise errors.OutcomeUnknown from exc


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Translate errors of the database.

    :raises Locked: another transaction was in the way.
    :raises DatabaseUnavailable: for any other error.
    """
    try:
        yield
    except (db_exc.DBError, sa.exc.SQLAlchemyError, OSError,
            ImportError) as exc:
        if _in_the_way(exc):
            raise Locked(str(exc)) from exc
        if isinstance(exc, sessions.NotServed):
            LOG.error('The database cannot be used: %s', exc)
            raise errors.DatabaseUnavailable(
                'The service does not support the database server of the '
                'reservations, so nothing was promised or changed. Tell the '
                'operator; the log of the service names the server.') from exc
        if misses_tables(exc):
            raise errors.DatabaseUnavailable(
                'The tables of the database of the reservations are missing '
                'or out of date. Run "ironic-reservations-dbsync upgrade" and '
                'try again.') from exc
        if driver_errors.is_of_full_disk(driver_errors.of(exc)):
            LOG.error('The disk of the database of the reservations is full: '
                      '%s', exc)
            raise errors.DatabaseUnavailable(
                'The disk of the database of the reservations is full, so '
                'nothing was promised or changed. Tell the operator; try '
                'again when there is room.') from exc
        # The driver's message may contain addresses and statements; it
        # is written to the log, and never sent to a client.
        known = driver_errors.is_operational(driver_errors.of(exc))
        line = str(exc).partition('\n')[0]
        if not known or _failures.are_due(line):
            LOG.error('The database of the reservations failed: %s', line,
                      exc_info=not known)
        raise errors.DatabaseUnavailable(
            'The database of the reservations does not answer, so nothing was '
            'promised or changed. Try again later; if this continues, tell '
            'the operator.') from exc


def _in_the_way(exc: BaseException) -> bool:
    """Return whether an error is a conflict with another transaction."""
    return (isinstance(exc, (db_exc.DBDeadlock, db_exc.DBDuplicateEntry,
                             db_exc.DBReferenceError))
            or driver_errors.has(driver_errors.of(exc), _OUTRUN)
            or 'database is locked' in str(exc))


def misses_tables(exc: BaseException) -> bool:
    """Return whether a table or a column of this release does not exist."""
    driver = driver_errors.of(exc)
    return (isinstance(exc, db_exc.DBNonExistentTable)
            or driver_errors.has(driver, _NO_SUCH)
            or 'no such column' in str(driver))


def _tune(engine: sa.Engine, limits: sessions.Limits) -> None:
    name = engine.dialect.name
    if name == 'sqlite':
        sa.event.listen(engine, 'connect', sqlite_file.on_connect)
    elif name in _MYSQL:
        if engine.dialect.driver == 'pymysql':
            sa.event.listen(engine, 'do_connect', sessions.limit_greeting)
        sa.event.listen(engine, 'connect', sessions.mariadb_listener(limits))
        # REPEATABLE READ locks the gaps between rows, so that inserts
        # for different nodes deadlock. It is not needed: every write names
        # the generation that was read.
        sa.event.listen(engine, 'connect', _on_mysql_connect)
    elif name == 'postgresql':
        sa.event.listen(engine, 'connect', sessions.postgresql_listener())
        server_identity.find_out(engine)
        if engine.dialect.driver in postgresql.DRIVERS:
            sa.event.listen(engine, 'do_connect', postgresql.listener(
                sessions.begin(limits), limits.statement + sessions.MORE))
        else:
            limited = sessions.limit_transaction(limits)
            sa.event.listen(engine, 'begin', lambda connection:
                            connection.exec_driver_sql(limited))


def _on_mysql_connect(connection: Any, record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
    decoders = getattr(connection, 'decoders', None)
    if decoders is not None:
        # PyMySQL parses times with a regular expression, which takes
        # more time on a long list than everything else.
        decoders[_DATETIME] = datetime.datetime.fromisoformat


def _name_loss(engine: sa.Engine) -> None:
    """Raise the error of the driver if the server is lost at the first use.

    SQLAlchemy examines the server on a connection that it cannot invalidate,
    and raises ``NotImplementedError`` instead.
    """
    initialize = engine.dialect.initialize

    def examined(connection: sa.Connection) -> None:
        lost = None
        try:
            initialize(connection)
        except NotImplementedError as exc:
            lost = exc.__context__ or exc
        if lost is not None:
            raise lost
    engine.dialect.initialize = examined  # type: ignore[method-assign]


def shorten(engine: sa.Engine) -> None:
    """Shorten uuids in exceptions of the driver to their beginnings.

    The message is changed where the driver raises it, since oslo.db logs some
    exceptions before other code can change them.
    """
    for event in ('do_execute', 'do_executemany'):
        sa.event.listen(engine, event,
                        _executing(getattr(engine.dialect, event)))


def _executing(execute: Callable[..., None]) -> Callable[..., bool]:
    def executed(cursor: Any, statement: str, parameters: Any,
                 context: Any) -> bool:
        try:
            execute(cursor, statement, parameters, context)
        except Exception as exc:
            exc.args = tuple(proofs.shortened(each) if isinstance(each, str)
                             else each for each in exc.args)
            raise
        return True
    return executed
