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

"""/v1/leases/{id}/history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pecan

from ironic_reservations import errors
from ironic_reservations import policies
from ironic_reservations.api import expose
from ironic_reservations.api import versions
from ironic_reservations.api.controllers import rest
from ironic_reservations.engine import Engine
from ironic_reservations.features.history import history
from ironic_reservations.features.history import values as lease_history
from ironic_reservations.model import leases


class HistoryController(rest.Controller):
    """The history of a lease.

    :param find: returns a lease that the caller may see.
    """

    def __init__(self, engine: Engine, enforcer: policies.Enforcer,
                 find: Callable[[expose.Call, str], leases.Lease]) -> None:
        super().__init__(engine, enforcer)
        self._find = find

    @expose.expose()
    def get(self, call: expose.Call, ident: str) -> pecan.Response:
        """Return the history of the lease, the oldest entry first."""
        own = call.own_minor
        if own < versions.LEASE_HISTORY:
            # Requests below /v1/leases have Blazar's version beside our own.
            raise errors.ResourceNotFound('There is nothing at this path.')
        return expose.answer({'history': [
            _entry(each) for each
            in history.read(self._engine, self._find(call, ident))
            if own >= versions.NO_SHOWS
            or each.what is not lease_history.What.NO_SHOW_RELEASE]})


def _entry(entry: lease_history.Entry) -> dict[str, Any]:
    shown: dict[str, Any] = {'at': entry.at.isoformat(),
                             'what': entry.what.value}
    if entry.status is not None:
        shown['status'] = entry.status.value
    if entry.hosts is not None:
        shown.update(
            hosts=entry.hosts, nodes=list(entry.nodes),
            resource_class=entry.resource_class,
            since=None if entry.since is None else entry.since.isoformat())
    if entry.notice is not None:
        shown.update(notice=entry.notice.value, sent=[{
            'channel': each.channel.value,
            'outcome': None if each.outcome is None else each.outcome.value,
            'at': None if each.at is None else each.at.isoformat()}
            for each in entry.sent])
    return shown
