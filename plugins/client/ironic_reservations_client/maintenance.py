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

"""Maintenance windows, through python-ironicclient."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from ironic_reservations_client import fields
from ironic_reservations_client import payload
from ironic_reservations_client import requirement_text
from ironic_reservations_client import resource
from ironic_reservations_client import resources
from ironic_reservations_client import times


class Maintenance(resource.Resource):
    """Nodes that an operator has booked for maintenance.

    Its attributes are those of the API: ``uuid``, ``name``, ``reason``,
    ``starts_at``, ``ends_at``, ``drain``, ``state``, ``nodes``; and, when it
    is created, ``bound``, ``moves``, ``cannot_move``, ``rescheduled``.
    """

    describes = resources.MAINTENANCE


class MaintenanceManager(resource.Collection[Maintenance]):
    """The operations on maintenance windows."""

    resource_class = Maintenance

    def create(self, name: str, end: times.Instant | None = None,
               start: times.Instant | None = None,
               reason: str | None = None, nodes: Iterable[str] = (),
               resource_class: str | None = None,
               conditions: Iterable[str] = (), traits: Iterable[str] = (),
               drain: bool = False, force: bool = False,
               dry_run: bool = False, key: str | None = None,
               duration: int | None = None) -> Maintenance:
        """Book nodes for maintenance.

        :param end: the end; ``None`` with a duration.
        :param duration: the duration in seconds, instead of the end.
        :param nodes: names or UUIDs; by default all nodes that match the other
            arguments.
        :param conditions: conditions on nodes, as for leases.
        :param drain: wait until leases that have started have released the
            nodes.
        :param force: book nodes even if they have holders.
        :param dry_run: whether to return the effect without booking.
        :param key: a name for the request: sent twice, it is served once.  The
            default is a new one, which protects the retries of this call.
        :raises Conflict: a node has a holder.
        """
        given = {'start': None if start == times.NOW else start,
                 'end': end, 'duration': duration,
                 'reason': reason, 'nodes': fields.several(nodes),
                 'drain': drain, 'force': force,
                 'resource_class': resource_class,
                 'resource_properties': requirement_text.properties(
                     conditions, traits=traits)}
        return self.post(resources.MAINTENANCE.body(name=name, **{
            name: value or None for name, value in given.items()}), dry_run,
            key)

    def post(self, body: Mapping[str, Any], dry_run: bool = False,
             key: str | None = None) -> Maintenance:
        """Book nodes for maintenance.

        :param body: a body of the API.
        :param dry_run: whether to return the effect without booking.
        :param key: a name for the request: sent twice, it is served once.  The
            default is a new one, which protects the retries of this call.
        :raises Conflict: a node has a holder, which is in ``reasons``.
        """
        return self._ask('POST', self._path(), body=dict(body),
                         **payload.once(key, dry_run))

    def list(self) -> builtins.list[Maintenance]:
        """List windows, ordered by start."""
        return self._list({})

    def find(self, ident: str) -> Maintenance:
        """Get one window by its UUID or by its name.

        :raises NotFound: there is no such window.
        :raises ironicclient.exc.CommandError: several windows have that name.
        """
        return self._find(
            ident, self.list, lambda each: each.state == 'over',
            'maintenance window',
            '. "reservation maintenance list" lists the windows.')
