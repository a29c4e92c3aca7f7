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

"""One free pool: whole hosts and instances on the same timelines.

Hosts are of two kinds.  A node of Ironic is always had whole; of a compute
host, instances have shares, over time, up to what it has of each class.

For whole hosts there is a :class:`~.timeline.Timeline` of all hosts, on
which an instance on a node of Ironic is a booking as any other, and the
times at which instances share a compute host are booked.  So all that plans
whole hosts works on it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import shares


@dataclasses.dataclass(frozen=True, slots=True)
class Shared(bookings.Booking):
    """A time at which instances share a compute host."""


@dataclasses.dataclass(frozen=True, slots=True)
class Seat(bookings.Booking):
    """A node of Ironic that an instance has.

    :ivar eligible: the nodes of Ironic among the hosts that would do.
    :ivar instance: on whatever node it was last written.
    """

    instance: instances.Instance | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """All hosts, and all that is promised of them.

    :ivar capacities: for each compute host, how much of each class all its
        instances may have; ``None`` for a node of Ironic.
    :ivar timeline: of all hosts, for what takes them whole.
    :ivar rows: for each host, its instances by their starts.
    :ivar compute: the set of compute hosts.
    """

    capacities: tuple[shares.Capacity | None, ...]
    timeline: timeline.Timeline
    rows: tuple[tuple[instances.Instance, ...], ...]
    compute: int

    @classmethod
    def of(cls, capacities: Sequence[shares.Capacity | None],
           there: Iterable[instances.Promise] = ()) -> Pool:
        """Sort bookings of whole hosts and instances by host and start.

        :raises ValueError: where a whole host is promised twice, or an
            instance that may move has no room.
        """
        lists: dict[int, list[instances.Promise]] = {}
        for each in there:
            lists.setdefault(each.node, []).append(each)
        draft = Draft.empty(capacities)
        for node, row in lists.items():
            draft.write(node, row)
        return draft.pool()

    def promised(self) -> Iterator[instances.Promise]:
        """Give everything that is promised, host by host."""
        for node in range(len(self.rows)):
            yield from self.on(node)

    def on(self, node: int) -> Iterator[instances.Promise]:
        """Give everything that is promised of one host."""
        for booking in self.timeline.rows[node]:
            if not isinstance(booking, Shared | Seat):
                yield booking
        yield from self.rows[node]

    def adding(self, added: Iterable[instances.Promise]) -> Pool:
        """Give the pool with more promised.

        :raises ValueError: as :meth:`of`.
        """
        draft = Draft.of(self)
        draft.put(added)
        return draft.pool()

    def without(self, removed: Iterable[instances.Promise]) -> Pool:
        """Give the pool without some of what is promised."""
        draft = Draft.of(self)
        draft.put((), removed)
        return draft.pool()


#: Refuses what a host may not be promised: its number, what it has, and the
#: instances before and after.
_Check = Callable[[int, shares.Capacity, Sequence[instances.Instance],
                   Sequence[instances.Instance]], None]


@dataclasses.dataclass(slots=True)
class Draft:
    """A pool while it is being changed; a host's row is replaced whole."""

    capacities: list[shares.Capacity | None]
    nodes: timeline.Draft
    rows: list[tuple[instances.Instance, ...]]
    compute: int

    @classmethod
    def empty(cls, capacities: Sequence[shares.Capacity | None]) -> Draft:
        """Begin with hosts of which nothing is promised."""
        count = len(capacities)
        return cls(list(capacities), timeline.Draft(
            [()] * count, [()] * count, [()] * count), [()] * count,
            fleet.mask(node for node, capacity in enumerate(capacities)
                       if capacity is not None))

    @classmethod
    def of(cls, pool: Pool) -> Draft:
        """Begin with a pool."""
        return cls(list(pool.capacities), timeline.Draft.of(pool.timeline),
                   list(pool.rows), pool.compute)

    def copy(self) -> Draft:
        """Give a draft that can be thrown away."""
        return Draft(self.capacities, self.nodes.copy(), list(self.rows),
                     self.compute)

    def become(self, other: Draft) -> None:
        """Take over what another draft has."""
        self.nodes, self.rows = other.nodes, other.rows

    def pool(self) -> Pool:
        """Give what has been drafted."""
        return Pool(tuple(self.capacities), self.nodes.timeline(),
                    tuple(self.rows), self.compute)

    def append(self, capacity: shares.Capacity | None) -> int:
        """Take in one more host, and give its number."""
        node = len(self.rows)
        self.capacities.append(capacity)
        self.rows.append(())
        self.nodes.starts.append(())
        self.nodes.untils.append(())
        self.nodes.rows.append(())
        if capacity is not None:
            self.compute |= 1 << node
        return node

    def resize(self, node: int, capacity: shares.Capacity | None) -> None:
        """Change what a host has; its row has to be written afterwards."""
        self.capacities[node] = capacity
        self.compute &= ~(1 << node)
        if capacity is not None:
            self.compute |= 1 << node

    def write(self, node: int, row: Iterable[instances.Promise]) -> None:
        """Replace all that is promised of a host.

        :raises ValueError: where it is promised whole and something else
            besides, or has no room for an instance that may move and was not
            there before.
        """
        self._replace(node, row, _check)

    def draw(self, node: int, row: Iterable[instances.Promise]) -> None:
        """Replace all that is promised of a host, as it stands in the rows.

        NOTE: a host that is promised to more than it has room for stays so:
        nothing new gets in, and what leaves makes room.

        :raises ValueError: where it is promised whole and something else
            besides.
        """
        self._replace(node, row)

    def _replace(self, node: int, row: Iterable[instances.Promise],
                 check: _Check | None = None) -> None:
        whole: list[bookings.Booking] = []
        there: list[instances.Instance] = []
        for each in row:
            if isinstance(each, instances.Instance):
                there.append(each)
            else:
                whole.append(each)
        there.sort(key=lambda each: each.start)
        capacity = self.capacities[node]
        if capacity is None:
            whole.extend(self._seat(node, each) for each in there)
        elif there:
            if check is not None:
                check(node, capacity, self.rows[node], there)
            bit = 1 << node
            whole.extend(
                Shared(f'shared/{node}/{start}', start, end, node, bit, False)
                for start, end in shares.runs((each.start, each.end)
                                              for each in there))
        self.nodes.write(node, whole)
        self.rows[node] = tuple(there)

    def _seat(self, node: int, each: instances.Instance) -> Seat:
        return Seat(each.id, each.start, each.end, node,
                    each.eligible & ~self.compute, each.movable, each.margin,
                    each)

    def whole(self, node: int) -> list[bookings.Booking]:
        """Give the bookings that have all of a host, without instances."""
        return [booking for booking in self.nodes.rows[node]
                if not isinstance(booking, Shared | Seat)]

    def there(self, node: int) -> list[instances.Promise]:
        """Give all that is promised of a host."""
        return [*self.whole(node), *self.rows[node]]

    def between(self, node: int, start: int, until: int
                ) -> list[instances.Promise]:
        """Give what is promised of a host and overlaps [start, until)."""
        found: list[instances.Promise] = []
        shared = False
        for booking in self.nodes.between(node, start, until):
            if isinstance(booking, Shared):
                shared = True
            elif isinstance(booking, Seat):
                assert booking.instance is not None
                found.append(booking.instance)
            else:
                found.append(booking)
        if shared:
            found.extend(shares.between(self.rows[node], start, until))
        return found

    def until(self, each: instances.Promise, node: int) -> int:
        """Give from when on others can have what is promised on a host."""
        if isinstance(each, instances.Instance) and self.compute >> node & 1:
            # NOTE: nobody cleans a host because an instance has left it.
            return each.end
        return each.end + each.margin

    def put(self, arriving: Iterable[instances.Promise],
            leaving: Iterable[instances.Promise] = ()) -> None:
        """Place promises on the hosts that they name.

        :param leaving: what is taken away first, as it stands here.
        :raises ValueError: as :meth:`write`.
        """
        out: dict[int, set[str]] = {}
        new: dict[int, list[instances.Promise]] = {}
        for each in leaving:
            out.setdefault(each.node, set()).add(each.id)
        for each in arriving:
            new.setdefault(each.node, []).append(each)
        for node in out.keys() | new.keys():
            gone = out.get(node, set())
            self.write(node, [each for each in self.there(node)
                              if each.id not in gone] + new.get(node, []))

    def adopt(self, plan: plans.Plan,
              names: Mapping[str, instances.Instance]) -> None:
        """Take over what has been planned on the timeline of whole hosts.

        :param names: instances that were planned as bookings, by their ids.
        """
        before = self.nodes.rows
        for node, row in enumerate(plan.timeline.rows):
            if row is before[node]:
                continue
            there: list[instances.Promise] = []
            for booking in row:
                if isinstance(booking, Shared):
                    continue
                instance = (booking.instance if isinstance(booking, Seat)
                            else names.get(booking.id))
                there.append(booking if instance is None else
                             dataclasses.replace(instance, node=node))
            if self.compute >> node & 1:
                there.extend(self.rows[node])
            self.write(node, there)


def _check(node: int, capacity: shares.Capacity,
           before: Sequence[instances.Instance],
           there: Sequence[instances.Instance]) -> None:
    """Refuse a row with an instance for which there is no room.

    NOTE: an inventory may have shrunk below what is promised, or something
    be late; so that what was there before may have no room.
    """
    if not any(each.movable for each in there):
        return
    peaks = shares.peak(there, there[0].start)
    if all(amount <= capacity.get(name, 0)
           for name, amount in peaks.items()):
        return
    known = {each.id: each for each in before}
    for each in there:
        if each.movable and known.get(each.id) != each and not shares.fits(
                capacity, there, each):
            raise ValueError(
                f'The host {node} has no room for the instance {each.id}. '
                'Plan it anew.')
