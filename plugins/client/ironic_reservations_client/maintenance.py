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
import functools
from typing import Any
from typing import cast

from oslo_utils import uuidutils

from ironic_reservations_client import payload
from ironic_reservations_client import requirement_text
from ironic_reservations_client import resource
from ironic_reservations_client import times

_served = functools.partial(resource.served_since, '1.9',
                            'has no maintenance windows: they')


class Maintenance(resource.Resource):
    """Nodes that an operator has booked for maintenance.

    Its attributes are those of the API: ``uuid``, ``name``, ``reason``,
    ``starts_at``, ``ends_at``, ``drain``, ``state``, ``nodes``; and, as
    made, ``bound``, ``moves``, ``cannot_move``, ``slides``.
    """

    envelope = 'maintenance'


class MaintenanceManager(resource.Collection[Maintenance]):
    """The operations on maintenance windows."""

    resource_class: type[Maintenance] = Maintenance
    _resource_name: str = 'maintenances'

    def create(self, name: str, end: times.Instant,
               start: times.Instant | None = None,
               reason: str | None = None,
               nodes: Iterable[str] = (), resource_class: str | None = None,
               conditions: Iterable[str] = (), traits: Iterable[str] = (),
               drain: bool = False, force: bool = False,
               dry_run: bool = False,
               key: str | None = None) -> Maintenance:
        """Book nodes for maintenance.

        :param nodes: names or UUIDs; with none, all that have the rest.
        :param conditions: what nodes have to be like, as of leases.
        :param drain: wait for those who have nodes.
        :param force: book nodes, whoever is in the way.
        :param dry_run: tell what that would do, and book nothing.
        :param key: a name for the request: sent twice, it is served once.  The
            default is a new one, which protects the retries of this call.
        :raises Conflict: somebody is in the way.
        :raises NotServed: the service is older than that.
        """
        body = {'name': name, 'ends_at': times.written(end)}
        optional: dict[str, Any] = {
            'starts_at': None if start in (None, times.NOW)
            else times.written(cast(times.Instant, start)),
            'reason': reason, 'nodes': list(nodes),
            'resource_class': resource_class,
            'resource_properties': requirement_text.properties(
                conditions, traits=traits),
            'drain': drain, 'force': force}
        body.update({key: value for key, value in optional.items() if value})
        with _served():
            return self._ask('POST', self._path(), body=body,
                             **payload.once(key, dry_run))

    def list(self) -> builtins.list[Maintenance]:
        """List windows, the first to start first.

        :raises NotServed: the service is older than that.
        """
        with _served():
            return cast(builtins.list[Maintenance], self._list(
                self._path(), 'maintenances'))

    def find(self, ident: str) -> Maintenance:
        """Get one window by its UUID or by its name.

        :raises NotFound: there is none.
        :raises ironicclient.exc.CommandError: several have that name.
        """
        if uuidutils.is_uuid_like(ident):
            return self.get(ident)
        return resource.named(
            ident, self.list(), lambda each: each.state == 'over',
            'maintenance window', 'uuid',
            '. "reservation maintenance list" lists the windows.')
