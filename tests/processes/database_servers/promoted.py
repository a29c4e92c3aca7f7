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

"""PostgreSQL with a replica, which is promoted."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
import random
import time
from typing import Any

import sqlalchemy as sa

from tests.processes import journal
from tests.processes.database_servers import base
from tools import own_server

#: What a replica is called by its primary.
_REPLICA = 'walreceiver'
_STREAMS = sa.text(
    "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND "
    'application_name = :name AND sync_state = :state')
#: For how long a server is stopped, in seconds.
_STOPPED = (1.0, 9.0)
#: How often each fault is, in parts of the whole.
_OFTEN: Mapping[str, int] = {
    'promote-replica': 4, 'stop-primary': 3, 'stop-replica': 3,
    'lose-replica': 4, 'restart-primary': 1}
_PATIENCE = 60.0


class Promoted(base.Servers):
    """A primary and its synchronous replica, which takes its place.
    """

    dialect = 'postgresql'
    pause = (0.5, 5.0)
    #: Shorter than the replica may be away.
    options: Mapping[str, object] = {'statement_timeout': 5,
                                     'lock_timeout': 2}
    #: For how long the replica is away before the primary is, too, in
    #: seconds: shorter and longer than statements may take.
    away: tuple[float, float] = (1.0, 12.0)
    often = _OFTEN
    _state = 'sync'

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self._made = 0
        #: Whether the replica has all that is committed.
        self._follows = True

    def _setUp(self) -> None:
        self.addCleanup(self._end)
        self._primary = self._make(None)
        self._replica: own_server.OwnServer | None = None
        self._ask("ALTER SYSTEM SET synchronous_standby_names = "
                  f"'{_REPLICA if self._state == 'sync' else ''}'")
        self._ask('SELECT pg_reload_conf()')
        self._follow()

    @classmethod
    def check_installed(cls) -> None:
        """Check that all programs of the servers are there."""
        for name in ('postgres', 'pg_basebackup', 'pg_ctl'):
            own_server.program(name)

    def url(self, database: str = base.NAME) -> str:
        """Return the URL of a database on the primary."""
        return sa.make_url(self._primary.url).set(
            database=database).render_as_string(hide_password=False)

    def session_url(self, choice: random.Random) -> str | None:
        """Return the URL of the primary.

        NOTE: a session that is ended while it waits for the replica has
        committed, and everybody can see that before the replica has it.
        """
        return self.url() if self._follows else None

    def addresses(self, number: int) -> Sequence[base.Address]:
        """Return where the primary is."""
        return (base.address(self._primary.url),)

    def disturb(self, choice: random.Random, tell: base.Tell) -> None:
        """Let the primary or its replica fail; promote, and replicate."""
        how, = choice.choices(list(self.often), list(self.often.values()))
        replica = self._replica
        assert replica is not None
        if how == 'restart-primary':
            tell(how)
            self._primary.restart(crash=True)
        elif how == 'stop-replica':
            seconds = choice.uniform(*_STOPPED)
            tell(how, seconds=seconds)
            self._follows = False
            replica.stop()
            time.sleep(seconds)
            replica.go_on()
        else:
            seconds, since = self._fail(how, replica, choice)
            tell(how, seconds=seconds, **(
                {'since': since, 'until': journal.now()} if self.loses
                else {}))
            self._promote(replica)
        self._wait()

    def _fail(self, how: str, replica: own_server.OwnServer,
              choice: random.Random) -> tuple[float, float]:
        """Have the primary gone.

        :returns: after how many seconds, and since when the replica may lack
            what it has committed.
        """
        began = journal.now()
        if how == 'stop-primary':
            self._primary.stop()
            time.sleep(choice.uniform(*_STOPPED))
        elif how == 'lose-replica':
            self._follows = False
            replica.kill()
            time.sleep(choice.uniform(*self.away))
        self._primary.kill()
        if how == 'lose-replica':
            replica.start()
        return journal.now() - began, began

    def _promote(self, replica: own_server.OwnServer) -> None:
        """Have the replica take the primary's place, and get one itself."""
        self._follows = False
        replica.promote()
        former, self._primary, self._replica = self._primary, replica, None
        former.cleanUp()
        if self._state == 'sync':
            self._ask('ALTER SYSTEM SET synchronous_standby_names = '
                      f"'{_REPLICA}'")
            self._ask('SELECT pg_reload_conf()')
        self._follow()

    def _make(self, copy_of: own_server.OwnServer | None
              ) -> own_server.OwnServer:
        made = own_server.OwnServer(
            'postgresql', self.folder / f'server-{self._made}.log', True,
            copy_of)
        self._made += 1
        made.setUp()
        return made

    def _follow(self) -> None:
        self._replica = self._make(self._primary)
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not self._ask(_STREAMS.bindparams(
                name=_REPLICA, state=self._state)):
            if time.monotonic() > deadline:
                raise RuntimeError('The replica does not follow.')
            time.sleep(0.1)
        self._follows = True

    def _ask(self, statement: str | sa.TextClause) -> Any:
        engine = sa.create_engine(self.url('postgres'), poolclass=sa.NullPool,
                                  isolation_level='AUTOCOMMIT')
        with engine.connect() as connection:
            found = connection.execute(
                sa.text(statement) if isinstance(statement, str)
                else statement)
            return found.scalar() if found.returns_rows else None

    def _end(self) -> None:
        for server in (self._primary, self._replica):
            if server is not None:
                server.cleanUp()


class PromotedAsync(Promoted):
    """A primary and its asynchronous replica.

    The last commits are lost when it takes the primary's place.
    """

    loses = True
    options: Mapping[str, object] = {}
    # NOTE: so that some promises outlive it.
    pause = (1.0, 6.0)
    away = (0.0, 3.0)
    often: Mapping[str, int] = {**_OFTEN, 'stop-replica': 1,
                                'lose-replica': 8}
    _state = 'async'
