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

"""The real Placement, served by gunicorn over a real database."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import fixtures
import requests

from tests.real import databases

_STARTS_WITHIN = 60


class Served(fixtures.Fixture):
    """A Placement in processes of its own, with its defaults.

    :param kind: of its database.
    :ivar endpoint: its URL.
    """

    def __init__(self, kind: str, workers: int = 2) -> None:
        super().__init__()
        self._kind = kind
        self._workers = workers

    def setUp(self) -> None:
        """Start it.

        :raises unittest.SkipTest: no database server answers, and need not.
        """
        # NOTE: not in _setUp, from where a skip comes out as an error.
        self._database = databases.Database(self._kind)
        self._database.setUp()
        super().setUp()

    def _setUp(self) -> None:
        self.addCleanup(self._database.cleanUp)
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'placement.conf').write_text('\n'.join((
            '[api]', 'auth_strategy = noauth2',
            '[placement_database]', f'connection = {self._database.url}',
            'sync_on_startup = true', '')))
        port = _free_port()
        self.endpoint = f'http://127.0.0.1:{port}'
        log = self.useFixture(fixtures.TempDir()).path
        with open(f'{log}/log', 'wb') as output:
            # NOTE: one at first, so that the tables are made once.
            self._process = subprocess.Popen(
                [sys.executable, '-W', 'ignore', '-m', 'gunicorn',
                 '--preload', '-w', str(self._workers), '--threads', '1',
                 '--no-control-socket', '-b', f'127.0.0.1:{port}',
                 'placement.wsgi.api:application'],
                stdout=output, stderr=output, env={
                    **os.environ, 'OS_PLACEMENT_CONFIG_DIR': str(folder)})
        self.addCleanup(self._stop)
        self._wait(pathlib.Path(log, 'log'))

    def _wait(self, log: pathlib.Path) -> None:
        until = time.monotonic() + _STARTS_WITHIN
        while time.monotonic() < until:
            try:
                if requests.get(self.endpoint, timeout=5).status_code == 200:
                    return
            except requests.RequestException:
                time.sleep(0.1)
        raise AssertionError('Placement does not start:\n'
                             + log.read_text(errors='replace')[-2000:])

    def _stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        return int(taken.getsockname()[1])
