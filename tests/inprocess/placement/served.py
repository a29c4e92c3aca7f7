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

"""The real Placement, served by gunicorn over a real database.

Its first process is forked from one that has read the code.
"""

from collections.abc import Mapping
import os
import pathlib
import signal
import sys
import time

import fixtures
from gunicorn.app import wsgiapp
import requests

from tests import forks
from tests.inprocess.placement import placed
from tools import free_ports

#: What takes so long hangs, also on a machine that has other things to do.
_STARTS_WITHIN = 240


def _serve(log: pathlib.Path, environment: Mapping[str, str],
           arguments: list[str]) -> None:
    """Be ``gunicorn``, with a log and a group of its own."""
    os.setsid()
    with log.open('ab') as output:
        for number in (1, 2):
            os.dup2(output.fileno(), number)
    os.environ.update(environment)
    sys.argv = ['gunicorn', *arguments]
    wsgiapp.run()


class Served(fixtures.Fixture):
    """A Placement in processes of its own, with its defaults.

    :param kind: of its database.
    :param retries: allocation_conflict_retry_count, where it is not the
        default.
    :param application: what gunicorn is to serve.
    :param environment: more for the processes.
    :ivar endpoint: its URL.
    """

    def __init__(self, kind: str, workers: int = 2, *, threads: int = 1,
                 retries: int | None = None,
                 application: str = 'placement.wsgi.api:application',
                 environment: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._kind = kind
        self._workers = workers
        self._threads = threads
        self._retries = retries
        self._application = application
        self._environment = environment or {}

    def setUp(self) -> None:
        """Start it.

        :raises unittest.SkipTest: no database server answers, and need not.
        """
        # NOTE: not in _setUp, from where a skip comes out as an error.
        self._database = placed.Database(self._kind)
        self._database.setUp()
        super().setUp()

    def _setUp(self) -> None:
        self.addCleanup(self._database.cleanUp)
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'placement.conf').write_text('\n'.join((
            '[api]', 'auth_strategy = noauth2',
            '[placement_database]', f'connection = {self._database.url}',
            'sync_on_startup = true', *(
                [] if self._retries is None else
                ['[placement]',
                 f'allocation_conflict_retry_count = {self._retries}']),
            '')))
        self._log = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'log')
        self._environment = {**self._environment,
                             'OS_PLACEMENT_CONFIG_DIR': str(folder)}
        for attempts_left in (2, 1, 0):
            self._take(free_ports.free_port())
            self.addCleanup(self.stop)
            try:
                self.start()
                return
            except AssertionError:
                # NOTE: between our look and its bind, somebody took the port.
                if not attempts_left or 'Connection in use' not in (
                        self._log.read_text(errors='replace')):
                    raise

    def _take(self, port: int) -> None:
        """Have it listen on a port."""
        self.endpoint = f'http://127.0.0.1:{port}'
        # NOTE: one at first, so that the tables are made once.
        self._arguments = [
            '--preload', '-w', str(self._workers),
            '--threads', str(self._threads),
            '--no-control-socket', '-b', f'127.0.0.1:{port}',
            # NOTE: whoever is held up, by a test too, is not killed.
            '--timeout', '300',
            self._application]

    def start(self) -> None:
        """Start its processes, once more."""
        self._log.touch()
        self._process = forks.CONTEXT.Process(target=_serve, args=(
            self._log, self._environment, self._arguments))
        self._process.start()
        self._wait(self._log)

    def stop(self) -> None:
        """End its processes; nothing answers then."""
        self._process.terminate()
        self._process.join(120)
        if self._process.is_alive():
            raise AssertionError('Placement does not end.')

    def _wait(self, log: pathlib.Path) -> None:
        until = time.monotonic() + _STARTS_WITHIN
        while time.monotonic() < until and self._process.is_alive():
            try:
                if requests.get(self.endpoint, timeout=5).status_code == 200:
                    return
            except requests.RequestException:
                time.sleep(0.1)
        raise AssertionError('Placement does not start:\n'
                             + log.read_text(errors='replace')[-2000:])

    def pause(self) -> None:
        """Have it answer nobody, as one that is overloaded."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Have it answer again."""
        self._signal(signal.SIGCONT)

    def _signal(self, what: signal.Signals) -> None:
        os.killpg(self._process.pid, what)
