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


"""Connections to PostgreSQL with limits for each transaction.

A pooler, such as PgBouncer, may give each transaction another session of the
server. A setting of a session then applies to transactions of other clients,
and not to transactions of this process. Each transaction therefore begins with
its own limits, in the statement that has to begin it in any case; and psycopg
3 prepares no statements on the server, since their names belong to a session,
too.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import functools
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import answer_limit

#: The drivers whose connections are made here.
DRIVERS = ('psycopg2', 'psycopg')
_BEGIN = 'BEGIN'
_PREPARES = 'prepare_threshold'
_NEVER = ('', 'none')


def listener(begin: str, seconds: float) -> Callable[..., Any]:
    """Return a listener for SQLAlchemy's ``do_connect`` event.

    :param begin: the statement that begins a transaction.
    :param seconds: the time for which connections wait for an answer.
    """
    def on_do_connect(dialect: Any, record: Any, arguments: Any,
                      parameters: dict[str, Any]) -> Any:
        driver = dialect.loaded_dbapi
        if dialect.driver == 'psycopg2':
            parameters['connection_factory'] = _of_psycopg2(
                driver.extensions, begin, seconds)
            return None
        _choose_what_to_prepare(parameters)
        return _of_psycopg(driver, begin, seconds).connect(
            *arguments, autocommit=True, **parameters)
    return on_do_connect


def never_prepare(dialect: Any, record: Any, arguments: Any,
                  parameters: dict[str, Any]) -> None:
    """Make psycopg 3 prepare no statements, unless the operator wants it.

    A listener for the ``do_connect`` event, for connections that do not use
    :func:`listener`.
    """
    if dialect.driver == 'psycopg':
        _choose_what_to_prepare(parameters)


def prepares(url: sa.URL) -> bool:
    """Return whether the operator lets psycopg 3 prepare statements."""
    return _threshold(url.query.get(_PREPARES)) is not None


def backend(connection: Any) -> int | None:
    """Return the id of the process that serves a connection.

    The other end sends the id when the connection is made. A pooler sends a
    number of its own, which is no process of the server.

    :param connection: the driver's.
    :returns: ``None`` if the driver does not provide the id.
    """
    found = getattr(getattr(connection, 'info', None), 'backend_pid', None)
    return found if isinstance(found, int) else None


def has_pooler(connection: sa.Connection) -> bool | None:
    """Return whether a pooler is between this process and the server.

    :returns: ``None`` if the driver does not provide the process.
    """
    known = backend(connection.connection.driver_connection)
    return None if known is None else known != connection.scalar(
        sa.select(sa.func.pg_backend_pid()))


def _choose_what_to_prepare(parameters: dict[str, Any]) -> None:
    parameters[_PREPARES] = _threshold(parameters.get(_PREPARES))


def _threshold(said: Any) -> int | None:
    """Return the number of executions before a statement is prepared.

    :param said: the parameter of the URL, as text.
    :raises ArgumentError: the parameter is not a number.
    """
    if said is None or str(said).lower() in _NEVER:
        return None
    if not str(said).isdecimal():
        raise sa.exc.ArgumentError(
            f'{_PREPARES} is {said} in [database] connection, but has to be a '
            'number, or "none", which is the default.')
    return int(said)


def _cursor(base: Any, idle: Any, begin: str,
            limited: Callable[
                [Any], contextlib.AbstractContextManager[None]]) -> Any:
    """Return a class of cursors that begin transactions.

    :param idle: the status of a connection without a transaction.
    :param limited: limits the waits of a connection.
    """
    class Cursor(base):  # type: ignore[misc]
        def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
            with limited(self.connection):
                self._begin(query)
                return super().execute(query, *args, **kwargs)

        def executemany(self, query: Any, *args: Any, **kwargs: Any) -> Any:
            with limited(self.connection):
                self._begin(query)
                return super().executemany(query, *args, **kwargs)

        def _begin(self, query: Any) -> None:
            opened = self.connection
            if (opened.info.transaction_status == idle
                    and not opened.autocommit and not _begins(query)):
                super().execute(begin)

    return Cursor


@functools.cache
def _of_psycopg2(extensions: Any, begin: str, seconds: float) -> Any:
    """Return a class of connections with limits, of psycopg2."""
    idle = extensions.TRANSACTION_STATUS_IDLE
    own = extensions.connection.autocommit
    cursor = _cursor(extensions.cursor, idle, begin, functools.partial(
        answer_limit.within, seconds=seconds))

    class Connection(extensions.connection):  # type: ignore[misc]
        # The driver itself would begin each transaction with a bare
        # BEGIN, so this is switched off, and its state is never read.
        autocommit = False

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            own.__set__(self, True)
            self.cursor_factory = cursor

        def commit(self) -> None:
            self._end('COMMIT')

        def rollback(self) -> None:
            self._end('ROLLBACK')

        def _end(self, statement: str) -> None:
            if self.get_transaction_status() != idle:
                with self.cursor() as cursor:
                    cursor.execute(statement)

    return Connection


@functools.cache
def _of_psycopg(driver: Any, begin: str, seconds: float) -> Any:
    """Return a class of connections with limits, of psycopg 3."""
    # The connection itself limits its waits.
    cursor = _cursor(driver.Cursor, driver.pq.TransactionStatus.IDLE, begin,
                     contextlib.nullcontext)

    class Connection(driver.Connection):  # type: ignore[misc]
        # As above. Its own commit() and rollback() read the state.
        autocommit = False

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.cursor_factory = cursor

        def wait(self, *args: Any, **kwargs: Any) -> Any:
            with answer_limit.within(self, seconds):
                return super().wait(*args, **kwargs)

    return Connection


def _begins(query: Any) -> bool:
    return isinstance(query, str) and query.startswith(_BEGIN)
