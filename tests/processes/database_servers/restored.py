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

"""One server, whose database is restored from a dump now and then."""

from __future__ import annotations

from collections.abc import Sequence
import pathlib
import random
import subprocess
import time

import sqlalchemy as sa

from tests.processes import journal
from tests.processes.database_servers import base
from tools import own_server

#: How old the dump is that is restored, in seconds.
_OLD = (1.0, 15.0)


class Restored(base.Servers):
    """A server of PostgreSQL that loses its data and gets a dump of them.

    Nobody reaches it while the dump is loaded.
    """

    dialect = 'postgresql'
    pause = (1.0, 6.0)
    loses = True
    programs: tuple[str, ...] = ('postgres', 'pg_dump', 'psql')

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self._closed = False

    @classmethod
    def check_installed(cls) -> None:
        """Check that all programs are there."""
        for name in cls.programs:
            own_server.program(name)

    def _setUp(self) -> None:
        self._server = self.useFixture(own_server.OwnServer(
            self.dialect, self.folder / 'server.log', True))

    def url(self, database: str = base.NAME) -> str:
        """Return the URL of a database on the server."""
        return sa.make_url(self._server.url).set(
            database=database).render_as_string(hide_password=False)

    def session_url(self, choice: random.Random) -> str | None:
        """Return the URL of the database, unless it is being restored."""
        return None if self._closed else self.url()

    def addresses(self, number: int) -> Sequence[base.Address]:
        """Return where the server is, unless it is being restored."""
        return () if self._closed else (base.address(self._server.url),)

    def disturb(self, choice: random.Random, tell: base.Tell) -> None:
        """Make a dump, and restore it some time later."""
        # NOTE: what is committed while it is made may be in it, or not.
        since, dump = journal.now(), self.folder / 'dump.sql'
        with dump.open('wb') as into:
            subprocess.run(self._dump, stdin=subprocess.DEVNULL, stdout=into,
                           check=True)
        time.sleep(choice.uniform(*_OLD))
        self._closed = True
        # NOTE: nobody is connected any more.
        self._server.restart(crash=True)
        tell('restore-dump', since=since, until=journal.now(),
             seconds=journal.now() - since)
        self._drop()
        self.create_database()
        with dump.open('rb') as out_of:
            subprocess.run(self._load, stdin=out_of, check=True,
                           stdout=subprocess.DEVNULL)
        self._closed = False

    def _drop(self) -> None:
        engine = sa.create_engine(self.url(self._maintenance),
                                  poolclass=sa.NullPool,
                                  isolation_level='AUTOCOMMIT')
        with engine.connect() as connection:
            connection.execute(sa.text(f'DROP DATABASE {base.NAME}'))

    @property
    def _where(self) -> list[str]:
        host, port = base.address(self._server.url)
        return ['-h', host, '-p', str(port), '-U', 'postgres', '-d', base.NAME]

    @property
    def _dump(self) -> list[str]:
        return [own_server.program('pg_dump'), *self._where]

    @property
    def _load(self) -> list[str]:
        return [own_server.program('psql'), '-q', '-v', 'ON_ERROR_STOP=1',
                *self._where]


class RestoredMariadb(Restored):
    """The same of MariaDB."""

    dialect = 'mysql'
    programs = ('mariadbd', 'mariadb-dump', 'mariadb')

    @property
    def _where(self) -> list[str]:
        host, port = base.address(self._server.url)
        return ['-h', host, '-P', str(port), '-u', 'root', '--skip-ssl',
                base.NAME]

    @property
    def _dump(self) -> list[str]:
        return [own_server.program('mariadb-dump'), '--no-defaults',
                '--single-transaction', *self._where]

    @property
    def _load(self) -> list[str]:
        return [own_server.program('mariadb'), '--no-defaults', *self._where]
