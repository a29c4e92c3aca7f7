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

"""All bookings of all hosts, sorted: the present plan.

The row of a host is of one of two kinds. A node of Ironic is *exclusive*: it
has one booking at a time. A compute host is *shared*: its bookings are shares,
up to its capacity of each resource class at each instant; or one booking has
all of it.

Rows of both kinds show when the host is taken, and which booking has all of
it. Code that needs a whole host treats all rows alike: a period in which a
compute host is shared is one window without a single holder.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
from typing import Any
from typing import TypeVar

from ironic_reservations.planner import bookings
from ironic_reservations.planner import gaps as gaps_module
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import shares

#: The booking of a whole host over a window; ``None``: it is shared.
_Holder = bookings.Booking | None
_Row = tuple[bookings.Booking, ...]
#: The row of a host: its bookings, when it is taken, and the bookings that
#: take it.
RowState = tuple[_Row, tuple[int, ...], tuple[int, ...], tuple[_Holder, ...]]
#: How many hosts may have changed before the gaps are updated.
_STALE = 64
#: How many things are remembered that have been computed from a timeline.
_KNOWN = 64
_Found = TypeVar('_Found')


@dataclasses.dataclass(frozen=True, slots=True)
class Timeline:
    """The bookings of each host, ordered by start.

    It is immutable: a change returns another timeline, which shares the
    unchanged parts with this one.

    :ivar capacities: for each compute host, its capacity by class; ``None``
        for a node of Ironic.
    :ivar compute: the set of compute hosts.
    :ivar rows: for each host, its bookings.
    :ivar starts: for each host, the instants at which it becomes taken.
    :ivar untils: for each host, the instants at which it becomes free.
    :ivar holders: for each host, the bookings that have all of it, from each
        of these starts; ``None``: it is shared.
    :ivar gaps: the gaps of the hosts, not updated for ``changed``.
    :ivar changed: the hosts that have changed since ``gaps`` was computed.
    :ivar known: results that have been computed from it, by subject.
    """

    capacities: tuple[shares.Capacity | None, ...]
    compute: int
    rows: tuple[_Row, ...]
    starts: tuple[tuple[int, ...], ...]
    untils: tuple[tuple[int, ...], ...]
    holders: tuple[tuple[_Holder, ...], ...]
    gaps: gaps_module.Gaps = dataclasses.field(compare=False, repr=False)
    changed: frozenset[int] = dataclasses.field(compare=False, repr=False)
    known: dict[object, Any] = dataclasses.field(
        default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, capacities: Sequence[shares.Capacity | None],
           there: Iterable[bookings.Booking] = ()) -> Timeline:
        """Return the timeline of some bookings.

        :raises ValueError: a host is booked twice, or has no room for a
            movable share.
        """
        lists: dict[int, list[bookings.Booking]] = {}
        for booking in there:
            lists.setdefault(booking.node, []).append(booking)
        draft = Draft.empty(capacities)
        for node, row in lists.items():
            draft.write(node, row)
        return draft.timeline()

    @property
    def nodes(self) -> int:
        """The number of hosts."""
        return len(self.rows)

    def once(self, key: object, compute: Callable[[], _Found]) -> _Found:
        """Return a result that is computed from it, and then kept.

        :param key: the subject of the result, its key in ``known``.
        """
        found: _Found | None = self.known.get(key)
        if found is None:
            found = compute()
            if len(self.known) >= _KNOWN:
                self.known.clear()
            self.known[key] = found
        return found

    def promised(self) -> Iterator[bookings.Booking]:
        """Yield all bookings, host by host."""
        for row in self.rows:
            yield from row

    def adding(self, added: Iterable[bookings.Booking]) -> Timeline:
        """Return the timeline with more bookings.

        :raises ValueError: as :meth:`of`.
        """
        added = list(added)
        if not added:
            return self
        draft = Draft.of(self)
        draft.put(added)
        return draft.timeline()

    def without(self, removed: Iterable[bookings.Booking]) -> Timeline:
        """Return the timeline without some of its bookings."""
        removed = list(removed)
        if not removed:
            return self
        draft = Draft.of(self)
        draft.put((), removed)
        return draft.timeline()


@dataclasses.dataclass(slots=True)
class Draft:
    """A timeline that can be changed; a host's row is replaced as a whole."""

    capacities: Sequence[shares.Capacity | None]
    compute: int
    rows: list[_Row]
    starts: list[tuple[int, ...]]
    untils: list[tuple[int, ...]]
    holders: list[tuple[_Holder, ...]]
    gaps: gaps_module.Gaps
    changed: set[int]

    @classmethod
    def empty(cls, capacities: Sequence[shares.Capacity | None]) -> Draft:
        """Return a draft of hosts without bookings."""
        count = len(capacities)
        return cls(list(capacities), host_sets.mask(
            node for node, capacity in enumerate(capacities)
            if capacity is not None),
            [()] * count, [()] * count, [()] * count, [()] * count,
            gaps_module.Gaps(), set(range(count)))

    @classmethod
    def of(cls, timeline: Timeline) -> Draft:
        """Return a draft of a timeline."""
        return cls(timeline.capacities, timeline.compute,
                   list(timeline.rows), list(timeline.starts),
                   list(timeline.untils), list(timeline.holders),
                   timeline.gaps, set(timeline.changed))

    def copy(self) -> Draft:
        """Return a copy."""
        return Draft(self.capacities, self.compute, list(self.rows),
                     list(self.starts), list(self.untils),
                     list(self.holders), self.gaps, set(self.changed))

    def state(self, node: int) -> RowState:
        """Return the row of a host, for :meth:`restore`."""
        return (self.rows[node], self.starts[node], self.untils[node],
                self.holders[node])

    def restore(self, node: int, state: RowState) -> None:
        """Set the row of a host to a previous state."""
        (self.rows[node], self.starts[node], self.untils[node],
         self.holders[node]) = state
        self.changed.add(node)

    def timeline(self) -> Timeline:
        """Return the timeline of this draft."""
        starts, untils = tuple(self.starts), tuple(self.untils)
        if len(self.changed) > _STALE:
            self.gaps = self.gaps.updated(starts, untils, self.changed)
            self.changed = set()
        return Timeline(tuple(self.capacities), self.compute,
                        tuple(self.rows), starts, untils,
                        tuple(self.holders), self.gaps,
                        frozenset(self.changed))

    def append(self, capacity: shares.Capacity | None) -> int:
        """Add a host, and return its number."""
        node = len(self.rows)
        self._resizable().append(None)
        self.rows.append(())
        self.starts.append(())
        self.untils.append(())
        self.holders.append(())
        self.changed.add(node)
        self.resize(node, capacity)
        return node

    def resize(self, node: int, capacity: shares.Capacity | None) -> None:
        """Change the capacity of a host; its row has to be written afterwards.
        """
        self._resizable()[node] = capacity
        self.compute &= ~(1 << node)
        if capacity is not None:
            self.compute |= 1 << node

    def _resizable(self) -> list[shares.Capacity | None]:
        if not isinstance(self.capacities, list):
            self.capacities = list(self.capacities)
        return self.capacities

    def write(self, node: int, row: Iterable[bookings.Booking]) -> None:
        """Replace all bookings of a host.

        :raises ValueError: the host is booked as a whole and otherwise at the
            same time, or has no room for a movable share that was not there
            before.
        """
        self._replace(node, row, True)

    def draw(self, node: int, row: Iterable[bookings.Booking]) -> None:
        """Replace all bookings of a host by those of the database.

        A host may have more bookings than room: then nothing new is
        placed there until some have left.

        :raises ValueError: the host is booked as a whole and otherwise at the
            same time.
        """
        self._replace(node, row, False)

    def _replace(self, node: int, row: Iterable[bookings.Booking],
                 checked: bool) -> None:
        there = tuple(sorted(row, key=_start))
        holders: tuple[_Holder, ...] = there
        capacity = self.capacities[node]
        if capacity is None:
            starts = tuple([each.start for each in there])
            untils = tuple([each.end + each.margin for each in there])
        else:
            sharing = [each for each in there if each.amounts is not None]
            if sharing and checked:
                _check(node, capacity, self.rows[node], sharing)
            windows = _windows(there, sharing)
            starts = tuple([each[0] for each in windows])
            untils = tuple([each[1] for each in windows])
            holders = tuple([each[2] for each in windows])
        for place in range(1, len(starts)):
            if untils[place - 1] > starts[place]:
                one, other = holders[place - 1:place + 1]
                raise ValueError(
                    f'The bookings {_name(one)} and {_name(other)} of the '
                    f'host {node} overlap. Plan the one that may move anew.')
        self.rows[node], self.holders[node] = there, holders
        self.starts[node], self.untils[node] = starts, untils
        self.changed.add(node)

    def whole_hosts(self, booking: bookings.Booking) -> int:
        """Return the hosts that a booking would have for itself, as a set.

        It is for code that only sees whether a row is taken, and not whether
        it has room for a share.
        """
        if booking.amounts is None or not self.compute:
            return booking.eligible
        return booking.eligible & ~self.compute

    def free(self, node: int, start: int, until: int) -> bool:
        """Return whether a host has no bookings in [start, until)."""
        place = bisect.bisect_left(self.starts[node], until)
        return not place or self.untils[node][place - 1] <= start

    def held(self, node: int, start: int,
             until: int) -> tuple[_Holder, ...]:
        """Return the bookings of a whole host in [start, until).

        :returns: the bookings, and ``None`` for each period in which it is
            shared.
        """
        last = bisect.bisect_left(self.starts[node], until)
        first = bisect.bisect_right(self.untils[node], start)
        return self.holders[node][first:last]

    def between(self, node: int, start: int,
                until: int) -> tuple[bookings.Booking, ...]:
        """Return the bookings of a host that overlap [start, until)."""
        if self.capacities[node] is None:
            last = bisect.bisect_left(self.starts[node], until)
            first = bisect.bisect_right(self.untils[node], start)
            return self.rows[node][first:last]
        if self.free(node, start, until):
            return ()
        # A booking that overlaps begins within or after the first period.
        row, first = self.rows[node], self.starts[node][
            bisect.bisect_right(self.untils[node], start)]
        return tuple([each for each in row[
            bisect.bisect_left(row, first, key=_start):
            bisect.bisect_left(row, until, key=_start)]
                      if each.end > start or (
                          each.amounts is None and each.until > start)])

    def is_shared(self, node: int) -> bool:
        """Return whether a host is shared at any time."""
        return bool(self.compute >> node & 1) and None in self.holders[node]

    def until(self, booking: bookings.Booking, node: int) -> int:
        """Return the instant at which a booking's place becomes available."""
        if booking.amounts is not None and self.compute >> node & 1:
            # A compute host is not cleaned after an instance.
            return booking.end
        return booking.end + booking.margin

    def put(self, arriving: Iterable[bookings.Booking],
            leaving: Iterable[bookings.Booking] = ()) -> None:
        """Place bookings on their hosts.

        :param leaving: bookings to remove first, with their present hosts.
        :raises ValueError: as :meth:`write`.
        """
        out: dict[int, set[str]] = {}
        new: dict[int, list[bookings.Booking]] = {}
        for booking in leaving:
            out.setdefault(booking.node, set()).add(booking.id)
        for booking in arriving:
            new.setdefault(booking.node, []).append(booking)
        for node in out.keys() | new.keys():
            gone = out.get(node, set())
            self.write(node, [booking for booking in self.rows[node]
                              if booking.id not in gone]
                       + new.get(node, []))


def differing(after: Timeline | Draft, before: Timeline) -> Iterator[int]:
    """Yield the hosts whose bookings differ.

    :param after: a timeline of the same hosts.
    """
    nodes = (sorted(after.changed | before.changed)
             if after.gaps is before.gaps else range(before.nodes))
    for node in nodes:
        if after.rows[node] is not before.rows[node]:
            yield node


def _start(booking: bookings.Booking) -> int:
    return booking.start


def _name(holder: _Holder) -> str:
    return 'that share it' if holder is None else holder.id


def _windows(row: Sequence[bookings.Booking],
             sharing: Sequence[bookings.Booking]
             ) -> list[tuple[int, int, _Holder]]:
    """Return the periods in which a compute host is taken, with the holder."""
    found: list[tuple[int, int, _Holder]] = [
        (start, end, None) for start, end in shares.runs(
            (each.start, each.end) for each in sharing)]
    if len(sharing) < len(row):
        found.extend((each.start, each.end + each.margin, each)
                     for each in row if each.amounts is None)
        found.sort(key=lambda window: window[:2])
    return found


def _check(node: int, capacity: shares.Capacity,
           before: Sequence[bookings.Booking],
           there: Sequence[bookings.Booking]) -> None:
    """Raise if there is no room for a new movable share.

    Bookings that were there before may have no room, since the inventory
    may have shrunk, or a booking may be late.
    """
    if not any(each.movable for each in there) or shares.roomy(
            capacity, there):
        return
    known = {each.id: each for each in before}
    for each in there:
        if each.movable and known.get(each.id) != each and not shares.fits(
                capacity, there, each):
            raise ValueError(
                f'The host {node} has no room for the instance {each.id}. '
                'Plan it anew.')
