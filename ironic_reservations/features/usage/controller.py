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

"""/v1/usage: the host hours of leases by day."""

from __future__ import annotations

from typing import Any

import pecan

from ironic_reservations.api import expose
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.types import basic
from ironic_reservations.features.usage import usage as engine_usage
from ironic_reservations.features.usage import values as usage

_HOUR = 3600 * 1000000
_DIGITS = 6


class UsageQuery(basic.Parts):
    """The query of ``GET /v1/usage``."""

    first_day = basic.attribute(basic.to_day, since=versions.USAGE)
    last_day = basic.attribute(basic.to_day, since=versions.USAGE)
    by = basic.attribute(
        basic.Some(**{each.value: versions.USAGE for each in usage.Group}),
        since=versions.USAGE)
    project = basic.attribute(basic.to_project, since=versions.USAGE)
    all_projects = basic.attribute(basic.to_flag, since=versions.USAGE)


class UsageController(rest.Controller):
    """The host hours of the caller's project, another one, or all."""

    _policy = 'reservation:usage:'

    @expose.expose(query=UsageQuery, since=versions.USAGE)
    def get(self, call: expose.Call) -> pecan.Response:
        """Return host hours promised, bound, deployed and unused."""
        own = call.context.project_id
        asked = call.query.project
        every = bool(call.query.all_projects)
        project = own if asked is None else asked
        self._authorize(
            call, 'get_all' if every or project != own else 'get',
            project_id=project)
        by = call.query.by
        report = engine_usage.read(self._engine, engine_usage.UsageRequest(
            call.query.first_day, call.query.last_day, project, every,
            tuple(usage.Group) if by is None
            else [usage.Group(word) for word in by]))
        return expose.answer({'usage': {
            'first_day': report.first.isoformat(),
            'last_day': report.last.isoformat(),
            'hours': [_shape(row) for row in report.rows],
            'total': _hours(report.total)}})


def _shape(row: usage.Usage) -> dict[str, Any]:
    return {'day': None if row.day is None else row.day.isoformat(),
            'project_id': row.project_id,
            'resource_class': row.resource_class or None, **_hours(row)}


def _hours(row: usage.Usage) -> dict[str, float]:
    return {name: round(getattr(row, name) / _HOUR, _DIGITS)
            for name in ('promised', 'bound', 'deployed', 'unused')}
