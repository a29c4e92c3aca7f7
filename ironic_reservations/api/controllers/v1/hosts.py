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
"""/v1/os-hosts: nodes that are open to leases, in the format of Blazar."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import pecan

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import expose
from ironic_reservations.api import url
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.types import basic
from ironic_reservations.api.types import dates
from ironic_reservations.api.types import host as host_types
from ironic_reservations.api.types import host_shape
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hosts
from ironic_reservations.model import leases

_PATH = f'/v{versions.MAJOR}/os-hosts'


class _Controller(rest.Controller):
    """The base class of these controllers."""

    _policy = 'reservation:host:'


class HostsController(_Controller):
    """Hosts, each by its id, or by the name or uuid of its node."""

    def __init__(self, engine: Engine, enforcer: policies.Enforcer) -> None:
        super().__init__(engine, enforcer)
        self.allocations = AllocationsController(engine, enforcer)
        self.allocation = AllocationController(engine, enforcer)
        self.properties = PropertiesController(engine, enforcer)

    @expose.expose(takes_body=True)
    def post(self, call: expose.Call) -> pecan.Response:
        """Open a node or a compute host, or all of a class, to leases."""
        self._authorize(call, 'create')
        wanted = host_types.new_hosts(call.document)
        if wanted.name is None:
            assert wanted.resource_class is not None
            return expose.answer({'hosts': [
                host_shape.shape(each) for each in hosts.add_class(
                    self._engine, wanted.resource_class,
                    wanted.capabilities)]}, 201)
        made = hosts.add(self._engine, wanted.name, wanted.capabilities)
        base = url.root(call.environ, self._engine.conf)
        return _answer(made, 201, Location=f'{base}{_PATH}/{made.id}')

    @expose.expose(query=host_types.HostQuery)
    def get_all(self, call: expose.Call) -> pecan.Response:
        """List hosts, in pages if the query has a limit."""
        self._authorize(call, 'get')
        limit = call.query.limit
        if limit is not None:
            limit = min(limit, self._engine.conf.api.max_limit)
        page = hosts.page(self._engine, limit, call.query.marker)
        document: dict[str, Any] = {
            'hosts': self._shown(call, page)}
        if limit is not None and limit == len(page):
            document['next'] = url.page(
                url.root(call.environ, self._engine.conf) + _PATH,
                {'limit': limit, 'marker': page[-1].id})
        return expose.answer(document)

    @expose.expose(query=basic.BlazarQuery)
    def get_one(self, call: expose.Call, ident: str) -> pecan.Response:
        """Return the host."""
        self._authorize(call, 'get')
        shown, = self._shown(call, [hosts.find(self._engine, ident)])
        return expose.answer({'host': shown})

    @expose.expose(takes_body=True)
    def put(self, call: expose.Call, ident: str) -> pecan.Response:
        """Change capabilities of the host, or close it to leases."""
        self._authorize(call, 'update')
        changes, reservable = host_types.host_changes(call.document)
        host = hosts.find(self._engine, ident)
        return _answer(hosts.change(self._engine, host.id, changes,
                                    reservable))

    @expose.expose()
    def delete(self, call: expose.Call, ident: str) -> pecan.Response:
        """Delete the host."""
        self._authorize(call, 'delete')
        hosts.remove(self._engine, hosts.find(self._engine, ident).id)
        return expose.empty()

    def _shown(self, call: expose.Call, found: Sequence[leases.Host]
               ) -> list[dict[str, Any]]:
        """Return hosts without capabilities that the caller may not see."""
        public = None
        if not self._may(call, 'list_private_properties'):
            public = {each.name for each in hosts.properties(
                self._engine, with_private=False)}
        return [host_shape.shape(each, public) for each in found]


class _Allocations(_Controller):
    """The base class of the controllers of allocations."""

    def _shaper(self, call: expose.Call) -> Callable[
            [leases.Host, Sequence[tuple[leases.NodeBooking, str]]],
            dict[str, Any]]:
        """Return the function that shows an allocation to the caller."""
        if self._may(call, 'get_allocations'):
            return host_shape.shape_allocation
        # An answer about one lease would reveal its hosts.
        if (call.query.lease_id, call.query.reservation_id) != (None, None):
            self._authorize(call, 'get_allocations')
        self._authorize(call, 'get_allocation_times')
        return host_shape.shape_times


class AllocationsController(_Allocations):
    """The allocations of all hosts."""

    @expose.expose(query=host_types.AllocationQuery)
    def get_all(self, call: expose.Call) -> pecan.Response:
        """List all hosts, with their bookings."""
        shape = self._shaper(call)
        return expose.answer({'allocations': [
            shape(*each) for each in hosts.allocations(
                self._engine, call.query.lease_id, call.query.reservation_id)
        ]})


class AllocationController(_Allocations):
    """The allocation of one host."""

    @expose.expose(query=host_types.AllocationQuery)
    def get(self, call: expose.Call, ident: str) -> pecan.Response:
        """Return the bookings of the host."""
        shape = self._shaper(call)
        host = hosts.find(self._engine, ident)
        (found,) = hosts.allocations(self._engine, call.query.lease_id,
                                     call.query.reservation_id, host)
        return expose.answer({'allocation': shape(*found)})


class PropertiesController(_Controller):
    """The capabilities of hosts by which leases may select them."""

    @expose.expose(query=host_types.PropertyQuery)
    def get_all(self, call: expose.Call) -> pecan.Response:
        """List the names, with their values on request."""
        with_private = bool(call.query.all)
        self._authorize(call, 'list_private_properties' if with_private
                        else 'list_properties')
        found = hosts.properties(self._engine, with_private)
        if call.query.detail:
            return expose.answer({'resource_properties': [
                {'property': each.name, 'private': each.private,
                 'values': list(each.values)} for each in found]})
        return expose.answer({'resource_properties': [
            {'property': each.name} for each in found]})

    @expose.expose(takes_body=True)
    def patch(self, call: expose.Call, ident: str) -> pecan.Response:
        """Make a capability private or public."""
        self._authorize(call, 'update_property')
        private = basic.read(host_types.PropertyUpdate, call.document,
                             call.minor, 'key').private
        if private is None:
            raise errors.InvalidValue('Missing parameter private.')
        changed = hosts.set_private(self._engine, ident, private)
        updated = changed.updated_at
        return expose.answer({'resource_property': {
            'id': changed.id,
            'resource_type': leases.PHYSICAL_HOST,
            'property_name': changed.name,
            'private': changed.private,
            'created_at': dates.write(changed.created_at),
            'updated_at': None if updated is None else dates.write(updated),
        }})


def _answer(host: leases.Host, status: int = 200,
            **headers: str) -> pecan.Response:
    return expose.answer({'host': host_shape.shape(host)}, status, **headers)
