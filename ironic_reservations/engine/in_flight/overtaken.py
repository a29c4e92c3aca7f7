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

"""Requests that took effect after their nodes were promised to others.

This happens if a process hangs for minutes inside Ironic, after its last check
of the clock.  It cannot be prevented.  It is detected as soon as the process
continues, undone where possible, and reported.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import functools

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import announce
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import seen
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.engine.in_flight import tickets
from ironic_reservations.model import host_view
from ironic_reservations.model import in_flight
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation

LOG = log.getLogger(__name__)

_STAYS = 'Its effect could not be undone; the operator has been informed'


@dataclasses.dataclass(frozen=True)
class _Now:
    """A node after a request took effect on it.

    :ivar last: whether no other request was let through after this one.
    """

    node: mirrored_node.Node
    view: host_view.HostView
    last: bool

    def others(self, admitted: admission.InFlightRequest) -> bool:
        """Return whether a promise of another holder has the node."""
        held, lease = self.view.reservation, self.view.lease
        if held is not None:
            return held.uuid != admitted.reservation_uuid
        return bool(self.view.present) and (
            lease is None
            or lease.reservation_id != admitted.lease_reservation_id)

    def report(self, engine: Engine) -> None:
        """Report that the request changed the node of another holder."""
        _report(engine, self.view,
                'The node is being taken back.' if self.last else 'The node '
                'has been used since, so nothing is taken back. Check which '
                'instance is deployed there.')


@contextlib.contextmanager
def report_if_lost(admitted: admission.InFlightRequest) -> Iterator[None]:
    """Report a request that may have changed a node with another holder.

    The usual error for a lost database says that nothing was done, but here
    Ironic has carried out the request.

    :raises OutcomeUnknown: the database is lost.
    """
    try:
        yield
    except (errors.DatabaseUnavailable, errors.Contention) as exc:
        LOG.error(
            'Ironic carried out a request for node %s that was held up for '
            'longer than [guard] in_flight_timeout. The node may have been '
            'promised to somebody else before that, which could not be found '
            'out, or not be taken back (%s). Check who has the node, which '
            'instance is deployed there, and whether it is in maintenance, '
            'retired or deleted.', admitted.node_uuid, exc)
        raise errors.OutcomeUnknown(
            f'Ironic carried out the request for node {admitted.node_uuid}, '
            'but the request was held up for so long that the node may be '
            'promised to somebody else by now, and the database of the '
            'reservations cannot be asked. The operator has been informed. '
            'Check who has the node before you use it.') from exc


def settle(engine: Engine, admitted: admission.InFlightRequest,
           undo: in_flight.Act | None) -> None:
    """Undo the effect of a request if the node has another holder.

    :param admitted: a request that Ironic has accepted although the node was
        no longer kept for it.
    :param undo: the act that undoes it, if there is one.
    :raises Overtaken: the node has another holder.
    :raises OutcomeUnknown: the holder of the node is not known.
    """
    with report_if_lost(admitted):
        found = change.carry_out(
            engine, lambda: _plan(engine, admitted, undo))
        if found is not None:
            holder, ticket = found
            holder.report(engine)
            _send(engine, ticket)
            raise _overtaken(admitted, 'Its effect is being undone')


def settle_allocation(engine: Engine,
                      admitted: admission.InFlightRequest) -> None:
    """Delete an allocation if its node has another holder.

    :raises Overtaken: the node has another holder.
    :raises OutcomeUnknown: the holder of the node is not known.
    """
    instance = admitted.instance_uuid
    if engine.ironic is None or instance is None:
        return
    with report_if_lost(admitted):
        holder = _read(engine, admitted)
        if holder is None or not holder.others(admitted):
            return
        holder.report(engine)
        try:
            # This needs no ticket: Ironic has one allocation of a uuid at a
            # time, and only the client that chose the uuid uses it again.
            engine.ironic.delete_allocation(instance)
        except (ironic_client.Refused, errors.IronicUnavailable) as exc:
            LOG.error('The allocation %s could not be deleted: %s', instance,
                      exc)
            raise _overtaken(admitted, _STAYS) from exc
        raise _overtaken(admitted, 'The allocation has been deleted')


def settle_change(engine: Engine, admitted: admission.InFlightRequest,
                  asked: protect.ChangeRequest) -> None:
    """Report a change of a node that has another holder by now.

    The change is not undone: an operator may have made the same one meanwhile.

    :raises Overtaken: the node has another holder.
    :raises OutcomeUnknown: the holder of the node is not known.
    """
    with report_if_lost(admitted):
        view, _ = protect.read_view(engine, admitted.node_uuid)
        try:
            protect.check(view, asked)
        except errors.ReservationError as exc:
            _report(engine, view,
                    'The change is not taken back. Check in which state the '
                    'node is, and whether it is in maintenance, retired or '
                    'deleted.')
            raise _overtaken(admitted, _STAYS) from exc


def _plan(engine: Engine, admitted: admission.InFlightRequest,
          undo: in_flight.Act | None
          ) -> change.Planned[tuple[_Now, tickets.Ticket] | None]:
    """Plan a ticket that undoes the effect of a request."""
    holder = _read(engine, admitted)
    if holder is None:
        return change.Planned(None)
    now = engine.clock()
    there = seen.of_nodes([holder.node])
    held = holder.view.reservation
    if not holder.others(admitted):
        return change.Planned(None, None if held is None else change.Change(
            now, there, [change.Write(held, dataclasses.replace(
                held, state=node_reservation.State.IN_USE, updated_at=now),
                change.Cause.SEEN_USED)]))
    if undo is None or not holder.last or engine.ironic is None:
        holder.report(engine)
        raise _overtaken(admitted, _STAYS)
    ticket = tickets.new(admitted.node_uuid, undo)
    # The generation proves that no request was let through since, so that
    # Ironic shows the effect of this one.  The node is kept until it is clean
    # again; otherwise its state would end the promise of its holder.
    return change.Planned((holder, ticket), change.Change(
        now, there, opaque=True, statements=[
            functools.partial(tickets.write, engine, ticket),
            lambda connection: db_in_flight.insert(
                connection, admitted.node_uuid, admitted.token, None, None,
                now, in_flight.State.UNCERTAIN)]))


def _read(engine: Engine,
          admitted: admission.InFlightRequest) -> _Now | None:
    uuid = admitted.node_uuid
    with engine.database.snapshot() as connection:
        node = db_nodes.read_node(connection, uuid)
        last = db_nodes.read_let_through(connection, uuid)
        view = db_host_views.read_one(connection, uuid, engine.clock())
    return None if node is None else _Now(node, view, last == admitted.token)


def _send(engine: Engine, ticket: tickets.Ticket) -> None:
    assert engine.ironic is not None
    call = (engine.ironic.undeploy if ticket.act is in_flight.Act.UNDEPLOY
            else engine.ironic.clear_instance)
    try:
        tickets.send(engine, ticket,
                     lambda token: call(ticket.node_uuid, token))
    except (ironic_client.Refused, errors.IronicUnavailable) as exc:
        LOG.error('Node %s could not be taken back (%s). Undeploy it, or '
                  'remove its instance_uuid.',
                  ticket.node_uuid, exc)


def _report(engine: Engine, view: host_view.HostView, what: str) -> None:
    """Report to the operator, and to the holder of the node."""
    held = view.reservation
    LOG.error(
        'Ironic carried out a request for node %s after the node had been '
        'promised to somebody else: the process was stopped inside of Ironic '
        'for longer than [guard] in_flight_timeout. %s', view.node_uuid, what)
    if held is not None:
        engine.announcer.notify(announce.UPDATE, held, announce.OVERTAKEN)
    elif view.lease is not None:
        with engine.database.read() as connection:
            found = db_leases.read_of_reservations(
                connection, (view.lease.reservation_id,))
        for lease in found:
            engine.announcer.notify_lease(announce.LEASE_UPDATE, lease,
                                          announce.OVERTAKEN)


def _overtaken(admitted: admission.InFlightRequest,
               what: str) -> errors.Overtaken:
    return errors.Overtaken(
        f'The request for node {admitted.node_uuid} was held up for so long '
        'that the node was promised to somebody else before Ironic carried '
        f'the request out. {what}. Ask for another node.')
