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
"""/v1/availability: the number of free hosts over time, without names."""

from __future__ import annotations

import datetime
from typing import Any

import pecan

from ironic_reservations import errors
from ironic_reservations.api import expose
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.controllers.v1 import visible_properties
from ironic_reservations.api.types import host as host_types
from ironic_reservations.api.types import lease_body
from ironic_reservations.engine import availability
from ironic_reservations.engine import default_condition

#: The length of the window if the request has no end.
_AHEAD = datetime.timedelta(days=30)


class AvailabilityController(rest.Controller):
    """The free hosts by class over time."""

    _policy = 'reservation:availability:'

    @expose.expose(query=host_types.AvailabilityQuery)
    def get(self, call: expose.Call) -> pecan.Response:
        """Return the free hosts, and the earliest start."""
        context = call.context
        self._authorize(call, 'get')
        asked = call.query
        start, end = self._window(asked)
        count, duration = asked.count, asked.duration
        if count is not None and duration is None:
            raise errors.InvalidValue(
                'count needs duration: the number of seconds for which the '
                'hosts are needed. Send both.')
        slots = self._slots(call)
        texts = (asked.hypervisor_properties or '',
                 asked.resource_properties or '')
        if any(texts):
            visible_properties.check(self._engine, self._enforcer, context,
                                     (texts,))
        if count is not None:
            texts = texts[0], default_condition.of(self._engine.conf,
                                                   texts[1])
        found = availability.count_free(
            self._engine, resource_class=asked.resource_class,
            hypervisor_properties=texts[0], resource_properties=texts[1],
            start=start, end=end, count=count, duration=duration,
            slots=slots, caller=availability.Caller(
                context.project_id, self.limits_of(
                    context, 'leases', context.project_id)))
        document: dict[str, Any] = {
            'start_date': start.isoformat(), 'end_date': end.isoformat(),
            'classes': [_shape(each) for each in found.classes],
            'earliest': None if found.earliest is None
            else found.earliest.isoformat()}
        if slots is not None:
            assert duration is not None
            document['slots'] = [
                {'start_date': each.isoformat(), 'end_date': (
                    each + datetime.timedelta(seconds=duration)).isoformat()}
                for each in found.slots]
        return expose.answer({'availability': document})

    def _slots(self, call: expose.Call) -> int | None:
        """Return the number of slots in the query.

        Extensions of Blazar's format need our own version, which the same
        header names beside Blazar's.
        """
        slots: int | None = call.query.slots
        if slots is not None and call.own_minor < versions.CALENDAR:
            raise errors.UnknownKey(
                'The query parameter slots came with version '
                f'{versions.text(versions.CALENDAR)} of '
                f'{versions.SERVICE_TYPE}. Ask for it in the header '
                f'{versions.HEADER}.')
        return slots

    def _window(self, asked: Any
                ) -> tuple[datetime.datetime, datetime.datetime]:
        """Return start and end of the window."""
        now = self._engine.clock()
        start = lease_body.at(lease_body.either(asked, 'start'), now) or now
        end = (lease_body.at(lease_body.either(asked, 'end'), now)
               or start + _AHEAD)
        if end <= start:
            raise errors.InvalidValue(
                'End date must be later than start date.')
        return start, end


def _shape(found: availability.ClassAvailability) -> dict[str, Any]:
    return {'resource_class': found.resource_class, 'hosts': found.hosts,
            'spans': [{'start_date': each.start.isoformat(),
                       'end_date': each.end.isoformat(), 'free': each.free}
                      for each in found.spans]}
