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

"""Hold the nodes of leases in Placement from their start to their end."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node

_Unready = lease_context.Unready
_Verdict = holding.Verdict


def take(context: lease_context.Context,
         bookings: Sequence[leases.NodeBooking],
         seen: Mapping[str, mirrored_node.Node | None]
         ) -> dict[int, _Unready]:
    """Hold nodes for bookings that have started.

    :param seen: the nodes as Ironic shows them; compute hosts as mirrored.
    :returns: the nodes that cannot be held, by the id of the booking.
    :raises Conflict: a booking no longer exists.
    :raises Lost: another worker has the lease.
    """
    engine = context.engine
    if not bookings:
        return {}
    with engine.database.read() as connection:
        promises = db_holds.read_promises_of(
            connection, [booking.id for booking in bookings])
    refused: dict[int, _Unready] = {}
    wanted: list[tuple[leases.NodeBooking, values.Promise]] = []
    for booking in bookings:
        promise, node = promises.get(booking.id), seen[booking.node_uuid]
        if promise is None or promise.node_uuid != booking.node_uuid:
            raise db_connection.Conflict('a booking has changed meanwhile')
        if node is None:
            continue
        wants = _wants(promise, node)
        if isinstance(wants, _Unready):
            refused[booking.id] = wants
        else:
            wanted.append((booking, wants))
    parts = list(hold_calls.in_parts(wanted))
    for number, some in enumerate(parts):
        if not context.holds():
            raise lease_context.Lost(context.lease_id)
        results: dict[str, holding.Result] = {}
        failed: _Unready | None = None
        try:
            for owner, result in holding.hold_all(
                    engine, [one for _, one in some]):
                results[owner] = result
        except errors.PlacementUnavailable as exc:
            failed = _Unready(f'cannot be held: {exc}')
        refused.update({booking.id: why for booking, one in some if (
            why := _unheld(booking, one, results[one.owner])
            if one.owner in results else failed) is not None})
        if failed is not None:
            # The others would run into the same time-outs.
            refused.update({booking.id: failed for left in parts[number + 1:]
                            for booking, _ in left})
            break
    return refused


def _wants(promise: values.Promise,
           node: mirrored_node.Node) -> values.Promise | _Unready:
    """Return a promise with its needs of a host, or the obstacle."""
    if node.compute:
        return promise if promise.amounts is not None else _Unready(
            'is shared by instances, so that nobody can have all of it', True)
    wanted = holding.of_node(promise, node.resource_class)
    if isinstance(wanted, holding.Result):
        return _Unready(wanted.obstacle(), True)
    return dataclasses.replace(wanted, instance_uuid=node.instance_uuid)


def _unheld(booking: leases.NodeBooking, promise: values.Promise,
            result: holding.Result) -> _Unready | None:
    """Return the reason why a host is not held; ``None``: it is held."""
    # NOTE: Nova reserves the inventory of a node in use; the node was used
    # with the proof of the lease.
    if result.secured or (result.verdict is _Verdict.CLOSED
                          and promise.exclusive and booking.begun):
        return None
    return _Unready(result.obstacle(promise.exclusive),
                    result.verdict is not _Verdict.BUSY)
