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

"""A database server that is killed at work is back with what it had."""

from __future__ import annotations

import contextlib
import pathlib
import threading

import fixtures
import sqlalchemy as sa
import testtools

from tools import own_server

_BUSY = 8
_TIMES = 3


class _OwnServer:
    """To be run on each server."""

    kind: str
    sleep: str

    def setUp(self) -> None:
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.server = self.useFixture(
            own_server.OwnServer(self.kind, folder / 'log'))
        self.engine = sa.create_engine(self.server.url, poolclass=sa.NullPool)
        with self.engine.begin() as connection:
            if self.kind == 'mysql':
                connection.execute(sa.text('CREATE DATABASE kept'))
            connection.execute(sa.text(
                f'CREATE TABLE {self.kept} (number INTEGER)'))

    @property
    def kept(self) -> str:
        return 'kept.numbers' if self.kind == 'mysql' else 'numbers'

    def _busy(self, begun: threading.Barrier) -> None:
        with contextlib.suppress(sa.exc.DBAPIError), (
                self.engine.connect()) as connection:
            connection.execute(sa.text('SELECT 1'))
            begun.wait()
            connection.execute(sa.text(self.sleep))

    def _write(self, number: int) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.text(
                f'INSERT INTO {self.kept} VALUES ({number})'))

    def _numbers(self) -> list[int]:
        with self.engine.connect() as connection:
            return list(connection.scalars(sa.text(
                f'SELECT number FROM {self.kept} ORDER BY number')))

    def test_whoever_is_at_work_no_restart_is_in_the_way_of_the_next(self):
        for number in range(_TIMES):
            self._write(number)
            begun = threading.Barrier(_BUSY + 1)
            threads = [threading.Thread(target=self._busy, args=(begun,))
                       for _ in range(_BUSY)]
            for thread in threads:
                thread.start()
            begun.wait()
            before = self.server.processes()
            self.server.restart(crash=number % 2 == 0)
            self.assertEqual(set(), set(before) & set(
                self.server.processes()))
            self.assertEqual(list(range(number + 1)), self._numbers())
            for thread in threads:
                thread.join()


class TestMariadb(_OwnServer, testtools.TestCase):
    kind = 'mysql'
    sleep = 'SELECT SLEEP(600)'


class TestPostgresql(_OwnServer, testtools.TestCase):
    kind = 'postgresql'
    sleep = 'SELECT pg_sleep(600)'
