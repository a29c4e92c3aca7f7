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

"""/v1/calendar/token, and /v1/leases.ics, which requires the token."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib import parse

from oslo_context import context as oslo_context
import pecan

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import conditional
from ironic_reservations.api import expose
from ironic_reservations.api import identity
from ironic_reservations.api import url
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.clouds import keystone_roles
from ironic_reservations.engine import Engine
from ironic_reservations.features.calendar import tokens as calendar_tokens
from ironic_reservations.features.calendar import types as calendar_types
from ironic_reservations.features.calendar.page import feed

_RULE = 'reservation:calendar:token'
_LISTS = 'reservation:lease:list'


class TokenController(rest.Controller):
    """The caller's calendar token in its project."""

    def __init__(self, engine: Engine, enforcer: policies.Enforcer,
                 fingerprint: identity.Fingerprint) -> None:
        super().__init__(engine, enforcer)
        self._fingerprint = fingerprint

    @expose.expose(since=versions.CALENDAR)
    def post(self, call: expose.Call) -> pecan.Response:
        """Create or replace the token, and return it this one time."""
        user, project = self._owner(call)
        token = calendar_tokens.make(self._engine, user, project,
                                     call.context.roles,
                                     self._fingerprint(user))
        where = url.feed(call.environ, self._engine.conf)
        return expose.answer({'calendar_token': {
            'token': token,
            'url': f'{where}?{parse.urlencode({"token": token})}'}}, 201)

    @expose.expose(since=versions.CALENDAR)
    def get(self, call: expose.Call) -> pecan.Response:
        """Return whether there is a token, and the time at which it was made.
        """
        user, project = self._owner(call)
        found = calendar_tokens.show(self._engine, user, project,
                                     self._fingerprint(user))
        return expose.answer({'calendar_token': found and {
            'created_at': found.created_at.isoformat()}})

    @expose.expose(since=versions.CALENDAR)
    def delete(self, call: expose.Call) -> pecan.Response:
        """Revoke the token."""
        calendar_tokens.revoke(self._engine, *self._owner(call))
        return expose.empty()

    def _owner(self, call: expose.Call) -> tuple[str | None, str | None]:
        """Return the user and the project of a token."""
        context = call.context
        self._enforcer.authorize(context, _RULE,
                                 {'project_id': context.project_id})
        if self._enforcer.projects and not (context.user_id
                                            and context.project_id):
            raise errors.Forbidden(
                'A calendar shows the leases of one project. '
                f'{errors.USE_A_PROJECT}')
        return context.user_id, context.project_id


class FeedController(rest.Controller):
    """The leases of a project for calendar programs with a token."""

    def __init__(self, engine: Engine, enforcer: policies.Enforcer,
                 fingerprint: identity.Fingerprint) -> None:
        super().__init__(engine, enforcer)
        self._fingerprint = fingerprint
        self._roles = keystone_roles.KeystoneRoles(engine.conf)

    @expose.expose(query=calendar_types.FeedQuery,
                   content_type=feed.CONTENT_TYPE)
    def get(self, call: expose.Call) -> pecan.Response:
        """Return the leases that the user of the token may see."""
        holder = calendar_tokens.holder(self._engine,
                                        call.query.token or '')
        context = self._context(holder)
        for rule in (_RULE, _LISTS):
            self._enforcer.authorize(context, rule,
                                     {'project_id': holder.project_id})
        text = feed.written(
            calendar_tokens.leases_of(self._engine, holder.project_id))
        return conditional.text(
            call.environ, hashlib.sha256(text).hexdigest()[:32], text,
            feed.CONTENT_TYPE)

    def _context(self, holder: calendar_tokens.Holder
                 ) -> oslo_context.RequestContext:
        """Return the context of a token's user with its present roles.

        Roles that the user did not have when the token was made are left out,
        since an application credential with fewer roles may have made it.
        """
        if not holder.has(self._fingerprint(holder.user_id)):
            raise calendar_tokens.unknown()
        known: dict[str, Any] = {'user_id': holder.user_id,
                                 'project_id': holder.project_id}
        if self._enforcer.projects:
            if not (holder.user_id and holder.project_id):
                raise calendar_tokens.unknown()
            known['roles'] = sorted(holder.roles & self._roles.now(
                holder.user_id, holder.project_id))
        return oslo_context.RequestContext(overwrite=False, **known)
