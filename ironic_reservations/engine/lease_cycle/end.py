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

"""The end of a lease: its nodes return to their state before the lease."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import datetime
import functools

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import seen
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.engine.lease_cycle import handover as lease_handover
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import handovers
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

LOG = log.getLogger(__name__)

_DELETING = leases.LeaseStatus.DELETING
#: The acts after which the next one can follow at once.
_AGAIN = (in_flight.Act.CLEAR_INSTANCE, in_flight.Act.MANAGE,
          in_flight.Act.PROVIDE, lease_cycle.NoAct.AGAIN)


def notify_before_end(context: lease_context.Context,
                      lease: leases.Lease) -> lease_context.Outcome:
    """Notify that the end of a lease is near.

    :raises Conflict: another process has changed the lease meanwhile.
    """
    now = context.engine.clock()
    return lease_context.Outcome(True, lease=context.commit(
        lease, _notified(lease, now), seen.Seen(), now))


def _notified(lease: leases.Lease, now: datetime.datetime) -> leases.Lease:
    return lease_context.with_event(lease, leases.EventType.BEFORE_END,
                                    leases.EventStatus.DONE, now)


def close(context: lease_context.Context,
          lease: leases.Lease) -> lease_context.Outcome:
    """Begin the end of all bookings of a lease that is over.

    :raises Conflict: another process has changed the lease meanwhile.
    """
    now = context.engine.clock()
    after = lease if lease.status is _DELETING else _closed(lease, now)
    with context.engine.database.read() as connection:
        nodes = seen.read_again(connection, lease.bookings)
    return lease_context.Outcome(True, lease=context.commit(
        lease, leases.ending(after, now), nodes, now))


def _closed(lease: leases.Lease, now: datetime.datetime) -> leases.Lease:
    if lease_context.undone(lease, leases.EventType.START):
        # No reconciler was running at its start.
        LOG.warning('The lease %s is over and never started', lease.id)
        for kind in (leases.EventType.START, leases.EventType.BEFORE_END):
            lease = lease_context.with_event(lease, kind,
                                             leases.EventStatus.ERROR, now)
    elif lease_context.undone(lease, leases.EventType.BEFORE_END):
        lease = _notified(lease, now)
    return lease_context.with_event(dataclasses.replace(
        lease, status=leases.LeaseStatus.TERMINATING, updated_at=now),
        leases.EventType.END, leases.EventStatus.IN_PROGRESS, now)


@dataclasses.dataclass
class _Progress:
    """The progress at the end of the bookings of a lease.

    :ivar gone: bookings whose nodes are released.
    :ivar free: the released nodes, as Ironic shows them.
    :ivar untouched: bookings whose nodes have no value of ours left, but are
        not free yet.
    :ivar begun: bookings whose handover was begun in this step.
    :ivar flag: whether a node needs the operator.
    :ivar again: whether to repeat the step at once.
    :ivar until: the earliest end of an obstacle.
    :ivar polled: whether the mirror does not show the end of an obstacle.
    :ivar unsure: whether the outcome of a request is unknown.
    """

    gone: list[leases.NodeBooking] = dataclasses.field(default_factory=list)
    free: list[mirrored_node.Node] = dataclasses.field(default_factory=list)
    untouched: list[leases.NodeBooking] = dataclasses.field(
        default_factory=list)
    begun: list[leases.NodeBooking] = dataclasses.field(default_factory=list)
    waits: list[str] = dataclasses.field(default_factory=list)
    flag: bool = False
    again: bool = False
    until: datetime.datetime | None = None
    polled: bool = False
    unsure: bool = False

    def wait(self, until: datetime.datetime | None) -> None:
        """Keep the earliest end of an obstacle."""
        if until is not None:
            self.until = min(until, self.until or until)

    def poll(self, node: mirrored_node.Node | None, uuid: str,
             why: str) -> None:
        """Add an obstacle on a node whose end the mirror does not show."""
        self.polled = True
        self.waits.append(lease_context.about(node, uuid, why))


def reclaim(context: lease_context.Context,
            lease: leases.Lease) -> lease_context.Outcome:
    """Free the nodes of a lease, as far as their states allow it.

    :raises Conflict: another process has changed the lease meanwhile.
    :raises Lost: another worker has the lease.
    """
    engine, now = context.engine, context.engine.clock()
    found = _Progress()
    with engine.database.read() as connection:
        known = db_nodes.read_nodes(
            connection, {booking.node_uuid for booking in lease.bookings},
            with_traits=False)
    busy = _busy(context, lease)
    kept = context.ask(lambda each: each.withdraw(context, lease))
    handed = lease_handover.read(engine, lease.bookings)
    found.waits.extend(kept.values())
    found.polled = bool(kept)
    waiting = {each.id for each in lease.reservations
               if each.instances is not None and each.id in kept}
    for booking in context.in_turn([
            each for each in lease.bookings
            if each.ending and each.reservation_id not in waiting]):
        mirrored = known.get(booking.node_uuid)
        if mirrored is not None and mirrored.compute:
            # Its share of the compute host has been withdrawn above.
            found.gone.append(booking)
            continue
        if booking.node_uuid in busy:
            if busy[booking.node_uuid] > now:
                found.wait(busy[booking.node_uuid])
                found.poll(None, booking.node_uuid,
                           'is being changed by a request under way')
            else:
                found.unsure = True
                found.poll(None, booking.node_uuid,
                           'may still be changed by a request whose outcome '
                           'is not known yet')
            continue
        node: mirrored_node.Node | None = None
        try:
            node = context.node(booking.node_uuid)
            if node_condition.taken_over(node, mirrored):
                found.gone.append(booking)
                continue
            found.polled |= not node_condition.alike(node, mirrored)
            if (booking.reservation_id in kept and node is not None
                    and node.instance_uuid is not None):
                # The instance may be a server, which Nova has to delete.
                continue
            _reclaim(context, booking, node,
                     handed.get(booking.node_uuid), found,
                     lease.puts_back)
        except ironic_client.Refused as exc:
            found.poll(node, booking.node_uuid, f'cannot be freed: {exc}')
        except errors.IronicUnavailable as exc:
            if context.seems_down:
                found.polled = True
                found.waits.append(str(exc))
                break
            # A dead conductor must not delay the nodes of other conductors.
            found.poll(node, booking.node_uuid, f'cannot be freed: {exc}')
    after = lease
    if found.flag and lease.status.over and not lease.degraded:
        after = dataclasses.replace(lease, degraded=True, updated_at=now)
    if not found.gone and not found.untouched and after == lease:
        return lease_context.Outcome(found.again, tuple(found.waits),
                                     until=found.until, polled=found.polled,
                                     unsure=found.unsure)
    with engine.database.read() as connection:
        # Other bookings of these nodes do not matter, and they often change
        # during the requests to Ironic, so the generations are read again.
        nodes = seen.read_again(connection, [*found.gone, *found.untouched])
    changed: dict[leases.NodeBooking, leases.NodeBooking | None] = {
        **dict.fromkeys(found.gone),
        **{booking: dataclasses.replace(booking, lessee=None,
                                        lessee_before=None)
           for booking in found.untouched}}
    after = context.commit(
        lease, lease_context.with_bookings(after, changed), nodes, now,
        lease_context.sentence(found.waits), statements=[
            # The mirror may show the nodes as they were a moment ago.
            functools.partial(
                db_nodes.update_facts, nodes=[
                    node for node in found.free if node.uuid in known],
                now=now),
            functools.partial(db_handovers.delete, bookings=[
                booking for booking in found.gone
                if booking.node_uuid in handed or booking in found.begun]),
            # The mirror has woken the leases that wait for these nodes when
            # Ironic freed them, which was too soon.
            functools.partial(db_lease_work.wake, node_uuids={
                booking.node_uuid for booking in found.gone}, now=now)])
    return lease_context.Outcome(True, tuple(found.waits), after,
                                 unsure=found.unsure)


def _busy(context: lease_context.Context,
          lease: leases.Lease) -> Mapping[str, datetime.datetime]:
    """Return the nodes that are kept for requests, with the end of each.

    After this, no further request is let through. The caller reads Ironic
    afterwards, so Ironic shows the effect of earlier requests. Unused tickets
    of this lease become void.
    """
    ending = {each.node_uuid for each in lease.bookings if each.ending}
    with context.engine.database.read() as connection:
        busy = db_in_flight.read_busy(connection, ending)
    if not busy:
        return busy
    with context.engine.database.write() as connection:
        db_in_flight.void_tickets(connection, lease.id)
        return db_in_flight.read_busy(connection, ending)


def _reclaim(context: lease_context.Context, booking: leases.NodeBooking,
             node: mirrored_node.Node | None,
             handover: handovers.Handover | None, found: _Progress,
             puts_back: bool) -> None:
    uuid = booking.node_uuid
    kept = _restore_lessee(context, booking, node)
    view = _next(context, booking, node, handover, found, puts_back)
    found.flag |= view.flag
    found.wait(view.until)
    if kept is not None:
        found.poll(node, uuid, kept)
    elif view.act is lease_cycle.NoAct.RELEASE:
        found.gone.append(booking)
        if node is not None:
            found.free.append(node)
        if view.why:
            LOG.warning('Node %s %s at the end of its lease', uuid, view.why)
        return
    elif booking.lessee is not None:
        # From here on, the lessee belongs to others.
        found.untouched.append(booking)
    if view.why:
        found.polled |= node is None or node_condition.idle(node)
        found.waits.append(lease_context.about(node, uuid, view.why))
    if isinstance(view.act, in_flight.Act):
        context.change(booking, view.act)
    found.again |= view.act in _AGAIN


def _next(context: lease_context.Context, booking: leases.NodeBooking,
          node: mirrored_node.Node | None,
          handover: handovers.Handover | None,
          found: _Progress, puts_back: bool) -> lease_cycle.AtEnd:
    """Return the next act for a node; restore its values if possible."""
    options = context.engine.conf.leases
    action = lease_cycle.PUT_BACK if puts_back else options.end_action
    view = lease_cycle.at_end(node, action)
    if (node is None or node.provision_state == node_condition.GONE
            or action == lease_cycle.LEAVE and node_condition.occupied(node)):
        return view
    if handover is None:
        if not options.clean_unused:
            return view
        handover = lease_handover.begin(context, booking)
        found.begun.append(booking)
    return lease_handover.next_step(context, booking, node, handover, view)


def _restore_lessee(context: lease_context.Context,
                    booking: leases.NodeBooking,
                    node: mirrored_node.Node | None) -> str | None:
    """Restore the lessee from before the lease, unless it was changed since.

    :returns: the reason in words, if this was not possible.
    """
    if (node is None or booking.lessee in (None, booking.lessee_before)
            or node.lessee != booking.lessee):
        return None
    try:
        context.write_lessee(booking, booking.lessee_before)
    except ironic_client.Refused as exc:
        return f'keeps its lessee: {exc}'
    return None


def finish(context: lease_context.Context,
           lease: leases.Lease) -> lease_context.Outcome:
    """Record that a lease without nodes is over.

    :raises Conflict: another process has changed the lease meanwhile.
    :raises Lost: another worker has the lease.
    """
    now = context.engine.clock()
    kept = context.ask(lambda each: each.withdraw(context, lease))
    if kept:
        return lease_context.Outcome(waits=tuple(kept.values()), polled=True)
    if lease.status is _DELETING:
        context.commit(lease, None, seen.Seen(), now)
        return lease_context.Outcome(changed=True)
    after = lease_context.with_event(dataclasses.replace(
        lease, status=leases.LeaseStatus.TERMINATED, updated_at=now,
        reservations=tuple(dataclasses.replace(
            each, status=leases.ReservationStatus.DELETED, updated_at=now)
            for each in lease.reservations)),
        leases.EventType.END, leases.EventStatus.DONE, now)
    after = context.commit(lease, after, seen.Seen(), now)
    LOG.info('The lease %s is over', lease.id)
    return lease_context.Outcome(True, lease=after)
