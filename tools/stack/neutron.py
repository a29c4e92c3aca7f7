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

"""A Network service with ports and networks, and nothing behind them.

Nova asks it even where a server has no networks; Ironic writes to ports when a
VIF is attached or detached.  The real one would need a network to manage.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import json
import threading
from typing import Any
from urllib import parse
import uuid
from wsgiref import util

from tools.stack import ground as stack_ground

NAME = 'neutron'
#: Where the calls are read that it has answered.
CALLS = '/calls'
_VERSION = 'v2.0'
#: Fields of what is made, where they are not set.
_MADE: dict[str, dict[str, Any]] = {
    'networks': {'name': '', 'status': 'ACTIVE', 'subnets': [],
                 'provider:physical_network': None},
    'ports': {'name': '', 'status': 'DOWN', 'binding:host_id': '',
              'binding:profile': {}, 'binding:vnic_type': 'normal',
              'device_id': '', 'device_owner': '', 'fixed_ips': [],
              'network_id': None}}
_HOST, _PROFILE = 'binding:host_id', 'binding:profile'
_ADDRESS = 'mac_address'


@dataclasses.dataclass(frozen=True)
class Call:
    """A request for ports or networks.

    :ivar path: below the version.
    :ivar body: what is to be written, without its wrapper.
    """

    method: str
    path: str
    body: dict[str, Any] | None = None


class _Refused(Exception):
    """A request that the real service does not carry out either."""

    def __init__(self, status: str, kind: str, told: str) -> None:
        super().__init__(told)
        self.status = status
        self.kind = kind


class Network:
    """The service, as a WSGI application.

    :ivar calls: for ports and networks, in their order.
    :ivar down: whether it answers 503 to all requests.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.down = False
        self._lock = threading.Lock()
        self._kept: dict[str, dict[str, dict[str, Any]]] = {
            kind: {} for kind in _MADE}

    def make(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Make a network or a port, as a user of it does."""
        made = {**_MADE[kind], 'id': str(uuid.uuid4()), **fields}
        if kind == 'ports':
            made.setdefault(_ADDRESS, _address())
        self._kept[kind][made['id']] = made
        return made

    def shown(self, kind: str, ident: str) -> dict[str, Any]:
        """Return a network or a port as it is now."""
        return dict(self._kept[kind][ident])

    def shown_all(self, kind: str) -> list[dict[str, Any]]:
        """Return all networks or all ports."""
        return list(self._kept[kind].values())

    def __call__(self, environ: dict[str, Any], start_response: Any
                 ) -> Iterable[bytes]:
        """Answer a request; what is unknown is an empty list."""
        status, document = '200 OK', None
        length = int(environ.get('CONTENT_LENGTH') or 0)
        sent = environ['wsgi.input'].read(length) if length else b''
        try:
            status, document = self._answer(
                environ['REQUEST_METHOD'],
                environ['PATH_INFO'].rstrip('/').removesuffix('.json'),
                dict(parse.parse_qsl(environ.get('QUERY_STRING', ''))),
                json.loads(sent) if sent else None,
                util.application_uri(environ).rstrip('/'))
        except _Refused as exc:
            status, document = exc.status, {'NeutronError': {
                'type': exc.kind, 'message': str(exc), 'detail': ''}}
        body = b'' if document is None else json.dumps(document).encode()
        start_response(status, [('Content-Type', 'application/json'),
                                ('Content-Length', str(len(body)))])
        return [body]

    def _answer(self, method: str, path: str, query: dict[str, str],
                document: Any, root: str) -> tuple[str, Any]:
        if self.down:
            raise _Refused('503 Service Unavailable', 'ServiceUnavailable',
                           'The service is down.')
        if path == CALLS:
            return '200 OK', [dataclasses.asdict(each) for each in self.calls]
        if path in ('', f'/{_VERSION}'):
            return '200 OK', {'versions': [{
                'id': _VERSION, 'status': 'CURRENT', 'links': [
                    {'rel': 'self', 'href': f'{root}/{_VERSION}/'}]}]}
        if '/quotas/' in path:
            return '200 OK', {'quota': {'port': -1}}
        below = path.removeprefix(f'/{_VERSION}').strip('/')
        kind, _, ident = below.partition('/')
        if kind not in self._kept:
            name = path.rpartition('/')[2].replace('-', '_')
            return '200 OK', {name: []}
        body = None if document is None else document[kind[:-1]]
        with self._lock:
            self.calls.append(Call(method, f'/{below}', body))
            return self._carry_out(method, kind, ident, query, body)

    def _carry_out(self, method: str, kind: str, ident: str,
                   query: dict[str, str], body: dict[str, Any] | None
                   ) -> tuple[str, Any]:
        kept = self._kept[kind]
        if not ident:
            if method == 'POST':
                return '201 Created', {kind[:-1]: self.make(kind,
                                                            **(body or {}))}
            return '200 OK', {kind: [
                each for each in kept.values() if all(
                    str(each.get(name)) == value
                    for name, value in query.items() if name in each)]}
        if ident not in kept:
            raise _Refused('404 Not Found',
                           f'{kind[:-1].capitalize()}NotFound',
                           f'{ident} could not be found.')
        if method == 'DELETE':
            del kept[ident]
            return '204 No Content', None
        if method == 'PUT':
            kept[ident] = _changed(kept[ident], body or {})
        return '200 OK', {kind[:-1]: kept[ident]}


def _changed(there: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return a port or a network with other fields.

    :raises _Refused: the address of a port that is bound would change.
    """
    if there.get(_HOST) and body.get(_ADDRESS, there[_ADDRESS]) != (
            there[_ADDRESS]):
        raise _Refused('409 Conflict', 'PortBound',
                       f'The port {there["id"]} is bound.')
    made = {**there, **body}
    if _ADDRESS in body and body[_ADDRESS] is None:
        made[_ADDRESS] = _address()
    if _HOST in body:
        # NOTE: Ironic waits for a port that it binds to a switch.
        made['status'] = ('ACTIVE' if body[_HOST] and made[_PROFILE]
                          else 'DOWN')
    return made


def _address() -> str:
    digits = uuid.uuid4().hex
    return 'fa:16:3e:' + ':'.join(digits[at:at + 2] for at in (0, 2, 4))


application = Network()


def start(ground: stack_ground.Ground) -> None:
    """Start it."""
    ground.serve(NAME, 'tools.stack.neutron', {
        'PYTHONPATH': str(stack_ground.SOURCE)})
