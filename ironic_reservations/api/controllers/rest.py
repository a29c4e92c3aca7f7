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

"""The base class of all controllers, and the methods that they serve."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
from typing import Any
from typing import ClassVar

from oslo_context import context as oslo_context
import pecan
from pecan import rest as pecan_rest

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import expose
from ironic_reservations.api import pages
from ironic_reservations.api.middleware import strict
from ironic_reservations.engine import Engine
from ironic_reservations.model import leases
from ironic_reservations.model import limits

#: The policies of callers without limits, by group of options.
_EXEMPT = {'leases': 'reservation:lease:exceed_limits',
           'reservations': 'baremetal:reservation:exceed_limits'}


class Controller(pecan_rest.RestController):
    """The handlers of a path and of the paths below it, as in pecan.

    :param engine: carries requests out.
    :param enforcer: checks policies.
    :cvar _policy: the prefix of the names of the policy rules.
    """

    _policy: ClassVar[str]

    def __init__(self, engine: Engine, enforcer: policies.Enforcer) -> None:
        self._engine = engine
        self._enforcer = enforcer

    def _authorize(self, call: expose.Call, action: str,
                   **target: Any) -> None:
        """Raise unless the policy allows an action of the caller."""
        self._enforcer.authorize(call.context, self._policy + action, {
            'project_id': call.context.project_id, **target})

    def _authorize_project(self, call: expose.Call, project_id: str | None,
                           every: bool = False) -> None:
        """Raise unless the caller may get a project's figures, or all."""
        target = {'project_id': project_id}
        if not self._may(call, 'get_all', **target):
            own = not every and project_id == call.context.project_id
            self._authorize(call, 'get' if own else 'get_all', **target)

    def _may(self, call: expose.Call, action: str, **target: Any) -> bool:
        return self._enforcer.check(call.context, self._policy + action, {
            'project_id': call.context.project_id, **target})

    def _sees(self, call: expose.Call, project_id: str | None) -> bool:
        """Return whether the caller may see the objects of a project."""
        # What an administrator has made has no project, which must not match
        # a caller without a project.
        return self._may(call, 'get', project_id=project_id or '')

    def _check(self, call: expose.Call, project_id: str | None,
               action: str | None, unknown: errors.ReservationError) -> None:
        """Raise unless the caller may see an object of a project.

        For an object of another project, the answer is 404, not 403, which
        would confirm that it exists.

        :param action: an action that the caller must be allowed, too;
            ``None``: there is none.
        :param unknown: the refusal that there is no such thing.
        """
        if not self._sees(call, project_id):
            if project_id != call.context.project_id:
                raise unknown
            action = 'get'
        if action is not None:
            self._authorize(call, action, project_id=project_id or '')

    def limits_of(self, context: oslo_context.RequestContext, group: str,
                  project_id: str | None) -> limits.Limits:
        """Return the limits of a group of options for a caller.

        Without keystone there are no policies, so no caller is exempt.

        :param group: ``leases`` or ``reservations``.
        :param project_id: the project of the reservation or lease.
        """
        if self._enforcer.projects and self._enforcer.check(
                context, _EXEMPT[group],
                {'project_id': project_id or ''}):
            return limits.NONE
        return self._engine.limits[group, self._enforcer.projects]

    @pecan.expose()
    def _route(self, args: list[str],
               request: pecan.Request) -> tuple[Any, list[str]]:
        """Return the handler of a request, which ``strict`` has determined.

        pecan would find the same handler, as a test shows, but it creates a
        class for each of the five signatures that it inspects before.
        """
        return request.environ[strict.HANDLER], args

    @expose.expose()
    def options(self, call: expose.Call, *segments: str) -> pecan.Response:
        """Return the allowed methods."""
        return expose.empty(Allow=', '.join(call.environ[strict.ALLOW]))


@dataclasses.dataclass(frozen=True)
class Api:
    """The objects that the controllers of features may use.

    :ivar sign_in: the ways in which users can sign in.
    :ivar find_lease: returns a lease that the caller may see.
    """

    engine: Engine
    enforcer: policies.Enforcer
    sign_in: pages.SignIn
    find_lease: Callable[[expose.Call, str], leases.Lease]


@dataclasses.dataclass(frozen=True)
class Route:
    """A path that a feature serves.

    :ivar path: the path below the version, with ``strict.ANY`` for an id.
    :ivar handlers: the handlers by HTTP method.
    """

    path: tuple[str, ...]
    controller: Controller
    handlers: strict.Handlers

    def attach(self, above: Controller) -> None:
        """Make the controller an attribute of the one above it.

        pecan finds controllers as attributes named like their paths.
        """
        *before, last = (each for each in self.path if each != strict.ANY)
        for each in before:
            above = getattr(above, each)
        if getattr(above, last, None) is not self.controller:
            setattr(above, last, self.controller)


def collection(controller: Controller) -> strict.Handlers:
    """Return the handlers of a collection, by HTTP method."""
    return _served(controller, GET='get_all', POST='post')


def sole(controller: Controller) -> strict.Handlers:
    """Return the handlers of a resource of which a caller has one or none."""
    return _served(controller, GET='get', POST='post', DELETE='delete')


def single(controller: Controller) -> strict.Handlers:
    """Return the handlers of a read-only document."""
    return _served(controller, GET='get')


def item(controller: Controller) -> strict.Handlers:
    """Return the handlers of an item of a collection."""
    return _served(controller, GET='get_one', PUT='put', PATCH='patch',
                   DELETE='delete')


def _served(controller: Controller, **names: str) -> strict.Handlers:
    return {**{method: getattr(controller, name)
               for method, name in names.items()
               if hasattr(controller, name)},
            'OPTIONS': controller.options}
