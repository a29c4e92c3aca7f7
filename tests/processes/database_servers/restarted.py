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

"""One server, which is restarted."""

from __future__ import annotations

from collections.abc import Sequence
import pathlib
import random

import sqlalchemy as sa

from tests.processes.database_servers import base
from tools import own_server

#: How often it is not asked to end first.
_CRASHES = 0.5


class Restarted(base.Servers):
    """One server, which ends in order or crashes, and comes back.

    :param dialect: of the databases.
    :param folder: where its log is written.
    """

    pause = (5.0, 20.0)

    def __init__(self, dialect: str, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.dialect = dialect

    def _setUp(self) -> None:
        self._server = self.useFixture(own_server.OwnServer(
            self.dialect, self.folder / 'server.log'))

    @classmethod
    def check_installed(cls) -> None:
        """Check nothing: what starts the server says what is missing."""

    def url(self, database: str = base.NAME) -> str:
        """Return the URL of a database on the server."""
        return sa.make_url(self._server.url).set(
            database=database).render_as_string(hide_password=False)

    def addresses(self, number: int) -> Sequence[base.Address]:
        """Return where the server is."""
        return (base.address(self._server.url),)

    def disturb(self, choice: random.Random, tell: base.Tell) -> None:
        """Restart it."""
        crash = choice.random() < _CRASHES
        tell('crash-database' if crash else 'restart-database')
        self._server.restart(crash)
