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

"""The nodes of leases in Placement: held at the start, let go at the end.

Where holds are switched off, nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import holds as db_holds
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hold_calls
from ironic_reservations.engine import holds as hold_cases
from ironic_reservations.planner import facts
from ironic_reservations.planner import holds
from ironic_reservations.planner import leases
from ironic_reservations.reconciler import lease_turn

_Verdict = hold_cases.Verdict


@dataclasses.dataclass(frozen=True)
class Unheld:
    """A node that cannot be held now.

    :ivar why: in words.
    :ivar elsewhere: whether another node may do better.
    """

    why: str
    elsewhere: bool = False


def take(turn: lease_turn.Turn, bookings: Sequence[leases.NodeBooking],
         seen: Mapping[str, facts.Node | None]) -> dict[int, Unheld]:
    """Hold nodes for bookings that have started.

    :param seen: the nodes, as Ironic shows them.
    :returns: those that cannot be held, by booking.
    :raises Conflict: a booking is no more.
    :raises Lost: the lease is another worker's.
    """
    engine = turn.engine
    if engine.placement is None or not bookings:
        return {}
    with engine.database.read() as connection:
        promises = db_holds.read_promises_of(
            connection, [booking.id for booking in bookings])
    refused: dict[int, Unheld] = {}
    for number, booking in enumerate(bookings):
        promise, node = promises.get(booking.id), seen[booking.node_uuid]
        if promise is None or promise.node_uuid != booking.node_uuid:
            raise db_connection.Conflict('a booking has changed meanwhile')
        if node is None:
            continue
        if not turn.holds():
            raise lease_turn.Lost(turn.lease_id)
        try:
            why = _hold(engine, promise, booking, node)
        except errors.PlacementUnavailable as exc:
            # NOTE: each of the others would have to wait for its time-outs,
            # too.
            refused.update({left.id: Unheld(f'cannot be held: {exc}')
                            for left in bookings[number:]})
            break
        if why is not None:
            refused[booking.id] = why
    return refused


def _hold(engine: Engine, promise: holds.Promise,
          booking: leases.NodeBooking, node: facts.Node) -> Unheld | None:
    result = hold_cases.hold(
        engine, node.uuid, node.resource_class, promise.owner,
        promise.project_id, promise.user_id, node.instance_uuid)
    match result.verdict:
        case _Verdict.HELD | _Verdict.INSTANCE:
            return None
        case _Verdict.TAKEN:
            return Unheld('is held in Placement by '
                          + ', '.join(result.consumers), True)
        case _Verdict.CLOSED:
            # NOTE: Nova closes a node that is in use, and what is in use
            # here came with the proof of the lease.
            return None if booking.begun else Unheld(
                'is closed in Placement, where Nova offers it to nobody now',
                True)
        case _Verdict.UNKNOWN:
            return Unheld('cannot be held in Placement: '
                          + result.said.rstrip('.'), True)
        case _Verdict.BUSY:
            return Unheld('is still being worked on in Placement')


def let_go(engine: Engine, connection: sa.Connection,
           bookings: Collection[leases.NodeBooking]) -> list[str]:
    """Write, where bookings are deleted, that their nodes are let go.

    Comes before they are; :func:`take_back` after the transaction.

    :returns: what the nodes have been held for.
    """
    if engine.placement is None or not bookings:
        return []
    owners = [promise.owner for promise in db_holds.read_promises_of(
        connection, [booking.id for booking in bookings]).values()]
    db_holds.release(connection, owners, engine.clock(),
                     hold_calls.deadline(engine))
    return owners


def take_back(engine: Engine, owners: Collection[str]) -> None:
    """Take back what has been let go, or have it taken back later."""
    if owners:
        hold_cases.take_back(engine, owners)
