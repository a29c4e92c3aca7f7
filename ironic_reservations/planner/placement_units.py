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

"""Bookings that have to be on one host together, and the room for them."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline


@dataclasses.dataclass(frozen=True, slots=True)
class Unit:
    """A booking, or all bookings of a group with affinity.

    :ivar parts: the bookings, all with the same window.
    :ivar amounts: the amounts of all parts together;
        ``None``: the whole host.
    :ivar eligible: the set of hosts that would be suitable if they were empty.
    :ivar apart: its group, if a host may have only one booking of the group.
    """

    parts: tuple[bookings.Booking, ...]
    start: int
    end: int
    margin: int
    amounts: inventories.Amounts | None
    eligible: int
    apart: str = ''

    @property
    def node(self) -> int:
        """The number of its host."""
        return self.parts[0].node

    @property
    def until(self) -> int:
        """The instant from which a whole host is free again."""
        return self.end + self.margin

    def released_at(self, compute: bool) -> int:
        """Return the instant at which its place becomes available to others.

        :param compute: whether it is on a compute host.
        """
        if compute and self.amounts is not None:
            return self.end
        return self.end + self.margin

    def on(self, node: int) -> list[bookings.Booking]:
        """Return the parts on another host."""
        return [dataclasses.replace(part, node=node) for part in self.parts]


def unit(parts: Sequence[bookings.Booking], draft: timeline.Draft) -> Unit:
    """Return bookings with the same window as a unit."""
    first = parts[0]
    eligible = first.eligible
    if first.node >= 0:
        # A booking can stay on its host even if that is not eligible any
        # more.
        eligible |= 1 << first.node
    if first.amounts is None:
        return Unit((first,), first.start, first.end, first.margin, None,
                    eligible)
    if len(parts) > 1:
        # A node of Ironic has room for one booking.
        eligible &= draft.compute
    return Unit(tuple(parts), first.start, first.end, first.margin,
                shares.times(first.amounts, len(parts)), eligible,
                first.group if first.affinity is False else '')


def leaves(booking: bookings.Booking, pinned: frozenset[str]) -> bool:
    """Return whether a booking may move to another host."""
    return booking.movable and not (
        booking.affinity and booking.group in pinned)


def movable(draft: timeline.Draft, node: int,
            there: Iterable[bookings.Booking],
            pinned: frozenset[str]) -> Iterator[Unit]:
    """Yield the units that may leave a host, among some of its bookings.

    :param pinned: the groups that stay where they are.
    """
    groups: set[str] = set()
    for each in there:
        if not each.movable:
            continue
        if each.affinity is not True:
            yield unit((each,), draft)
        elif each.group not in pinned and each.group not in groups:
            groups.add(each.group)
            yield unit([other for other in draft.rows[node]
                        if other.group == each.group], draft)


def takes(draft: timeline.Draft, node: int, wanted: Unit) -> bool:
    """Return whether a host has room for a unit without moves."""
    if wanted.amounts is None or draft.capacities[node] is None:
        return draft.free(node, wanted.start, wanted.until)
    return room(draft, node, draft.between(node, wanted.start, wanted.end),
                wanted) > 0


def room(draft: timeline.Draft, node: int, near: Sequence[bookings.Booking],
         wanted: Unit) -> int:
    """Return how many units like one fit on a host, beside some bookings.

    :param near: those that overlap with the unit, ordered by start.
    """
    capacity = draft.capacities[node]
    if capacity is None or wanted.amounts is None:
        return not near
    if any(each.amounts is None or (
            wanted.apart and each.group == wanted.apart) for each in near):
        return 0
    found = shares.room(capacity, near, wanted.amounts, wanted.start,
                        wanted.end)
    return min(1, found) if wanted.apart else found


def without(draft: timeline.Draft, units: Iterable[Unit]) -> timeline.Draft:
    """Return a draft without some units, of which some may have no host."""
    rest = draft.copy()
    rest.put((), _placed(units))
    return rest


def place(draft: timeline.Draft, chosen: Sequence[tuple[Unit, int]]) -> None:
    """Place units on other hosts, or on their first one."""
    draft.put([part for unit, node in chosen for part in unit.on(node)],
              _placed(unit for unit, _ in chosen))


def _placed(units: Iterable[Unit]) -> list[bookings.Booking]:
    """Return the parts of the units that have a host."""
    return [part for each in units if each.node >= 0 for part in each.parts]
