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

"""Client for Nova, one request for each call; no write is sent twice.

A write returns an answer: whether it was done, and if not, why, or that the
outcome is unknown. A read returns the result, or raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import itertools
import re
from typing import Any
from urllib import parse

from keystoneauth1 import exceptions as ksa_exc
from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.clouds import sending

#: The oldest version that shows the extra specs with a flavor.
VERSION = '2.61'
#: The first version that shows the scheduler hints of a server.
_WITH_HINTS = '2.100'
VERSION_HEADER = 'OpenStack-API-Version'

Answer = answers.Answer
Outcome = answers.Outcome

#: The status of a migration that can be neither confirmed nor reverted.
FAILED = 'error'
#: Nova keeps each migration that has failed, and does not list them by their
#: uuids, so only so many of the newest are read.
MOST_FAILED = 2000

#: The size of a page; Nova may return fewer.
_PAGE = 500
#: Ids that Nova accepts, except those that would lead to another path.
_FLAVOR_ID = re.compile('(?!\\.{1,2}$)[a-zA-Z0-9. _-]{1,255}')
_DELETED = 'DELETED'
_SOFT_DELETED = 'SOFT_DELETED'
_RESIZED = 'VERIFY_RESIZE'
_DELETING = ('deleting', 'force-deleting', 'soft-deleting')


@dataclasses.dataclass(frozen=True)
class Flavor:
    """A flavor.

    :ivar ram_mb: the memory in MiB; ``swap_mb`` likewise.
    :ivar disk_gb: the disk in GiB; ``ephemeral_gb`` likewise.
    """

    id: str
    name: str
    vcpus: int
    ram_mb: int
    disk_gb: int
    ephemeral_gb: int = 0
    swap_mb: int = 0
    public: bool = False
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Server:
    """A server of any project.

    :ivar host: the nova-compute that runs it; ``None``: none yet.
    :ivar node: the name of the hypervisor: for a node of Ironic, its uuid.
    :ivar vcpus: the number in the server's own copy of its flavor.
    :ivar extra_specs: the extra specs in the same copy; empty if Nova does not
        show them.
    """

    uuid: str
    status: str
    task_state: str | None = None
    project_id: str | None = None
    host: str | None = None
    node: str | None = None
    vcpus: int = 0
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def going(self) -> bool:
        """Return whether it is deleted or being deleted."""
        return self.status == _DELETED or self.task_state in _DELETING

    @property
    def resized(self) -> bool:
        """Return whether a resize is not confirmed or reverted yet."""
        return self.status == _RESIZED and self.task_state is None

    @property
    def kept(self) -> bool:
        """Return whether it is soft-deleted, and can be restored."""
        return self.status == _SOFT_DELETED


@dataclasses.dataclass(frozen=True)
class Migration:
    """A resize or migration of a server, with a consumer in Placement.

    :ivar uuid: the uuid, also of the consumer in Placement that keeps the
        previous allocations of the server.
    :ivar server: the uuid of the server.
    :ivar hosts: the names of its source and its target hypervisor.
    """

    uuid: str
    server: str
    hosts: frozenset[str | None] = frozenset()


@dataclasses.dataclass(frozen=True)
class Hypervisor:
    """A hypervisor, whose uuid is also that of its provider in Placement.

    :ivar up: whether its nova-compute runs.
    :ivar enabled: whether it is enabled.
    """

    uuid: str
    up: bool
    enabled: bool


class Nova:
    """Reads and writes with one version of the API.

    :param sender: sends the requests.
    :param authenticated: whether the sender has credentials.
    """

    def __init__(self, sender: sending.Sender,
                 authenticated: bool = True) -> None:
        self._sender = sender
        self._authenticated = authenticated

    @classmethod
    def over_http(cls, conf: cfg.ConfigOpts) -> Nova:
        """Return a client for the endpoint in [nova]."""
        return cls(sending.adapter(conf, 'nova'),
                   conf.nova.auth_type not in (None, 'none'))

    # Flavors

    def flavor(self, ident: str) -> Flavor | None:
        """Return a flavor; ``None`` if there is none with that id."""
        if not _FLAVOR_ID.fullmatch(ident):
            return None
        body = self._read(_path(ident))
        # A flavor with the id "detail" cannot be read: that path lists all
        # flavors.
        return _flavor(body['flavor']) if 'flavor' in (body or ()) else None

    def flavors(self) -> Iterator[Flavor]:
        """Read all flavors, including private ones, page by page."""
        return map(_flavor, self._pages('flavors', {'is_public': 'None'},
                                        '/flavors/detail'))

    def create_flavor(self, flavor: Flavor) -> Answer:
        """Create a flavor without its extra specs."""
        return self._write('POST', '/flavors', {'flavor': {
            'id': flavor.id, 'name': flavor.name, 'vcpus': flavor.vcpus,
            'ram': flavor.ram_mb, 'disk': flavor.disk_gb,
            'OS-FLV-EXT-DATA:ephemeral': flavor.ephemeral_gb,
            'swap': flavor.swap_mb,
            'os-flavor-access:is_public': flavor.public}})

    def write_extra_specs(self, ident: str,
                          specs: Mapping[str, str]) -> Answer:
        """Write some extra specs of a flavor; others are kept."""
        return self._write('POST', f'{_path(ident)}/os-extra_specs',
                           {'extra_specs': dict(specs)})

    def delete_flavor(self, ident: str) -> Answer:
        """Delete a flavor; its servers stay."""
        return self._write('DELETE', _path(ident))

    def projects_of(self, ident: str) -> frozenset[str] | None:
        """Return the projects with access to a private flavor.

        :returns: ``None`` if there is no such flavor.
        """
        body = self._read(f'{_path(ident)}/os-flavor-access')
        return None if body is None else frozenset(
            each['tenant_id'] for each in body['flavor_access'])

    def add_access(self, ident: str, project_id: str) -> Answer:
        """Grant a project access to a private flavor."""
        return self._write('POST', f'{_path(ident)}/action',
                           {'addTenantAccess': {'tenant': project_id}})

    def remove_access(self, ident: str, project_id: str) -> Answer:
        """Revoke a project's access to a private flavor."""
        return self._write('POST', f'{_path(ident)}/action',
                           {'removeTenantAccess': {'tenant': project_id}})

    # Servers

    def servers(self, **filters: str) -> Iterator[Server]:
        """Read servers of all projects, page by page.

        :param filters: such as ``flavor`` and ``host``; for an unknown flavor,
            the list is empty.
        """
        return map(_server, self._pages(
            'servers', {**filters, 'all_tenants': '1'}, '/servers/detail'))

    def server(self, uuid: str) -> Server | None:
        """Return a server; ``None`` if Nova shows none.

        Nova shows other projects' servers to administrators only; for any
        other user, :meth:`servers` raises.
        """
        body = self._read(f'/servers/{uuid}')
        return None if body is None else _server(body['server'])

    def hint(self, uuid: str, name: str) -> tuple[Any, str] | None:
        """Return a scheduler hint with which a server was created.

        :returns: the hint and the project of the server; ``None`` if the
            server has no such hint, Nova shows no such server, or Nova's API
            is too old to show hints.
        """
        body = self._read(f'/servers/{uuid}', _WITH_HINTS)
        server = {} if body is None else body['server']
        hint = (server.get('scheduler_hints') or {}).get(name)
        return None if hint is None else (hint, server['tenant_id'])

    def hypervisors(self) -> Iterator[Hypervisor]:
        """Read all hypervisors, page by page."""
        return map(_hypervisor, self._pages('hypervisors', {},
                                            '/os-hypervisors'))

    def hypervisor(self, uuid: str) -> Hypervisor | None:
        """Return a hypervisor; ``None`` if Nova has none with that uuid."""
        body = self._read(f'/os-hypervisors/{uuid}')
        return None if body is None else _hypervisor(body['hypervisor'])

    def migrations(self, **filters: str) -> Iterator[Migration]:
        """Read migrations of all servers, page by page, the newest first.

        :param filters: ``status``, such as ``finished`` for a resize that has
            been neither confirmed nor reverted; ``changed_since``, a time.
        """
        query = {key.replace('changed_', 'changes-'): value
                 for key, value in filters.items()}
        return (Migration(each['uuid'], each['instance_uuid'], frozenset((
            each['source_node'], each['dest_node']))) for each
                in self._pages('migrations', query, '/os-migrations',
                               'uuid'))

    def failed_migrations(self) -> Iterator[Migration]:
        """Read the newest migrations that have failed, page by page."""
        return itertools.islice(self.migrations(status=FAILED), MOST_FAILED)

    def confirm_resize(self, uuid: str) -> Answer:
        """Begin to confirm the resize of a server."""
        return self._write('POST', f'/servers/{uuid}/action',
                           {'confirmResize': None})

    def delete_server(self, uuid: str) -> Answer:
        """Begin to delete a server."""
        return self._write('DELETE', f'/servers/{uuid}')

    def force_delete_server(self, uuid: str) -> Answer:
        """Begin to delete a soft-deleted server."""
        return self._write('POST', f'/servers/{uuid}/action',
                           {'forceDelete': None})

    # Sending

    def _pages(self, kind: str, query: Mapping[str, str], path: str,
               key: str = 'id') -> Iterator[Mapping[str, Any]]:
        """Read a list.

        :param key: the key of the value by which the next page is requested.
        """
        marker: dict[str, str] = {}
        while True:
            body = self._read(f'{path}?' + parse.urlencode(
                {**query, 'limit': str(_PAGE), **marker}))
            if body is None:
                # Raised also if the marker has been deleted since: an
                # incomplete list must not be used as a complete one.
                raise errors.NovaUnavailable(
                    f'Nova does not list {kind}. ' + _remedy(404))
            yield from body[kind]
            if not body[kind] or not body.get(f'{kind}_links'):
                return
            marker = {'marker': body[kind][-1][key]}

    def _read(self, path: str, version: str = VERSION) -> Any:
        try:
            status, body = self._send('GET', path, version=version)
        except ksa_exc.ClientException as exc:
            raise errors.NovaUnavailable(
                f'Nova cannot be reached ({type(exc).__name__}). '
                + _remedy(503)) from exc
        if status == 200 and isinstance(body, dict):
            return body
        if status == 404 and 'itemNotFound' in (body or {}) or (
                status == 406 and version != VERSION):
            # Any other 404 comes from a proxy in front of Nova.
            return None
        raise errors.NovaUnavailable(
            f'Nova answered {status} to GET {path.partition("?")[0]}: '
            f'{_said(body)} {_remedy(status)}')

    def _write(self, method: str, path: str, body: Any = None) -> Answer:
        try:
            status, answer = self._send(method, path, body)
        except ksa_exc.ConnectionError as exc:
            return Answer(Outcome.UNCERTAIN, 'Nova did not answer '
                                             f'({type(exc).__name__}).')
        except ksa_exc.ClientException as exc:
            # Without a token or an endpoint, nothing was sent.
            return Answer(Outcome.REFUSED, 'Nova cannot be reached '
                          f'({type(exc).__name__}). ' + _remedy(401))
        return _judge(path, status, answer)

    def _send(self, method: str, path: str,
              body: Any = None,
              version: str = VERSION) -> tuple[int, Any]:
        return sending.request(
            self._sender, path, method, authenticated=self._authenticated,
            connect_retries=0, status_code_retries=0,
            headers={'Accept': 'application/json',
                     VERSION_HEADER: f'compute {version}'},
            **({} if body is None else {'json': body}))


def _path(flavor: str) -> str:
    return f'/flavors/{parse.quote(flavor, safe="")}'


def _flavor(body: Mapping[str, Any]) -> Flavor:
    return Flavor(body['id'], body['name'], body['vcpus'], body['ram'],
                  body['disk'], body['OS-FLV-EXT-DATA:ephemeral'],
                  # Before version 2.75, '' means no swap.
                  body['swap'] or 0, body['os-flavor-access:is_public'],
                  dict(body['extra_specs']))


def _server(body: Mapping[str, Any]) -> Server:
    return Server(body['id'], body['status'],
                  body.get('OS-EXT-STS:task_state'), body.get('tenant_id'),
                  body.get('OS-EXT-SRV-ATTR:host'),
                  body.get('OS-EXT-SRV-ATTR:hypervisor_hostname'),
                  body['flavor']['vcpus'],
                  dict(body['flavor'].get('extra_specs') or {}))


def _hypervisor(body: Mapping[str, Any]) -> Hypervisor:
    return Hypervisor(body['id'], body['state'] == 'up',
                      body['status'] == 'enabled')


def _said(answer: Any) -> str:
    """Return the message in an error, whose key depends on the cause."""
    if isinstance(answer, dict):
        for cause in answer.values():
            if isinstance(cause, dict) and 'message' in cause:
                return ' '.join(str(cause['message']).split())
    return 'It gives no reason.'


def _remedy(status: int) -> str:
    if status in (401, 403):
        return ("Nova does not accept this service's credentials: the "
                'operator should check [nova] in ironic-reservations.conf.')
    if status in (404, 406):
        return ('This service needs the address of the Nova API in [nova] of '
                f'ironic-reservations.conf, and version {VERSION} of that API '
                'at least.')
    return ('It is tried again later; if this continues, the operator should '
            'check [nova] in ironic-reservations.conf.')


def _judge(path: str, status: int, answer: Any) -> Answer:
    said = _said(answer)
    if 200 <= status < 300:
        return Answer(Outcome.DONE)
    if status == 404 and 'itemNotFound' in (answer or {}):
        return Answer(Outcome.GONE, said)
    if status == 409:
        # For a server, this means that a task is running on it.
        return Answer(Outcome.AGAIN if path.startswith('/servers')
                      else Outcome.EXISTS, said)
    if status in (408, 413, 429) or status >= 500 or status < 400:
        return Answer(Outcome.UNCERTAIN, f'Nova answered {status}.')
    return Answer(Outcome.REFUSED,
                  f'Nova answered {status}: {said} {_remedy(status)}')
