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

"""/v1/maintenances: maintenance windows of nodes."""

from __future__ import annotations

from collections.abc import Mapping
import datetime
from typing import Any

import pecan

from ironic_reservations import errors
from ironic_reservations.api import expose
from ironic_reservations.api import request_key
from ironic_reservations.api import url
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.types import basic
from ironic_reservations.api.types import lease as lease_types
from ironic_reservations.engine.leases import rehearsal
from ironic_reservations.features.maintenance import create
from ironic_reservations.features.maintenance import find
from ironic_reservations.features.maintenance import holdings
from ironic_reservations.features.maintenance import types
from ironic_reservations.features.maintenance import values
from ironic_reservations.features.maintenance import waits
from ironic_reservations.model import uuids

_PATH = f'/v{versions.MAJOR}/maintenances'


class MaintenancesController(rest.Controller):
    """Creates, lists and ends maintenance windows."""

    _policy = 'reservation:maintenance:'

    @expose.expose(query=lease_types.ChangeQuery, takes_body=True,
                   since=versions.MAINTENANCE)
    def post(self, call: expose.Call) -> pecan.Response:
        """Create a window, or return the moves of a dry run."""
        self._authorize(call, 'create')
        dry_run = bool(call.query.dry_run)
        request = _ask(call)
        made = create.create(self._engine, request, dry_run,
                             request_key.identity(
                                 call, self._engine, 'maintenance', request))
        document = {'maintenance': {**_shape(made.window),
                                    **_effect(made, call.minor)}}
        if dry_run:
            document['maintenance']['uuid'] = None
            document['maintenance']['accepted'] = not made.reasons
            document['maintenance']['reasons'] = list(made.reasons)
            return expose.answer(document)
        base = url.root(call.environ, self._engine.conf)
        return expose.answer(document, 201,
                             Location=f'{base}{_PATH}/{made.window.id}')

    @expose.expose(since=versions.MAINTENANCE)
    def get_all(self, call: expose.Call) -> pecan.Response:
        """List the windows, ordered by start."""
        self._authorize(call, 'get')
        return expose.answer({'maintenances': [
            _shape(each) for each in find.page(self._engine)]})

    @expose.expose(since=versions.MAINTENANCE)
    def get_one(self, call: expose.Call, ident: str) -> pecan.Response:
        """Return the window."""
        self._authorize(call, 'get')
        found = find.get(self._engine, uuids.canonical(ident))
        shaped = _shape(found)
        if call.minor >= versions.MAINTENANCE_WAITS:
            waiting = waits.read(self._engine, found)
            for node in shaped['nodes']:
                node['waiting'] = _waiting(waiting.get(node['node_uuid']))
        return expose.answer({'maintenance': shaped})

    @expose.expose(since=versions.MAINTENANCE)
    def delete(self, call: expose.Call, ident: str) -> pecan.Response:
        """End the window, or cancel it before its start."""
        self._authorize(call, 'delete')
        find.end(self._engine, uuids.canonical(ident))
        return expose.empty()


def _ask(call: expose.Call) -> create.WindowRequest:
    wanted = basic.read(types.NewMaintenance, call.document, call.minor,
                        'key')
    if (wanted.nodes is None and wanted.resource_class is None
            and not wanted.resource_properties):
        raise errors.InvalidValue(
            'The request does not say which nodes to book. Send nodes, '
            'resource_class or resource_properties.')
    if wanted.ends_at is None and wanted.duration is None:
        raise errors.InvalidValue(
            'The key ends_at is missing. Send it'
            + (', or duration.' if call.minor >= versions.LASTING else '.'))
    if wanted.ends_at is not None and wanted.duration is not None:
        raise errors.InvalidValue(
            'duration and ends_at both say when the maintenance ends. Send '
            'one of them.')
    return create.WindowRequest(
        name=wanted.name, reason=wanted.reason or wanted.name,
        starts_at=wanted.starts_at, ends_at=wanted.ends_at,
        lasts=(None if wanted.duration is None else
               datetime.timedelta(seconds=wanted.duration)),
        nodes=wanted.nodes, resource_class=wanted.resource_class,
        properties=wanted.resource_properties or '',
        drain=bool(wanted.drain), force=bool(wanted.force),
        project_id=call.context.project_id, user_id=call.context.user_id)


def _shape(window: values.Window) -> dict[str, Any]:
    return {
        'uuid': window.id, 'name': window.name, 'reason': window.reason,
        'starts_at': window.starts_at.isoformat(),
        'ends_at': window.ends_at.isoformat(), 'drain': window.drain,
        'state': window.state.value,
        'created_at': window.created_at.isoformat(),
        'updated_at': _at(window.updated_at),
        'nodes': [{'node_uuid': each.node_uuid,
                   'starts_at': each.starts_at.isoformat(),
                   'ends_at': each.ends_at.isoformat(),
                   'state': each.state.value} for each in window.nodes]}


def _waiting(wait: waits.Wait | None) -> dict[str, Any] | None:
    return None if wait is None else {
        'for': wait.reason, 'since': wait.since.isoformat(),
        'until': _at(wait.until)}


def _effect(made: create.Planned, minor: int) -> dict[str, Any]:
    effect = {
        'bound': [_bound(each, made.lease_ids) for each in made.bound],
        'moves': [{**_booked(each, made.lease_ids), 'to': each.to}
                  for each in made.moves],
        'cannot_move': [_booked(each, made.lease_ids)
                        for each in made.cannot_move]}
    if minor >= versions.MAINTENANCE_RESCHEDULED:
        effect['rescheduled'] = list(map(_rescheduled, made.rescheduled))
    return effect


def _rescheduled(lease: rehearsal.Moved) -> dict[str, Any]:
    return {'lease_id': lease.id, 'lease_name': lease.name,
            'project_id': lease.project_id,
            'starts_at': lease.start.isoformat(),
            'ends_at': lease.end.isoformat(),
            'shift': round(lease.shift.total_seconds())}


def _bound(each: holdings.Bound, lease_ids: Mapping[str, str]
           ) -> dict[str, Any]:
    return {'node_uuid': each.node_uuid, 'kind': each.kind.value,
            'lease_id': lease_ids.get(each.reservation_id or ''),
            'project_id': each.project_id, 'until': _at(each.until)}


def _booked(each: create.Booked, lease_ids: Mapping[str, str]
            ) -> dict[str, Any]:
    row = each.row
    return {'lease_id': lease_ids.get(row.reservation_id),
            'project_id': row.project_id, 'node_uuid': row.node_uuid,
            'starts_at': row.starts_at.isoformat(),
            'ends_at': row.ends_at.isoformat()}


def _at(time: datetime.datetime | None) -> str | None:
    return None if time is None else time.isoformat()
