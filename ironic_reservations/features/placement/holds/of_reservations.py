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


"""Holds the nodes of reservations in Placement.

The row of the hold is written in the transaction that reserves the node, and
the allocation follows before the request is answered. If the node cannot be
held, the reservation is ended with the row, and another node is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
import time

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import announce
from ironic_reservations.engine import drop_unused
from ironic_reservations.engine import Engine
from ironic_reservations.engine import feature
from ironic_reservations.engine import retry
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import recovery
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from ironic_reservations.lifecycle import lifecycle
from ironic_reservations.model import flavors
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.planner import pick

#: The number and the length in seconds of the waits of a repeated request for
#: an earlier one that is holding the node.
_WAITS = 20
_PAUSE = 0.05

_Verdict = holding.Verdict
_CODES: Mapping[_Verdict, str] = {
    _Verdict.TAKEN: reasons.HELD_ELSEWHERE,
    _Verdict.CLOSED: reasons.CLOSED_IN_PLACEMENT,
    _Verdict.UNKNOWN: reasons.NOT_IN_PLACEMENT,
    _Verdict.BUSY: reasons.BUSY}


def promise_of(reservation: node_reservation.Reservation,
               node: mirrored_node.Node) -> values.Promise:
    """Return the promise of a new reservation, with the class of its node.

    :raises Obstacle: Placement can have no such class.
    """
    wanted = holding.of_node(values.Promise.of(reservation),
                             node.resource_class)
    if isinstance(wanted, holding.Result):
        raise _obstacle(wanted, node.uuid)
    return wanted


def hold(engine: Engine, intended: values.Hold,
         promise: values.Promise) -> None:
    """Hold the node of a new reservation.

    :raises Obstacle: the node cannot be held; the reservation has been ended.
    :raises PlacementUnavailable: Placement does not answer; the reservation
        has been ended.
    """
    result = holding.complete(engine, intended, promise.instance_uuid)
    if not result.secured:
        raise _obstacle(result, promise.node_uuid)


def ensure(engine: Engine,
           reservation: node_reservation.Reservation) -> None:
    """Ensure that the node of an earlier reservation is held.

    :raises Obstacle: the node cannot be held; the reservation has been ended.
    :raises Conflict: the reservation is gone.
    """
    if reservation.state is not node_reservation.State.RESERVED:
        return
    for _ in range(_WAITS):
        with engine.database.read() as connection:
            still = db_reservations.read_by_uuid(connection,
                                                 reservation.uuid)
            there = [row for row in db_holds.read_of_owners(
                connection, [reservation.uuid])
                if row.node_uuid == reservation.node_uuid]
            node = db_nodes.read_nodes(
                connection, (reservation.node_uuid,), with_traits=False
            ).get(reservation.node_uuid)
        if not _is_made(still, reservation) or node is None or any(
                row.state is values.HoldState.PROMISING
                and recovery.recover_one(engine, row) is not None
                for row in there):
            raise db_connection.Conflict('the reservation has changed')
        if any(row.state is values.HoldState.ACTIVE for row in there):
            return
        result = holding.hold_node(engine, values.Promise.of(reservation),
                                   node.resource_class)
        if result.verdict is not _Verdict.BUSY:
            break
        time.sleep(_PAUSE)
    else:
        raise errors.PlacementUnavailable(
            f'The reservation {reservation.uuid} exists, and its node '
            f'{reservation.node_uuid} is being held in Placement at this '
            'moment. Try again.')
    if not result.secured:
        _end(engine, reservation)
        raise _obstacle(result, reservation.node_uuid)
    _check_there(engine, reservation)


def _check_there(engine: Engine,
                 reservation: node_reservation.Reservation) -> None:
    """Check that the reservation of a node that was just held still exists.

    After a failed first attempt, another process may have ended both since
    they were read, or the reservation may have been made again on another
    node. A hold without a promise is released later.
    """
    with engine.database.read() as connection:
        still = db_reservations.read_by_uuid(connection, reservation.uuid)
    if not _is_made(still, reservation):
        raise db_connection.Conflict('the reservation has changed')


def _is_made(there: node_reservation.Reservation | None,
             reservation: node_reservation.Reservation) -> bool:
    """Return whether a reservation is the same that was read before.

    A client may reuse a uuid.
    """
    return there is not None and (there.node_uuid, there.created_at) == (
        reservation.node_uuid, reservation.created_at)


def without_room(engine: Engine,
                 request: pick.NodeRequest) -> dict[str, reasons.Reason]:
    """Return the nodes of other consumers in Placement, in a few requests.

    Nodes with holds of ours are left out, since a release of one may make
    room.
    """
    with engine.database.read() as connection:
        nodes = db_nodes.read_nodes(connection, request.node_uuids,
                                    with_traits=False)
        ours = {row.node_uuid for row in db_holds.read_all(connection)}
    classes = {uuid: name for uuid, node in nodes.items()
               if uuid not in ours
               and node.provision_state == node_condition.AVAILABLE
               and request.resource_class in (None, node.resource_class)
               and (name := flavors.class_or_none(node.resource_class))}
    client = hold_calls.client(engine)
    may = set(client.consumer(request.instance_uuid).allocations)
    for name in sorted(set(classes.values())):
        may |= {each.uuid for each in client.providers(
            resources=f'{name}:1')}
    return {uuid: reasons.Reason(
        uuid, reasons.HELD_ELSEWHERE, 'has no room left in Placement')
        for uuid in classes if uuid not in may}


def _end(engine: Engine, reservation: node_reservation.Reservation) -> None:
    if retry.write(engine, lambda connection: drop_unused.drop_unused(
            engine, connection, reservation.uuid, reservation.node_uuid,
            engine.clock())):
        engine.announcer.notify(announce.DELETE, reservation,
                                lifecycle.End.NODE_TAKEN)


def _obstacle(result: holding.Result, node_uuid: str) -> feature.Obstacle:
    return feature.Obstacle(reasons.Reason(
        node_uuid, _CODES[result.verdict], result.obstacle()))
