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

"""Client for Ironic: reads nodes, and makes a few changes of nodes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import Protocol
from typing import TypeVar
from urllib import parse

from keystoneauth1 import exceptions as ksa_exc
from oslo_config import cfg

from ironic_reservations import errors
from ironic_reservations.clouds import documents
from ironic_reservations.clouds import ironic_answers as answers
from ironic_reservations.clouds import ironic_versions
from ironic_reservations.clouds import sending
from ironic_reservations.model import handovers
from ironic_reservations.model import mirrored_node

#: The size of a page; few nodes change between two polls.
_CHANGED_PAGE = 50
#: The fields of a node that are read.
FIELDS = ('uuid', 'name', 'provision_state', 'instance_uuid', 'maintenance',
          'retired', 'resource_class', 'traits', 'owner', 'lessee',
          'properties', 'extra', 'power_state', 'parent_node')
_FIELDS = ','.join(FIELDS)
VERSION_HEADER = 'X-OpenStack-Ironic-API-Version'
_HEADERS = {VERSION_HEADER: 'latest', 'Accept': 'application/json'}
_NODE = '/v1/nodes/'
_DETAIL = f'{_NODE}detail'
_REASON = 'maintenance_reason'
#: Fields of a node that change without a request.
_PASSING = frozenset((
    'clean_step', 'deploy_step', 'driver_internal_info', 'links',
    'portgroups', 'ports', 'provision_updated_at', 'reservation',
    'service_step', 'states', 'updated_at', 'volume'))
#: The state of an allocation on which a conductor works.
ALLOCATING = 'allocating'
#: With this header, the guard refuses our request if it is late: see
#: engine.in_flight.tickets.
TICKET_HEADER = 'OpenStack-Baremetal-Reservation-Ticket'

_T = TypeVar('_T')


@dataclasses.dataclass(frozen=True)
class Allocation:
    """An allocation of Ironic."""

    state: str | None
    node_uuid: str | None


@dataclasses.dataclass(frozen=True)
class Settled:
    """A node, with its lock and its conductor.

    :ivar locked: whether a conductor has locked it.
    :ivar conductor: the host name of its conductor, if it has one.
    """

    node: mirrored_node.Node
    locked: bool
    conductor: str | None


class Refused(Exception):
    """Ironic refuses a change of a node in its present state."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f'Ironic refuses with {status}: {said}')
        self.status = status


class Transport(Protocol):
    """Sends requests."""

    def send(self, method: str, path: str, headers: Mapping[str, str],
             body: Any = None) -> tuple[int, Any]:
        """Return (status, decoded JSON)."""


class _Http:
    """Sends requests to Ironic's endpoint as the user of [ironic]."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._adapter = sending.adapter(conf, 'ironic')

    def send(self, method: str, path: str, headers: Mapping[str, str],
             body: Any = None) -> tuple[int, Any]:
        try:
            return sending.request(
                self._adapter, path, method, headers=dict(headers),
                **({} if body is None else {'json': body}))
        except ksa_exc.ClientException as exc:
            raise errors.IronicUnavailable(
                f'Ironic cannot be reached ({type(exc).__name__}), so nothing '
                'was promised. Try again later; if this continues, the '
                'operator should check [ironic] in ironic-reservations.conf.'
            ) from exc


class Ironic:
    """Reads and changes nodes.

    :param transport: sends the requests.
    :param headers: sent with each request: the credentials of a caller, if the
        requests are not this service's own.
    """

    def __init__(self, transport: Transport,
                 headers: Mapping[str, str] | None = None) -> None:
        self._transport = transport
        self._headers = {**_HEADERS, **(headers or {})}
        self._caller = bool(headers)

    @classmethod
    def over_http(cls, conf: cfg.ConfigOpts) -> Ironic:
        """Return a client for the endpoint in [ironic]."""
        return cls(_Http(conf))

    def _get(self, path: str) -> tuple[int, Any]:
        status, body = self._transport.send('GET', path, self._headers)
        if (status == 200 and isinstance(body, dict)
                or status == 400 and answers.is_ironics(body)
                or status == 404 and answers.is_missing(path, body)):
            return status, body
        if status in (401, 403) and self._caller:
            # Not "unavailable": the caller lacks a role.
            raise errors.Forbidden(
                f'Ironic answered {status} to a request for nodes with your '
                'credentials, so nothing was promised. Ask the operator for a '
                'role that may see nodes.')
        raise errors.IronicUnavailable(
            f'Ironic answered {status} to a request for nodes, so nothing was '
            'promised. '
            + ("Ironic does not accept this service's credentials: the "
               'operator should check [ironic] in ironic-reservations.conf.'
               if status in (401, 403) else 'Try again later.'))

    def _read(self, path: str, read: Callable[[Any], _T]) -> _T | None:
        """Return what an answer contains; ``None`` if there is no such thing.

        :param read: parses the document of the answer.
        """
        status, body = self._get(path)
        return answers.parsed(path, body, read) if status == 200 else None

    def newest_version(self) -> str | None:
        """Return the newest version of the API that Ironic serves.

        :returns: ``None`` if it cannot be read.
        """
        version = self._read('/v1', lambda body: documents.field(
            documents.field(body, 'version', dict), 'version', str))
        try:
            ironic_versions.minor(str(version))
        except ValueError:
            return None
        return version

    def node(self, ident: str) -> mirrored_node.Node | None:
        """Return a node.

        :param ident: the uuid or the name of the node.
        :returns: ``None`` if Ironic shows no such node.
        :raises Forbidden: the caller may not see nodes.
        """
        if ('/' in ident or ident in ('', '.', '..')
                or ident.startswith('__')):
            # No node has such a name, and Ironic would treat it as a path,
            # even if it is quoted, or as an attribute.
            return None
        return self._read(f'/v1/nodes/{parse.quote(ident, safe="")}'
                          f'?fields={_FIELDS}', answers.node_of)

    def confirm(self, uuid: str,
                with_traits: bool) -> mirrored_node.Node | None:
        """Return a node, to confirm its mirrored facts.

        :param with_traits: whether its traits matter; otherwise, they may be
            left out.
        :returns: ``None`` if Ironic shows no such node.
        :raises Forbidden: the caller may not see nodes.
        """
        return self.node(uuid)

    def nodes(self, **filters: str) -> Iterator[mirrored_node.Node]:
        """Read nodes, page by page.

        :param filters: query parameters of Ironic's list.
        """
        for page in self._pages(answers.node_of, filters):
            yield from page

    def settled(self, uuid: str) -> tuple[mirrored_node.Node, bool] | None:
        """Return a node, and whether a conductor has locked it.

        :returns: ``None`` if Ironic shows no such node.
        """
        return self._read(
            f'/v1/nodes/{uuid}?fields={_FIELDS},reservation',
            lambda body: (answers.node_of(body), answers.is_locked(body)))

    def conductor_of(self, uuid: str) -> str | None:
        """Return the host name of a node's conductor.

        :returns: ``None`` if it has no conductor, or there is no such node.
        """
        return self._read(f'/v1/nodes/{uuid}?fields=uuid,conductor',
                          lambda body: answers.text_of(body, 'conductor'))

    def all_settled(self) -> Iterator[list[Settled]]:
        """Read all nodes, page by page.

        The details are read: with the field "conductor" alone, the list of
        Ironic 39 fails.
        """
        return self._pages(lambda body: Settled(
            answers.node_of(body), answers.is_locked(body),
            answers.text_of(body, 'conductor')), {}, _DETAIL, None)

    def conductors_of_all(self) -> dict[str, str | None]:
        """Return the host names of the conductors of all nodes, by uuid."""
        return {each.node.uuid: each.conductor
                for page in self.all_settled() for each in page}

    def ask_conductor(self, uuid: str) -> None:
        """Wait until the conductor of a node has answered a request.

        To list the attached interfaces, Ironic asks the conductor, which
        answers after all requests that were sent to it before. A reader may
        list them.

        :raises IronicUnavailable: the conductor has not answered.
        """
        status, answer = self._transport.send(
            'GET', f'/v1/nodes/{uuid}/vifs', self._headers)
        if not (status == 200 and isinstance(answer, dict)
                and isinstance(answer.get('vifs'), list)
                or status == 404 and answers.is_missing('', answer)):
            raise errors.IronicUnavailable(
                f'its conductor does not answer (GET /v1/nodes/{uuid}/vifs '
                f'returned {status}: {answers.said(answer)})')

    def allocation(self, uuid: str) -> Allocation | None:
        """Return an allocation.

        :returns: ``None`` if Ironic shows no such allocation.
        """
        status, body = self._get(f'/v1/allocations/{uuid}')
        if status == 400:
            raise errors.IronicUnavailable(
                f'Ironic answered 400 to a request for the allocation {uuid}: '
                f'{answers.said(body)}')
        return None if status == 404 else answers.parsed(
            f'/v1/allocations/{uuid}', body, lambda body: Allocation(
                answers.text_of(body, 'state'),
                answers.text_of(body, 'node_uuid')))

    def delete_allocation(self, uuid: str) -> None:
        """Delete an allocation.

        :raises Refused: its node is in a state that does not allow it.
        """
        self._change('DELETE', f'/v1/allocations/{uuid}', None)

    def lately_changed(self) -> Iterator[list[mirrored_node.Node]]:
        """Read nodes page by page, the most recently changed first.

        The details are read, since only they contain ``created_at``, which
        distinguishes a node that was enrolled again with the same uuid.
        """
        return self._pages(answers.node_of, {
            'sort_key': 'updated_at', 'sort_dir': 'desc',
            'limit': str(_CHANGED_PAGE)}, _DETAIL, None)

    def write_lessee(self, uuid: str, lessee: str | None,
                     ticket: str | None = None) -> None:
        """Set or remove the lessee of a node.

        :param ticket: makes the guard refuse the request if it is late.
        :raises Refused: the node cannot be changed now.
        """
        self._change('PATCH', f'/v1/nodes/{uuid}', [
            {'op': 'remove', 'path': '/lessee'} if lessee is None else
            {'op': 'add', 'path': '/lessee', 'value': lessee}], ticket)

    def undeploy(self, uuid: str, ticket: str | None = None) -> None:
        """Begin to undeploy and clean a node.

        :param ticket: makes the guard refuse the request if it is late.
        :raises Refused: the node is in a state that does not allow it.
        """
        self._provision(uuid, 'deleted', ticket)

    def abort(self, uuid: str, ticket: str | None = None) -> None:
        """Abort the operation on a node.

        :param ticket: makes the guard refuse the request if it is late.
        :raises Refused: the node is in a state that does not allow it.
        """
        self._provision(uuid, 'abort', ticket)

    def clear_instance(self, uuid: str, ticket: str | None = None) -> None:
        """Remove the instance_uuid of a node that is not deployed.

        :param ticket: makes the guard refuse the request if it is late.
        :raises Refused: the node cannot be changed now.
        """
        self._change('PATCH', f'/v1/nodes/{uuid}',
                     [{'op': 'remove', 'path': '/instance_uuid'}], ticket)

    def manage(self, uuid: str, ticket: str | None = None) -> None:
        """Take a node out of use.

        :param ticket: makes the guard refuse the request if it is late.
        :raises Refused: the node is in a state that does not allow it.
        """
        self._provision(uuid, 'manage', ticket)

    def provide(self, uuid: str, ticket: str | None = None) -> None:
        """Begin to clean a node, which makes it available.

        :param ticket: makes the guard refuse the request if it is late.
        :raises Refused: the node is in a state that does not allow it.
        """
        self._provision(uuid, 'provide', ticket)

    def document(self, uuid: str, parts: Collection[str] = ()
                 ) -> handovers.Document | None:
        """Return a node with the objects below it.

        :param parts: the further settings to read.
        :returns: ``None`` if Ironic shows no such node.
        """
        node = self._read(f'/v1/nodes/{uuid}', lambda body: {
            'uuid': documents.field(body, 'uuid', str), **body})
        if node is None:
            return None
        ports, groups = (self._below(
            kind, f'/v1/{kind}/detail?node={uuid}', lambda body: (
                documents.field(body, 'uuid', str), body, answers.vif(body)))
            for kind in ('ports', 'portgroups'))
        targets, connectors = (self._below(
            kind, f'/v1/volume/{kind}?node={uuid}&detail=True', lambda body: (
                documents.field(body, 'uuid', str), body))
            for kind in ('targets', 'connectors'))
        return handovers.Document(
            {name: value for name, value in node.items()
             if name not in _PASSING},
            tuple(sorted(vif for *_, vif in (*ports, *groups)
                         if vif is not None)),
            *(dict(each) for each in (targets, connectors)),
            *({ident: body for ident, body, _ in found}
              for found in (ports, groups)),
            {part: self._part(uuid, part) for part in sorted(parts)})

    def enrolled_at(self, uuid: str) -> str | None:
        """Return the time of the enrolment of a node, as Ironic writes it.

        :returns: ``None`` if Ironic shows no such node.
        """
        return self._read(f'/v1/nodes/{uuid}',
                          lambda body: answers.text_of(body, 'created_at'))

    def _part(self, uuid: str, part: str) -> Any:
        """Return a setting of a machine; ``None``: Ironic does not know it."""
        if part == handovers.BOOT_DEVICE:
            return self._read(
                f'/v1/nodes/{uuid}/management/{part}', lambda body: (
                    body if documents.value_of(body, 'boot_device') else None))
        return self._read(f'/v1/nodes/{uuid}/{part}', lambda body: {
            str(each.get('name') or each.get('component')):
            each.get('value', each.get('current_version'))
            for each in documents.each_of(body, part, dict)})

    def _below(self, kind: str, path: str,
               read: Callable[[Any], _T]) -> list[_T]:
        """Return all objects of one kind below a node."""
        return [each for page in self._list(
            path, kind, read, f'the objects below a node ({path})')
            for each in page]

    def put_back(self, uuid: str, method: str, path: str, body: Any,
                 ticket: str | None = None) -> None:
        """Restore a setting of a node.

        :param path: a path below the node; with a leading slash, a path of the
            API.
        :param ticket: makes the guard refuse the request if it is late.
        :raises Refused: Ironic does not allow that now.
        """
        self._change(method, path if path.startswith('/') else
                     f'/v1/nodes/{uuid}/{path}'.rstrip('/'), body, ticket)

    def maintained(self,
                   uuid: str) -> tuple[mirrored_node.Node, str | None] | None:
        """Return a node and the reason of its maintenance.

        :returns: ``None`` if Ironic shows no such node.
        """
        return self._read(
            f'/v1/nodes/{uuid}?fields={_FIELDS},{_REASON}',
            lambda body: (answers.node_of(body),
                          answers.text_of(body, _REASON)))

    def reasons(self) -> dict[str, str | None]:
        """Return the reasons of all nodes in maintenance, by node uuid."""
        return {uuid: reason for page in self._pages(
            lambda body: (documents.field(body, 'uuid', str),
                          answers.text_of(body, _REASON)),
            {'maintenance': 'true'}, fields=f'uuid,{_REASON}')
            for uuid, reason in page}

    def set_maintenance(self, uuid: str, reason: str,
                        ticket: str | None = None) -> None:
        """Put a node in maintenance.

        :param ticket: makes the guard refuse the request if it is late.
        :raises Refused: the node cannot be changed now.
        """
        self._change('PUT', f'/v1/nodes/{uuid}/maintenance',
                     {'reason': reason}, ticket)

    def clear_maintenance(self, uuid: str, ticket: str | None = None) -> None:
        """Remove a node from maintenance.

        :param ticket: makes the guard refuse the request if it is late.
        :raises Refused: the node cannot be changed now.
        """
        self._change('DELETE', f'/v1/nodes/{uuid}/maintenance', None, ticket)

    def _provision(self, uuid: str, target: str,
                   ticket: str | None) -> None:
        self._change('PUT', f'/v1/nodes/{uuid}/states/provision',
                     {'target': target}, ticket)

    def _change(self, method: str, path: str, body: Any,
                ticket: str | None = None) -> None:
        headers = self._headers if ticket is None else {
            **self._headers, TICKET_HEADER: ticket}
        status, answer = self._transport.send(method, path, headers, body)
        if 200 <= status < 300:
            return
        if status == 409 or (status in (400, 403, 404, 406)
                             and answers.is_ironics(answer)):
            raise Refused(status, answers.said(answer))
        raise errors.IronicUnavailable(
            f'Ironic answered {status} to a change of a node '
            f'({method} {path}): {answers.said(answer).rstrip(".")}. '
            + ("Ironic does not accept this service's credentials: the "
               'operator should check [ironic] in ironic-reservations.conf.'
               if status == 401 else 'The change is tried again later.'))

    def _pages(self, read: Callable[[Any], _T], filters: Mapping[str, str],
               path: str = '/v1/nodes', fields: str | None = _FIELDS
               ) -> Iterator[list[_T]]:
        """Read a list of nodes.

        :param read: parses each of them.
        """
        # By default, Ironic omits nodes that have a parent.
        query = {**filters, 'include_children': 'true'}
        if fields is not None:
            query['fields'] = fields
        return self._list(f'{path}?{parse.urlencode(query)}', 'nodes', read,
                          'all nodes')

    def _list(self, path: str, kind: str, read: Callable[[Any], _T],
              what: str) -> Iterator[list[_T]]:
        """Read a list page by page.

        :param path: the path of the first page, with a query.
        :param kind: the key of the list.
        :param read: parses each object in it.
        :param what: the objects, for the error message.
        """
        query, seen = path, set[str]()
        while True:
            status, body = self._get(query)
            if status != 200:
                # Raised also if the marker has been deleted since: an
                # incomplete list must not be used as a complete one.
                raise errors.IronicUnavailable(
                    f'Ironic answered {status} to a request for {what}: '
                    f'{answers.said(body)}')
            page, marker = answers.parsed(
                path, body, lambda body: answers.page(body, kind, read))
            if marker is not None:
                answers.check_end(marker, seen)
            yield page
            if marker is None:
                return
            query = f'{path}&marker={parse.quote_plus(marker)}'
