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

"""/v1/reservations: reservations of single nodes that start at once."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import pecan

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import expose
from ironic_reservations.api import request_key
from ironic_reservations.api import url
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.middleware import metrics as api_metrics
from ironic_reservations.api.types import basic
from ironic_reservations.engine import earlier
from ironic_reservations.engine import Engine
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import lifetime
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.model import node_reservation
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick

#: The key of the environ for Ironic as the caller sees it, inside its API.
OBSERVER = 'ironic_reservations.observer'

_KIND = 'reservation'
_PATH = f'/v{versions.MAJOR}/reservations'


class ReservationsController(rest.Controller):
    """The reservations that the caller may see."""

    _policy = 'baremetal:reservation:'

    def __init__(self, engine: Engine, enforcer: policies.Enforcer,
                 metrics: api_metrics.Metrics) -> None:
        super().__init__(engine, enforcer)
        self._metrics = metrics

    @expose.expose(takes_body=True)
    def post(self, call: expose.Call) -> pecan.Response:
        """Reserve the first node of a list, or a node by its properties."""
        context = call.context
        self._authorize(call, 'create')
        request = self._read_ask(call)
        sees = visibility.Visibility(
            everything=self._may(call, 'create_any_node'),
            project_id=context.project_id)
        with self._metrics.picking():
            made = reserve.reserve(self._engine, request, sees,
                                   call.environ.get(OBSERVER),
                                   self.limits_of(context, 'reservations',
                                                  context.project_id),
                                   _key(call, self._engine, request))
        base = url.root(call.environ, self._engine.conf)
        return expose.answer({'reservation': shaper(call.minor, base)(made)},
                             201, Location=f'{base}{_PATH}/{made.uuid}')

    def _read_ask(self, call: expose.Call) -> pick.NodeRequest:
        wanted = basic.read(basic.NewReservation, call.document, call.minor,
                            'key')
        node_uuids, resource_class = wanted.node_uuid, wanted.resource_class
        traits, flavor = wanted.traits or frozenset(), wanted.flavor
        most = self._engine.conf.api.max_nodes_per_request
        if flavor is not None and (resource_class or traits):
            raise errors.InvalidValue(
                'flavor: a flavor determines the resource class and the '
                'traits. Send either flavor, or resource_class and traits.')
        if node_uuids is None and not (resource_class or traits or flavor):
            raise errors.InvalidValue(
                'The request does not say which nodes to choose from. Send '
                'node_uuid'
                + ('' if call.minor < versions.PICK
                   else ', or resource_class, or traits')
                + ('.' if call.minor < versions.FLAVORS else ', or flavor.'))
        if node_uuids is not None and len(node_uuids) > most:
            raise errors.InvalidValue(
                f'node_uuid: the list has {len(node_uuids)} nodes, and may '
                f'have at most {most}. Send a shorter list.')
        expires_at, ttl = wanted.expires_at, wanted.ttl
        lifetime.expiry(self._engine.conf, self._engine.clock(), expires_at,
                        ttl)
        return pick.NodeRequest(
            instance_uuid=wanted.instance_uuid, node_uuids=node_uuids,
            resource_class=resource_class,
            traits=flavor.required if flavor else traits,
            class_name=flavor.class_name if flavor else None,
            forbidden=flavor.forbidden if flavor else frozenset(),
            uuid=wanted.uuid, expires_at=expires_at, ttl=ttl,
            project_id=call.context.project_id,
            user_id=call.context.user_id)

    @expose.expose(query=basic.ListQuery)
    def get_all(self, call: expose.Call) -> pecan.Response:
        """List reservations, in pages since version 1.3."""
        query = self._read_query(call)
        fields = call.query.fields
        page = [] if query is None else find.page(self._engine, query)
        base = url.root(call.environ, self._engine.conf)
        shape = shaper(call.minor, base, fields)
        document: dict[str, Any] = {
            'reservations': [shape(each) for each in page]}
        if query is not None and query.limit == len(page):
            document['next'] = _next(base, query, fields, page[-1].uuid)
        return expose.answer(document)

    def _read_query(self, call: expose.Call) -> find.Query | None:
        """Return the query, or ``None`` if nothing can be visible."""
        asked = call.query
        project = self._enforcer.visible_project(
            call.context, self._policy, asked.project, 'reservations')
        if project == '':
            return None
        marker = asked.marker
        limit = None
        if call.minor >= versions.PAGES:
            most = self._engine.conf.api.max_limit
            limit = min(asked.limit or most, most)
        if marker is not None:
            self._check_marker(call, marker)
        return find.Query(
            node_uuid=asked.node, instance_uuid=asked.instance,
            project_id=project, marker=marker, limit=limit,
            sort_key=asked.sort_key or 'created_at',
            sort_dir=asked.sort_dir or 'asc')

    def _check_marker(self, call: expose.Call, marker: str) -> None:
        """Check that the caller may see the reservation of a marker."""
        try:
            reservation = find.get(self._engine, marker)
        except errors.ReservationNotFound:
            # A reservation that expired between two pages is still a valid
            # marker.
            return
        if not self._sees(call, reservation.project_id):
            raise find.no_marker(marker)

    @expose.expose(query=basic.ShowQuery)
    def get_one(self, call: expose.Call, ident: str) -> pecan.Response:
        """Return the reservation."""
        found = self._find(call, ident)
        return self._answer(call, found, call.query.fields)

    @expose.expose(takes_body=True, since=versions.TIMES)
    def patch(self, call: expose.Call, ident: str) -> pecan.Response:
        """Renew the reservation."""
        found = self._find(call, ident, 'update')
        wanted = basic.read(basic.Renewal, _replaced(call.document),
                            call.minor, 'path')
        return self._answer(call, renew.renew(
            self._engine, found.uuid, wanted.expires_at, wanted.ttl, found,
            self.limits_of(call.context, 'reservations', found.project_id)))

    @expose.expose()
    def delete(self, call: expose.Call, ident: str) -> pecan.Response:
        """Release the reservation."""
        found = self._find(call, ident, 'delete')
        release.release(self._engine, found.uuid, found)
        return expose.empty()

    def _answer(self, call: expose.Call,
                reservation: node_reservation.Reservation,
                fields: Sequence[str] | None = None) -> pecan.Response:
        base = url.root(call.environ, self._engine.conf)
        shape = shaper(call.minor, base, fields)
        return expose.answer({'reservation': shape(reservation)})

    def _find(self, call: expose.Call, ident: str,
              action: str | None = None) -> node_reservation.Reservation:
        """Return a reservation that the caller may see, and perhaps change.

        For another project's reservation, the answer is 404, not 403: its uuid
        is a proof, and an answer must not confirm it.
        """
        uuid = basic.uuid_of(ident, 'reservation', errors.ReservationNotFound)
        reservation, being_made = find.get_as_made(self._engine, uuid)
        self._check(call, reservation.project_id, action,
                    errors.ReservationNotFound(find.unknown(uuid)))
        if being_made and action != 'delete':
            raise find.being_made(reservation)
        return reservation


def _key(call: expose.Call, engine: Engine,
         request: pick.NodeRequest) -> earlier.Key | None:
    """Return the identity of the request, if it has one.

    The uuid of the reservation is an identity only in newer versions, since
    older clients may reuse the uuid of a reservation that has ended.
    """
    given = request_key.identity(call, engine, _KIND, request)
    if (given is not None or request.uuid is None
            or call.minor < versions.REQUEST_KEYS):
        return given
    request_key.count(call, engine)
    return earlier.of_uuid(_KIND, request.project_id, request.uuid)


def _replaced(document: Any) -> dict[str, Any]:
    """Return the key and value of a JSON patch that replaces one key."""
    example = '[{"op": "replace", "path": "/ttl", "value": 600}]'
    if (not isinstance(document, list) or len(document) != 1
            or not isinstance(document[0], dict)):
        raise errors.InvalidValue(
            f'The body is not a JSON patch with one step, such as {example}.')
    step = document[0]
    for key in step:
        if key not in ('op', 'path', 'value'):
            raise errors.UnknownKey(
                f'There is no key {ascii(key)[:80]} in a step of a patch. '
                'Possible there: op, path, value.')
    path = step.get('path')
    if step.get('op') != 'replace' or 'value' not in step or not (
            isinstance(path, str) and path.startswith('/')):
        raise errors.InvalidValue(
            'The step of the patch must have the op "replace", a path and a '
            f'value, such as {example}.')
    if path[1:] in basic.FIELDS and path != '/expires_at':
        raise errors.InvalidValue(
            f'{path} of a reservation cannot be changed; /expires_at and '
            '/ttl can.')
    return {path[1:]: step['value']}


def _next(base: str, query: find.Query, fields: Sequence[str] | None,
          last: str) -> str:
    return url.page(base + _PATH, {
        'limit': query.limit, 'marker': last, 'node': query.node_uuid,
        'instance': query.instance_uuid, 'project': query.project_id,
        'sort_key': query.sort_key, 'sort_dir': query.sort_dir,
        'fields': ','.join(fields) if fields else None})


def shaper(minor: int, base: str, fields: Sequence[str] | None = None
           ) -> Callable[[node_reservation.Reservation], dict[str, Any]]:
    """Return the function that shows a reservation to clients.

    :param minor: the version in use.
    :param base: the URL of the API's root.
    :param fields: the keys to show; by default all of the version.
    """
    def links(reservation: node_reservation.Reservation
              ) -> list[dict[str, str]]:
        href = f'{base}{_PATH}/{reservation.uuid}'
        return [{'href': href, 'rel': 'self'},
                {'href': href, 'rel': 'bookmark'}]

    getters = {**_GETTERS, 'links': links}
    chosen = [(name, getters[name]) for name, since in basic.FIELDS.items()
              if since <= minor and (fields is None or name in fields)]
    return lambda reservation: {name: getter(reservation)
                                for name, getter in chosen}


def _expires_at(reservation: node_reservation.Reservation) -> str | None:
    if reservation.state is node_reservation.State.IN_USE:
        # A used reservation ends with the use of the node, not at this time.
        return None
    return reservation.expires_at.isoformat()


def _state(reservation: node_reservation.Reservation) -> str:
    # Clients need not know that Ironic has not answered yet. If Ironic refuses
    # the request, the reservation ends at the same time as without it.
    if reservation.state is node_reservation.State.STARTING:
        return node_reservation.State.RESERVED.value
    return reservation.state.value


_GETTERS: dict[str, Callable[[node_reservation.Reservation], Any]] = {
    'uuid': lambda each: each.uuid,
    'node_uuid': lambda each: each.node_uuid,
    'instance_uuid': lambda each: each.instance_uuid,
    'created_at': lambda each: each.created_at.isoformat(),
    'updated_at': lambda each: (each.updated_at.isoformat()
                                if each.updated_at else None),
    'expires_at': _expires_at,
    'state': _state,
    'project_id': lambda each: each.project_id,
    'user_id': lambda each: each.user_id,
    'suspended': lambda each: each.suspended is not None,
    'suspended_reason': lambda each: each.suspended,
}
