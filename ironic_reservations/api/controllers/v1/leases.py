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
"""/v1/leases, in the format of Blazar."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import datetime
import functools
from typing import Any

import pecan

from ironic_reservations import errors
from ironic_reservations.api import expose
from ironic_reservations.api import request_key
from ironic_reservations.api import url
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.api.controllers.v1 import visible_properties
from ironic_reservations.api.types import basic
from ironic_reservations.api.types import dates
from ironic_reservations.api.types import lease as lease_types
from ironic_reservations.api.types import lease_body
from ironic_reservations.api.types import lease_document
from ironic_reservations.engine import default_condition
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hosts
from ironic_reservations.engine import retry
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.engine.leases import refusal_messages
from ironic_reservations.engine.leases import rehearsal
from ironic_reservations.model import leases

_PATH = f'/v{versions.MAJOR}/leases'


class LeasesController(rest.Controller):
    """The leases that the caller may see."""

    _policy = 'reservation:lease:'

    @expose.expose(query=lease_types.ChangeQuery, takes_body=True)
    def post(self, call: expose.Call) -> pecan.Response:
        """Create a lease, or return the result of a dry run."""
        context = call.context
        self._authorize(call, 'create')
        request = lease_body.new_lease(
            call.document, self._engine.clock(), context.project_id,
            context.user_id, request_key.read(call, self._engine),
            call.own_minor)
        if request.priority and self._enforcer.projects:
            self._authorize(call, 'set_priority')
        if texts := [
                pair for each in request.reservations if any(pair := (
                    each.hypervisor_properties, each.resource_properties))]:
            visible_properties.check(self._engine, self._enforcer, context,
                                     texts)
        if self._engine.conf.leases.default_resource_properties:
            request = default_condition.added(self._engine.conf, request)
        allowed = self.limits_of(context, 'leases', context.project_id)
        with self._blockers_named(call):
            if call.query.dry_run:
                return self._rehearsed(call, lease_create.rehearse(
                    self._engine, request, allowed))
            made = lease_create.create(self._engine, request, allowed)
        base = url.root(call.environ, self._engine.conf)
        with retry.committed():
            return self._answer(call, made, 201,
                                Location=f'{base}{_PATH}/{made.id}')

    @expose.expose(query=lease_types.LeaseQuery)
    def get_all(self, call: expose.Call) -> pecan.Response:
        """List leases, the oldest first.

        Without a limit, as in the requests of Blazar's clients, leases that
        ended long ago are omitted: such a client searches for a name in the
        one list that it gets, which must contain all live leases.
        """
        asked = call.query
        conf = self._engine.conf
        project = self._enforcer.visible_project(
            call.context, self._policy, asked.project, 'leases')
        now = self._engine.clock()
        given, since = asked.limit, None
        limit = min(given or conf.api.max_limit, conf.api.max_limit)
        if given is None:
            since = now - datetime.timedelta(days=conf.leases.listed)
        chosen = leases.Filter(
            asked.name, asked.status, asked.node, *(
                now if each == dates.NOW else each
                for each in (asked.from_, asked.to)))
        try:
            page = [] if project == '' else lease_find.page(
                self._engine, project, limit, asked.marker, since, chosen)
        except errors.LeaseNotFound as exc:
            raise errors.LeaseNotFound(
                f'The marker {asked.marker} is not a lease of yours, or the '
                'lease was deleted. Begin again at the first page.') from exc
        more = {}
        if limit == len(page):
            more['next'] = self._next(call, given and limit, page[-1].id,
                                      chosen)
        minor = call.own_minor
        return expose.listing('leases', lease_document.written(
            page, minor, _outside(self._engine, minor, page)), **more)

    def _next(self, call: expose.Call, limit: int | None, last: str,
              chosen: leases.Filter) -> str:
        # "now" is the same instant for all pages.
        return url.page(
            url.root(call.environ, self._engine.conf) + _PATH, {
                **basic.values(call.query), 'limit': limit, 'marker': last,
                'status': chosen.statuses and ','.join(chosen.statuses),
                'from': chosen.ends_after and dates.write(chosen.ends_after),
                'to': chosen.starts_before and dates.write(
                    chosen.starts_before)})

    @expose.expose(query=basic.BlazarQuery)
    def get_one(self, call: expose.Call, ident: str) -> pecan.Response:
        """Return the lease."""
        return self._answer(call, self.find(call, ident))

    @expose.expose(query=lease_types.ChangeQuery, takes_body=True)
    def put(self, call: expose.Call, ident: str) -> pecan.Response:
        """Change the lease, or return the result of a dry run."""
        found = self.find(call, ident, 'update')
        change = lease_body.without_repeated_dates(
            call.document, lease_body.lease_change(
                call.document, self._engine.clock(),
                functools.partial(self._nodes_of, found), call.own_minor),
            found)
        if texts := [*filter(any, _new_texts(change, found))]:
            visible_properties.check(self._engine, self._enforcer,
                                     call.context, texts)
        allowed = self.limits_of(call.context, 'leases', found.project_id)
        with self._blockers_named(call):
            if call.query.dry_run:
                return self._rehearsed(call, lease_change.rehearse(
                    self._engine, found.id, change, allowed, found))
            changed = lease_change.change(
                self._engine, found.id, change, allowed,
                # The body counts as it was sent: "now" becomes another instant
                # each time it is parsed.
                request_key.identity(call, self._engine, 'change', {
                    'lease': found.id, 'change': call.document}), found)
        with retry.committed():
            return self._answer(call, changed)

    @expose.expose()
    def delete(self, call: expose.Call, ident: str) -> pecan.Response:
        """End the lease."""
        found = lease_find.get_with_nodes(self._engine, _id(ident))
        self._check_lease(call, found.lease, 'delete')
        lease_end.end(self._engine, found.lease.id, permitted=found)
        return expose.empty()

    def _answer(self, call: expose.Call, lease: leases.Lease,
                status: int = 200, **headers: str) -> pecan.Response:
        return expose.answer({'lease': self._document(call, lease)}, status,
                             **headers)

    def _document(self, call: expose.Call,
                  lease: leases.Lease) -> dict[str, Any]:
        minor = call.own_minor
        return lease_document.document(
            lease, minor, _outside(self._engine, minor, (lease,)))

    @contextlib.contextmanager
    def _blockers_named(self, call: expose.Call) -> Iterator[None]:
        """Add the names and users of leases to a refusal."""
        try:
            yield
        except errors.LeaseRefused as exc:
            if call.own_minor >= versions.NAMED_BLOCKERS:
                users = refusal_messages.name_blockers(self._engine, exc)
                if call.own_minor >= versions.USERS:
                    refusal_messages.name_users(exc, users, functools.partial(
                        self._is_own, call))
            raise

    def _is_own(self, call: expose.Call, user_id: str | None) -> bool:
        """Return whether a lease of the caller's project is the caller's.

        Without projects, this is the case if the lease has the same user.
        """
        return (self._enforcer.projects
                or call.context.user_id in (None, user_id))

    def _rehearsed(self, call: expose.Call,
                   found: rehearsal.Rehearsal) -> pecan.Response:
        document = {'lease': self._document(call, found.lease)}
        if call.own_minor >= versions.MOVES:
            sees = {project: self._sees(call, project) for project in {
                each.project_id for each in found.moved}}
            seen = [each for each in found.moved if sees[each.project_id]]
            document['moves'] = {
                'leases': [lease_document.moved(each) for each in seen],
                'others': len(found.moved) - len(seen)}
        return expose.answer(document)

    def _nodes_of(self, lease: leases.Lease,
                  ids: Collection[int]) -> Mapping[int, str]:
        """Return the nodes of hosts by the ids of the hosts.

        Hosts that the lease does not have are omitted, since a refusal must
        not reveal their nodes to its owner.
        """
        own = {booking.node_uuid for booking in lease.bookings}
        return {host.id: host.node.uuid
                for host in hosts.page(self._engine, ids=ids)
                if host.node.uuid in own}

    def find(self, call: expose.Call, ident: str,
             action: str | None = None) -> leases.Lease:
        """Return a lease that the caller may see, and perhaps change."""
        lease = lease_find.get(self._engine, _id(ident))
        self._check_lease(call, lease, action)
        return lease

    def _check_lease(self, call: expose.Call, lease: leases.Lease,
                     action: str | None) -> None:
        """Raise unless the caller may see a lease, and perhaps change it."""
        self._check(call, lease.project_id, action,
                    lease_find.unknown(lease.id))


def _new_texts(change: leases.LeaseChange, lease: leases.Lease
               ) -> Iterator[tuple[str | None, str | None]]:
    """Return the conditions of a change that the lease does not have."""
    held = {each.id: (each.hypervisor_properties, each.resource_properties)
            for each in lease.reservations}
    for each in change.reservations:
        known = held.get(each.id, ())
        hypervisor, resource = (None if text in known else text for text in (
            each.hypervisor_properties, each.resource_properties))
        yield hypervisor, resource


def _id(ident: str) -> str:
    """Return the canonical id of a lease."""
    return basic.uuid_of(ident, 'lease', errors.LeaseNotFound)


def _outside(engine: Engine, minor: int, found: Sequence[leases.Lease]
             ) -> lease_document.Outside:
    """Read the facts that a version shows beyond Blazar's format."""
    degraded = ([each for each in found if each.degraded]
                if minor >= versions.DEGRADED else [])
    return lease_document.Outside(
        lease_health.reasons(engine, degraded) if degraded else {}, {
            ident: ends for each in engine.hooks['lent']
            for ident, ends in each.lent(engine, found).items()
        } if minor >= versions.LOANS else {})


