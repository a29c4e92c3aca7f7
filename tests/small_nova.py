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

"""An endpoint that answers as Nova does, for flavors and servers.

In this process, over HTTP where that is asked for, with what Nova 34 says to
each request that the client makes: its statuses, and the shapes of its errors.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools
import http.server
import json as json_module
import re
import threading
from typing import Any
from urllib import parse

import fixtures
from keystoneauth1 import adapter
from keystoneauth1 import noauth
from keystoneauth1 import session as ksa_session
import requests

from ironic_reservations.clouds import nova
from ironic_reservations.clouds import sending
from tests import world

_PAGE = 2


@dataclasses.dataclass
class Flavor:
    """A flavor, as it is kept."""

    shown: dict[str, Any]
    extra_specs: dict[str, str] = dataclasses.field(default_factory=dict)
    projects: set[str] = dataclasses.field(default_factory=set)

    @property
    def public(self) -> bool:
        """Tell whether every project may use it."""
        return bool(self.shown['os-flavor-access:is_public'])

    @property
    def document(self) -> dict[str, Any]:
        """What version 2.61 shows."""
        return {**self.shown, 'swap': self.shown['swap'] or '',
                'extra_specs': self.extra_specs}


@dataclasses.dataclass
class Server:
    """A server, as it is kept."""

    flavor: str
    project: str
    host: str
    status: str = 'ACTIVE'
    task_state: str | None = None
    vcpus: int = 1
    extra_specs: dict[str, str] = dataclasses.field(default_factory=dict)
    hints: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Migration:
    """A resize, as it is kept.

    :ivar before: the flavor that the server had.
    :ivar source: the hypervisor that it was on.
    :ivar changed: when its status changed; empty: long ago.
    """

    server: str
    before: str
    status: str = 'finished'
    source: str | None = None
    changed: str = ''


class _Refused(Exception):

    def __init__(self, status: int, cause: str, message: str) -> None:
        super().__init__(message)
        self.status, self.cause = status, cause


class SmallNova(fixtures.Fixture):
    """Flavors and servers in memory, behind HTTP.

    :ivar flavors: by id.
    :ivar servers: by uuid.
    :ivar migrations: by uuid.
    :ivar hypervisors: their state and status, by uuid.
    :ivar confirmed: called with each resize that is confirmed.
    :ivar deleting: whether a server that is to be deleted takes its time.
    :ivar keeps: whether deleted servers are kept to be restored.
    :ivar deleted: called with each server that is gone.
    :ivar busy: servers that cannot be deleted now.
    :ivar asked: the method and path of each request.
    :ivar answer: a status to answer everything with, and no reason.
    :ivar versions: that it serves.
    :ivar client: one that asks it without HTTP.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flavors: dict[str, Flavor] = {}
        self.servers: dict[str, Server] = {}
        self.migrations: dict[str, Migration] = {}
        self.hypervisors: dict[str, tuple[str, str]] = {}
        self.confirmed: Callable[[str], object] = lambda _: None
        self.deleting = self.keeps = False
        self.deleted: Callable[[str], object] = lambda _: None
        self.busy: set[str] = set()
        self.asked: list[str] = []
        self._one_at_a_time = threading.Lock()
        self.answer: int | None = None
        self.versions = ['compute 2.61', 'compute 2.100']

    def _setUp(self) -> None:
        self.client = nova.Nova(self.sender(), authenticated=False)

    def sender(self) -> sending.Sender:
        """Return what asks it in this process, without HTTP on the way."""
        return _Direct(self)

    @functools.cached_property
    def endpoint(self) -> str:
        """The URL at which it answers over HTTP, from the first look on."""
        server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0), _handler(self))
        thread = threading.Thread(target=server.serve_forever,
                                  kwargs={'poll_interval': 0.01})
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return f'http://127.0.0.1:{server.server_port}/v2.1'

    def over_http(self) -> adapter.Adapter:
        """Return what sends requests to its endpoint."""
        return adapter.Adapter(
            ksa_session.Session(auth=noauth.NoAuth()),
            service_type='compute', endpoint_override=self.endpoint)

    def flavor(self, ident: str, name: str, vcpus: int = 1, ram: int = 1,
               disk: int = 0, public: bool = True,
               extra_specs: Mapping[str, str] | None = None,
               **more: int) -> None:
        """Have a flavor."""
        self.flavors[ident] = Flavor({
            'id': ident, 'name': name, 'vcpus': vcpus, 'ram': ram,
            'disk': disk, 'swap': more.get('swap', 0),
            'OS-FLV-EXT-DATA:ephemeral': more.get('ephemeral', 0),
            'os-flavor-access:is_public': public}, dict(extra_specs or {}))

    def boot(self, flavor: str, project: str = 'project',
             host: str = 'host-1', uuid: str | None = None) -> str:
        """Have a server run, and return its uuid."""
        uuid = uuid or world.new_uuid()
        self.servers[uuid] = Server(flavor, project, host)
        self._keep_flavor(self.servers[uuid])
        return uuid

    def _keep_flavor(self, server: Server) -> None:
        """Have a server have a copy of its flavor."""
        there = self.flavors.get(server.flavor)
        if there is not None:
            server.vcpus = there.shown['vcpus']
            server.extra_specs = dict(there.extra_specs)

    def resize(self, server: str, flavor: str) -> str:
        """Have a server be resized, and return the uuid of its migration."""
        uuid, there = world.new_uuid(), self.servers[server]
        self.migrations[uuid] = Migration(server, there.flavor,
                                          source=there.host)
        there.flavor, there.status = flavor, 'VERIFY_RESIZE'
        return uuid

    def vanish(self) -> None:
        """Have gone those servers that are being deleted."""
        for uuid, server in list(self.servers.items()):
            if server.task_state == 'deleting':
                self.go(uuid)

    def go(self, uuid: str) -> None:
        """Have a server gone."""
        del self.servers[uuid]
        self.deleted(uuid)

    # What is answered

    def serve(self, method: str, path: str, version: str | None,
              body: Any) -> tuple[int, Any]:
        """Return the status and the document."""
        with self._one_at_a_time:
            return self._serve(method, path, version, body)

    def _serve(self, method: str, path: str, version: str | None,
               body: Any) -> tuple[int, Any]:
        url = parse.urlsplit(path)
        self.asked.append(f'{method} {url.path}')
        if self.answer is not None:
            return self.answer, None
        try:
            if version not in self.versions:
                raise _Refused(406, 'computeFault', 'that version')
            parts = [parse.unquote(part) for part
                     in url.path.removeprefix('/v2.1/').split('/')]
            query = dict(parse.parse_qsl(url.query))
            if parts[0] == 'flavors':
                return self._flavors(method, parts[1:], query, body)
            if parts[0] == 'os-hypervisors':
                return self._hypervisors(parts[1:], query)
            if parts[0] == 'os-migrations':
                return 200, _page('migrations', query, {
                    uuid: {'id': 7, 'uuid': uuid, 'status': each.status,
                           'instance_uuid': each.server,
                           'source_node': each.source, 'dest_node': None,
                           'migration_type': 'resize'}
                    for uuid, each in self.migrations.items()
                    if query.get('status') in (None, each.status)
                    and each.changed >= query.get('changes-since', '')})
            return self._servers(method, parts[1:], query, body)
        except _Refused as refused:
            return refused.status, {refused.cause: {
                'code': refused.status, 'message': str(refused)}}

    def _flavors(self, method: str, parts: list[str],
                 query: dict[str, str], body: Any) -> tuple[int, Any]:
        if not parts:
            return self._create(body['flavor'])
        if parts == ['detail']:
            return 200, _page('flavors', query, {
                ident: each.document for ident, each in self.flavors.items()
                if each.public or query.get('is_public') == 'None'})
        flavor = self.flavors.get(parts[0])
        if flavor is None:
            raise _Refused(404, 'itemNotFound',
                           f'Flavor {parts[0]} could not be found.')
        match method, parts[1:]:
            case 'GET', []:
                return 200, {'flavor': flavor.document}
            case 'DELETE', []:
                del self.flavors[parts[0]]
                return 202, None
            case 'POST', ['os-extra_specs']:
                flavor.extra_specs.update(body['extra_specs'])
                return 200, body
            case 'POST', ['action']:
                (action, named), = body.items()
                self._access(flavor, action, named['tenant'])
        if flavor.public:
            raise _Refused(404, 'itemNotFound', 'Access list not available '
                                                'for public flavors.')
        return 200, {'flavor_access': [
            {'flavor_id': parts[0], 'tenant_id': each}
            for each in sorted(flavor.projects)]}

    def _create(self, asked: dict[str, Any]) -> tuple[int, Any]:
        if asked['vcpus'] < 1 or asked['ram'] < 1 or asked['disk'] < 0:
            raise _Refused(400, 'badRequest', 'Invalid input for a field')
        if asked['id'] in self.flavors or asked['name'] in {
                each.shown['name'] for each in self.flavors.values()}:
            raise _Refused(409, 'conflictingRequest',
                           f'Flavor with ID {asked["id"]} already exists.')
        self.flavors[asked['id']] = Flavor(asked)
        return 200, {'flavor': {**asked, 'extra_specs': {}}}

    @staticmethod
    def _access(flavor: Flavor, action: str, project: str) -> None:
        there = project in flavor.projects
        if action == 'addTenantAccess':
            if there:
                raise _Refused(409, 'conflictingRequest',
                               'Flavor access already exists.')
            flavor.projects.add(project)
        elif there:
            flavor.projects.remove(project)
        else:
            raise _Refused(404, 'itemNotFound', 'Flavor access not found.')

    def _servers(self, method: str, parts: list[str],
                 query: dict[str, str], body: Any) -> tuple[int, Any]:
        if parts == ['detail']:
            return 200, _page('servers', query, {
                uuid: _shown(uuid, server)
                for uuid, server in self.servers.items()
                if query.get('flavor') in (None, server.flavor)
                and query.get('host') in (None, server.host)
                and re.search(query.get('node', ''), server.host)
                and query['all_tenants'] == '1'})
        server = self.servers.get(parts[0])
        if server is None:
            raise _Refused(404, 'itemNotFound',
                           f'Instance {parts[0]} could not be found.')
        if method == 'GET':
            return 200, {'server': _shown(parts[0], server)}
        if parts[0] in self.busy:
            raise _Refused(409, 'conflictingRequest', 'It is locked.')
        if body is not None and 'confirmResize' in body:
            return self._confirm(parts[0], server)
        if self.keeps and body is None:
            server.status = 'SOFT_DELETED'
        elif self.deleting:
            server.task_state = 'deleting'
        else:
            self.go(parts[0])
        return (202 if body else 204), None


    def _hypervisors(self, parts: list[str],
                     query: dict[str, str]) -> tuple[int, Any]:
        shown = {uuid: {'id': uuid, 'state': state, 'status': status,
                        'hypervisor_hostname': uuid}
                 for uuid, (state, status) in self.hypervisors.items()}
        if not parts:
            return 200, _page('hypervisors', query, shown)
        if parts[0] not in shown:
            raise _Refused(404, 'itemNotFound', (
                f"Hypervisor with ID '{parts[0]}' could not be found."))
        return 200, {'hypervisor': shown[parts[0]]}

    def _confirm(self, uuid: str, server: Server) -> tuple[int, Any]:
        if server.status != 'VERIFY_RESIZE':
            raise _Refused(409, 'conflictingRequest', (
                f"Cannot 'confirmResize' instance {uuid} while it is in "
                f'vm_state {server.status.lower()}'))
        server.status = 'ACTIVE'
        for migration, each in self.migrations.items():
            if each.server == uuid and each.status == 'finished':
                each.status = 'confirmed'
                self.confirmed(migration)
        return 204, None


class _Direct:
    """Has requests answered, in the shape that HTTP gives to the answers."""

    def __init__(self, nova_: SmallNova) -> None:
        self._nova = nova_

    def request(self, url: str, method: str, *,
                headers: Mapping[str, str], json: Any = None,
                **of_keystoneauth: Any) -> requests.Response:
        status, document = self._nova.serve(
            method, f'/v2.1{url}', headers.get(nova.VERSION_HEADER),
            json_module.loads(json_module.dumps(json)))
        answer = requests.Response()
        answer.status_code = status
        answer.encoding = 'utf-8'
        answer._content = _as_bytes(document)
        return answer


def _as_bytes(document: Any) -> bytes:
    return b'' if document is None else json_module.dumps(document).encode()


def _page(kind: str, query: dict[str, str],
          found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    left = [found[ident] for ident in sorted(found)
            if ident > query.get('marker', '')]
    page: dict[str, Any] = {kind: left[:_PAGE]}
    if len(left) > _PAGE:
        page[f'{kind}_links'] = [{'rel': 'next', 'href': 'unused'}]
    return page


def _shown(uuid: str, server: Server) -> dict[str, Any]:
    return {'id': uuid, 'status': server.status,
            'tenant_id': server.project, 'scheduler_hints': server.hints,
            'OS-EXT-STS:task_state': server.task_state,
            'flavor': {'vcpus': server.vcpus,
                       'extra_specs': server.extra_specs},
            'OS-EXT-SRV-ATTR:host': server.host,
            'OS-EXT-SRV-ATTR:hypervisor_hostname': server.host}


def _handler(nova_: SmallNova) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'
        # NOTE: else an answer waits 40 ms between its head and its body.
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            length = int(self.headers.get('Content-Length') or 0)
            raw = self.rfile.read(length)
            status, document = nova_.serve(
                self.command, self.path,
                self.headers.get(nova.VERSION_HEADER),
                json_module.loads(raw) if raw else None)
            sent = _as_bytes(document)
            self.send_response(status)
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_DELETE = _answer

        def log_message(self, *args: object) -> None:
            """Say nothing."""
    return Handler
