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
import os
from pathlib import Path
import sys
from typing import Any

import requests

from ironic_reservations.model import flavors
from tools import all_in_one
from tools import child
from tools import free_ports

#: How long it may take until it answers, in seconds.
START_TIMEOUT = 60
#: What a Placement without authentication takes for an administrator's.
TOKEN = 'admin'
VERSION = '1.38'

# NOTE: one thread, since on SQLite two are answered "database is locked".
_SERVICE = child.FOLLOW + """
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
        self._process: child.Child | None = None

    def __enter__(self) -> Service:
        try:
            self._start()
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None

    @property
    def url(self) -> str:
        """The root of the API, without a trailing slash."""
        return f'http://127.0.0.1:{self.port}'

    def _start(self) -> None:
        self.port = free_ports.free_port()
        (self.folder / 'placement').mkdir()
        all_in_one.write_options(self.folder / 'placement/placement.conf', {
            'api': {'auth_strategy': 'noauth2'},
            'placement_database': {'connection': self.database,
                                   'sync_on_startup': True}})
        self._process = child.Child(
            'Placement',
            [word.format(port=self.port) for word in self._command],
            self.folder, self.log_file, {
                'OS_PLACEMENT_CONFIG_DIR': str(self.folder / 'placement')})
        with session() as asking:
            self._process.wait_until(lambda: answers(asking, self.url),
                                     START_TIMEOUT)

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


def answers(asking: requests.Session, url: str) -> bool:
    """Check whether a service answers."""
    try:
        return asking.get(url, timeout=5).ok
    except requests.RequestException:
        return False


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
