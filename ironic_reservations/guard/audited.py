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

"""Audit events for requests that the guard lets through or refuses."""

from __future__ import annotations

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.engine import audit_trail
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.guard import bodies
from ironic_reservations.guard import callers
from ironic_reservations.guard import identity
from ironic_reservations.guard import inward

_UNKNOWN = 'unknown'


class Audited:
    """Records the use of promises, and refusals.

    :param who: identifies callers.
    """

    def __init__(self, events: audit_trail.AuditTrail,
                 who: callers.Callers) -> None:
        self._events = events
        self._callers = who

    def used(self, environ: wsgi.Environ, admitted: admission.InFlightRequest,
             answer: wsgi.Answer) -> None:
        """Record that a request with a proof was passed to Ironic."""
        if admitted.reservation_uuid is not None:
            kind, ident = 'reservation', audit_trail.digest(
                admitted.reservation_uuid)
        elif inward.PROOF_HEADER_KEY in environ:
            kind, ident = 'lease-reservation', audit_trail.digest(
                bodies.read_proof(environ[inward.PROOF_HEADER_KEY],
                                  'The header'))
        else:
            return
        self._record(environ, 'allow', kind, ident, answer.status, None,
                     f'{environ["REQUEST_METHOD"]} on node '
                     f'{admitted.node_uuid}', identity.answered_id(answer))

    def refused(self, environ: wsgi.Environ,
                error: errors.ReservationError) -> None:
        """Record a refusal, unless the sender is not authenticated.

        Otherwise a sender without valid credentials could fill the log.
        """
        if identity.CALLER in environ:
            self._record(
                environ, 'deny', 'node',
                str(error.details.get('node_uuid', _UNKNOWN)), error.status,
                error.code, environ['REQUEST_METHOD'])

    def _record(self, environ: wsgi.Environ, action: str, kind: str,
                ident: str, status: int, code: str | None,
                name: str, ids: wsgi.Environ | None = None) -> None:
        if self._events.wanted:
            self._events.record(
                audit_trail.Way.GUARD, action, kind, ident,
                self._callers.context({**environ.get(identity.CALLER, {}),
                                       **(ids or {})}),
                status, code, environ.get('REMOTE_ADDR'), name)
