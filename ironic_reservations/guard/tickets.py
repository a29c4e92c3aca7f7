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

"""Requests of the reconciler, which carry a ticket."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import re
from typing import Any

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import permitted
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.engine.in_flight import tickets
from ironic_reservations.guard import bodies
from ironic_reservations.guard import carry
from ironic_reservations.guard import inward
from ironic_reservations.guard import refusals
from ironic_reservations.model import in_flight

LOG = log.getLogger(__name__)

#: Larger, and deeper, than any body of ours: Ironic has 64 KiB for a field.
_MAX_BODY = 131072
_DEEPEST = 25
_NODE = re.compile(r'/v1/nodes/(?P<uuid>[0-9a-f-]{36})'
                   r'(?:(?P<below>/states/[a-z_]+|/maintenance|/vmedia|/traits'
                   r'|/management/boot_device|/vifs)(?:(?<=/vifs)/[^/]+)?)?')
#: Objects below a node: none of these paths names the node.
_BELOW = re.compile(r'/v1/(?:ports|portgroups|volume/connectors'
                    r'|volume/targets)(?P<one>/[0-9a-f-]{36})?')
_TARGETS = {'deleted': in_flight.Act.UNDEPLOY, 'abort': in_flight.Act.ABORT,
            'manage': in_flight.Act.MANAGE, 'provide': in_flight.Act.PROVIDE}
#: Requests that restore a setting of a node.
_PUT_BACK = frozenset((
    ('DELETE', '/vmedia'), ('POST', '/vifs'), ('DELETE', '/vifs'),
    ('PUT', '/traits'), ('PUT', '/states/power'), ('PUT', '/states/console'),
    ('PUT', '/states/boot_mode'), ('PUT', '/states/secure_boot'),
    ('PUT', '/states/raid'), ('PUT', '/management/boot_device')))
_PATHS = {('remove', '/instance_uuid'): in_flight.Act.CLEAR_INSTANCE,
          ('add', '/lessee'): in_flight.Act.LESSEE,
          ('remove', '/lessee'): in_flight.Act.LESSEE}


class Gate:
    """Lets requests with a ticket through once, while the ticket is valid.

    The gate is in front of Ironic for requests from other hosts and for those
    of the reconciler in this process.

    :param app: Ironic's application.
    """

    engine: Engine

    def __init__(self, app: wsgi.Application) -> None:
        self._app = app

    def __call__(self, environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
        """Answer a request; a request without a ticket is passed to Ironic."""
        if inward.TICKET_KEY not in environ:
            return self._app(environ, start_response)
        try:
            answer = self.answer(environ)
        except Exception as exc:
            answer = refusals.refuse(exc, environ)[1]
        return answer.send(start_response)

    def answer(self, environ: wsgi.Environ) -> wsgi.Answer:
        """Return Ironic's answer to a request with a ticket.

        :raises TicketInvalid: the ticket is for another request, or is not
            valid any more.
        :raises HandedOverLate: the process was stopped for too long.
        """
        raw = inward.read_body(environ, _MAX_BODY)
        body = bodies.read_json(raw, _DEEPEST) if raw else None
        uuid, act = _asked(environ['REQUEST_METHOD'],
                           environ.get('PATH_INFO', ''), body)
        admitted = tickets.take(self.engine, environ[inward.TICKET_KEY], uuid,
                                act)
        if act in permitted.ACTS:
            admitted = self._check_maintenance(environ, admitted, act)
        answer = carry.pass_on(self.engine, self._app, admitted,
                               inward.rebuilt(environ, environ['PATH_INFO'],
                                              body=body))
        if inward.succeeded(answer):
            self._close(admitted)
        return answer

    def _check_maintenance(self, environ: wsgi.Environ,
                           admitted: admission.InFlightRequest,
                           act: in_flight.Act) -> admission.InFlightRequest:
        """Check that the maintenance of a node still allows an act.

        :returns: the request, with a new deadline.
        """
        soon = min(admitted.deadline, self.engine.timer() + protect.FRESH)
        try:
            shown = inward.call(self._app, inward.asking(
                environ, inward.node_path(admitted.node_uuid),
                'fields=maintenance,maintenance_reason'))
            node = inward.document(shown)
            if not inward.succeeded(shown) or not isinstance(node, dict):
                raise errors.IronicUnavailable(
                    f'Ironic answered {shown.status} when it was asked for '
                    f'the maintenance of node {admitted.node_uuid}. Nothing '
                    'was changed; the reconciler tries again.')
            permitted.check(self.engine, admitted.node_uuid, act,
                            bool(node.get('maintenance')),
                            node.get('maintenance_reason'))
        except BaseException:
            carry.close(self.engine, admitted, False)
            raise
        return dataclasses.replace(admitted, deadline=soon)

    def _close(self, admitted: admission.InFlightRequest) -> None:
        try:
            kept = tickets.close(self.engine, admitted)
        except (errors.DatabaseUnavailable, errors.Contention) as exc:
            admission.write_later(
                self.engine, admitted,
                lambda: tickets.close(self.engine, admitted), exc)
            return
        if not kept:
            LOG.error(
                'A request of the reconciler was carried out on node %s when '
                'the node was no longer kept for it: this process was stopped '
                'inside of Ironic for longer than [guard] in_flight_timeout. '
                'Check which instance is deployed on the node.',
                admitted.node_uuid)


def _asked(method: str, path: str, body: Any
           ) -> tuple[str | None, in_flight.Act | None]:
    """Return the node and the act of a request.

    :returns: the node is ``None`` where only the ticket knows it; the act is
        ``None`` if no ticket can allow it.
    """
    below = _BELOW.fullmatch(path)
    if below is not None:
        return None, (in_flight.Act.PUT_BACK if method in (
            ('POST',) if below['one'] is None else ('PATCH', 'DELETE'))
            else None)
    match = _NODE.fullmatch(path)
    return (None, None) if match is None else (
        match['uuid'], _act(method, match['below'], body))


def _act(method: str, below: str | None,
         body: Any) -> in_flight.Act | None:
    """Return the act of a request, ``None`` if no ticket can allow it."""
    if below == '/maintenance':
        if method == 'PUT' and isinstance(body, dict) and (
                set(body) == {'reason'}):
            return in_flight.Act.SET_MAINTENANCE
        if method == 'DELETE' and body is None:
            return in_flight.Act.CLEAR_MAINTENANCE
    elif (method, below) in _PUT_BACK:
        return in_flight.Act.PUT_BACK
    elif method == 'PUT' and below == '/states/provision':
        if isinstance(body, dict) and set(body) == {'target'}:
            return _TARGETS.get(str(body['target']))
    elif method == 'PATCH' and below is None:
        if (isinstance(body, list) and len(body) == 1
                and isinstance(body[0], dict)):
            return _PATHS.get((str(body[0].get('op')),
                               str(body[0].get('path'))),
                              in_flight.Act.PUT_BACK)
    return None
