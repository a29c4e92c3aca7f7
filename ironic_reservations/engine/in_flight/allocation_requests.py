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

"""Requests for allocations on their way to Ironic.

The node is chosen here rather than later by Ironic, since Ironic could choose
a node that is reserved for or promised to others.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import change
from ironic_reservations.engine import Engine
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import pick_and_confirm
from ironic_reservations.engine.reservations import plan
from ironic_reservations.lifecycle import admit as planner_admit
from ironic_reservations.model import host_view
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import reasons
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick


def hold(engine: Engine, request: pick.NodeRequest,
         sees: visibility.Visibility, proof: str | None = None,
         observer: ironic_client.Ironic | None = None,
         required: bool = False,
         bearer: planner_admit.Bearer = planner_admit.ANYBODY
         ) -> admission.InFlightRequest:
    """Choose the node that an allocation of Ironic gets, and keep it free.

    Ironic binds the node later and asynchronously, so the request stays until
    the node carries the instance, or the allocation has failed in Ironic.

    :param request: the allocation; its uuid is the ``instance_uuid``.
    :param proof: a reservation whose node the allocation gets, or a lease
        reservation, one of whose nodes it gets.
    :param bearer: the caller who shows the proof. Without a proof, it gets a
        candidate node of a lease of its project first, if it may use these.
    :raises NoNodeAvailable: no node is free; with ``reasons``.
    :raises ProofInvalid: there is no such live reservation.
    :raises ReservationRequired: there is no proof, but one is required.
    :raises NodePromised: a lease needs the node of the reservation later.
    :raises TooManyHardRequests: the project has too many hard requests.
    :raises PlannerBusy: the process has too many hard requests.
    """
    def plan_one() -> change.Planned[admission.InFlightRequest]:
        deadline = admission.send_deadline(engine)
        now = engine.clock()
        if proof is None:
            mine = _own(engine, request, bearer, now)
            # All of these nodes may be in use.
            with contextlib.suppress(errors.NoNodeAvailable):
                if mine:
                    return _hold_leased(engine, request, sees, observer, now,
                                        deadline, mine)
            if required:
                raise errors.ReservationRequired(
                    'The operator does not allow allocations without a '
                    'reservation. Make a reservation first, and send its uuid '
                    'in the header OpenStack-Baremetal-Reservation.')
            return _hold_any(engine, request, sees, observer, now, deadline)
        with engine.database.read() as connection:
            node, view = _proven(connection, proof, now)
            held = None if view is None else view.row
            mine = ([] if held is not None else
                    db_bookings.read_of_reservation(connection, proof, now))
        if mine and bearer.may_show(mine[0].project_id):
            return _hold_leased(engine, request, sees, observer, now, deadline,
                                mine)
        if held is None or node is None or view is None or not (
                held.live(now) and not held.over(now)
                and bearer.may_show(held.project_id)) or (
                request.node_uuids is not None
                and held.node_uuid not in request.node_uuids):
            raise errors.ProofInvalid(
                f'The reservation {proof} does not exist, has expired, or is '
                'not for one of the candidate nodes. Make a new reservation.')
        _check_power(request, node, observer or engine.ironic)
        return admission.begin(
            engine, node, now, deadline, view.next_change, shown=held,
            room=admission.make_room(engine, node, view),
            instance_uuid=request.instance_uuid)
    return admission.let_through(engine, plan_one)


def _own(engine: Engine, request: pick.NodeRequest,
         bearer: planner_admit.Bearer, now: datetime.datetime
         ) -> list[leases.NodeBooking]:
    """Return the bookings of candidates that the caller uses.

    Only an allocation that names its candidates can get nodes of leases.
    """
    if not bearer.uses_leases or request.node_uuids is None:
        return []
    with engine.database.read() as connection:
        return db_bookings.read_used_by(connection, bearer.project_id,
                                        request.node_uuids, now)


def _check_power(request: pick.NodeRequest, node: mirrored_node.Node,
                 observer: ironic_client.Ironic | None) -> None:
    """Check that Ironic would allocate the node of a reservation.

    :raises NoNodeAvailable: Ironic would not.
    """
    seen = (observer.node(node.uuid)
            if request.powered and observer is not None else None)
    if seen is not None and seen.powered is False:
        raise errors.NoNodeAvailable(
            f'Ironic does not know the power state of node {node.uuid} yet, '
            'and does not allocate such a node. Try again later.',
            reasons=[reasons.Reason(
                node.uuid, reasons.POWER_UNKNOWN,
                'has a power state that Ironic does not know yet').as_dict()])


def _hold_any(
    engine: Engine, request: pick.NodeRequest, sees: visibility.Visibility,
    observer: ironic_client.Ironic | None, now: datetime.datetime,
    deadline: float
) -> change.Planned[admission.InFlightRequest]:
    need = plan.Need(bare=True)
    with engine.database.read() as connection:
        view = plan.read_view(engine, connection, request, sees, now, need)
    with engine.hard_requests.bounded(engine.conf, sees.project_id):
        choice = pick_and_confirm.choose(engine, request, view, sees,
                                         observer, need)
    void = next((row for row in choice.view.related if not row.live(now)
                 and row.node_uuid == choice.node.uuid), None)
    return admission.begin(
        engine, choice.node, now, deadline, choice.free_until, void=void,
        confirmed=choice.view.confirmed, room=choice.room,
        instance_uuid=request.instance_uuid)


def _hold_leased(
        engine: Engine, request: pick.NodeRequest, sees: visibility.Visibility,
        observer: ironic_client.Ironic | None, now: datetime.datetime,
        deadline: float,
        mine: Sequence[leases.NodeBooking]
) -> change.Planned[admission.InFlightRequest]:
    """Hold one of the nodes of lease reservations.

    :param mine: their bookings.
    """
    wanted = tuple(booking.node_uuid for booking in mine
                   if request.node_uuids is None
                   or booking.node_uuid in request.node_uuids)
    if not wanted:
        raise errors.ProofInvalid(
            'None of the candidate nodes belongs to the lease reservation '
            'that was shown.')
    request = dataclasses.replace(
        request, node_uuids=wanted, lease_reservation_ids=frozenset(
            booking.reservation_id for booking in mine))
    need = plan.Need(max(booking.ends_at for booking in mine))
    with engine.database.read() as connection:
        view = plan.read_view(engine, connection, request, sees, now, need)
    choice = pick_and_confirm.choose(engine, request, view, sees, observer,
                                     need)
    holders = choice.view.snapshot.view(choice.node.uuid)
    if holders.lease is None:
        raise db_connection.Conflict('the lease has ended meanwhile')
    ident = holders.lease.reservation_id
    return admission.begin(
        engine, choice.node, now, deadline, holders.next_change,
        confirmed=choice.view.confirmed, lease_reservation_id=ident,
        starting=admission.unbound(holders.present, ident),
        instance_uuid=request.instance_uuid)


def _proven(connection: sa.Connection, proof: str, now: datetime.datetime
            ) -> tuple[mirrored_node.Node | None, host_view.HostView | None]:
    """Read a node and its view, in the order that a commit needs.

    The generation must be read before the bookings.  The reservation is read
    twice, since its first row names the node.

    :returns: no view if the proof is not the reservation of the node.
    """
    found = db_reservations.read_by_uuid(connection, proof)
    if found is None:
        return None, None
    node = db_nodes.read_node(connection, found.node_uuid)
    view = db_host_views.read_one(connection, found.node_uuid, now)
    return node, (view if view.row is not None and view.row.uuid == proof
                  else None)
