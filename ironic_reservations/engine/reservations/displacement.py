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

"""Make room on a node by moving leases that have not started.

The leases move in the transaction that takes the node.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import change
from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import seen
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import demands as lease_demands
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.planner import budget
from ironic_reservations.planner import displace
from ironic_reservations.planner import host_states
from ironic_reservations.planner import planning
from ironic_reservations.planner import timeline

#: The number of hosts unusable for leases that are tried one by one.
_ODD = 8


@dataclasses.dataclass(frozen=True)
class Displacement:
    """A node, and the moves that make room on it.

    :ivar difference: the moves.
    :ivar homeless: the bookings that lose the node without getting another.
    :ivar until: the start of the next lease on the node after the moves.
    """

    node_uuid: str
    snapshot: snapshots.Snapshot
    difference: difference_module.Difference
    until: datetime.datetime | None
    homeless: Sequence[leases.NodeBooking] = ()

    @property
    def lost(self) -> frozenset[str]:
        """The lease reservations that lose a node without a replacement."""
        return frozenset(booking.reservation_id
                         for booking in self.homeless)


def change_with(now: datetime.datetime, rests_on: seen.Seen,
                room: Displacement | None, **more: Any) -> change.Change:
    """Return a change of a node, with the moves that make room on it.

    :param rests_on: the generation of the node.
    :param room: ``None``: nothing has to move.
    :param more: other parts of the change.
    """
    if room is None:
        return change.Change(now, rests_on, **more)
    return change.Change(
        now, rests_on.also(room.difference.seen), snapshot=room.snapshot,
        homes=room.difference.homes, lost=room.homeless, **more)


def one_of(engine: Engine, nodes: Sequence[mirrored_node.Node],
           now: datetime.datetime, until: datetime.datetime | None,
           ordered: bool) -> Displacement | bool:
    """Make room on one of several nodes.

    :param nodes: the nodes as they were read, in the order of preference.
    :param until: the end of the use; ``None`` if it is unknown.
    :param ordered: whether to take the first possible node, instead of the
        one with the fewest moves.
    :returns: the node with the moves; or, if none was found from which all
        leases can move, whether it is proved that there is no such node.
    :raises Conflict: the node has changed since it was read.
    """
    snapshot = engine.snapshot(now)
    known = {number: node for node in nodes
             if (number := snapshot.find(node.uuid)) is not None}
    fit = [number for number in known if snapshot.usable >> number & 1]
    start, end = instants.instant(now), _instant(until)
    found = displace.first(snapshot.timeline, fit, start, end, ordered,
                           hard_requests.limits())
    if isinstance(found, tuple):
        number, plan = found
        _check(snapshot, number, known[number])
        return _made(snapshot, number, end, plan.timeline)
    odd = [number for number in known if number not in set(fit)]
    for number in odd[:_ODD]:
        made = _cleared(snapshot, number, start, end, hard_requests.limits())
        if not made.lost:
            _check(snapshot, number, known[number])
            return made
    return found is None or found.cause.proved


def on(engine: Engine, node: mirrored_node.Node, now: datetime.datetime,
       until: datetime.datetime | None,
       limits: budget.Limits = planning.LIMITS) -> Displacement:
    """Make room on a node even if leases lose it without a replacement.

    See :attr:`Displacement.lost`.

    :param node: the node as it was read.
    :param until: the end of the use; ``None`` if it is unknown.
    :param limits: the limits of a request that is refused if a lease would
        lose the node.
    :raises Conflict: the node has changed since it was read.
    """
    snapshot = engine.snapshot(now)
    number = snapshot.find(node.uuid)
    if number is None:
        raise db_connection.Conflict(f'node {node.uuid} is no host any more')
    _check(snapshot, number, node)
    return _cleared(snapshot, number, instants.instant(now), _instant(until),
                    limits)


def _instant(until: datetime.datetime | None) -> int:
    return host_states.ALWAYS[1] if until is None else instants.instant(until)


def _check(snapshot: snapshots.Snapshot, number: int,
           node: mirrored_node.Node) -> None:
    # The commit names one generation, so the node and the snapshot need the
    # same one.
    if snapshot.generation(number)[1] != node.generation:
        raise db_connection.Conflict(f'node {node.uuid} has changed')


def _cleared(snapshot: snapshots.Snapshot, number: int, start: int, end: int,
             limits: budget.Limits) -> Displacement:
    leaving: dict[str, leases.NodeBooking] = {}
    demands = []
    for booking, wanted in snapshot.host_state(number).promised:
        if not start < instants.instant(booking.starts_at) < end or (
                booking.begun):
            continue
        demand = lease_demands.home(snapshot, [booking], wanted,
                                    ~(1 << number))
        demands.append(demand)
        leaving[demand.id] = booking
    cleared = displace.clear_node(snapshot.timeline, number, start, end,
                                  demands, limits)
    return _made(snapshot, number, end, cleared.timeline,
                 {f'{key}/0': booking for key, booking in leaving.items()},
                 [leaving[key] for key in cleared.homeless])


def _made(snapshot: snapshots.Snapshot, number: int, end: int,
          after: timeline.Timeline,
          renamed: dict[str, leases.NodeBooking] | None = None,
          lost: Sequence[leases.NodeBooking] = ()) -> Displacement:
    difference = difference_module.compare(snapshot, after, renamed=renamed)
    here = seen.Seen(dict([snapshot.generation(number)]))
    # The timeline does not have the bookings of an unusable host.
    starts = [booking.start for booking in after.rows[number]]
    starts.extend(instants.instant(booking.starts_at) for booking, _
                  in snapshot.host_state(number).promised
                  if booking not in difference.homes)
    later = min((start for start in starts if start >= end), default=None)
    return Displacement(
        snapshot.host_set.uuids[number], snapshot,
        dataclasses.replace(difference, seen=difference.seen.also(here)),
        None if later is None else instants.moment(later), lost)
