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


"""What is made anew on the servers of this machine, and dropped again."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import secrets
import shutil
import subprocess
from urllib import parse

import sqlalchemy as sa
from sqlalchemy import pool

#: Variables of the environment name other servers.
# NOTE: without it PyMySQL takes 30 ms of CPU time for each connection.
DATABASE = ('IRONIC_RESERVATIONS_TEST_MYSQL',
            'mysql+pymysql://root@127.0.0.1:3306?ssl_disabled=true')
BROKER = ('IRONIC_RESERVATIONS_TEST_RABBITMQ',
          'rabbit://guest:guest@127.0.0.1:5672/')


class Databases:
    """Empty databases of MariaDB, by name."""

    def __init__(self) -> None:
        self._server = sa.make_url(os.environ.get(*DATABASE))
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


@contextlib.contextmanager
def broker() -> Iterator[str]:
    """Return the URL of a virtual host of RabbitMQ.

    NOTE: of its own where we may make one, so that two clouds on one machine
    do not answer each other's calls.
    """
    url = os.environ.get(*BROKER)
    name = f'stack_{secrets.token_hex(4)}'
    parts = parse.urlsplit(url)
    user = parts.username or 'guest'
    mine = _control('add_vhost', name) and _control(
        'set_permissions', '-p', name, user, '.*', '.*', '.*')
    try:
        yield parts._replace(path=f'/{name}').geturl() if mine else url
    finally:
        if mine:
            _control('delete_vhost', name)


def _control(*arguments: str) -> bool:
    command = shutil.which('rabbitmqctl')
    if command is None:
        return False
    try:
        return subprocess.run(
            [command, '-q', *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=30).returncode == 0
    except subprocess.TimeoutExpired:
        return False
