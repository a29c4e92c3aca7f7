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

"""Time limits of database sessions and transactions.

Each limit is set in the way of its server, so that a host that loses its power
blocks others for seconds only: on MariaDB for a session, on PostgreSQL for a
transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import json
import threading
from typing import Any
from urllib import parse

from oslo_config import cfg
from oslo_log import log
import sqlalchemy as sa

from ironic_reservations.db import driver_errors
from ironic_reservations.db import postgresql

LOG = log.getLogger(__name__)

#: TCP keepalive: seconds without traffic before a connection is probed, the
#: number of probes, and the seconds between them.
_KEEPALIVE = (10, 3, 5)
#: How long to wait for an answer beyond the limit of statements, in seconds.
MORE = 5
#: How long a connection of the clock may be unused, in seconds.
_ABANDONED = 60
#: The highest value that MariaDB takes for a limit, in seconds.
_LONGEST = 31536000
#: The error of MySQL for a setting that only MariaDB has.
_NO_SUCH_SETTING = 1193

_MYSQL_DRIVERS = ('mysql+pymysql', 'mysql+mysqldb', 'mariadb+pymysql',
                  'mariadb+mysqldb')
_POSTGRESQL_DRIVERS = ('postgresql+psycopg2', 'postgresql+psycopg')


@dataclasses.dataclass(frozen=True)
class Limits:
    """Time limits, in seconds.

    :ivar lock: the limit of a wait for another transaction.
    :ivar statement: the limit of a statement, including such a wait.
    :ivar idle: the limit of an idle time in an open transaction that has
        written.
    :ivar connect: the limit of the opening of a connection.
    :ivar unused: the time after which the server closes an unused connection;
        0: no limit.
    """

    lock: int
    statement: int
    idle: int
    connect: int
    unused: int

    @classmethod
    def configured(cls, conf: cfg.ConfigOpts) -> Limits:
        """Return the configured limits."""
        options = conf.database
        recycled = options.connection_recycle_time
        return cls(options.lock_timeout, options.statement_timeout,
                   options.idle_in_transaction_timeout,
                   options.connect_timeout,
                   # So that this process closes it before the server.
                   2 * recycled if recycled > 0 else 0)


#: For the health check and the clock.
QUICK = Limits(lock=1, statement=3, idle=3, connect=3, unused=_ABANDONED)


def with_limits(url: sa.URL, limits: Limits, parameters: str) -> sa.URL:
    """Return the URL with the parameters of its driver.

    Parameters that the operator has set are kept.

    :param parameters: [database] connection_parameters.
    """
    # By then, a live server has answered, with a result or with an error.
    answer = limits.statement + MORE
    driver = f'{url.get_backend_name()}+{url.get_driver_name()}'
    wanted: dict[str, int | str] = {}
    if driver in _MYSQL_DRIVERS:
        wanted = {'connect_timeout': limits.connect, 'read_timeout': answer,
                  'write_timeout': answer,
                  # oslo.db sets "utf8", which has no emoji on MariaDB.
                  'charset': 'utf8mb4'}
    elif driver in _POSTGRESQL_DRIVERS:
        idle, count, interval = _KEEPALIVE
        wanted = {'connect_timeout': limits.connect, 'keepalives': 1,
                  'keepalives_idle': idle, 'keepalives_count': count,
                  'keepalives_interval': interval,
                  'tcp_user_timeout': idle * 1000}
    said = {*url.query, *dict(parse.parse_qsl(parameters))}
    return url.update_query_dict({key: str(value) for key, value
                                  in wanted.items() if key not in said})


def limit_greeting(dialect: Any, record: Any, arguments: Any,
                   parameters: Any) -> Any:
    """Return a new connection of PyMySQL.

    A listener for SQLAlchemy's ``do_connect`` event. PyMySQL waits for the
    greeting of a server as long as for an answer, and its ``connect_timeout``
    is for TCP alone, which a stopped server or a proxy accepts.
    """
    answer, greeting = (parameters.get(name) for name in (
        'read_timeout', 'connect_timeout'))
    try:
        made = dialect.connect(*arguments, **{
            **parameters, 'read_timeout': min(answer, greeting)})
    except (TypeError, AttributeError) as exc:
        raise sa.exc.ArgumentError(
            f'PyMySQL does not take a parameter of the URL: {exc}') from exc
    made._read_timeout = answer
    return made


def knows_silence(url: sa.URL) -> bool:
    """Return whether the wait for an answer is limited with this driver."""
    return (url.get_backend_name() == 'sqlite' or
            f'{url.get_backend_name()}+{url.get_driver_name()}'
            in (*_MYSQL_DRIVERS, *_POSTGRESQL_DRIVERS))


class NotServed(sa.exc.SQLAlchemyError):
    """This service does not support the server."""


def mariadb_listener(limits: Limits) -> Callable[[Any, Any], None]:
    """Return a listener for SQLAlchemy's ``connect`` event, for MariaDB."""
    wanted: dict[str, float] = {
        'innodb_lock_wait_timeout': limits.lock,
        'lock_wait_timeout': limits.lock,
        'net_read_timeout': limits.idle, 'net_write_timeout': limits.idle,
        'max_statement_time': limits.statement,
        # Longer, since a reader of a long list needs time between rows,
        # and has no locks.
        'idle_transaction_timeout': limits.statement,
        'idle_write_transaction_timeout': limits.idle}
    if limits.unused:
        wanted['wait_timeout'] = limits.unused

    def on_connect(connection: Any, record: Any) -> None:
        set_mariadb(connection, wanted)
    return on_connect


def set_mariadb(connection: Any, wanted: Mapping[str, float]) -> None:
    """Set variables of a session of MariaDB.

    :param connection: the driver's.
    :raises NotServed: the server is MySQL, which lacks some variables.
    """
    with connection.cursor() as cursor:
        try:
            cursor.execute('SET SESSION ' + ', '.join(
                f'{name} = {min(value, _LONGEST)}'
                for name, value in wanted.items()))
        except Exception as exc:
            if not driver_errors.has(exc, (_NO_SUCH_SETTING,)):
                raise
            raise NotServed(
                'the database server is not MariaDB 10.3 or newer but '
                f'{connection.get_server_info()} ({exc.args[-1]}). MySQL is '
                'not served: nothing there ends the transaction of a dead '
                'host. Use MariaDB, PostgreSQL or SQLite in [database] '
                'connection.') from exc


def postgresql_listener() -> Callable[[Any, Any], None]:
    """Return a listener for SQLAlchemy's ``connect`` event, for PostgreSQL.

    It makes the settings that are the same for all connections.
    """
    idle, count, interval = _KEEPALIVE
    wanted = json.dumps({
        'tcp_keepalives_idle': idle, 'tcp_keepalives_count': count,
        'tcp_keepalives_interval': interval, 'tcp_user_timeout': idle * 1000})
    said = threading.Event()

    def on_connect(connection: Any, record: Any) -> None:
        known = postgresql.backend(connection)
        # No transaction is needed.
        connection.autocommit = True
        with connection.cursor() as cursor:
            # Nothing is set through a pooler, which shares its sessions
            # with other clients, and no setting that the server lacks.
            cursor.execute(
                'SELECT pg_backend_pid(), count(set_config(name, value, '
                'false)) FROM pg_settings JOIN json_each_text(%s) AS wanted '
                '(name, value) USING (name) WHERE pg_backend_pid() = %s',
                (wanted, known))
            serving, _ = cursor.fetchone()
        connection.autocommit = False
        if known not in (None, serving) and not said.is_set():
            said.set()
            LOG.info('A pooler is between this process and PostgreSQL; time '
                     'limits are set for each transaction')
    return on_connect


def limit_transaction(limits: Limits) -> str:
    """Return the statements that limit the present transaction.

    The statements are for PostgreSQL.
    """
    wanted = {
        'lock_timeout': limits.lock, 'statement_timeout': limits.statement,
        'idle_in_transaction_session_timeout': limits.idle}
    return '; '.join(f'SET LOCAL {name} = {min(value * 1000, 2 ** 31 - 1)}'
                     for name, value in wanted.items())


def begin(limits: Limits) -> str:
    """Return the statements that begin a transaction on PostgreSQL."""
    return f'BEGIN; {limit_transaction(limits)}'


def snapshot(dialect: sa.Dialect, limits: Limits) -> str:
    """Return the statements that give a transaction one consistent view.

    The transaction has to begin with them.

    :param dialect: the dialect of MariaDB or PostgreSQL.
    """
    isolated = 'ISOLATION LEVEL REPEATABLE READ'
    if dialect.name != 'postgresql':
        return f'SET TRANSACTION {isolated}'
    # PostgreSQL has the same limit for transactions that read and for
    # transactions that write.
    limited = limit_transaction(dataclasses.replace(
        limits, idle=limits.statement))
    begun = ('BEGIN' if dialect.driver in postgresql.DRIVERS
             else 'SET TRANSACTION')
    return f'{begun} {isolated}; {limited}'


def read_what_is_committed(connection: Any, record: Any) -> None:
    """Make nodes of a Galera cluster read all commits of the cluster.

    A listener for the ``connect`` event, used unless the operator has set the
    option mysql_wsrep_sync_wait of the group [database].
    """
    _wait_for_others(connection, 1)


def see_what_is_committed(connection: Any, record: Any) -> None:
    """Make nodes of a Galera cluster see all commits in each statement.

    A listener for the ``connect`` event of connections that migrate.
    """
    # For reads and for statements that change rows.
    _wait_for_others(connection, 7)


def _wait_for_others(connection: Any, statements: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW VARIABLES LIKE 'wsrep_on'")
        found = cursor.fetchone()
        if found is not None and found[1] == 'ON':
            cursor.execute(f'SET SESSION wsrep_sync_wait = {statements}')
