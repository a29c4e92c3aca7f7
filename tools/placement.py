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


"""A real Placement in a process of its own, in a folder of its own.

The demonstration and the benchmarks start it from here, and make in it what
Nova would have made.
"""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

import requests

from ironic_reservations.planner import flavors
from tools import all_in_one

#: How long it may take until it answers, in seconds, and until it has ended.
START_TIMEOUT, STOP_TIMEOUT = 60, 15
#: What a Placement without authentication takes for an administrator's.
TOKEN = 'admin'
VERSION = '1.38'

# NOTE: one thread, since on SQLite two are answered "database is locked".
#
# NOTE: its standard input is a pipe that nothing is ever written to. It is at
# its end once we are gone, however that happened, and Placement goes with us.
_SERVICE = """
import os, signal, sys, threading
def follow():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)
threading.Thread(target=follow, daemon=True).start()
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
from cheroot import wsgi
from placement.wsgi import api
wsgi.Server(('127.0.0.1', int(sys.argv[1])), api.application,
            numthreads=1).safe_start()
"""


class Service:
    """A Placement with one administrator.

    :param folder: where everything it writes goes.
    :param database: SQLAlchemy URL; by default SQLite in the folder.
    :param command: what serves it; a port follows.
    """

    def __init__(self, folder: str | os.PathLike[str],
                 database: str | None = None,
                 command: Iterable[str] = (sys.executable, '-W', 'ignore',
                                           '-c', _SERVICE, '{port}')
                 ) -> None:
        self.folder = Path(folder)
        self.database = (database or
                         f'sqlite:///{self.folder / "placement.sqlite"}')
        self.log_file = self.folder / 'placement.log'
        self.port = 0
        self._command = tuple(command)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Service:
        try:
            self._start()
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        if self._process is None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_TIMEOUT)
        self._kill()

    @property
    def url(self) -> str:
        """The root of the API, without a trailing slash."""
        return f'http://127.0.0.1:{self.port}'

    def _start(self) -> None:
        self.port = all_in_one.free_port()
        (self.folder / 'placement').mkdir()
        all_in_one.write_options(self.folder / 'placement/placement.conf', {
            'api': {'auth_strategy': 'noauth2'},
            'placement_database': {'connection': self.database,
                                   'sync_on_startup': True}})
        with open(self.log_file, 'wb') as log:
            self._process = subprocess.Popen(
                [word.format(port=self.port) for word in self._command],
                stdin=subprocess.PIPE, stdout=log, stderr=log,
                start_new_session=True, cwd=self.folder, env={
                    **os.environ, 'OS_PLACEMENT_CONFIG_DIR': str(
                        self.folder / 'placement')})
        self._wait_until_serving()

    def _wait_until_serving(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT
        with session() as asking:
            while (time.monotonic() < deadline
                   and self._process.poll() is None):
                with contextlib.suppress(requests.RequestException):
                    if asking.get(self.url, timeout=5).ok:
                        return
                time.sleep(0.1)
        tail = self.log_file.read_text(errors='replace')[-2000:]
        raise all_in_one.NotStarted(
            f'Placement did not answer at {self.url}:\n{tail}')

    def _kill(self) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(ProcessLookupError):
            # The group is the service's own: see start_new_session.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdin.close()
        self._process = None


def session() -> requests.Session:
    """A session of HTTP as the administrator."""
    asking = requests.Session()
    # A proxy in the environment has no business with 127.0.0.1.
    asking.trust_env = False
    asking.headers.update({
        'X-Auth-Token': TOKEN, 'Accept': 'application/json',
        'OpenStack-API-Version': f'placement {VERSION}'})
    return asking


def provide(asking: requests.Session, url: str, nodes: Iterable[str],
            resource_class: str) -> None:
    """Make the providers of nodes, as the ironic driver of Nova does.

    :param asking: the administrator's.
    :param url: the root of Placement's API.
    :param nodes: their uuids.
    :param resource_class: of each, as Ironic says it.
    :raises requests.HTTPError: Placement refused one of them.
    """
    name = flavors.class_of_node(resource_class)
    _ask(asking, 'PUT', f'{url}/resource_classes/{name}')
    for uuid in nodes:
        made = _ask(asking, 'POST', f'{url}/resource_providers',
                    {'uuid': uuid, 'name': uuid})
        _ask(asking, 'PUT', f'{url}/resource_providers/{uuid}/inventories', {
            'resource_provider_generation': made['generation'],
            'inventories': {name: {
                'total': 1, 'reserved': 0, 'min_unit': 1, 'max_unit': 1,
                'step_size': 1, 'allocation_ratio': 1.0}}})


def holders(asking: requests.Session, url: str, node: str) -> list[str]:
    """Read which consumers have a node.

    :raises requests.HTTPError: Placement did not say.
    """
    return sorted(_ask(
        asking, 'GET',
        f'{url}/resource_providers/{node}/allocations')['allocations'])


def _ask(asking: requests.Session, method: str, url: str,
         body: object = None) -> Any:
    answer = asking.request(method, url, json=body, timeout=60)
    if not answer.ok:
        raise requests.HTTPError(
            f'{method} {url} was answered {answer.status_code}: '
            f'{answer.text[:500]}', response=answer)
    return answer.json() if answer.content else None
