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


"""A guard round a small Ironic that can be held up at any step.

It is a WSGI application over the nodes of a :class:`tests.world.World`, so
that what a real one adds (a conductor that comes late) can be made to happen
at a line that the test chooses.
"""

from __future__ import annotations

from collections.abc import Callable
import io
import json
from typing import Any
from urllib import parse

from oslo_config import cfg

from ironic_reservations import policies
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.guard import acts
from ironic_reservations.guard import body_limits
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from tests import world

PROOF = 'HTTP_OPENSTACK_BAREMETAL_RESERVATION'


def _error(said: str) -> dict[str, str]:
    return {'error_message': json.dumps({
        'faultcode': 'Client', 'faultstring': said, 'debuginfo': None})}


_NOT_FOUND = (404, _error('Not found'))
#: The token of an administrator.
SYSTEM = 'system'


class SmallIronic:
    """Answers what the guard and the reconciler ask.

    :ivar before: by method, what happens right before a change is carried
        out: once each.
    :ivar answers: by method, the status that is answered instead, once each;
        what was asked for is kept in ``late``.
    :ivar late: changes that a conductor has yet to carry out.
    :ivar done: the changes that were carried out, as (method, path).
    :ivar hidden: the nodes that nobody may see.
    :ivar below: the ports and volumes, by their path and uuid.
    """

    def __init__(self, nodes: world.StandInIronic) -> None:
        self._nodes = nodes
        self.before: dict[str, list[Callable[[], None]]] = {}
        self.answers: dict[str, list[int]] = {}
        self.late: list[Callable[[], tuple[int, Any]]] = []
        self.done: list[tuple[str, str]] = []
        self.hidden: set[str] = set()
        self.below: dict[str, dict[str, dict[str, Any]]] = {
            'ports': {}, 'portgroups': {}, 'volume/targets': {},
            'volume/connectors': {}}

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> list[bytes]:
        method, path = environ['REQUEST_METHOD'], environ['PATH_INFO']
        # NOTE: as keystonemiddleware does, of whoever is known.
        environ |= known(environ.get('HTTP_X_AUTH_TOKEN'))
        size = int(environ.get('CONTENT_LENGTH') or 0)
        raw = environ['wsgi.input'].read(size) if size else b''
        body = json.loads(raw) if raw else None
        if method == 'PATCH' and body and body[0]['path'].endswith(
                acts._NOTHING_BELOW):
            # NOTE: a question about the policy, which changes nothing.
            status, answer = self._read(path, '')
            if self.answers.get(method):
                status = self.answers[method].pop(0)
            elif status == 200:
                status = 400
        elif method != 'GET':
            if self.before.get(method):
                self.before[method].pop(0)()
            if self.answers.get(method):
                self.late.append(lambda: self._change(method, path, body))
                status, answer = self.answers[method].pop(0), None
            else:
                status, answer = self._change(method, path, body)
        else:
            status, answer = self._read(path, environ['QUERY_STRING'])
        start_response(f'{status} whatever',
                       [('Content-Type', 'application/json')])
        return [json.dumps(answer).encode()]

    def _read(self, path: str, query: str) -> tuple[int, Any]:
        parts = path.strip('/').split('/')
        if parts[1] == 'allocations':
            known = self._nodes.allocations.get(parts[2])
            return _NOT_FOUND if known is None else (200, {
                'uuid': parts[2], 'state': known.state,
                'node_uuid': known.node_uuid})
        kind = path.removeprefix('/v1/').removesuffix('/detail')
        if kind in self.below:
            return 200, {kind.rpartition('/')[2]: [*self.below[kind].values()]}
        if parts[1] != 'nodes':
            return _NOT_FOUND
        if len(parts) == 2:
            wanted = parse.parse_qs(query).get('maintenance', [])
            return 200, {'nodes': [
                self._show(node) for node in self._nodes.there.values()
                if wanted in ([], [str(node.maintenance).lower()])]}
        node = self._nodes.there.get(parts[2])
        if node is not None and parts[3:] == ['vifs']:
            return 200, {'vifs': []}
        return (_NOT_FOUND if node is None or node.uuid in self.hidden
                else (200, self._show(node)))

    def _show(self, node: mirrored_node.Node) -> dict[str, Any]:
        return {**_shown(node),
                'maintenance_reason': self._nodes.why.get(node.uuid)}

    def _change(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        parts = path.strip('/').split('/')
        self.done.append((method, path))
        if parts[1] == 'allocations':
            if method == 'DELETE':
                self._nodes.delete_allocation(parts[2])
                return 204, None
            (uuid,) = body['candidate_nodes']
            self._nodes.allocations[body['uuid']] = ironic_client.Allocation(
                ironic_client.ALLOCATING, None)
            return 201, {'uuid': body['uuid'], 'node_uuid': None}
        for kind, below in self.below.items():
            if path.startswith(f'/v1/{kind}'):
                return _change_below(below, method, parts[-1], body)
        uuid, node = parts[2], self._nodes.there[parts[2]]
        if parts[3:] == ['maintenance']:
            self._nodes.why.pop(uuid, None)
            if method == 'PUT':
                self._nodes.why[uuid] = (body or {}).get('reason')
            self._nodes.change(uuid, maintenance=method == 'PUT')
            return 202, None
        if parts[3:] not in ([], ['states', 'provision']):
            # NOTE: what is not shown of a node afterwards.
            return 202, None
        if method == 'DELETE':
            self._nodes.remove(uuid)
            return 204, None
        if method == 'PATCH':
            for each in body:
                field = each['path'].strip('/')
                if hasattr(node, field):
                    self._nodes.change(uuid, **{field: each.get('value')})
            return 200, _shown(self._nodes.there[uuid])
        free = node.provision_state == node_condition.AVAILABLE
        after = {('manage', node_condition.AVAILABLE): 'manageable',
                 ('provide', 'manageable'): self._nodes.cleaning}.get(
                     (body['target'], node.provision_state or ''))
        if after is not None:
            self._nodes.change(uuid, provision_state=after)
            return 202, None
        if free != (body['target'] in ('active', 'deploy')):
            return 400, _error('not from this state')
        if free:
            self._nodes.deploy(uuid)
        else:
            self._nodes.change(uuid, provision_state=self._nodes.cleaning,
                               instance_uuid=None)
        return 202, None


def _change_below(there: dict[str, dict[str, Any]], method: str, uuid: str,
                  body: Any) -> tuple[int, Any]:
    if method == 'POST':
        there[body['uuid']] = body
        return 201, body
    if method == 'DELETE':
        del there[uuid]
        return 204, None
    there[uuid].update({each['path'].strip('/'): each.get('value')
                        for each in body})
    return 200, there[uuid]


def _shown(node: mirrored_node.Node) -> dict[str, Any]:
    return {'uuid': node.uuid, 'name': node.name,
            'provision_state': node.provision_state,
            'instance_uuid': node.instance_uuid,
            'maintenance': node.maintenance, 'lessee': node.lessee,
            'owner': node.owner, 'resource_class': node.resource_class,
            'power_state': 'power off', 'parent_node': node.parent_node,
            'reservation': None}


class TestCase(world.TestCase):
    """A guard, and whoever sends it requests.

    :cvar options: of the configuration.
    :cvar token: of whoever sends the requests.
    """

    options: dict[str, Any] = {}
    token: str | None = None

    def setUp(self) -> None:
        super().setUp()
        self.world = self.new_world(**self.options)
        self.engine = self.world.engine
        self.ironic = SmallIronic(self.world.ironic)
        self.guard = self.guard_of(self.ironic)
        (self.node,) = self.world.enrol(resource_class='gold')
        self.world.refresh()

    def guard_of(self, app: wsgi.Application,
                 strategy: str = 'noauth') -> acts.Acts:
        """Return a guard in front of an application."""
        return acts.Acts(app, self.engine, in_process.InProcess(app),
                         strategy, policies.Enforcer(self.world.conf,
                                                     strategy),
                         body_limits.of_ironic(cfg.ConfigOpts(),
                                               self.world.conf))

    def deploy(self, proof: str | None = None,
               guard: acts.Acts | None = None) -> wsgi.Answer:
        """Deploy the node."""
        return self.provision('active', proof, guard=guard)

    def provision(self, target: str, proof: str | None = None, *,
                  node: str | None = None, token: str | None = None,
                  guard: acts.Acts | None = None, **more: Any) -> wsgi.Answer:
        """Request a provision state; by default, of the node."""
        node = node or self.node
        return (guard or self.guard).provision(environ(
            'PUT', f'/v1/nodes/{node}/states/provision',
            {'target': target, **more}, proof, token or self.token), node)

    def bind(self, instance: str, proof: str | None = None) -> wsgi.Answer:
        """Write an instance on the node."""
        return self.guard.patch(environ(
            'PATCH', f'/v1/nodes/{self.node}',
            [{'op': 'add', 'path': '/instance_uuid', 'value': instance}],
            proof, self.token), self.node)

    def allocate(self, uuid: str) -> wsgi.Answer:
        """Create an allocation of the class of the node."""
        return self.guard.allocate(environ(
            'POST', '/v1/allocations',
            {'uuid': uuid, 'resource_class': 'gold', 'traits': [],
             'candidate_nodes': [self.node]}))

    def there(self) -> mirrored_node.Node:
        """Read the node as Ironic has it."""
        return self.world.ironic.there[self.node]


def known(token: str | None) -> dict[str, Any]:
    """Return what authentication writes of whoever shows a token.

    :param token: the id of a project; ``system`` is an administrator of all.
    """
    if token is None:
        return {}
    scope = ({'HTTP_OPENSTACK_SYSTEM_SCOPE': 'all'} if token == SYSTEM
             else {'HTTP_X_PROJECT_ID': token})
    return {'HTTP_X_IDENTITY_STATUS': 'Confirmed', 'HTTP_X_USER_ID': token,
            'HTTP_X_ROLES': 'member,reader', **scope}


def environ(method: str, path: str, body: Any = None,
            proof: str | None = None,
            token: str | None = None) -> dict[str, Any]:
    """Return a request."""
    raw = b'' if body is None else json.dumps(body).encode()
    made: dict[str, Any] = {
        'REQUEST_METHOD': method, 'SCRIPT_NAME': '', 'PATH_INFO': path,
        'QUERY_STRING': '', 'SERVER_NAME': '127.0.0.1', 'SERVER_PORT': '80',
        'SERVER_PROTOCOL': 'HTTP/1.1', 'wsgi.url_scheme': 'http',
        'wsgi.input': io.BytesIO(raw), 'CONTENT_TYPE': 'application/json',
        'CONTENT_LENGTH': str(len(raw)), 'HTTP_ACCEPT': 'application/json'}
    if proof is not None:
        made[PROOF] = proof
    if token is not None:
        made['HTTP_X_AUTH_TOKEN'] = token
    return made
