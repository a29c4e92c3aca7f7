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

"""A small Ironic that is spoken to over HTTP, and remembers what it did.

It keeps nodes in memory and does what a real one does with them, at a pace
that suits a test of some seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
from http import server
import itertools
import json
import random
import sys
import threading
import time
from typing import Any
from urllib import parse
import uuid

import fixtures

OPERATORS = 'operators'
#: What an operator has written, and nobody else may touch.
THEIRS = {'extra': {'rack': 'a7'}, 'instance_info': {'note': 'keep'},
          'properties': {'cpus': 8}}
_CLEANING = 0.2
#: So often somebody else has locked the node.
_LOCKED = 0.05


@dataclasses.dataclass(frozen=True)
class Change:
    """Something that has become of a node.

    :ivar what: ``lessee``, ``deploy`` or ``undeploy``.
    :ivar who: whose the node was then, or was to be.
    """

    at: float
    node: str
    what: str
    who: str


class SmallIronic(fixtures.Fixture):
    """Some available nodes behind a URL.

    :ivar nodes: as Ironic shows them, by their uuids.
    :ivar changes: that were made, in their order.
    :ivar wrong: what no Ironic should ever be asked for, in words.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.nodes = {node['uuid']: node for node in (
            _node(number) for number in range(count))}
        self.changes: list[Change] = []
        self.wrong: list[str] = []
        self._ready: dict[str, float] = {}
        self._touched = dict.fromkeys(self.nodes, 0)
        self._ticks = itertools.count(1)
        self._random = random.Random(count)
        self._lock = threading.Lock()

    def _setUp(self) -> None:
        served = _Server(('127.0.0.1', 0), _Handler)
        served.ironic = self
        self.url = f'http://127.0.0.1:{served.server_address[1]}'
        thread = threading.Thread(target=served.serve_forever,
                                  kwargs={'poll_interval': 0.05})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(served.server_close)
        self.addCleanup(served.shutdown)

    def answer(self, method: str, path: str, project: str | None,
               body: Any) -> tuple[int, Any]:
        """Answer one request."""
        parts = parse.urlsplit(path).path.strip('/').split('/')
        with self._lock:
            self._go_on()
            if parts == ['v1', 'nodes']:
                return 200, {'nodes': [dict(self.nodes[uuid]) for uuid in
                                       sorted(self.nodes, reverse=True,
                                              key=self._touched.__getitem__)]}
            node = self.nodes.get(parts[2])
            if node is None:
                return 404, {'error_message': 'no such node'}
            if method == 'GET':
                return 200, dict(node)
            if node['provision_state'] == 'cleaning' or (
                    self._random.random() < _LOCKED):
                return 409, {'error_message': 'the node is locked'}
            self._touched[node['uuid']] = next(self._ticks)
            if method == 'PATCH':
                return self._patch(node, body)
            return self._provision(node, project, body['target'])

    def _go_on(self) -> None:
        now = time.time()
        for key, ready in list(self._ready.items()):
            if ready <= now:
                del self._ready[key]
                self.nodes[key]['provision_state'] = 'available'
                self._touched[key] = next(self._ticks)

    def _patch(self, node: dict[str, Any], body: Any) -> tuple[int, Any]:
        for each in body:
            key, value = each['path'].removeprefix('/'), each.get('value')
            if key not in ('lessee', 'instance_uuid'):
                self.wrong.append(f'{key} of {node["uuid"]} is written')
            if key == 'lessee' and value != node['lessee']:
                self._check(node, value)
                self._note(node, 'lessee', value)
            node[key] = value
        return 200, dict(node)

    def _check(self, node: dict[str, Any], lessee: str | None) -> None:
        before = node['lessee']
        if OPERATORS not in (before, lessee):
            self.wrong.append(f'{node["uuid"]} goes from {before} to '
                              f'{lessee}, and is given to two')
        if lessee != OPERATORS and node['instance_uuid'] is not None:
            self.wrong.append(f'{node["uuid"]} goes to {lessee}, and is in '
                              'use')

    def _provision(self, node: dict[str, Any], project: str | None,
                   target: str) -> tuple[int, Any]:
        free = node['provision_state'] == 'available'
        if free != (target == 'active'):
            return 400, {'error_message': 'not from this state'}
        if target == 'active':
            if project != node['lessee']:
                return 403, {'error_message': 'the node is not yours'}
            node['provision_state'] = 'active'
            node['instance_uuid'] = str(uuid.uuid4())
            # NOTE: so that it can be told later whose it is.
            node['display_name'] = project
        else:
            node['provision_state'], node['instance_uuid'] = 'cleaning', None
            self._ready[node['uuid']] = time.time() + _CLEANING
        self._note(node, 'deploy' if free else 'undeploy',
                   node['display_name'])
        return 202, None

    def _note(self, node: dict[str, Any], what: str,
              who: str | None) -> None:
        self.changes.append(Change(time.time(), node['uuid'], what, str(who)))

    def of(self, what: str) -> Iterable[Change]:
        """Return the changes of one kind."""
        return [change for change in self.changes if change.what == what]

    def not_as_before(self) -> list[dict[str, Any]]:
        """Return the nodes on which anything is left."""
        with self._lock:
            self._go_on()
            return [node for node in self.nodes.values() if (
                node['provision_state'], node['instance_uuid'],
                node['lessee']) != ('available', None, OPERATORS) or any(
                    node[key] != value for key, value in THEIRS.items())]


def _node(number: int) -> dict[str, Any]:
    return {'uuid': str(uuid.uuid4()), 'name': f'node-{number}',
            'provision_state': 'available', 'instance_uuid': None,
            'maintenance': False, 'retired': False, 'resource_class': 'gold',
            'traits': [], 'owner': None, 'lessee': OPERATORS,
            'display_name': None,
            **{key: dict(value) for key, value in THEIRS.items()}}


class _Server(server.ThreadingHTTPServer):

    daemon_threads = True
    ironic: SmallIronic

    def handle_error(self, request: Any, client_address: Any) -> None:
        # NOTE: who asked may have been killed.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(server.BaseHTTPRequestHandler):

    protocol_version = 'HTTP/1.1'
    # NOTE: else an answer waits 40 ms between its head and its body.
    disable_nagle_algorithm = True
    server: _Server

    def _serve(self) -> None:
        length = int(self.headers.get('Content-Length') or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        status, document = self.server.ironic.answer(
            self.command, self.path, self.headers.get('X-Project-Id'), body)
        raw = b'' if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    do_GET = do_PATCH = do_PUT = _serve

    def log_message(self, *args: Any) -> None:
        pass
