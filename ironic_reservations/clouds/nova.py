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

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import itertools
import re
from typing import Any
from typing import Generic
from typing import TypeVar
from urllib import parse

from keystoneauth1 import exceptions as ksa_exc
from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.clouds import documents
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.clouds import sending

#: The oldest version that shows the extra specs with a flavor.
VERSION = '2.61'
#: The first version that shows the scheduler hints of a server.
_WITH_HINTS = '2.100'
_HINTS = 'scheduler_hints'
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
_ACCESS = 'flavor_access'
_SPECS = 'extra_specs'
#: A path below which this is not the id of a flavor, but a list.
_DETAIL = 'detail'
#: The names of errors, by which Nova's differ from those of a proxy.
_NOT_FOUND, _CONFLICT, _OTHER = ('itemNotFound', 'conflictingRequest',
                                 'computeFault')

_T = TypeVar('_T')


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


@dataclasses.dataclass(frozen=True)
class _Page(Generic[_T]):
    """A page of a list.

    :ivar marker: the marker for the next page; ``None`` if it is the last.
    """

    rows: list[_T]
    marker: str | None


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
        if not _FLAVOR_ID.fullmatch(ident) or ident == _DETAIL:
            return None
        return self._read(_path(ident), lambda body: _flavor(
            documents.field(body, 'flavor', dict)))

    def flavors(self) -> Iterator[Flavor]:
        """Read all flavors, including private ones, page by page."""
        return self._pages('flavors', {'is_public': 'None'},
                           f'/flavors/{_DETAIL}', _flavor)

    def create_flavor(self, flavor: Flavor) -> Answer:
        """Create a flavor without its extra specs."""
        return self._write('POST', '/flavors', {'flavor': {
            'id': flavor.id, 'name': flavor.name, 'vcpus': flavor.vcpus,
            'ram': flavor.ram_mb, 'disk': flavor.disk_gb,
            'OS-FLV-EXT-DATA:ephemeral': flavor.ephemeral_gb,
            'swap': flavor.swap_mb,
            'os-flavor-access:is_public': flavor.public}}, 'flavor')

    def write_extra_specs(self, ident: str,
                          specs: Mapping[str, str]) -> Answer:
        """Write some extra specs of a flavor; others are kept."""
        return self._write('POST', f'{_path(ident)}/os-extra_specs',
                           {_SPECS: dict(specs)}, _SPECS)

    def delete_flavor(self, ident: str) -> Answer:
        """Delete a flavor; its servers stay."""
        return self._write('DELETE', _path(ident))

    def projects_of(self, ident: str) -> frozenset[str] | None:
        """Return the projects with access to a private flavor.

        :returns: ``None`` if there is no such flavor.
        """
        return self._read(
            f'{_path(ident)}/os-flavor-access', lambda body: frozenset(
                documents.field(each, 'tenant_id', str) for each
                in documents.each_of(body, _ACCESS, dict)))

    def add_access(self, ident: str, project_id: str) -> Answer:
        """Grant a project access to a private flavor."""
        return self._write('POST', f'{_path(ident)}/action',
                           {'addTenantAccess': {'tenant': project_id}},
                           _ACCESS)

    def remove_access(self, ident: str, project_id: str) -> Answer:
        """Revoke a project's access to a private flavor."""
        return self._write('POST', f'{_path(ident)}/action',
                           {'removeTenantAccess': {'tenant': project_id}},
                           _ACCESS)

    # Servers

    def servers(self, **filters: str) -> Iterator[Server]:
        """Read servers of all projects, page by page.

        :param filters: such as ``flavor`` and ``host``; for an unknown flavor,
            the list is empty.
        """
        return self._pages('servers', {**filters, 'all_tenants': '1'},
                           '/servers/detail', _server)

    def server(self, uuid: str) -> Server | None:
        """Return a server; ``None`` if Nova shows none.

        Nova shows other projects' servers to administrators only; for any
        other user, :meth:`servers` raises.
        """
        return self._read(f'/servers/{uuid}', lambda body: _server(
            documents.field(body, 'server', dict)))

    def hint(self, uuid: str, name: str) -> tuple[Any, str] | None:
        """Return a scheduler hint with which a server was created.

        :returns: the hint and the project of the server; ``None`` if the
            server has no such hint, Nova shows no such server, or Nova's API
            is too old to show hints.
        """
        return self._read(f'/servers/{uuid}', lambda body: _hint(
            documents.field(body, 'server', dict), name), _WITH_HINTS)

    def hypervisors(self) -> Iterator[Hypervisor]:
        """Read all hypervisors, page by page."""
        return self._pages('hypervisors', {}, '/os-hypervisors', _hypervisor)

    def hypervisor(self, uuid: str) -> Hypervisor | None:
        """Return a hypervisor; ``None`` if Nova has none with that uuid."""
        return self._read(f'/os-hypervisors/{uuid}', lambda body: _hypervisor(
            documents.field(body, 'hypervisor', dict)))

    def migrations(self, **filters: str) -> Iterator[Migration]:
        """Read migrations of all servers, page by page, the newest first.

        :param filters: ``status``, such as ``finished`` for a resize that has
            been neither confirmed nor reverted; ``changed_since``, a time.
        """
        query = {key.replace('changed_', 'changes-'): value
                 for key, value in filters.items()}
        return self._pages('migrations', query, '/os-migrations', _migration,
                           'uuid')

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
               read: Callable[[Any], _T], key: str = 'id') -> Iterator[_T]:
        """Read a list.

        :param read: parses each row.
        :param key: the key of the value by which the next page is requested.
        """
        marker: dict[str, str] = {}
        seen: set[str] = set()
        while True:
            page = self._read(f'{path}?' + parse.urlencode(
                {**query, 'limit': str(_PAGE), **marker}),
                lambda body: _page(body, kind, read, key))
            if page is None:
                # Raised also if the marker has been deleted since: an
                # incomplete list must not be used as a complete one.
                raise errors.NovaUnavailable(
                    f'Nova does not list {kind}. ' + _remedy(404))
            if page.marker in seen:
                raise errors.NovaUnavailable(
                    f'Nova lists {kind} without an end: it returned the page '
                    f'that ends with {page.marker} twice. ' + _remedy(200))
            yield from page.rows
            if page.marker is None:
                return
            seen.add(page.marker)
            marker = {'marker': page.marker}

    def _read(self, path: str, read: Callable[[Any], _T],
              version: str = VERSION) -> _T | None:
        """Return what an answer contains; ``None`` if Nova has no such thing.

        :param read: parses the document of the answer.
        """
        try:
            status, body = self._send('GET', path, version=version)
        except ksa_exc.ClientException as exc:
            raise errors.NovaUnavailable(
                f'Nova cannot be reached ({type(exc).__name__}). '
                + _remedy(503)) from exc
        if _is_error(status, body, 404, _NOT_FOUND) or (
                version != VERSION and _is_error(status, body, 406, _OTHER)):
            return None
        where = f'Nova answered {status} to GET {path.partition("?")[0]}'
        if status != 200:
            raise errors.NovaUnavailable(
                f'{where}: {_said(body)} {_remedy(status)}')
        try:
            return read(body)
        except documents.Malformed as exc:
            raise errors.NovaUnavailable(
                f'{where}, but {exc}. {_remedy(status)}') from exc

    def _write(self, method: str, path: str, body: Any = None,
               shown: str | None = None) -> Answer:
        """Send a change.

        :param shown: the key in the answer of Nova; ``None``: it has no body.
        """
        try:
            status, answer = self._send(method, path, body)
        except ksa_exc.ClientException as exc:
            return answers.unanswered('Nova', exc, _remedy(401))
        return _judge(path, status, answer, shown)

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


def _page(body: Any, kind: str, read: Callable[[Any], _T],
          key: str) -> _Page[_T]:
    rows = documents.each_of(body, kind, dict)
    more = rows and documents.optional(body, f'{kind}_links', list)
    return _Page([read(each) for each in rows],
                 documents.field(rows[-1], key, str) if more else None)


def _flavor(body: Any) -> Flavor:
    return Flavor(
        documents.field(body, 'id', str), documents.field(body, 'name', str),
        documents.field(body, 'vcpus', int), documents.field(body, 'ram', int),
        documents.field(body, 'disk', int),
        documents.field(body, 'OS-FLV-EXT-DATA:ephemeral', int),
        # Before version 2.75, '' means no swap.
        documents.of_kind(documents.value_of(body, 'swap') or 0, int,
                          '"swap" in its answer'),
        documents.field(body, 'os-flavor-access:is_public', bool),
        documents.mapping(body, _SPECS, str))


def _server(body: Any) -> Server:
    flavor = documents.field(body, 'flavor', dict)
    return Server(
        documents.field(body, 'id', str), documents.field(body, 'status', str),
        documents.optional(body, 'OS-EXT-STS:task_state', str),
        documents.optional(body, 'tenant_id', str),
        documents.optional(body, 'OS-EXT-SRV-ATTR:host', str),
        documents.optional(body, 'OS-EXT-SRV-ATTR:hypervisor_hostname', str),
        documents.field(flavor, 'vcpus', int),
        documents.mapping(flavor, _SPECS, str) if flavor.get(_SPECS) else {})


def _hint(server: Any, name: str) -> tuple[Any, str] | None:
    # Null if the server was created without any.
    hints = documents.value_of(server, _HINTS)
    if hints is None:
        return None
    hint = documents.field(server, _HINTS, dict).get(name)
    return None if hint is None else (
        hint, documents.field(server, 'tenant_id', str))


def _hypervisor(body: Any) -> Hypervisor:
    ident, state, status = (documents.field(body, key, str)
                            for key in ('id', 'state', 'status'))
    return Hypervisor(ident, state == 'up', status == 'enabled')


def _migration(body: Any) -> Migration:
    return Migration(
        documents.field(body, 'uuid', str),
        documents.field(body, 'instance_uuid', str),
        frozenset(documents.optional(body, key, str)
                  for key in ('source_node', 'dest_node')))


def _is_error(status: int, answer: Any, code: int, name: str) -> bool:
    """Return whether an answer is a certain error, and written by Nova.

    A proxy in front of Nova may answer 404, and its answer must not be taken
    for the deletion of a server.
    """
    cause = answer.get(name) if isinstance(answer, dict) else None
    return (status == code and isinstance(cause, dict)
            and cause.get('code') == code
            and isinstance(cause.get('message'), str))


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


def _judge(path: str, status: int, answer: Any,
           shown: str | None) -> Answer:
    said = _said(answer)
    if status == 200 and not (isinstance(answer, dict) and shown in answer):
        # Such as a page for a login.
        return Answer(Outcome.UNCERTAIN, 'Nova answered 200, but not as it '
                                         'does to this request.')
    if 200 <= status < 300:
        return Answer(Outcome.DONE)
    if _is_error(status, answer, 404, _NOT_FOUND):
        return Answer(Outcome.GONE, said)
    if _is_error(status, answer, 409, _CONFLICT):
        # For a server, this means that a task is running on it.
        return Answer(Outcome.AGAIN if path.startswith('/servers')
                      else Outcome.EXISTS, said)
    if status in (408, 409, 413, 429) or status >= 500 or status < 400:
        return Answer(Outcome.UNCERTAIN, f'Nova answered {status}.')
    return Answer(Outcome.REFUSED,
                  f'Nova answered {status}: {said} {_remedy(status)}')
