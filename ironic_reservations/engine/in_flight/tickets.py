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

"""Tickets, by which late requests of the reconciler to Ironic are void.

A balancer or a hanging process may delay a request of the reconciler until
long after another process has done its work.  So each request carries a
ticket: a row on the timeline that is valid once, for one node and one act.
The guard of the API that receives the request uses the ticket up before Ironic
sees the request.  A process that takes over the work deletes unused tickets,
and waits for the outcome of used ones.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import threading
import uuid as uuid_module

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Ticket:
    """The permission to send Ironic one change of one node."""

    token: str
    node_uuid: str
    act: in_flight.Act


def issue(engine: Engine, lease_id: str, claimed_by: str,
          booking: leases.NodeBooking, act: in_flight.Act) -> Ticket:
    """Return a ticket for the node of a lease.

    :param claimed_by: the claim of the worker on the lease.
    :param booking: the booking as it was read.
    :raises Conflict: another worker has the lease by now, or the booking has
        changed.
    """
    ticket = new(booking.node_uuid, act)
    with engine.database.write() as connection:
        if not db_in_flight.insert_ticket(
                connection, booking, lease_id, claimed_by, ticket.token,
                act.value, admission.answered_by(engine, engine.clock())):
            raise db_connection.Conflict(
                f'the lease {lease_id} or its booking of node '
                f'{booking.node_uuid} has changed meanwhile')
    return ticket


def new(node_uuid: str, act: in_flight.Act) -> Ticket:
    """Return a ticket for a node without a claim on a lease."""
    return Ticket(str(uuid_module.uuid4()), node_uuid, act)


def write(engine: Engine, ticket: Ticket, connection: sa.Connection) -> None:
    """Write a ticket for a node without a claim on a lease."""
    db_in_flight.insert(connection, ticket.node_uuid, ticket.token, None, None,
                        admission.answered_by(engine, engine.clock()),
                        in_flight.State.ISSUED, ticket.act.value)


def send(engine: Engine, ticket: Ticket,
         call: Callable[[str], None]) -> None:
    """Send a change to Ironic, once.

    :param call: sends the change, with the token.
    :raises Refused: Ironic, or the guard, refuses the change now.
    :raises IronicUnavailable: there was no answer.  Either the request is
        void, or the node is kept until its outcome is known.
    """
    try:
        call(ticket.token)
    except BaseException:
        _void(engine, ticket)
        raise
    if _void(engine, ticket):
        _warn_unguarded()


def _void(engine: Engine, ticket: Ticket) -> bool:
    def write() -> bool:
        return retry.write(engine, lambda connection: db_in_flight.void_ticket(
            connection, ticket.token))
    try:
        return write()
    except (errors.DatabaseUnavailable, errors.Contention) as exc:
        LOG.info('The ticket for node %s could not be closed; it is tried '
                 'again every few seconds until it ends by itself: %s',
                 ticket.node_uuid, exc)
        engine.pending_outcomes.keep_for_later(
            engine.timer() + float(engine.conf.guard.in_flight_timeout), write)
        return False


_warned = threading.Event()


def _warn_unguarded() -> None:
    if not _warned.is_set():
        _warned.set()
        LOG.warning(
            'The Ironic API that [ironic] in ironic-reservations.conf points '
            'to did not check the ticket of a request: it runs without the '
            'middleware "reservations". A request to it that is held up on '
            'its way is carried out however late it arrives. Point [ironic] '
            'at an API with the middleware.')


def take(engine: Engine, token: str, node_uuid: str | None,
         act: in_flight.Act | None) -> admission.InFlightRequest:
    """Use a ticket up.

    :param node_uuid: the node that the request names; ``None``: the request
        names an object below it.
    :param act: the act of the request that shows it; ``None``: an act for
        which no ticket is valid.
    :raises TicketInvalid: the ticket is not for this act, or not valid now.
    """
    deadline = admission.send_deadline(engine)
    if node_uuid is None and act is not None:
        with engine.database.read() as connection:
            node_uuid = db_in_flight.read_ticket_node(connection, token)
    if act is None or node_uuid is None or not retry.write(
            engine, lambda connection: db_in_flight.take_ticket(
                connection, token, node_uuid, act.value,
                (now := engine.clock()), admission.answered_by(engine, now))):
        raise errors.TicketInvalid(
            f'The ticket in the header {ironic_client.TICKET_HEADER} is '
            'unknown, void, used, or was issued for something else. Only the '
            'reconciler sends this header; a request of its own that gets '
            'this answer was too late, and the reconciler checks the lease '
            'again.')
    return admission.InFlightRequest(token, node_uuid, deadline)


def close(engine: Engine, admitted: admission.InFlightRequest) -> bool:
    """Record that Ironic has accepted a request with a ticket.

    :returns: ``False`` if the node was no longer kept for it.
    :raises DatabaseUnavailable: then the reconciler finds out the outcome.
    """
    return retry.write(engine, lambda connection: db_in_flight.delete(
        connection, admitted.token, admitted.node_uuid))
