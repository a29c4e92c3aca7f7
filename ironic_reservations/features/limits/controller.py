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

"""/v1/limits: the limits of a project, and their usage."""

from __future__ import annotations

from typing import Any

import pecan

from ironic_reservations.api import expose
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.types import basic
from ironic_reservations.features.limits import configured
from ironic_reservations.features.limits import limit_usage
from ironic_reservations.model import limits


class LimitsQuery(basic.Parts):
    """The query of ``GET /v1/limits``."""

    project = basic.attribute(basic.to_project, since=versions.LIMITS)


class LimitsController(rest.Controller):
    """The limits of the caller or of a project."""

    _policy = 'reservation:limits:'

    @expose.expose(query=LimitsQuery, since=versions.LIMITS)
    def get(self, call: expose.Call) -> pecan.Response:
        """Return each limit with its usage."""
        own = call.context.project_id
        asked = call.query.project
        project = own if asked is None else asked
        self._authorize(call, 'get' if project == own else 'get_all',
                        project_id=project)
        allowed = {group: self._allowed(call, group, asked)
                   for group in configured.BY_GROUP}
        return expose.answer({'limits': {
            'project_id': project,
            'absolute': [
                _shape(each, call.minor) for each in limit_usage.read(
                    self._engine, project, allowed)
                if _since(each) <= call.minor]}})

    def _allowed(self, call: expose.Call, group: str,
                 asked: str | None) -> limits.Limits:
        """Return the limits of the caller, or of a project's members."""
        if asked is not None:
            return self._engine.limits[group, self._enforcer.projects]
        return self.limits_of(call.context, group,
                              call.context.project_id)


def _since(each: limit_usage.LimitUsage) -> int:
    """Return the first version that shows a limit."""
    if each.limit in limits.EXTENSIONS:
        return versions.EXTENSION_LIMITS
    return (versions.LIMITS if each.resource_class is None
            else versions.CLASS_LIMITS)


def _shape(each: limit_usage.LimitUsage, minor: int) -> dict[str, Any]:
    known = {'limit': each.limit, 'allowed': each.allowed, 'used': each.used,
             'unit': each.unit}
    if minor >= versions.CLASS_LIMITS:
        known['resource_class'] = each.resource_class
    return known
