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
"""/v1/calendar: the document from which the calendar page is drawn."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
from typing import Any
from urllib import parse

import pecan

from ironic_reservations import policies
from ironic_reservations.api import conditional
from ironic_reservations.api import expose
from ironic_reservations.api import identity
from ironic_reservations.api import url
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.controllers.v1 import visible_properties
from ironic_reservations.api.types import lease_body
from ironic_reservations.engine import Engine
from ironic_reservations.features.calendar import document as calendar
from ironic_reservations.features.calendar import (
    token_controller as calendar_token,
)
from ironic_reservations.features.calendar import types as calendar_types
from ironic_reservations.features.calendar import values as model
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition

_PATH = f'/v{versions.MAJOR}/calendar'
#: The length of the window for a request without an end.
_AHEAD = datetime.timedelta(days=30)
_SECOND = datetime.timedelta(seconds=1)
#: Conditions with the version that added them, and the condition of such hosts
#: in older versions.
_LATER = {
    model.MAINTENANCE: (versions.CALENDAR_MAINTENANCE,
                        node_condition.Condition.BROKEN.value),
    model.CLEANING: (versions.CALENDAR_STATES,
                     node_condition.Condition.TRANSITION.value)}


class CalendarController(rest.Controller):
    """The free hosts over time, and the leases on each host."""

    _policy = 'reservation:calendar:'

    def __init__(self, engine: Engine, enforcer: policies.Enforcer,
                 fingerprint: identity.Fingerprint) -> None:
        super().__init__(engine, enforcer)
        self._calendars = calendar.Calendars(engine)
        self.token = calendar_token.TokenController(
            engine, enforcer, fingerprint)

    @expose.expose(query=calendar_types.CalendarQuery,
                   since=versions.CALENDAR,
                   repeated=('resource_class', 'node'))
    def get(self, call: expose.Call) -> pecan.Response:
        """Return a window of the calendar."""
        self._authorize(call, 'get')
        wanted = self._wanted(call.query, call.minor)
        viewer = self._viewer(call)
        rack = self._rack_property(call)
        asked = (call.minor, wanted, viewer, self._base(call), rack)
        if conditional.has_any(call.environ):
            tag = _tag(self._calendars.sequence(wanted, viewer), *asked)
            if conditional.has(call.environ, tag):
                return conditional.unchanged(tag)
        found = self._calendars.read(wanted, viewer)
        return conditional.answer(
            call.environ, _tag(found.sequence, *asked),
            {'calendar': self._document(call, wanted, viewer, found, rack)})

    def _rack_property(self, call: expose.Call) -> str | None:
        """Return the property by which the caller may select a rack."""
        name: str = self._engine.conf.api.calendar_rack_property
        if call.minor < versions.CALENDAR_STATES or not name:
            return None
        return name if visible_properties.may_name(
            self._engine, self._enforcer, call.context, name) else None

    def _wanted(self, asked: Any, minor: int) -> model.CalendarRequest:
        now = self._engine.clock()
        start = lease_body.at(asked.from_, now)
        if start is None:
            start = now.replace(minute=0, second=0, microsecond=0)
        end = lease_body.at(asked.to, now) or start + _AHEAD
        # A window of less than a second is rounded up; an empty one is
        # refused.
        end = (end.replace(microsecond=0) + _SECOND
               if end.microsecond and end > start else end)
        start = start if end <= start else start.replace(microsecond=0)
        most = self._engine.conf.api.max_limit
        return model.CalendarRequest(
            start, end, asked.resource_class, bool(asked.rows), asked.marker,
            min(asked.limit or most, most), asked.node, bool(asked.racks),
            asked.rack, minor >= versions.LOANS)

    def _viewer(self, call: expose.Call) -> model.Viewer:
        own = {'project_id': call.context.project_id}
        own_leases, all_leases, hosts, maintenances = (
            self._enforcer.check(call.context, rule, own) for rule in (
                'reservation:lease:list', 'reservation:lease:list_all',
                self._policy + 'get_hosts', 'reservation:maintenance:get'))
        return model.Viewer(
            call.context.project_id, self._enforcer.projects, own_leases,
            all_leases, hosts, maintenances,
            user_id=None if self._enforcer.projects
            or call.minor < versions.USERS else call.context.user_id)

    def _base(self, call: expose.Call) -> str:
        return url.root(call.environ, self._engine.conf) + _PATH

    def _document(self, call: expose.Call, wanted: model.CalendarRequest,
                  viewer: model.Viewer, found: calendar.Found,
                  rack: str | None) -> dict[str, Any]:
        shown = found.calendar()
        document: dict[str, Any] = {
            'origin': wanted.start.isoformat(),
            'end': wanted.seconds,
            'now': (found.now - wanted.start) // _SECOND,
            'margin': found.margin, 'sequence': found.sequence}
        minor = call.minor
        windows = minor >= versions.CALENDAR_MAINTENANCE
        if minor >= versions.CALENDAR_STATES:
            document['lent_until'] = shown.lent_until
            document['rack_property'] = rack
        if shown.classes is not None:
            document['classes'] = [
                {**_steps('resource_class', each, minor),
                 **({} if not wanted.racks else {
                     'racks': [_steps('rack', rack, minor)
                               for rack in each.racks]})}
                for each in shown.classes]
        if shown.rows is None:
            return document
        document['hosts'] = [_row(each, minor) for each in shown.rows]
        document['leases'] = [_lease(each, viewer, minor)
                              for each in shown.leases]
        if windows:
            document['maintenances'] = [
                {'uuid': each.id, 'name': each.name, 'reason': each.reason}
                for each in shown.windows]
        document['links'] = []
        if shown.more:
            document['links'].append({
                'rel': 'next', 'href': self._next(
                    call, wanted, shown.rows[-1].host.id)})
        return document

    def _next(self, call: expose.Call, wanted: model.CalendarRequest,
              last: int) -> str:
        asked = [('from', f'{wanted.start:%Y-%m-%dT%H:%M:%SZ}'),
                 ('to', f'{wanted.end:%Y-%m-%dT%H:%M:%SZ}'),
                 ('rows', 'true'), ('limit', str(wanted.limit)),
                 ('marker', str(last)),
                 *(() if wanted.rack is None else (('rack', wanted.rack),)),
                 *(
                     ('resource_class', name or '')
                     for name in sorted(wanted.classes or (),
                                        key=lambda name: name or ''))]
        return f'{self._base(call)}?{parse.urlencode(asked)}'


def _steps(key: str, steps: model.Steps, minor: int) -> dict[str, Any]:
    conditions = dict(steps.conditions)
    for name, (since, before) in _LATER.items():
        if minor < since:
            conditions[before] += conditions.pop(name)
    return {key: steps.name, 'hosts': steps.hosts,
            'conditions': conditions, 'steps': steps.steps}


def _row(row: model.Row, minor: int) -> dict[str, Any]:
    host, node = row.host, row.host.node
    condition = row.condition
    since, before = _LATER.get(condition, (0, condition))
    if minor < since:
        condition = before
    shown: dict[str, Any] = {
        'id': str(host.id), 'node_uuid': node.uuid if row.named else None,
        'name': node.name if row.named else None,
        'resource_class': node.resource_class, 'condition': condition,
        'maintenance': node.maintenance if row.named else None,
        'provision_state': node.provision_state if row.named else None,
        'kind': 'compute host' if node.compute else 'node',
        'bookings': row.bookings}
    if minor >= versions.CALENDAR_MAINTENANCE:
        shown['maintenances'] = row.maintenances
    if minor >= versions.CALENDAR_STATES:
        shown['lent'] = row.lent
    return shown


def _lease(lease: leases.NamedLease, viewer: model.Viewer,
           minor: int) -> dict[str, Any]:
    sees = viewer.sees(lease)
    user = {'user_id': lease.user_id if sees else None}
    return {**({'id': lease.id, 'name': lease.name,
                'own': viewer.owns(lease), 'project_id': lease.project_id,
                'degraded': lease.degraded, 'status': lease.status} if sees
               else {'id': None, 'name': None, 'own': False,
                     'project_id': None, 'degraded': False, 'status': None}),
            **(user if minor >= versions.USERS else {})}


def _tag(sequence: str, minor: int, wanted: model.CalendarRequest,
         viewer: model.Viewer, base: str, rack: str | None) -> str:
    """Return the entity tag of a document."""
    return hashlib.sha256(repr((
        sequence, minor, dataclasses.replace(wanted, classes=None),
        wanted.classes and sorted(wanted.classes, key=lambda name: name or ''),
        viewer, base, rack)).encode()).hexdigest()[:32]
