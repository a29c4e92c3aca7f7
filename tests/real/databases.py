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

import os
import pathlib
import secrets
import unittest

import fixtures
import sqlalchemy as sa
from sqlalchemy import pool

#: Where the servers are looked for, the first that answers; a variable of
#: the environment names another one.
# NOTE: PyMySQL reads the authorities that the machine trusts for each
# connection, whether or not the server speaks TLS: 30 ms of CPU time.
SERVERS = {
    'mysql': ('IRONIC_RESERVATIONS_TEST_MYSQL',
              ('mysql+pymysql://root@127.0.0.1:3306?ssl_disabled=true',)),
    'postgresql': ('IRONIC_RESERVATIONS_TEST_POSTGRESQL',
                   ('postgresql+psycopg2://postgres@127.0.0.1:5432/postgres',
                    'postgresql+psycopg2://root@127.0.0.1:5432/postgres')),
}
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
    """A server that has to be there does not answer."""


class Database(fixtures.Fixture):
    """An empty database that is dropped afterwards.

    Where no server answers the test is skipped; it fails where CI is true
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

        :raises unittest.SkipTest: no server answers, and need not.
        :raises Missing: no server answers, and one has to.
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
    variable, usual = SERVERS[kind]
    named = other or os.environ.get(variable)
    urls = (named,) if named else usual
    failure: Exception | None = None
    for url in map(sa.make_url, urls):
        try:
            _run(url, 'SELECT 1')
            return url
        except sa.exc.OperationalError as refused:
            failure = failure or refused
    text = (f'No {kind} server answers at {urls[0]}; {variable} can name '
            f'another: {failure}')
    if (os.environ.get('CI') == 'true'
            or os.environ.get('IRONIC_RESERVATIONS_REQUIRE_DATABASES')
            == '1'):
        raise Missing(text)
    raise unittest.SkipTest(text)


def _run(url: sa.URL, statement: str) -> None:
    engine = sa.create_engine(
        url, poolclass=pool.NullPool, isolation_level='AUTOCOMMIT',
        connect_args={'connect_timeout': _CONNECT_TIMEOUT})
    with engine.connect() as connection:
        connection.execute(sa.text(statement))
