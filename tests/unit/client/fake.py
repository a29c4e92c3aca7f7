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


"""A small service with our API, for the clients' unit tests.

It is a real HTTP server on a port of its own; its refusals are written by the
code of the real service.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib import parse
import uuid

import fixtures

from ironic_reservations import errors
from ironic_reservations import faults
from ironic_reservations_client import versions
from tests import listening

STARTED = '2030-01-01T00:00:00+00:00'


class FakeService(fixtures.Fixture):
    """Ironic's API with reservations in it, as far as clients see it.

    :ivar requests: the received requests, in order.
    :ivar reservations: the reservations by UUID.
    :ivar nodes: Ironic's nodes by UUID.
    :ivar answers: errors to raise for the next requests about reservations.
    :ivar hosts: the hosts that are listed.
    :ivar foreign: the status, the headers and the body of the answers of a
        proxy, or of another service, at all addresses but the root.
    :ivar locked: the number of deploys to refuse with Ironic's own 409.
    """

    minimum = '1.0'
    maximum = versions.LATEST
    ironic_maximum = '1.115'
    page = 1000
    served = True
    has_nodes = True
    prefix = ''

    def _setUp(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.reservations: dict[str, dict[str, Any]] = {}
        self.nodes: dict[str, dict[str, Any]] = {}
        self.answers: list[errors.ReservationError] = []
        self.hosts: list[dict[str, Any]] = []
        self.foreign: tuple[int, dict[str, str], bytes] | None = None
        self.locked = 0
        self.promised = 24.0
        self.project: str | None = 'red'
        self.url = self.useFixture(
            listening.Listening(self._application)).url + self.prefix

    def node(self, name: str) -> str:
        """Enroll a node, and return its UUID."""
        ident = str(uuid.uuid4())
        self.nodes[ident] = {
            'uuid': ident, 'name': name, 'provision_state': 'available',
            'target_provision_state': None, 'instance_uuid': None,
            'last_error': None}
        return ident

    def sent(self, method: str, path: str = '') -> list[dict[str, Any]]:
        """Return the requests with a method on paths that contain a string."""
        return [r for r in self.requests
                if r['method'] == method and path in r['path']]

    def _application(self, environ: dict[str, Any], start: Any) -> Any:
        size = int(environ.get('CONTENT_LENGTH') or 0)
        raw = environ['wsgi.input'].read(size)
        path = environ['PATH_INFO'].removeprefix(self.prefix)
        request = {
            'method': environ['REQUEST_METHOD'], 'path': path,
            'query': dict(parse.parse_qsl(environ['QUERY_STRING'])),
            'body': json.loads(raw) if raw else None,
            'version': environ.get('HTTP_OPENSTACK_API_VERSION'),
            'ironic_version':
                environ.get('HTTP_X_OPENSTACK_IRONIC_API_VERSION'),
            'token': environ.get('HTTP_X_AUTH_TOKEN'),
            'authorization': environ.get('HTTP_AUTHORIZATION'),
            'proof': environ.get('HTTP_OPENSTACK_BAREMETAL_RESERVATION'),
            'key': environ.get('HTTP_IDEMPOTENCY_KEY')}
        self.requests.append(request)
        if self.foreign is not None and path.rstrip('/') not in ('', '/v1'):
            status, sent, content = self.foreign
            start(f'{status} Whatever', [
                *sent.items(), ('Content-Length', str(len(content)))])
            return [content]
        headers = [('X-OpenStack-Ironic-API-Minimum-Version', '1.1'),
                   ('X-OpenStack-Ironic-API-Maximum-Version',
                    self.ironic_maximum)]
        try:
            status, body = self._answer(request)
        except errors.ReservationError as error:
            status, content = faults.render(error, 'req-fake')
            body = json.loads(content)
            if status == 406:
                headers = []
        headers.append((versions.MAXIMUM_HEADER,
                        f'baremetal-reservation {self.maximum}'))
        headers.append((versions.MINIMUM_HEADER,
                        f'baremetal-reservation {self.minimum}'))
        content = b'' if body is None else json.dumps(body).encode()
        if content:
            headers.append(('Content-Type', 'application/json'))
        headers.append(('Content-Length', str(len(content))))
        start(f'{status} Whatever', headers)
        return [content]

    def _answer(self, request: dict[str, Any]) -> tuple[int, Any]:
        path = request['path'].rstrip('/')
        asked = request['ironic_version']
        if path in ('', '/v1'):
            link = [{'href': f'{self.url}/v1/', 'rel': 'self'}]
            about = {'id': 'v1', 'links': link, 'status': 'CURRENT',
                     'min_version': '1.1', 'version': self.ironic_maximum}
            return 200, {'id': 'v1', 'links': link, 'version': about,
                         'default_version': about, 'versions': [about]}
        if asked and _minor(asked) > _minor(self.ironic_maximum):
            return _ironic(406, code=406, title='Not Acceptable',
                           description=f'Version {asked} was requested')
        if path.startswith('/v1/nodes') and not self.has_nodes:
            raise errors.ResourceNotFound('There is nothing at this path.')
        if path == '/v1/os-hosts':
            if request['body']:
                return 201, {'host': request['body']}
            return 200, {'hosts': self.hosts}
        if match := re.fullmatch(r'/v1/nodes/([^/]+)(/states/provision)?',
                                 path):
            return self._node(request, *match.groups())
        if not self.served or not path.startswith(
                ('/v1/reservations', '/v1/limits', '/v1/usage')):
            return _ironic(404, code=404, title='Not Found',
                           description='The resource could not be found.')
        version = re.search(r'baremetal-reservation (1\.\d+)',
                            request['version'] or '')
        if version and not (_minor(self.minimum) <= _minor(version[1])
                            <= _minor(self.maximum)):
            raise errors.VersionNotAcceptable(
                f'Version {version[1]} is not served.')
        if self.answers:
            raise self.answers.pop(0)
        if path == '/v1/limits':
            return self._limits(request['query'].get('project', 'red'))
        if path == '/v1/usage':
            return self._usage()
        return self._reservation(
            request, path.removeprefix('/v1/reservations').strip('/'))

    def _limits(self, project: str) -> tuple[int, Any]:
        return 200, {'limits': {'project_id': project, 'absolute': [
            {**each, 'resource_class': None} for each in (
                {'limit': 'max_leases_per_project', 'allowed': 200,
                 'used': 3, 'unit': 'leases'},
                {'limit': 'max_duration', 'allowed': None, 'used': None,
                 'unit': 'seconds'},
                {'limit': 'max_horizon', 'allowed': 366 * 86400,
                 'used': None, 'unit': 'seconds'})]}}

    def _usage(self) -> tuple[int, Any]:
        hours = {'promised': self.promised, 'bound': 12.0, 'deployed': 8.0,
                 'unused': 4.0}
        return 200, {'usage': {
            'first_day': '2026-03-01', 'last_day': '2026-03-01', 'hours': [
                {'day': '2026-03-01', 'project_id': self.project,
                 'resource_class': 'gold', **hours}], 'total': hours}}

    def _node(self, request: dict[str, Any], ident: str,
              provision: str | None) -> tuple[int, Any]:
        node = next((n for n in self.nodes.values()
                     if ident in (n['uuid'], n['name'])), None)
        if node is None:
            return _ironic(404, faultcode='Client', debuginfo=None,
                           faultstring=f'Node {ident} could not be found.')
        if not provision:
            return 200, node
        if self.locked:
            self.locked -= 1
            return _ironic(409, faultcode='Client', debuginfo=None,
                           faultstring=f'Node {ident} is locked.')
        if request['proof'] not in {
                r['uuid'] for r in self.reservations.values()
                if r['node_uuid'] == node['uuid']}:
            raise errors.ProofRequired(f'Node {ident} is reserved.')
        node['provision_state'] = 'active'
        return 202, None

    def _reservation(self, request: dict[str, Any],
                     ident: str) -> tuple[int, Any]:
        method = request['method']
        if method == 'POST':
            return 201, {'reservation': self._made(request['body'])}
        if not ident:
            return 200, self._listed(request['query'])
        ident = parse.unquote(ident)
        if ident not in self.reservations:
            raise errors.ReservationNotFound(
                f'Reservation {ident} could not be found.')
        held = self.reservations[ident]
        if method == 'DELETE':
            del self.reservations[ident]
            return 204, None
        if method == 'PATCH':
            for step in request['body']:
                held[step['path'].strip('/')] = step['value']
        names = request['query'].get('fields')
        return 200, {'reservation': {
            key: value for key, value in held.items()
            if not names or key in names.split(',')}}

    def _made(self, body: dict[str, Any]) -> dict[str, Any]:
        taken = {r['node_uuid']: r for r in self.reservations.values()}
        for held in taken.values():
            if held['instance_uuid'] == body['instance_uuid']:
                return held
        wanted = body.get('node_uuid') or list(self.nodes)
        free = [n for n in wanted if n in self.nodes and n not in taken]
        if not free:
            raise refused(*wanted)
        made = {'uuid': body.get('uuid') or str(uuid.uuid4()),
                'node_uuid': free[0], 'instance_uuid': body['instance_uuid'],
                'state': 'reserved', 'created_at': STARTED,
                'updated_at': None, 'project_id': None, 'user_id': None,
                'expires_at': body.get('expires_at', STARTED), 'links': [],
                'suspended': False, 'suspended_reason': None}
        self.reservations[made['uuid']] = made
        return made

    def _listed(self, query: dict[str, str]) -> dict[str, Any]:
        rows = sorted(
            (r for r in self.reservations.values()
             if query.get('node') in (None, r['node_uuid'])
             and query.get('instance') in (None, r['instance_uuid'])),
            key=lambda r: r[query.get('sort_key', 'uuid')],
            reverse=query.get('sort_dir') == 'desc')
        if 'marker' in query:
            rows = rows[[r['uuid'] for r in rows].index(query['marker']) + 1:]
        limit = min(int(query.get('limit', self.page)), self.page)
        out: dict[str, Any] = {'reservations': rows[:limit]}
        if len(rows) > limit:
            more = parse.urlencode(
                {**query, 'limit': limit, 'marker': rows[limit - 1]['uuid']})
            out['next'] = f'{self.url}/v1/reservations?{more}'
        return out


def refused(*nodes: str) -> errors.NoNodeAvailable:
    """Return the refusal with a reason for each of some nodes."""
    return errors.NoNodeAvailable(
        'None of the listed nodes can be reserved: '
        + '; '.join(f'node {node} is in maintenance' for node in nodes) + '.',
        reasons=[{'node_uuid': node, 'code': 'maintenance',
                  'detail': 'is in maintenance'} for node in nodes])


def _ironic(status: int, **error: Any) -> tuple[int, Any]:
    """Return an error of Ironic's own."""
    return status, {'error_message': json.dumps(error)}


def _minor(version: str) -> int:
    return int(version.partition('.')[2])


