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


"""Scratch databases on real servers."""

from __future__ import annotations

import atexit
from collections.abc import Callable
import functools
import os
import pathlib
import secrets
import unittest

import fixtures
import sqlalchemy as sa
from sqlalchemy import pool

from tools import own_server

#: Unless the environment names one, this process starts one of its own.
SERVERS = own_server.NAMED_BY
KINDS = ('sqlite', *SERVERS)

_CREATE = {
    'mysql': 'CREATE DATABASE {} CHARACTER SET utf8mb3',
    'postgresql': 'CREATE DATABASE {}',
}
_DROP = {
    'mysql': 'DROP DATABASE IF EXISTS {}',
    # Processes that a test killed may be connected for a moment still.
    'postgresql': 'DROP DATABASE IF EXISTS {} WITH (FORCE)',
}
#: One that is not there says so at once; one that is busy takes its time.
_CONNECT_TIMEOUT = 60


class Missing(AssertionError):
    """A server that has to be there is not installed, or does not answer."""


class Database(fixtures.Fixture):
    """An empty database that is dropped afterwards.

    Where there is no server the test is skipped; it fails where CI is true
    or IRONIC_RESERVATIONS_REQUIRE_DATABASES is 1.

    :param kind: one of :data:`KINDS`.
    :param server: the URL of another server than the usual one.
    :ivar url: the SQLAlchemy URL of the database.
    """

    def __init__(self, kind: str, server: str | None = None) -> None:
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f'{kind!r} is not one of {", ".join(KINDS)}.')
        self.kind = kind
        self.url = ''
        self._other = server

    def setUp(self) -> None:
        """Make the database.

        :raises unittest.SkipTest: there is no server, and need not be.
        :raises Missing: there is no server, and one has to be.
        """
        # NOTE: not in _setUp, from where a skip comes out as an error.
        self._server = (None if self.kind == 'sqlite'
                        else _reach(self.kind, self._other))
        super().setUp()

    def _setUp(self) -> None:
        if self._server is None:
            folder = self.useFixture(fixtures.TempDir()).path
            self.url = f'sqlite:///{pathlib.Path(folder, "scratch.sqlite")}'
            return
        server = self._server
        name = f'ironic_reservations_{secrets.token_hex(6)}'
        self.addCleanup(_run, server, _DROP[self.kind].format(name))
        _run(server, _CREATE[self.kind].format(name))
        self.url = server.set(database=name).render_as_string(
            hide_password=False)


def _reach(kind: str, other: str | None) -> sa.URL:
    variable = SERVERS[kind]
    named = other or os.environ.get(variable)
    try:
        url = sa.make_url(named or _own(kind).url)
        _run(url, 'SELECT 1')
        return url
    except own_server.NotInstalled as failure:
        text = f'{failure} {variable} can name a server that runs.'
        cause: Exception = failure
    except sa.exc.OperationalError as failure:
        text = f'No {kind} server answers at {named}: {failure}'
        cause = failure
    if _must_be_there():
        raise Missing(text) from cause
    raise unittest.SkipTest(text) from cause


def need(check: Callable[[], object]) -> None:
    """Skip a test unless what it needs is installed, or need not be.

    :param check: raises NotInstalled.
    :raises unittest.SkipTest: it is not installed.
    :raises Missing: it is not, and has to be.
    """
    try:
        check()
    except own_server.NotInstalled as exc:
        if _must_be_there():
            raise Missing(str(exc)) from exc
        raise unittest.SkipTest(str(exc)) from exc


def _must_be_there() -> bool:
    return (os.environ.get('CI') == 'true' or os.environ.get(
        'IRONIC_RESERVATIONS_REQUIRE_DATABASES') == '1')


@functools.cache
def _own(kind: str) -> own_server.OwnServer:
    server = own_server.OwnServer(kind, forgetful=True)
    server.setUp()
    owner = os.getpid()
    # NOTE: a child that is forked inherits this, but not the server.
    atexit.register(lambda: os.getpid() == owner and server.cleanUp())
    return server


def _run(url: sa.URL, statement: str) -> None:
    engine = sa.create_engine(
        url, poolclass=pool.NullPool, isolation_level='AUTOCOMMIT',
        connect_args={'connect_timeout': _CONNECT_TIMEOUT})
    with engine.connect() as connection:
        connection.execute(sa.text(statement))
