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

"""The start of a lease: it gets its nodes.

A value for a node is recorded in its booking before it is sent to Ironic.  So
the end of the lease always finds the value, and does not remove values of
others.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import itertools

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import Engine
from ironic_reservations.engine import mirror
from ironic_reservations.engine import seen
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.engine.leases import heal as lease_heal
from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import host_view
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import requirements
from ironic_reservations.planner import host_sets

LOG = log.getLogger(__name__)

_PENDING = leases.ReservationStatus.PENDING
_PLANNED = leases.BookingState.PLANNED

#: How often in a row a lease has to wait, about a minute in all, before a node
#: that Ironic does not show is replaced.
_PATIENCE = 20
#: How many other nodes are read in turn, to know whether Ironic answers.
_OTHERS = 8


@dataclasses.dataclass(frozen=True)
class _Observed:
    """The states of the nodes of a lease, read in one snapshot.

    :ivar nodes: the nodes as mirrored.
    :ivar hosts: the nodes as hosts, without the nodes that are no longer
        hosts.
    :ivar wanted: the requirements of bookings on their hosts, by their ids.
    :ivar views: the promises of the nodes.
    """

    nodes: Mapping[str, mirrored_node.Node]
    hosts: Mapping[str, leases.Host]
    wanted: Mapping[int, requirements.Requirement]
    views: Mapping[str, host_view.HostView]

    def returning(self, uuid: str) -> bool:
        """Return whether a node is still being freed from another lease."""
        return not self.nodes[uuid].compute and any(
            booking.begun and booking.id not in self.wanted
            for booking in self.views[uuid].bookings)

    def taken(self, uuid: str) -> str | None:
        """Return a description of another use of the node, if there is one."""
        view = self.views[uuid]
        if self.returning(uuid):
            return 'is still being taken back from the previous lease'
        if view.leaves_maintenance:
            return 'is being taken out of maintenance'
        if view.maintained_until is not None:
            return 'is in a maintenance window'
        if view.reservation is not None:
            return 'is reserved for an instance'
        return (None if view.busy_until is None
                else 'is being taken at this moment')

    @property
    def until(self) -> datetime.datetime | None:
        """The next known end of another use.

        A use that is over ends when the node has been put back, at an unknown
        time.
        """
        return min((end for view in self.views.values() for end in (
            view.maintained_until,
            view.reservation.expires_at if view.reservation else None)
            if end is not None and end > view.now), default=None)

    def suits(self, booking: leases.NodeBooking,
              node: mirrored_node.Node | None) -> bool:
        """Return whether a node meets the requirement of a booking."""
        host = self.hosts.get(booking.node_uuid)
        return node is None or host is None or requirements.suits(
            self.wanted[booking.id], dataclasses.replace(host, node=node))

    @property
    def rests_on(self) -> seen.Seen:
        """The generations on which the commit rests."""
        return seen.of_nodes(self.nodes.values())


def start(context: lease_context.Context,
          lease: leases.Lease) -> lease_context.Outcome:
    """Give a lease its nodes, as far as they are available.

    :raises Conflict: another process has changed the lease or its nodes
        meanwhile.
    :raises Lost: another worker has the lease.
    """
    engine, now = context.engine, context.engine.clock()
    giving = lease_cycle.starting(lease, now)
    concerned = [booking for each in lease.reservations
                 for booking in each.bookings
                 if booking in giving or (
                     each.status is _PENDING
                     and booking.state is leases.BookingState.BOUND)]
    observed = _observe(engine, lease, concerned, now)
    new = [observed.nodes[booking.node_uuid] for booking in giving
           if not booking.begun]
    if True in [each.refresh_hosts(engine, new) for each in engine.features]:
        observed = _observe(engine, lease, concerned, now)
    seen, unseen = _read(context, observed, concerned)
    views = {booking.id: _view(booking, seen[booking.node_uuid], observed)
             if booking.node_uuid not in unseen else lease_cycle.AtStart(
                 False, False, unseen[booking.node_uuid])
             for booking in concerned}
    if _find_others(context, observed, seen, [
            booking for booking in giving
            if views[booking.id].why and not booking.begun
            and booking.node_uuid not in unseen]):
        return lease_context.Outcome(changed=True)
    # Ironic answers, but for other nodes only.
    if (context.attempts >= _PATIENCE and not context.seems_down
            and _find_others(context, observed, seen, [
                booking for booking in giving
                if booking.node_uuid in unseen and not booking.begun],
                avoiding={*unseen, *(uuid for _, uuid in context.searched)})):
        return lease_context.Outcome(changed=True, closer=False)
    binding = [booking for booking in giving if views[booking.id].bind]
    # The hold comes first, so that nobody deploys through Nova meanwhile.
    unheld = context.ask(lambda each: each.secure(context, binding, seen))
    # Only once in a context: whether another node can be held is known only
    # after an attempt.
    before = {ident for ident, _ in context.searched}
    elsewhere = [booking for booking in binding
                 if booking.id in unheld and unheld[booking.id].elsewhere
                 and not booking.begun and booking.id not in before]
    if _find_others(context, observed, seen, elsewhere,
                    avoiding={booking.node_uuid for booking in elsewhere}):
        return lease_context.Outcome(changed=True, closer=False)
    binding = [booking for booking in binding if booking.id not in unheld]
    unoffered = context.ask(lambda each: each.offer(context, lease, binding))
    # Hosts can be used through Ironic even if Nova fails.
    waiting = {each.id for each in lease.reservations
               if each.instances is not None and each.id in unoffered}
    binding = [booking for booking in binding
               if booking.reservation_id not in waiting]
    # A booking that was used before, and so is bound, is planned again until
    # its lessee has been written; it never moves.
    intents = {booking: dataclasses.replace(
        booking, state=_PLANNED, lessee=booking.project_id,
        lessee_before=_lessee(seen[booking.node_uuid]))
        for booking in binding
        if _needs_intent(booking, seen[booking.node_uuid])}
    written = lease
    if intents:
        written = context.commit(
            lease, lease_context.with_bookings(_starting(lease, now), intents),
            observed.rests_on.only(
                {booking.node_uuid for booking in intents}), now)
    refused = _write_lessees(context, written, binding, seen, views)
    refused.update({ident: each.why for ident, each in unheld.items()})
    given = [booking for booking in binding if booking.id not in refused]
    after = _commit(context, written, observed, given, views, intents, now,
                    complete=not refused and not unoffered,
                    why=[lease_context.about(
                        seen[booking.node_uuid], booking.node_uuid,
                        views[booking.id].why or '')
                        for booking in concerned if views[booking.id].why])
    waits = [lease_context.about(seen[booking.node_uuid], booking.node_uuid,
                                 views[booking.id].why or refused[booking.id])
             for booking in concerned if booking.id in refused
             or views[booking.id].why and not (views[booking.id].bind and
                                               views[booking.id].settled)]
    return lease_context.Outcome(
        after != lease, (*waits, *unoffered.values()), after,
        until=observed.until,
        polled=bool(unseen or refused or unoffered) or any(
            observed.views[uuid].busy_until is not None
            or not node_condition.alike(seen[uuid], node)
            for uuid, node in observed.nodes.items()))


def _observe(engine: Engine, lease: leases.Lease,
             concerned: Collection[leases.NodeBooking],
             now: datetime.datetime) -> _Observed:
    """Read the states of the nodes of bookings."""
    uuids = {booking.node_uuid for booking in concerned}
    with engine.database.snapshot() as connection:
        nodes = db_nodes.read_nodes(connection, uuids)
        hosts = db_hosts.read(connection, node_uuids=uuids)
        views = db_host_views.read(connection, uuids, now, now, windows=True,
                                   busy=True)
    if not set(concerned) <= {booking for view in views.values()
                              for booking in view.bookings}:
        raise db_connection.Conflict('a booking has changed meanwhile')
    return _Observed(
        nodes,
        {row.node_uuid: row.with_node(nodes[row.node_uuid])
         for row in hosts},
        {booking.id: requirements.of(each)
         for each in lease.reservations for booking in each.bookings}, views)


def _read(context: lease_context.Context, observed: _Observed,
          concerned: Sequence[leases.NodeBooking]
          ) -> tuple[dict[str, mirrored_node.Node | None], dict[str, str]]:
    """Read nodes as Ironic shows them; compute hosts are as mirrored.

    :returns: the nodes; and why Ironic does not show some of them, which are
        as mirrored.
    :raises IronicUnavailable: Ironic seems to be down.
    :raises Lost: another worker has the lease.
    """
    seen: dict[str, mirrored_node.Node | None] = dict(observed.nodes)
    unseen = {uuid: 'has not been read from Ironic yet'
              for uuid, node in observed.nodes.items() if not node.compute}
    asked = dict.fromkeys(booking.node_uuid
                          for booking in context.in_turn(concerned))
    for uuid in [uuid for uuid in asked if uuid in unseen]:
        try:
            node = context.node(uuid)
        except errors.IronicUnavailable as exc:
            unseen[uuid] = f'cannot be read: {exc}'
            if context.seems_down and not _shows_another(context, observed):
                if len(unseen) == len(seen):
                    raise
                break
        else:
            if not node_condition.taken_over(node, seen[uuid]):
                seen[uuid] = node
            del unseen[uuid]
    return seen, unseen


def _shows_another(context: lease_context.Context,
                   observed: _Observed) -> bool:
    """Return whether Ironic shows a node that a lease could have instead.

    :raises Lost: another worker has the lease.
    """
    if context.attempts < _PATIENCE:
        return False
    snapshot = context.engine.snapshot(context.engine.clock())
    ready = list(itertools.islice((
        node.uuid for number in host_sets.members(snapshot.ready)
        if not (node := snapshot.host_state(number).host.node).compute
        and node.uuid not in observed.nodes), _OTHERS))
    if not ready:
        return False
    try:
        # Another one at each attempt, since one may not be shown either.
        context.node(ready[context.attempts % len(ready)])
    except errors.IronicUnavailable:
        return False
    return True


def _view(booking: leases.NodeBooking, node: mirrored_node.Node | None,
          observed: _Observed) -> lease_cycle.AtStart:
    view = _view_of_node(booking, node, observed)
    if view.why is not None:
        return view
    # The node can be used until the window, but was promised for longer.
    return dataclasses.replace(
        view, why=observed.views[booking.node_uuid].interruption(booking))


def _view_of_node(booking: leases.NodeBooking, node: mirrored_node.Node | None,
                  observed: _Observed) -> lease_cycle.AtStart:
    suits = observed.suits(booking, node)
    uuid = booking.node_uuid
    if node is not None and observed.views[uuid].leaves_maintenance:
        # The node is not broken; its maintenance is about to be cleared.
        node = dataclasses.replace(node, maintenance=False)
    if not booking.begun:
        return lease_cycle.at_start(
            node, observed.taken(uuid), suits, observed.returning(uuid))
    # The lease has the node already, or nearly; an instance there was deployed
    # with its proof.
    unready = lease_cycle.unready(node)
    return lease_cycle.AtStart(True, unready is None,
                               unready or lease_cycle.has(node, suits))


def _find_others(context: lease_context.Context, observed: _Observed,
                 seen: Mapping[str, mirrored_node.Node | None],
                 homeless: Sequence[leases.NodeBooking],
                 avoiding: Collection[str] = ()) -> bool:
    """Plan other nodes for bookings whose nodes are not ready.

    :param avoiding: uuids of nodes that they do not get although they are
        shown as ready.
    :returns: whether other nodes were found.
    """
    new = [booking for booking in homeless
           if (booking.id, booking.node_uuid) not in context.searched]
    if not new:
        return False
    context.searched.update((booking.id, booking.node_uuid)
                            for booking in new)
    for uuid in {booking.node_uuid for booking in new}:
        # The plan rests on the mirror, which has to show the fault of the
        # node.
        known = observed.nodes[uuid]
        if known.compute and avoiding:
            for each in context.engine.features:
                each.refresh_hosts(context.engine, [known], whole=True)
        elif not known.compute and not _same(seen[uuid], known):
            mirror.refresh_node(context.engine, uuid)
    try:
        return bool(lease_heal.replace(context.engine, context.lease_id,
                                       [booking.id for booking in new],
                                       avoiding))
    except errors.Contention as exc:
        LOG.info('No search for other nodes was made for the lease %s: %s',
                 context.lease_id, exc)
        return False


def _same(seen: mirrored_node.Node | None, known: mirrored_node.Node) -> bool:
    return seen is not None and dataclasses.replace(
        seen, generation=known.generation) == known


def _lessee(node: mirrored_node.Node | None) -> str | None:
    return None if node is None else node.lessee


def _differs(booking: leases.NodeBooking,
             node: mirrored_node.Node | None) -> bool:
    return (node is not None and not node.compute
            and booking.project_id is not None
            and node.lessee != booking.project_id)


def _needs_intent(booking: leases.NodeBooking,
                  node: mirrored_node.Node | None) -> bool:
    """Return whether a booking lacks the lessees that are written next.

    Somebody may have changed the lessee of the node since they were recorded.
    """
    return _differs(booking, node) and (
        (booking.lessee, booking.lessee_before)
        != (booking.project_id, _lessee(node)))


def _starting(lease: leases.Lease, now: datetime.datetime) -> leases.Lease:
    if lease.status is not leases.LeaseStatus.PENDING:
        return lease
    return lease_context.with_event(dataclasses.replace(
        lease, status=leases.LeaseStatus.STARTING, updated_at=now),
        leases.EventType.START, leases.EventStatus.IN_PROGRESS, now)


def _write_lessees(context: lease_context.Context, lease: leases.Lease,
                   binding: Sequence[leases.NodeBooking],
                   seen: Mapping[str, mirrored_node.Node | None],
                   views: Mapping[int, lease_cycle.AtStart]
                   ) -> dict[int, str]:
    """Write the lessees of nodes, and return the refusals of Ironic."""
    rows = {booking.id: booking for booking in lease.bookings}
    refused: dict[int, str] = {}
    for booking in binding:
        if not _differs(booking, seen[booking.node_uuid]):
            continue
        if not views[booking.id].settled:
            # NOTE: Ironic does not change a node during another operation.
            refused[booking.id] = views[booking.id].why or ''
        else:
            try:
                context.write_lessee(rows[booking.id], booking.project_id)
            except (ironic_client.Refused, errors.IronicUnavailable) as exc:
                # A dead conductor must not delay the nodes of other ones.
                refused[booking.id] = f'cannot be given to the lease: {exc}'
    return refused


def _commit(context: lease_context.Context, lease: leases.Lease,
            observed: _Observed, given: Sequence[leases.NodeBooking],
            views: Mapping[int, lease_cycle.AtStart],
            intents: Collection[leases.NodeBooking], now: datetime.datetime,
            complete: bool, why: Sequence[str] = ()) -> leases.Lease:
    """Write the new state of the lease and of its bookings."""
    after = lease
    if complete:
        after = _settled(_starting(lease, now), views, now)
        if context.engine.nova is not None:
            # The lease may be older than the configuration of Nova.
            after = leases.with_flavors(after)
    if not given and after == lease:
        return lease
    rows = {booking.id: booking for booking in lease.bookings}
    bound = {rows[booking.id]: dataclasses.replace(
        rows[booking.id], state=leases.BookingState.BOUND) for booking in given
        if rows[booking.id].state is _PLANNED}
    for booking in given:
        if (booking.lessee is None and booking.project_id is not None
                and booking not in intents):
            row = rows[booking.id]
            bound[row] = dataclasses.replace(
                bound.get(row, row), lessee=booking.project_id,
                lessee_before=booking.project_id)
    # A booking with a recorded lessee does not move, so other plans for its
    # node do not matter.
    kept = {booking for booking in bound if booking.begun}
    with context.engine.database.read() as connection:
        nodes = seen.read_again(connection, kept).also(observed.rests_on.only(
            {booking.node_uuid for booking in bound.keys() - kept}))
    written = context.commit(
        lease, lease_context.with_bookings(after, bound), nodes, now,
        lease_context.sentence(list(why)))
    if after.status is not lease.status:
        LOG.info('The lease %s is %s', lease.id, after.status)
    return written


def _settled(lease: leases.Lease,
             views: Mapping[int, lease_cycle.AtStart],
             now: datetime.datetime) -> leases.Lease:
    """Return the lease with its settled reservations; active, if all are."""
    reservations = tuple(_reservation(each, views, now)
                         for each in lease.reservations)
    lease = dataclasses.replace(lease, reservations=reservations)
    if lease.status is leases.LeaseStatus.ACTIVE or any(
            each.status is _PENDING for each in reservations):
        return lease
    return lease_context.with_event(dataclasses.replace(
        lease, status=leases.LeaseStatus.ACTIVE, updated_at=now,
        degraded=any(each.missing_resources for each in reservations)),
        leases.EventType.START, leases.EventStatus.DONE, now)


def _reservation(each: leases.LeaseReservation,
                 views: Mapping[int, lease_cycle.AtStart],
                 now: datetime.datetime) -> leases.LeaseReservation:
    if each.status is not _PENDING:
        return each
    about = [views[booking.id] for booking in each.bookings
             if booking.id in views]
    if not all(view.settled for view in about):
        return each
    return dataclasses.replace(
        each, status=leases.ReservationStatus.ACTIVE, updated_at=now,
        missing_resources=any(view.why for view in about))
