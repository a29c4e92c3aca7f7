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

"""Put nodes back as they were before their holders acted on them."""

from __future__ import annotations

from collections.abc import Collection
import dataclasses

from oslo_log import log

from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.lifecycle import correction
from ironic_reservations.lifecycle import handover as handover_steps
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import handovers
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node

LOG = log.getLogger(__name__)

#: Ironic's status for a node that is locked, and for an object that already
#: exists, perhaps on another node.
_CONFLICT = 409


def read(engine: Engine, bookings: Collection[leases.NodeBooking]
         ) -> dict[str, handovers.Handover]:
    """Return the handovers of bookings, by node uuid."""
    holders = {booking.uuid for booking in bookings}
    with engine.database.read() as connection:
        return {uuid: each for uuid, each in db_handovers.read(
            connection, {booking.node_uuid for booking in bookings}).items()
            if each.holder in holders}


def begin(context: lease_context.Context,
          booking: leases.NodeBooking) -> handovers.Handover:
    """Write a handover for a node without acts of its holder.

    :raises Conflict: its holder has acted on it.
    :raises Lost: another worker has the lease.
    """
    made = handovers.first(booking.node_uuid, booking.uuid, None, (),
                           context.engine.clock())
    with context.engine.database.write() as connection:
        # The node may have the next holder by then, whose acts are in the row.
        if not db_lease_work.keep(connection, context.lease_id,
                                  context.claimed_by):
            raise lease_context.Lost(context.lease_id)
        # The row of a reservation that is over may be left.
        left = db_handovers.read_one(connection, booking.node_uuid)
        if left is not None and left.holder != booking.uuid:
            db_handovers.delete_of_node(connection, left)
        db_handovers.insert(connection, made)
    return made


def next_step(context: lease_context.Context, booking: leases.NodeBooking,
              node: mirrored_node.Node, handover: handovers.Handover,
              view: lease_cycle.AtEnd) -> handover_steps.Next:
    """Restore values of a node as far as possible; return the next step.

    :param view: the step for a node that its holder has only deployed.
    :raises Conflict: the lease or its booking has changed.
    :raises IronicUnavailable: Ironic or a conductor does not answer.
    :raises Lost: another worker has the lease.
    :raises Refused: the node cannot be changed now.
    """
    if handover.settles_at > context.engine.clock():
        return handover_steps.Next(
            lease_cycle.NoAct.WAIT, 'may still be changed by a request of its '
            'holder that is under way', until=handover.settles_at)
    if not handover.settled:
        return handover_steps.Next(
            lease_cycle.NoAct.WAIT, 'may still be changed by a request of its '
            'holder that got no answer', until=acted.ask(
                context.engine, context.ironic, handover))
    now = context.ironic.document(booking.node_uuid,
                                  handovers.parts_of(handover.acts))
    if now is None:
        return handover_steps.Next(lease_cycle.NoAct.RELEASE)
    step = handover_steps.next_step(view, node, handover, now)
    if step.corrections:
        try:
            handover = _put_back(context, booking, handover, step.corrections)
        except _Locked:
            raise
        except ironic_client.Refused as exc:
            step = handover_steps.next_step(view, node, handover, now,
                                            str(exc).rstrip('.'))
        else:
            failed = handover_steps.failed(step.corrections, now)
            if failed is not None:
                # NOTE: it was sent again; this shows until it has worked.
                step = handover_steps.next_step(view, node, handover, now,
                                                failed)
    if step.phase not in (None, handover.phase):
        acted.update(context.engine, handover, dataclasses.replace(
            handover, phase=step.phase))
    return step


def _put_back(context: lease_context.Context, booking: leases.NodeBooking,
              handover: handovers.Handover,
              corrections: Collection[correction.Correction]
              ) -> handovers.Handover:
    refused: list[ironic_client.Refused] = []
    for each in corrections:
        try:
            _send(context, booking, each)
        except ironic_client.Refused as exc:
            if not each.needless_if_refused or exc.status == _CONFLICT:
                # NOTE: the others do not depend on it.
                refused.append(exc)
                continue
        LOG.info('Node %s: %s put back as before the lease',
                 booking.node_uuid, each.what)
        if each.cleared is not None:
            before, handover = handover, dataclasses.replace(
                handover, acts=handover.acts - {each.cleared})
            acted.update(context.engine, before, handover)
    if refused:
        raise next((exc for exc in refused if isinstance(exc, _Locked)),
                   refused[0])
    return handover


class _Locked(ironic_client.Refused):
    """The node is locked, so the refusal is not final."""


def _send(context: lease_context.Context, booking: leases.NodeBooking,
          each: correction.Correction) -> None:
    """Send a correction; twice, if the node was locked for a moment only.

    :raises Refused: the correction is refused for good.
    """
    for is_last in (False, True):
        try:
            context.put_back(booking, each)
        except ironic_client.Refused as exc:
            if exc.status == _CONFLICT:
                shown = context.ironic.settled(booking.node_uuid)
                if shown is None or shown[1]:
                    raise _Locked(exc.status, 'the node is locked') from exc
            if is_last or exc.status != _CONFLICT:
                raise
        else:
            return
