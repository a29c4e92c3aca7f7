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

"""Compare a plan with the snapshot that it was made on."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from ironic_reservations.engine import seen as seen_module
from ironic_reservations.engine import snapshots
from ironic_reservations.model import leases
from ironic_reservations.planner import host_states
from ironic_reservations.planner import timeline


@dataclasses.dataclass(frozen=True)
class Difference:
    """The changes that a plan makes.

    :ivar seen: the nodes whose bookings change, with their generations.
    :ivar homes: the new nodes of the bookings of others that move, by the
        booking as it was read.
    """

    seen: seen_module.Seen
    homes: Mapping[leases.NodeBooking, str]


def compare(snapshot: snapshots.Snapshot,
            after: timeline.Timeline | timeline.Draft,
            own: frozenset[str] = frozenset(),
            renamed: Mapping[str, leases.NodeBooking] | None = None
            ) -> Difference:
    """Return the changes that a plan makes to nodes and to other bookings.

    :param own: the planner's names of the bookings that the caller writes.
    :param renamed: bookings that have another name in the new plan, by that
        name.
    """
    touched = list(timeline.differing(after, snapshot.timeline))
    there = {number: {each.id for each in snapshot.timeline.rows[number]}
             for number in touched}
    arrived = {placed.id: number for number in touched
               for placed in after.rows[number]
               if placed.id not in there[number] and placed.id not in own}
    rows: dict[str, leases.NodeBooking] = dict(renamed or {})
    for number in touched:
        # Few hosts lose a booking of others; only their rows are needed.
        if not arrived.keys().isdisjoint(there[number]):
            for booking, _ in snapshot.host_state(number).promised:
                rows[host_states.name(booking)] = booking
    homes = {rows[ident]: snapshot.host_set.uuids[number]
             for ident, number in arrived.items() if ident in rows}
    # Bookings with another name have to move, so they do not go back.
    whole = {rows[placed.id]: (placed.start, placed.until)
             for number in touched for placed in after.rows[number]
             if placed.id in arrived and placed.id in rows
             and placed.id not in (renamed or ()) and placed.amounts is None}
    return Difference(seen_of(snapshot, touched), _without_circles(
        _without_exchanges({row: uuid for row, uuid in homes.items()
                            if row.node_uuid != uuid}), whole))


def _without_circles(homes: Mapping[leases.NodeBooking, str],
                     whole: Mapping[leases.NodeBooking, tuple[int, int]]
                     ) -> dict[leases.NodeBooking, str]:
    """Return moves without whole nodes that go round among equal times.

    :param whole: the times of bookings that may stay where they are.
    """
    kept = dict(homes)
    arriving = {(whole[row], uuid): row for row, uuid in homes.items()
                if row in whole}
    for row in whole.keys() & homes.keys():
        circle = [row]
        while (other := arriving.get((
                whole[row], circle[-1].node_uuid))) not in (None, *circle):
            assert other is not None
            circle.append(other)
        if other == row:
            for each in circle:
                kept.pop(each, None)
    return kept


def _without_exchanges(homes: Mapping[leases.NodeBooking, str]
                       ) -> dict[leases.NodeBooking, str]:
    """Return moves in which no booking takes the node of an equal one.

    That one stays instead, so that as few nodes of a lease change as possible.
    """
    kept = dict(homes)
    arriving: dict[tuple[object, str], list[leases.NodeBooking]] = {}
    for row, uuid in homes.items():
        arriving.setdefault((_alike(row), uuid), []).append(row)
    for row in homes:
        there = arriving.get((_alike(row), row.node_uuid))
        if row not in kept or not there:
            continue
        other, uuid = there.pop(), kept.pop(row)
        arriving[_alike(row), uuid].remove(row)
        del kept[other]
        if other.node_uuid != uuid:
            kept[other] = uuid
            arriving[_alike(row), uuid].append(other)
    return kept


def _alike(row: leases.NodeBooking) -> tuple[object, ...]:
    return row.reservation_id, row.window, row.state, row.lessee


def seen_of(snapshot: snapshots.Snapshot,
            numbers: Iterable[int]) -> seen_module.Seen:
    """Return the generations of nodes."""
    numbers = list(numbers)
    return seen_module.Seen(
        dict(snapshot.generation(number) for number in numbers),
        owners=snapshot.owners(numbers))
