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

"""Every booking of every node, sorted: the plan that holds now."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses

from ironic_reservations.planner import bookings


@dataclasses.dataclass(frozen=True, slots=True)
class Timeline:
    """The bookings of each node in the order of their starts.

    A value: changes give another timeline, which shares with this one what
    did not change.

    :ivar starts: for each node, the starts of its bookings.
    :ivar untils: for each node, when each booking lets go of it.
    :ivar rows: for each node, its bookings.
    """

    starts: tuple[tuple[int, ...], ...]
    untils: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[bookings.Booking, ...], ...]

    @classmethod
    def of(cls, nodes: int,
           there: Iterable[bookings.Booking] = ()) -> Timeline:
        """Sort bookings by node and start.

        :param nodes: how many nodes there are.
        :raises ValueError: where two bookings of a node overlap.
        """
        lists: list[list[bookings.Booking]] = [[] for _ in range(nodes)]
        for booking in there:
            lists[booking.node].append(booking)
        draft = Draft([()] * nodes, [()] * nodes, [()] * nodes)
        for node, row in enumerate(lists):
            if row:
                draft.write(node, row)
        return draft.timeline()

    @property
    def nodes(self) -> int:
        """Give the number of nodes."""
        return len(self.rows)

    def promised(self) -> Iterator[bookings.Booking]:
        """Give every booking, node by node."""
        for row in self.rows:
            yield from row

    def adding(self, added: Iterable[bookings.Booking]) -> Timeline:
        """Give the timeline with more bookings.

        :raises ValueError: where two bookings of a node overlap.
        """
        return self._changed((), added)

    def without(self, removed: Iterable[bookings.Booking]) -> Timeline:
        """Give the timeline without some of its bookings."""
        return self._changed(removed, ())

    def _changed(self, removed: Iterable[bookings.Booking],
                 added: Iterable[bookings.Booking]) -> Timeline:
        changes: dict[int, tuple[set[str], list[bookings.Booking]]] = {}
        for booking in removed:
            changes.setdefault(booking.node, (set(), []))[0].add(booking.id)
        for booking in added:
            changes.setdefault(booking.node, (set(), []))[1].append(booking)
        draft = Draft.of(self)
        for node, (gone, new) in changes.items():
            draft.write(node, [booking for booking in self.rows[node]
                               if booking.id not in gone] + new)
        return draft.timeline()


@dataclasses.dataclass(slots=True)
class Draft:
    """A timeline while it is being changed; a node's row is replaced whole."""

    starts: list[tuple[int, ...]]
    untils: list[tuple[int, ...]]
    rows: list[tuple[bookings.Booking, ...]]

    @classmethod
    def of(cls, timeline: Timeline) -> Draft:
        """Begin with a timeline."""
        return cls(list(timeline.starts), list(timeline.untils),
                   list(timeline.rows))

    def copy(self) -> Draft:
        """Give a draft that can be thrown away."""
        return Draft(list(self.starts), list(self.untils), list(self.rows))

    def become(self, other: Draft) -> None:
        """Take over what another draft has."""
        self.starts, self.untils = other.starts, other.untils
        self.rows = other.rows

    def timeline(self) -> Timeline:
        """Give what has been drafted."""
        return Timeline(tuple(self.starts), tuple(self.untils),
                        tuple(self.rows))

    def write(self, node: int, row: Iterable[bookings.Booking]) -> None:
        """Replace all of a node's bookings.

        :raises ValueError: where two of them overlap.
        """
        ordered = sorted(row, key=lambda booking: booking.start)
        starts = tuple([booking.start for booking in ordered])
        untils = tuple([booking.end + booking.margin for booking in ordered])
        for place in range(1, len(ordered)):
            if untils[place - 1] > starts[place]:
                raise ValueError(
                    f'The bookings {ordered[place - 1].id} and '
                    f'{ordered[place].id} of the node {node} overlap. Plan '
                    'the one that may move anew.')
        self.starts[node], self.untils[node] = starts, untils
        self.rows[node] = tuple(ordered)

    def free(self, node: int, start: int, until: int) -> bool:
        """Tell whether a node is free from ``start`` to ``until``."""
        place = bisect.bisect_left(self.starts[node], until)
        return not place or self.untils[node][place - 1] <= start

    def between(self, node: int, start: int,
                until: int) -> tuple[bookings.Booking, ...]:
        """Give the bookings of a node that overlap [start, until)."""
        last = bisect.bisect_left(self.starts[node], until)
        first = bisect.bisect_right(self.untils[node], start)
        return self.rows[node][first:last]

    def occupant(self, node: int, at: int) -> bookings.Booking | None:
        """Give the booking that has a node at an instant."""
        place = bisect.bisect_right(self.starts[node], at)
        if not place or self.untils[node][place - 1] <= at:
            return None
        return self.rows[node][place - 1]

    def put(self, changes: Iterable[bookings.Booking],
            leaving: Iterable[bookings.Booking] = ()) -> None:
        """Place bookings on the nodes that they name.

        :param leaving: bookings to take away first, as they stand here.
        :raises ValueError: where two bookings of a node overlap then.
        """
        out: dict[int, set[str]] = {}
        new: dict[int, list[bookings.Booking]] = {}
        for booking in leaving:
            out.setdefault(booking.node, set()).add(booking.id)
        for booking in changes:
            new.setdefault(booking.node, []).append(booking)
        for node in out.keys() | new.keys():
            gone = out.get(node, set())
            self.write(node, [booking for booking in self.rows[node]
                              if booking.id not in gone]
                       + new.get(node, []))
