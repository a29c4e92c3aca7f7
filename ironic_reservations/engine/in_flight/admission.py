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

"""Let a request through to Ironic without a gap in the timeline.

After the guard has let a deploy pass, the node seems free until Ironic shows
the deploy.  For that time, the timeline has a row for the *in-flight request*:
it increments the node's generation, so that a reservation planned before it
cannot commit, and it makes the node busy, so that none is planned during it.
It does not expire: if its process died, or Ironic gave no answer, the
reconciler finds out the outcome, see :mod:`.uncertain`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import datetime
import functools
import uuid as uuid_module

from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine import seen
from ironic_reservations.engine.in_flight import refusal_messages
from ironic_reservations.engine.reservations import displacement
from ironic_reservations.engine.reservations import plan as reservation_plan
from ironic_reservations.lifecycle import admit as planner_admit
from ironic_reservations.lifecycle import lifecycle
from ironic_reservations.model import host_view
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class InFlightRequest:
    """A guarded request that was let through.

    :ivar token: identifies its row.
    :ivar deadline: the time by the engine's timer after which the request is
        not sent to Ironic.
    :ivar reservation_uuid: the reservation that was shown, if any.
    :ivar first: whether the proof was used for the first time, so that the
        reservation is unused again if this request fails.
    :ivar lease_reservation_id: the lease reservation that was shown.
    :ivar instance_uuid: the uuid of an allocation.
    :ivar uses: whether a lease uses its node if this request succeeds.
    :ivar holder: the reservation or booking that was shown, or for a change,
        that has the node; a node that is being put back has none.
    """

    token: str
    node_uuid: str
    deadline: float
    reservation_uuid: str | None = None
    first: bool = False
    lease_reservation_id: str | None = None
    instance_uuid: str | None = None
    uses: bool = False
    holder: str | None = None


@dataclasses.dataclass(frozen=True)
class Shown:
    """A node as Ironic shows it.

    :ivar asked_at: a time before Ironic was asked; the node may have been used
        since.
    """

    node: mirrored_node.Node
    asked_at: datetime.datetime


def admit(
        engine: Engine,
        node_uuid: str,
        proof: str | None = None,
        vouched_instance: str | None = None,
        required: bool = False,
        act: planner_admit.Act = planner_admit.Act.USE,
        placed_instance: str | None = None,
        bearer: planner_admit.Bearer = planner_admit.ANYBODY,
        permitted: Callable[[], None] = lambda: None
) -> InFlightRequest:
    """Let a request take a node for use, or refuse it.

    A deploy without a lease has no known end, so the leases that the node is
    promised to move to other nodes first.

    :param proof: the uuid of a reservation or the id of a lease reservation,
        in its canonical form.
    :param vouched_instance: the instance that a trusted service names as its
        proof.
    :param required: whether even a free node needs a reservation.
    :param act: the effect of the request on the node.
    :param placed_instance: the instance that a trusted service names, and that
        Placement may show to have the node by a lease.
    :param bearer: the caller who shows the proof.
    :param permitted: raises if Ironic would refuse the caller; called once,
        before leases have to move.
    :raises ProofRequired: the node is reserved or leased, and no proof was
        shown.
    :raises ProofInvalid: the proof is not valid for the node.
    :raises ReservationRequired: the node is free, but needs a reservation.
    :raises NodeInMaintenance: the node is in a maintenance window.
    :raises NodePromised: a lease needs the node later.
    :raises ProofUnknown: Placement does not answer.
    :raises DatabaseUnavailable: the owner of the node cannot be read.
    """
    shown_claim = planner_admit.Claim(proof, vouched_instance, bearer)
    permitted = functools.cache(permitted)

    def plan() -> change.Planned[InFlightRequest]:
        deadline = send_deadline(engine)
        now = engine.clock()
        with engine.database.read() as connection:
            node = db_nodes.read_node(connection, node_uuid)
            view = db_host_views.read_one(connection, node_uuid, now,
                                          windows=True)
            needed = required or act is planner_admit.Act.USE and bool(
                reservation_plan.closed(
                    engine, connection, reservation_plan.Need(bare=True),
                    (node_uuid,)))
        claim = shown_claim
        verdict = planner_admit.admit(claim, view, needed, act)
        if (verdict is planner_admit.Verdict.PROOF_REQUIRED
                and placed_instance is not None
                and view.lease is not None and view.reservation is None
                and any(each.proves(engine, node_uuid,
                                    view.lease.reservation_id, placed_instance)
                        for each in engine.features)):
            # If the rows are outdated by now, the commit below fails, and the
            # plan is made again.
            claim = planner_admit.Claim(view.lease.reservation_id)
            verdict = planner_admit.admit(claim, view, needed, act)
        if verdict is planner_admit.Verdict.IN_MAINTENANCE:
            raise refusal_messages.maintained(view)
        if not verdict.passes:
            raise refusal_messages.refusal(verdict, claim, view)
        if verdict is planner_admit.Verdict.LEASE_PROVEN:
            assert node is not None and view.lease is not None
            ident = view.lease.reservation_id
            return begin(engine, node, now, deadline, view.next_change,
                         starting=unbound(view.bookings, ident),
                         lease_reservation_id=ident,
                         uses=act is planner_admit.Act.USE,
                         holder=view.holder)
        proven = verdict is planner_admit.Verdict.PROVEN
        if act.lasts and view.next_lease is not None:
            permitted()
        room = (make_room(engine, node, view)
                if node is not None and act.lasts else None)
        # A node that is not mirrored yet has no holder; the next poll writes
        # its facts.
        return begin(engine, node or mirrored_node.Node(node_uuid,
                                                        provision_state=None),
                     now, deadline, view.next_change,
                     shown=view.row if proven else None, void=view.void,
                     room=room, holder=view.holder if proven else None)
    return let_through(engine, plan)


def let_through(engine: Engine,
                plan: Callable[[], change.Planned[InFlightRequest]]
                ) -> InFlightRequest:
    """Let a request through, or make sure that nothing is sent to Ironic.

    :param plan: reads, decides, and returns the request with its change.
    :raises DatabaseUnavailable: the request may have been let through; then
        the reconciler finds out that nothing was sent.
    """
    try:
        return change.carry_out(engine, plan)
    except errors.OutcomeUnknown as exc:
        raise errors.DatabaseUnavailable(
            'The connection to the database of the reservations was lost '
            'while this request was being admitted, so it was not sent to '
            'Ironic, and nothing was done. The node may look busy for some '
            'minutes; try again later.') from exc


def unbound(promised: Iterable[leases.NodeBooking],
            reservation_id: str | None) -> list[leases.NodeBooking]:
    """Return the bookings of a lease reservation that have to be bound.

    From its first use on, a node is not exchanged for another one, so its
    booking has to be bound. Bookings whose lessee is being written are left
    out: their nodes are not exchanged either, and the worker that writes the
    lessee has to find the booking unchanged.
    """
    return [booking for booking in promised
            if booking.reservation_id == reservation_id and not booking.begun]


def make_room(engine: Engine, node: mirrored_node.Node,
              view: host_view.HostView) -> displacement.Displacement | None:
    """Plan other nodes for the leases that need this one later.

    :returns: ``None``: no lease needs the node.
    :raises NodePromised: no other node was found for one of these leases.
    """
    if view.next_lease is None:
        return None
    room = displacement.on(engine, node, view.now, None)
    if room.lost and engine.conf.leases.without_reservation != 'allow':
        raise refusal_messages.promised(node.uuid, view.next_lease)
    return room


def begin(engine: Engine, node: mirrored_node.Node, now: datetime.datetime,
          deadline: float, wrong_from: datetime.datetime | None, *,
          shown: node_reservation.Reservation | None = None,
          void: node_reservation.Reservation | None = None,
          confirmed: bool = False,
          room: displacement.Displacement | None = None,
          starting: Collection[leases.NodeBooking] = (),
          lease_reservation_id: str | None = None,
          instance_uuid: str | None = None, act: str | None = None,
          uses: bool = False, holder: str | None = None
          ) -> change.Planned[InFlightRequest]:
    """Return a request that is let through, and the change that does so.

    :param node: the node as the decision saw it.
    :param now: the time of the decision.
    :param deadline: see :class:`InFlightRequest`.
    :param wrong_from: the instant from which the decision may be wrong.
    :param shown: the reservation that was shown.
    :param void: a reservation of the node that is over.
    :param confirmed: whether the node was read from Ironic.
    :param room: the moves of leases that were promised the node.
    :param starting: bookings that this first use binds.
    :param instance_uuid: the uuid of an allocation.
    :param act: :data:`.in_flight.CHANGE` for a change that uses no node.
    :param uses: see :class:`InFlightRequest`.
    :param holder: see :class:`InFlightRequest`.
    """
    token = str(uuid_module.uuid4())
    writes = []
    if void is not None:
        # A late renewal must not revive it.
        writes.append(change.expired(void))
    first = False
    if shown is not None and shown.state is node_reservation.State.RESERVED:
        # The reservation must not expire during the request.
        first = True
        writes.append(change.Write(shown, dataclasses.replace(
            shown, state=node_reservation.State.STARTING, updated_at=now),
            change.Cause.USED))
    through = InFlightRequest(
        token, node.uuid, deadline, None if shown is None else shown.uuid,
        first, lease_reservation_id, instance_uuid, uses, holder)
    opening = displacement.change_with(
        now, seen.picked(node, confirmed), room, writes=writes, opaque=True,
        let_through=(node.uuid, token) if act is None else None,
        statements=[functools.partial(
            _write, through=through, starting=starting, now=now,
            until=answered_by(engine, now), act=act)])
    opening.wrong_from(wrong_from)
    return change.Planned(through, opening)


def _write(connection: sa.Connection, through: InFlightRequest,
           starting: Collection[leases.NodeBooking], now: datetime.datetime,
           until: datetime.datetime, act: str | None) -> None:
    """Write the row of a request that is let through.

    :param starting: bookings that this first use binds.
    :param until: the latest time of the answer.
    :raises Contention: another request is changing the node.
    """
    if starting:
        db_bookings.update_state(connection, starting,
                                 leases.BookingState.BOUND, now)
    row = (through.node_uuid, through.token, through.reservation_uuid,
           through.instance_uuid, until)
    if act is not None:
        db_in_flight.insert(connection, *row, act=act)
    elif not db_in_flight.insert_use(connection, *row):
        # A late request that undeploys the node for its last user would do so
        # to the next one.
        raise errors.Contention(
            f'Node {through.node_uuid} is being changed or taken back at this '
            'moment, or a request that does so has had no answer yet. It '
            'could hit what is deployed there now. Nothing was changed; try '
            'again in a minute.')


def answered_by(engine: Engine, now: datetime.datetime) -> datetime.datetime:
    """Return the latest time of the answer to a request that begins now."""
    return now + datetime.timedelta(
        seconds=engine.conf.guard.in_flight_timeout)


def send_deadline(engine: Engine) -> float:
    """Return the time by which a request that begins now must be sent.

    It is computed before anything is read, by a monotonic timer, so that a
    process detects that it was suspended.  It is half of the lifetime of the
    row; the other half is for Ironic's answer.
    """
    return engine.timer() + float(engine.conf.guard.in_flight_timeout) / 2


def is_expired(engine: Engine, admitted: InFlightRequest) -> bool:
    """Return whether the lifetime of the row of a request is over.

    From then on a reconciler may close the request.
    """
    return engine.timer() >= _kept_until(engine, admitted)


def _kept_until(engine: Engine, admitted: InFlightRequest) -> float:
    return admitted.deadline + float(engine.conf.guard.in_flight_timeout) / 2


def write_later(engine: Engine, admitted: InFlightRequest,
                write: Callable[[], object],
                exc: Exception) -> None:
    """Keep the outcome of a request until the database is back.

    :param write: writes the outcome.
    :param exc: the error of the first attempt.
    """
    LOG.warning('The outcome of a request for node %s could not be recorded. '
                'The process tries again every few seconds, and then leaves '
                'it to the reconciler: %s', admitted.node_uuid, exc)
    engine.pending_outcomes.keep_for_later(_kept_until(engine, admitted),
                                           write)


def check_in_time(engine: Engine, admitted: InFlightRequest) -> None:
    """Check, right before it is sent, that a request is not late.

    :raises HandedOverLate: the request is late; nothing has been sent.
    """
    try:
        check_timer(engine, admitted.deadline, f'node {admitted.node_uuid}')
    except errors.HandedOverLate:
        try:
            close(engine, admitted, False)
        except (errors.DatabaseUnavailable, errors.Contention) as exc:
            write_later(engine, admitted,
                        lambda: close(engine, admitted, False), exc)
        raise


def check_timer(engine: Engine, deadline: float, what: str) -> None:
    """Check, right before it is sent, that a request is not late.

    :param deadline: the deadline by the timer of the engine.
    :param what: the object of the request, in words.
    :raises HandedOverLate: the request is late; nothing has been sent.
    """
    if engine.timer() < deadline:
        return
    LOG.warning('A request for %s was held up for too long before it was '
                'handed to Ironic, so it was not sent', what)
    raise errors.HandedOverLate(
        f'The request for {what} was held up in this service for so long '
        'that the node may have been promised to others. Nothing was sent to '
        'Ironic; try again.')


def mark_uncertain(engine: Engine, admitted: InFlightRequest) -> None:
    """Record that the outcome of a request in Ironic is unknown.

    The node is not promised until the reconciler knows the outcome.
    """
    LOG.error('The outcome of a request for node %s is not known, because '
              'Ironic did not answer or failed. The node is promised to '
              'nobody until the outcome is known.',
              admitted.node_uuid)

    def mark(connection: sa.Connection) -> bool:
        return db_in_flight.mark(
            connection, admitted.token, admitted.node_uuid,
            in_flight.State.UNCERTAIN, engine.clock())

    def attempt() -> bool:
        try:
            with engine.database.write() as opened:
                return mark(opened)
        except db_connection.Locked as exc:
            # The sender waits, and the lock may be that of a dead host.
            raise errors.Contention(str(exc)) from exc
    try:
        retry.until_committed(attempt)
    except (errors.DatabaseUnavailable, errors.Contention) as exc:
        # Only the reconciler deletes the row; without this mark, it does so
        # later.
        write_later(engine, admitted, lambda: retry.write(engine, mark), exc)


def accept(engine: Engine, admitted: InFlightRequest) -> bool:
    """Record that Ironic works on an allocation.

    :returns: ``False`` if the node was no longer kept for it.
    :raises DatabaseUnavailable: then the reconciler finds out the outcome.
    """
    return retry.write(engine, lambda connection: db_in_flight.mark(
        connection, admitted.token, admitted.node_uuid,
        in_flight.State.ACCEPTED))


def close(engine: Engine, admitted: InFlightRequest, succeeded: bool,
          shown: Shown | None = None) -> bool:
    """Record the outcome of a request in Ironic.

    :param succeeded: whether Ironic accepted it.
    :param shown: the node as Ironic shows it afterwards, if it was read.
    :returns: ``False`` if the node was no longer kept for it.
    :raises DatabaseUnavailable: then the reconciler finds out the outcome.
    """
    return _close(
        engine, admitted, succeeded, shown, lambda connection:
        db_in_flight.delete(connection, admitted.token, admitted.node_uuid),
        succeeded and admitted.uses)


def settle(engine: Engine, row: in_flight.InFlight,
           node: mirrored_node.Node | None,
           asked_at: datetime.datetime) -> bool:
    """Record the outcome of an uncertain request, as Ironic shows it.

    :param node: the node as Ironic shows it; ``None``: it is gone.
    :param asked_at: a time before Ironic was asked.
    :returns: ``False`` if another process has recorded it first.
    """
    return _close(
        engine, InFlightRequest(row.token or '', row.node_uuid, engine.timer(),
                                row.reservation_uuid), False,
        None if node is None else Shown(node, asked_at),
        lambda connection: db_in_flight.delete_as_read(connection, row),
        # A possible use of the node counts as a use.
        row.act is None and row.reservation_uuid is None)


def settle_lost(engine: Engine,
                found: Sequence[tuple[in_flight.InFlight,
                                      mirrored_node.Node]],
                asked_at: datetime.datetime) -> None:
    """Record the outcomes of requests that a lost history let through.

    :param found: the requests with their nodes as Ironic shows them.
    :param asked_at: a time before Ironic was asked.
    :raises Contention: other requests changed the nodes at each attempt.
    """
    left = {row.node_uuid: (row, node) for row, node in found}

    def delete(connection: sa.Connection) -> None:
        for uuid, (row, _) in [*left.items()]:
            if not db_in_flight.delete_as_read(connection, row):
                # Another process has recorded it, or the wait begins again.
                del left[uuid]
                raise db_connection.Conflict(
                    f'node {uuid} is not kept as it was')

    def plan() -> change.Planned[None]:
        now = engine.clock()
        with engine.database.read() as connection:
            known = db_nodes.read_nodes(connection, tuple(left),
                                        with_traits=False)
        for uuid in left.keys() - known.keys():
            del left[uuid]
        if not left:
            return change.Planned(None)
        closing = change.Change(now, seen.of_nodes([*known.values()]),
                                opaque=True)
        closing.first.append(delete)
        closing.statements.append(functools.partial(
            db_nodes.update_facts, nodes=[
                shown for uuid, (_, node) in left.items()
                if _differs(known[uuid], shown := dataclasses.replace(
                    # The mirror has to find out that it was enrolled again.
                    node, enrolled_at=known[uuid].enrolled_at,
                    owner=known[uuid].owner))],
            now=asked_at))
        return change.Planned(None, closing)
    change.carry_out(engine, plan)


def _differs(known: mirrored_node.Node, shown: mirrored_node.Node) -> bool:
    """Return whether the mirror differs from the node in Ironic."""
    return known != dataclasses.replace(shown, traits=known.traits,
                                        generation=known.generation)


def _close(engine: Engine, admitted: InFlightRequest, succeeded: bool,
           shown: Shown | None,
           delete: Callable[[sa.Connection], bool], uses: bool) -> bool:
    node = None if shown is None else shown.node
    gone: list[bool] = []

    def check_there(connection: sa.Connection) -> None:
        if not delete(connection):
            gone.append(True)
            raise db_connection.Conflict('the node is not kept any more')

    def plan() -> change.Planned[bool]:
        now = engine.clock()
        with engine.database.read() as connection:
            known = db_nodes.read_node(connection, admitted.node_uuid)
            held = _shown_reservation(connection, admitted)
            after = None if held is None or gone else _settled(
                admitted, held, succeeded, node)
            if (after is not None
                    and after.state is node_reservation.State.RESERVED
                    and db_in_flight.shown_elsewhere(
                        connection, after.uuid, after.node_uuid,
                        admitted.token)):
                after = None
        if known is None:
            return change.Planned(not gone)
        closing = change.Change(
            now, seen.of_nodes([known]), opaque=True)
        mark_stale = functools.partial(
            db_nodes.mark_stale, uuid=admitted.node_uuid, now=now)
        if gone:
            # The process that has deleted the row has a newer answer of
            # Ironic.
            closing.statements.append(mark_stale)
            return change.Planned(False, closing)
        closing.first.append(check_there)
        if shown is not None:
            closing.statements.append(functools.partial(
                db_nodes.update_facts, nodes=[shown.node],
                now=shown.asked_at))
        elif succeeded:
            # The mirror is outdated until the next poll.
            closing.statements.append(mark_stale)
        if uses:
            closing.events = [change.Used(admitted.node_uuid, succeeded or (
                node is not None and node_condition.occupied(node)))]
        if held is not None and after is not None:
            closing.writes = [change.Write(held, dataclasses.replace(
                after, updated_at=now), change.Cause.USED)]
        return change.Planned(True, closing)
    return change.carry_out(engine, plan)


def _shown_reservation(connection: sa.Connection, admitted: InFlightRequest
                       ) -> node_reservation.Reservation | None:
    """Return the reservation that was shown, ``None`` if it is gone.

    A client may have used its uuid again meanwhile, but only on another node:
    this one has been kept for the request.
    """
    if admitted.reservation_uuid is None:
        return None
    found = db_reservations.read_by_uuid(connection,
                                         admitted.reservation_uuid)
    return (None if found is None or found.node_uuid != admitted.node_uuid
            else found)


def _settled(admitted: InFlightRequest, held: node_reservation.Reservation,
             succeeded: bool, node: mirrored_node.Node | None
             ) -> node_reservation.Reservation | None:
    """Return the next state of the reservation that was shown.

    :returns: ``None`` if the state does not change, or is not known yet: the
        process of an earlier request may have died after Ironic had accepted
        that request. The reconciler then determines the state.
    """
    state: node_reservation.State | None = None
    if held.state is not node_reservation.State.STARTING:
        return None
    if succeeded:
        state = node_reservation.State.IN_USE
    elif node is not None:
        state = lifecycle.judge(held, node).state
    elif admitted.first:
        state = node_reservation.State.RESERVED
    return None if state is None else dataclasses.replace(held, state=state)
