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

"""Time limits of database sessions.

Each limit is set on each connection, by the means of its server, so that a
host that loses its power blocks others for seconds only.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import json
from typing import Any
from urllib import parse

from oslo_config import cfg
import sqlalchemy as sa

#: TCP keepalive: seconds without traffic before a connection is probed, the
#: number of probes, and the seconds between them.
_KEEPALIVE = (10, 3, 5)
#: How long to wait for an answer beyond the limit of statements, in seconds.
MORE = 5
#: How long a session may be idle on a server without a limit for idle
#: transactions, such as MySQL, in seconds.
_ABANDONED = 60

_MYSQL_DRIVERS = ('mysql+pymysql', 'mysql+mysqldb', 'mariadb+pymysql',
                  'mariadb+mysqldb')
_POSTGRESQL_DRIVERS = ('postgresql+psycopg2', 'postgresql+psycopg')


@dataclasses.dataclass(frozen=True)
class Limits:
    """Time limits, in seconds.

    :ivar lock: for waiting for another transaction.
    :ivar statement: for a statement, including such waiting.
    :ivar idle: for being idle in an open transaction that has written.
    :ivar connect: for connecting.
    :ivar unused: for an unused connection, before the server closes it; 0: no
        limit.
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
                   # NOTE: so that this process closes it before the server.
                   2 * recycled if recycled > 0 else 0)


#: For the health check and the clock.
QUICK = Limits(lock=1, statement=3, idle=3, connect=3, unused=_ABANDONED)


def with_limits(url: sa.URL, limits: Limits, parameters: str) -> sa.URL:
    """Return the URL with the parameters of its driver.

    Parameters that the operator has set are kept.

    :param parameters: [database] connection_parameters.
    """
    # NOTE: by then, a server that is alive has answered, with an error if not
    # with a result.
    answer = limits.statement + MORE
    driver = f'{url.get_backend_name()}+{url.get_driver_name()}'
    wanted: dict[str, int] = {}
    if driver in _MYSQL_DRIVERS:
        wanted = {'connect_timeout': limits.connect, 'read_timeout': answer,
                  'write_timeout': answer}
    elif driver in _POSTGRESQL_DRIVERS:
        idle, count, interval = _KEEPALIVE
        wanted = {'connect_timeout': limits.connect, 'keepalives': 1,
                  'keepalives_idle': idle, 'keepalives_count': count,
                  'keepalives_interval': interval,
                  'tcp_user_timeout': idle * 1000}
    said = {*url.query, *dict(parse.parse_qsl(parameters))}
    return url.update_query_dict({key: str(value) for key, value
                                  in wanted.items() if key not in said})


def knows_silence(url: sa.URL) -> bool:
    """Return whether waiting for an answer is limited with this driver."""
    return (url.get_backend_name() == 'sqlite' or
            f'{url.get_backend_name()}+{url.get_driver_name()}'
            in (*_MYSQL_DRIVERS, *_POSTGRESQL_DRIVERS))


def listener(limits: Limits) -> Callable[[Any, Any], None]:
    """Return a listener for SQLAlchemy's ``connect`` event."""
    def on_connect(connection: Any, record: Any) -> None:
        if hasattr(connection, 'get_server_info'):
            _limit_mysql(connection, limits)
        else:
            _limit_postgresql(connection, limits)
    return on_connect


def _limit_mysql(connection: Any, limits: Limits) -> None:
    mariadb = 'MariaDB' in connection.get_server_info()
    wanted: dict[str, float] = {
        'innodb_lock_wait_timeout': limits.lock,
        'lock_wait_timeout': limits.lock,
        'net_read_timeout': limits.idle, 'net_write_timeout': limits.idle}
    if mariadb:
        wanted.update(
            max_statement_time=limits.statement,
            # NOTE: longer, since a reader of a long list needs time between
            # rows, and has locked nothing.
            idle_transaction_timeout=limits.statement,
            idle_write_transaction_timeout=limits.idle)
        if limits.unused:
            wanted['wait_timeout'] = limits.unused
    else:
        wanted.update(max_execution_time=limits.statement * 1000,
                      wait_timeout=_ABANDONED)
    with connection.cursor() as cursor:
        cursor.execute('SET SESSION ' + ', '.join(
            f'{name} = {value}' for name, value in wanted.items()))


def _limit_postgresql(connection: Any, limits: Limits) -> None:
    idle, count, interval = _KEEPALIVE
    wanted = {
        'lock_timeout': limits.lock * 1000,
        'statement_timeout': limits.statement * 1000,
        'idle_in_transaction_session_timeout': limits.idle * 1000,
        'tcp_keepalives_idle': idle, 'tcp_keepalives_count': count,
        'tcp_keepalives_interval': interval, 'tcp_user_timeout': idle * 1000}
    # NOTE: settings that the server does not know are left out.
    with connection.cursor() as cursor:
        cursor.execute(
            'SELECT set_config(name, value, false) FROM pg_settings '
            'JOIN json_each_text(%s) AS wanted (name, value) USING (name)',
            (json.dumps(wanted),))
    connection.commit()


def snapshot(dialect: str, limits: Limits) -> str:
    """Return the statements that give a transaction one consistent view.

    :param dialect: ``mysql``, ``mariadb`` or ``postgresql``.
    """
    said = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'
    if dialect == 'postgresql':
        # NOTE: PostgreSQL has one limit for transactions that only read and
        # for those that write.
        said += ('; SET LOCAL idle_in_transaction_session_timeout = '
                 f'{limits.statement * 1000}')
    return said


def read_what_is_committed(connection: Any, record: Any) -> None:
    """Make nodes of a Galera cluster read what any has committed.

    A listener for the ``connect`` event, used unless the operator has set the
    option mysql_wsrep_sync_wait of the group [database].
    """
    with connection.cursor() as cursor:
        cursor.execute("SHOW VARIABLES LIKE 'wsrep_on'")
        found = cursor.fetchone()
        if found is not None and found[1] == 'ON':
            cursor.execute('SET SESSION wsrep_sync_wait = 1')
