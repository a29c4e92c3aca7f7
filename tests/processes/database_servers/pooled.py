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

"""PostgreSQL behind PgBouncer, which gives each transaction another session.
"""

from __future__ import annotations

from collections.abc import Sequence
import random
import time

import sqlalchemy as sa

from tests.processes.database_servers import base
from tools import own_pooler
from tools import own_server

#: How many sessions of the server there are for all processes.
_SESSIONS = 12
#: For how long the pooler is killed or stopped, in seconds.
_AWAY = (0.0, 4.0)
_STOPPED = (0.5, 9.0)
#: How often each fault is, in parts of the whole.
_OFTEN = {'kill-pooler': 4, 'stop-pooler': 4, 'crash-database': 1,
          'restart-database': 1}


class Pooled(base.Servers):
    """A pooler in transaction mode, and one server behind it.
    """

    dialect = 'postgresql'
    pause = (0.5, 5.0)

    @classmethod
    def check_installed(cls) -> None:
        """Check that the programs of both are there."""
        own_server.program(own_pooler.PROGRAM)
        own_server.program('postgres')

    def _setUp(self) -> None:
        self._server = self.useFixture(own_server.OwnServer(
            'postgresql', self.folder / 'server.log', True))
        self._pooler = self.useFixture(own_pooler.OwnPooler(
            self._server.url, _SESSIONS))

    def url(self, database: str = base.NAME) -> str:
        """Return the URL of a database on the server, past the pooler."""
        return sa.make_url(self._server.url).set(
            database=database).render_as_string(hide_password=False)

    def addresses(self, number: int) -> Sequence[base.Address]:
        """Return where the pooler is."""
        return (base.address(self._pooler.url),)

    def disturb(self, choice: random.Random, tell: base.Tell) -> None:
        """Let the pooler fail, or the server behind it."""
        how, = choice.choices(list(_OFTEN), list(_OFTEN.values()))
        if how == 'kill-pooler':
            seconds = choice.uniform(*_AWAY)
            tell(how, seconds=seconds)
            self._pooler.kill()
            time.sleep(seconds)
            self._pooler.start()
        elif how == 'stop-pooler':
            seconds = choice.uniform(*_STOPPED)
            tell(how, seconds=seconds)
            self._pooler.stop()
            time.sleep(seconds)
            self._pooler.go_on()
        else:
            tell(how)
            self._server.restart(crash=how == 'crash-database')
