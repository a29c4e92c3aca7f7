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


"""The servers below a cloud: those that the environment names, or its own."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import secrets

import sqlalchemy as sa
from sqlalchemy import pool

from tools import own_broker
from tools import own_server

BROKER = 'IRONIC_RESERVATIONS_TEST_RABBITMQ'


@contextlib.contextmanager
def mariadb() -> Iterator[str]:
    """Return the SQLAlchemy URL of a server.

    :raises NotInstalled: none is named, and MariaDB is not installed.
    """
    named = os.environ.get(own_server.NAMED_BY['mysql'])
    if named:
        yield named
        return
    with own_server.OwnServer('mysql', forgetful=True) as server:
        yield server.url


@contextlib.contextmanager
def broker() -> Iterator[tuple[str, own_broker.OwnBroker | None]]:
    """Return the transport URL of a RabbitMQ, and the server if it is ours.

    :raises NotInstalled: none is named, and RabbitMQ is not installed.
    """
    named = os.environ.get(BROKER)
    if named:
        yield named, None
        return
    with own_broker.OwnBroker() as server:
        yield server.url, server


class Databases:
    """Empty databases of MariaDB, by name.

    :param server: its SQLAlchemy URL.
    """

    def __init__(self, server: str) -> None:
        self._server = sa.make_url(server)
        self._prefix = f'stack_{secrets.token_hex(4)}_'
        self._names: list[str] = []

    def make(self, name: str) -> str:
        """Make a database.

        :returns: its URL for SQLAlchemy.
        """
        full = self._prefix + name
        self._run(f'CREATE DATABASE {full} CHARACTER SET utf8mb3')
        self._names.append(full)
        return self._server.set(database=full).render_as_string(
            hide_password=False)

    def drop(self) -> None:
        """Drop all of them."""
        while self._names:
            self._run(f'DROP DATABASE IF EXISTS {self._names.pop()}')

    def _run(self, statement: str) -> None:
        engine = sa.create_engine(
            self._server, poolclass=pool.NullPool,
            isolation_level='AUTOCOMMIT',
            connect_args={'connect_timeout': 5})
        with engine.connect() as connection:
            connection.execute(sa.text(statement))
