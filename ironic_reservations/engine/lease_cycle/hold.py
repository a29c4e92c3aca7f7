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

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import holds as db_holds
from ironic_reservations.engine import Engine
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.engine.placement import hold_calls
from ironic_reservations.engine.placement import holds as hold_cases
from ironic_reservations.engine.placement import share_holds
from ironic_reservations.lifecycle.placement import holds
from ironic_reservations.model import facts
from ironic_reservations.model import leases

_Verdict = hold_cases.Verdict


@dataclasses.dataclass(frozen=True)
class Unheld:
    """A node that cannot be held now.

    :ivar why: in words.
    :ivar elsewhere: whether another node may do better.
    """

    why: str
    elsewhere: bool = False


def take(context: lease_context.Context,
         bookings: Sequence[leases.NodeBooking],
         seen: Mapping[str, facts.Node | None]) -> dict[int, Unheld]:
    """Hold nodes for bookings that have started.

    :param seen: the nodes, as Ironic shows them; compute hosts as they are
        mirrored.
    :returns: those that cannot be held, by booking.
    :raises Conflict: a booking is no more.
    :raises Lost: the lease is another worker's.
    """
    engine = context.engine
    if engine.placement is None or not bookings:
        return {}
    with engine.database.read() as connection:
        promises = db_holds.read_promises_of(
            connection, [booking.id for booking in bookings])
    refused: dict[int, Unheld] = {}
    shares: list[tuple[leases.NodeBooking, holds.Promise]] = []
    acts: list[tuple[list[leases.NodeBooking],
                     Callable[[], dict[int, Unheld | None]]]] = []
    for booking in bookings:
        promise, node = promises.get(booking.id), seen[booking.node_uuid]
        if promise is None or promise.node_uuid != booking.node_uuid:
            raise db_connection.Conflict('a booking has changed meanwhile')
        if node is not None and node.compute:
            shares.append((booking, promise))
        elif node is not None:
            acts.append(([booking], functools.partial(
                _hold, engine, promise, booking, node)))
    for some in hold_calls.in_parts(shares):
        acts.append(([booking for booking, _ in some], functools.partial(
            _hold_shares, engine, some)))
    for number, (_, act) in enumerate(acts):
        if not context.holds():
            raise lease_context.Lost(context.lease_id)
        try:
            found = act()
        except errors.PlacementUnavailable as exc:
            # NOTE: each of the others would have to wait for its time-outs,
            # too.
            refused.update({left.id: Unheld(f'cannot be held: {exc}')
                            for some, _ in acts[number:] for left in some})
            break
        refused.update({ident: why for ident, why in found.items()
                        if why is not None})
    return refused


def _hold(engine: Engine, promise: holds.Promise,
          booking: leases.NodeBooking,
          node: facts.Node) -> dict[int, Unheld | None]:
    return {booking.id: _whole(booking, hold_cases.hold(
        engine, node.uuid, node.resource_class, promise.owner,
        promise.project_id, promise.user_id, node.instance_uuid))}


def _hold_shares(engine: Engine,
                 shares: Sequence[tuple[leases.NodeBooking, holds.Promise]]
                 ) -> dict[int, Unheld | None]:
    found: dict[int, Unheld | None] = {
        booking.id: Unheld('is shared by instances, so that nobody can have '
                           'all of it',
                           True)
        for booking, promise in shares if promise.amounts is None}
    results = share_holds.hold_all(engine, [
        promise for booking, promise in shares if booking.id not in found])
    found.update({booking.id: _share(results[promise.owner])
                  for booking, promise in shares if booking.id not in found})
    return found


def _whole(booking: leases.NodeBooking,
           result: hold_cases.Result) -> Unheld | None:
    """Tell why a node is not held."""
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
                'is closed in Placement, so that Nova offers it to nobody',
                True)
        case _Verdict.UNKNOWN:
            return Unheld('cannot be held in Placement: '
                          + result.said.rstrip('.'), True)
        case _Verdict.BUSY:
            return Unheld('is still being changed in Placement')


def _share(result: hold_cases.Result) -> Unheld | None:
    """Tell why a share of a compute host is not held."""
    match result.verdict:
        case _Verdict.HELD:
            return None
        case _Verdict.TAKEN:
            others = len(result.consumers)
            return Unheld(
                'has too little left in Placement, where '
                f'{others} other{"s" * (others > 1)} '
                f'{"has" if others == 1 else "have"} of it, such as '
                + result.consumers[0], True)
        case _Verdict.BUSY:
            return Unheld('is still being changed in Placement')
    return Unheld('has no share to give in Placement: '
                  + result.said.rstrip('.'), True)


def let_go(engine: Engine, connection: sa.Connection,
           bookings: Collection[leases.NodeBooking]) -> list[str]:
    """Write, where bookings are deleted, that their nodes are let go.

    Comes before they are; :func:`take_back` after the transaction.

    :returns: what the nodes have been held for.
    """
    if engine.placement is None or not bookings:
        return []
    owners = [booking.uuid for booking in bookings]
    db_holds.release(connection, owners, engine.clock(),
                     hold_calls.deadline(engine))
    return owners


def take_back(engine: Engine, owners: Collection[str]) -> None:
    """Take back what has been let go, or have it taken back later."""
    if owners:
        hold_cases.take_back(engine, owners)
