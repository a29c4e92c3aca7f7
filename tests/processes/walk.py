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

"""Count the files through which a request walks.

``python -m tests.processes.walk`` lists them in their order. A file counts if
one of its functions is called, in any thread that works for the request; the
loops of the reconciler do not. The options are the defaults, except that
nobody has to authenticate and all nodes may be leased. The database is SQLite,
and earlier requests of the same kind have warmed up the process.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import datetime
import functools
import json
import pathlib
import sys
import tempfile
import threading
import types
from typing import Any
from unittest import mock
import uuid

import ironic_reservations
from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations.api import standalone
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.engine import leasable
from ironic_reservations.engine import mirror
from ironic_reservations.guard import middleware
from ironic_reservations.model import mirrored_node
from ironic_reservations.reconciler import loops
from tests import compiled
from tests import guarded
from tests import world

_PACKAGE = pathlib.Path(ironic_reservations.__file__).parent
#: The threads that call the API of Ironic in its process.
_CALLS = 'ironic-reservations-call'
_TIME = '%Y-%m-%d %H:%M'
_AHEAD = datetime.timedelta(hours=1)
#: Of each kind, the first of which warms up the process.
_REQUESTS = 4

LEASE = 'POST /v1/leases'
RESERVATION = 'POST /v1/reservations'
DEPLOY = 'deploy'

#: The functions that were called in each file, in their order.
Walk = dict[str, list[str]]


class Counter:
    """Notes the calls of this project's functions.

    It must be made before the threads that call Ironic.
    """

    def __init__(self) -> None:
        self._walk: Walk | None = None
        self._lock = threading.Lock()
        threading.setprofile(self._note)

    @contextlib.contextmanager
    def counting(self) -> Iterator[Walk]:
        """Note the calls until the end of the block."""
        walk: Walk = {}
        self._walk = walk
        before = sys.getprofile()
        sys.setprofile(self._note)
        try:
            yield walk
        finally:
            sys.setprofile(before)
            self._walk = None

    def close(self) -> None:
        """Note no calls of further threads."""
        threading.setprofile(None)  # type: ignore[arg-type]

    def _note(self, frame: types.FrameType, event: str, _: Any) -> None:
        walk = self._walk
        if walk is None or event != 'call':
            return
        code = frame.f_code
        if not code.co_filename.startswith(f'{_PACKAGE}/'):
            return
        if frame.f_back is not None and (
                frame.f_back.f_code.co_filename == compiled.__file__):
            # Only tests share what is compiled.
            return
        thread = threading.current_thread()
        if (thread is not threading.main_thread()
                and not thread.name.startswith(_CALLS)):
            return
        name = code.co_filename.removeprefix(f'{_PACKAGE}/')
        with self._lock:
            walk.setdefault(name, []).append(code.co_qualname)


class Place:
    """The standalone API and the guard, on one database and with one Ironic.

    Both are made as the commands and Ironic make them. The threads of the
    reconciler are not started.
    """

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.counter = Counter()
        stack.callback(self.counter.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        pathlib.Path(folder, 'reservations.sqlite').write_bytes(
            world.empty_sqlite())
        conf = project_conf.load(config_files=[])
        conf.set_override('state_path', folder)
        conf.set_override('auth_strategy', 'noauth')
        conf.set_override('hosts', 'all', 'leases')
        stack.enter_context(mock.patch.object(loops, '_running', None))
        stack.enter_context(mock.patch.object(loops.Reconciler, 'start'))
        nodes = world.StandInIronic()
        self._ironic = guarded.SmallIronic(nodes)
        self._guard = middleware.make(self._ironic, conf, 'noauth')
        engine = build.engine(conf, ironic_client.Ironic(
            in_process.InProcess(self._ironic)))
        stack.callback(engine.database.close)
        self._api = standalone.with_engine(conf, engine)
        self._unused = [nodes.put(mirrored_node.Node(
            str(uuid.uuid4()), resource_class='gold')).uuid
            for _ in range(_REQUESTS)]
        mirror.refresh_all(engine)
        leasable.sync(engine)

    def make_reservation(self) -> str:
        """Reserve a node that is named, and return the proof."""
        self._reserved = self._unused.pop()
        return str(self._send(self._api, 'POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()),
            'node_uuid': [self._reserved]})['reservation']['uuid'])

    def make_lease(self) -> None:
        """Lease a node for an hour."""
        start = datetime.datetime.now(datetime.UTC) + _AHEAD
        self._send(self._api, 'POST', '/v1/leases', {
            'name': str(uuid.uuid4()), 'start_date': start.strftime(_TIME),
            'end_date': (start + _AHEAD).strftime(_TIME), 'events': [],
            'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '', 'resource_properties': ''}]})

    def deploy(self, proof: str) -> None:
        """Deploy the node that was reserved last."""
        self._send(self._guard, 'PUT',
                   f'/v1/nodes/{self._reserved}/states/provision',
                   {'target': 'active'}, proof)

    @staticmethod
    def _send(app: wsgi.Application, method: str, path: str, body: Any,
              proof: str | None = None) -> Any:
        environ = guarded.environ(method, path, body, proof)
        answer = wsgi.call(app, environ | {
            'HTTP_OPENSTACK_API_VERSION': 'baremetal-reservation latest',
            'REMOTE_ADDR': '127.0.0.1'})
        if answer.status >= 300:
            raise AssertionError(f'{method} {path}: {answer.status} '
                                 f'{answer.body!r}')
        return json.loads(answer.body)


def walks() -> dict[str, Walk]:
    """Return the walk of each kind of request, by its name."""
    return {LEASE: _walk(lambda place: place.make_lease),
            RESERVATION: _walk(lambda place: place.make_reservation),
            DEPLOY: _walk(lambda place: functools.partial(
                place.deploy, place.make_reservation()))}


def _walk(next_request: Callable[[Place], Callable[[], object]]) -> Walk:
    """Return the shortest walk: others may measure the clock on their way."""
    found = []
    with contextlib.ExitStack() as stack:
        place = Place(stack)
        for _ in range(_REQUESTS):
            request = next_request(place)
            with place.counter.counting() as walk:
                request()
            found.append(walk)
    return min(found, key=len)


def main() -> None:
    """Print the walks."""
    for name, walk in walks().items():
        print(f'{name}: {len(walk)} files, '
              f'{sum(map(len, walk.values()))} calls')
        for path, called in walk.items():
            print(f'  {path}: {", ".join(dict.fromkeys(called))}')


if __name__ == '__main__':
    main()
