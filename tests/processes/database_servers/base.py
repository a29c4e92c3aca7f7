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

"""What a storm needs to know of the servers of its database."""

from __future__ import annotations

import abc
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
import random
from typing import Any

import fixtures
import sqlalchemy as sa

#: Records a fault, by its name, and with more about it.
Tell = Callable[..., None]
Address = tuple[str, int]

NAME = 'ironic_reservations'


class Servers(fixtures.Fixture, abc.ABC):
    """The servers of a storm's own that have our tables and nobody else's.

    :param folder: where their logs are written.
    :cvar dialect: of the databases, as SQLAlchemy calls it.
    :cvar pause: between two faults of theirs, in seconds: the least and the
        most.
    :cvar options: of [database], beside the connection.
    :cvar loses: whether what was acknowledged may be lost; faults by which it
        is say ``since`` when and ``until`` when.
    """

    dialect: str
    pause: tuple[float, float]
    options: Mapping[str, object] = {}
    loses = False

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__()
        self.folder = folder

    @classmethod
    @abc.abstractmethod
    def check_installed(cls) -> None:
        """Check that all programs of the servers are there.

        :raises NotInstalled: one is not.
        """

    @abc.abstractmethod
    def url(self, database: str = NAME) -> str:
        """Return the URL of a database on a server that answers now."""

    @abc.abstractmethod
    def addresses(self, number: int) -> Sequence[Address]:
        """Return where a new connection of a process may go, best first.

        :param number: of the process.
        """

    @abc.abstractmethod
    def disturb(self, choice: random.Random, tell: Tell) -> None:
        """Let something go wrong, record it, and have it mended."""

    def create_database(self) -> str:
        """Create the one database; return its URL."""
        engine = sa.create_engine(self.url(self._maintenance),
                                  poolclass=sa.NullPool,
                                  isolation_level='AUTOCOMMIT')
        with engine.connect() as connection:
            connection.execute(sa.text(f'CREATE DATABASE {NAME}'))
        return self.url()

    @property
    def _maintenance(self) -> str:
        return 'postgres' if self.dialect == 'postgresql' else ''

    def session_url(self, choice: random.Random) -> str | None:
        """Return the URL of a server where sessions of processes may end."""
        return self.url()


def address(url: str) -> Address:
    """Return where a server is."""
    parsed: Any = sa.make_url(url)
    return str(parsed.host), int(parsed.port)
