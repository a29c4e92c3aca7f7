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

"""What can be assigned at all: tries everything.  And small cases to try."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from hypothesis import strategies as st

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import timeline

CLASSES = ('VCPU', 'MEMORY_MB', 'DISK_GB')
_Capacity = Mapping[str, int] | None


@dataclasses.dataclass(frozen=True)
class Case:
    """A timeline, and what is demanded of it.

    :ivar capacities: of each compute host; ``None`` for a node of Ironic.
    """

    capacities: tuple[_Capacity, ...]
    there: tuple[bookings.Booking, ...]
    demands: tuple[bookings.Demand, ...]

    @property
    def nodes(self) -> int:
        return len(self.capacities)

    @property
    def timeline(self) -> timeline.Timeline:
        return timeline.Timeline.of(self.capacities, self.there)


def exists(case: Case, counts: list[int]) -> bool:
    """Tell whether each demand can have so many hosts or shares."""
    held: list[list[bookings.Booking]] = [[] for _ in case.capacities]
    for booking in case.there:
        if not booking.movable:
            held[booking.node].append(booking)
    todo = [booking for booking in case.there if booking.movable]
    for demand, count in zip(case.demands, counts, strict=True):
        todo.extend(demand.booking(number, -1) for number in range(count))
    todo.sort(key=lambda each: each.eligible.bit_count())

    def place(number: int) -> bool:
        if number == len(todo):
            return True
        each = todo[number]
        for node, there in enumerate(held):
            if (each.eligible >> node & 1 or node == each.node) and (
                    _fits(case.capacities[node], there, each)
                    and not _torn(held, node, each)):
                there.append(each)
                if place(number + 1):
                    return True
                there.pop()
        return False

    return place(0)


def best(case: Case) -> list[int] | None:
    """Return how many each demand gets, ``None`` where one falls short.

    Demands for shares get their most before those for whole hosts.
    """
    counts = [demand.least for demand in case.demands]
    if not exists(case, counts):
        return None
    for number, demand in sorted(enumerate(case.demands), key=lambda each: (
            each[1].amounts is None)):
        while counts[number] < demand.most:
            counts[number] += 1
            if not exists(case, counts):
                counts[number] -= 1
                break
    return counts


def sound(capacities: Sequence[_Capacity],
          there: Sequence[bookings.Booking]) -> bool:
    """Tell whether bookings can stand together where they are.

    Whether they may be there is another matter.
    """
    held: list[list[bookings.Booking]] = [[] for _ in capacities]
    for each in there:
        if not _fits(capacities[each.node], held[each.node], each) or _torn(
                held, each.node, each):
            return False
        held[each.node].append(each)
    return True


def _fits(capacity: _Capacity, there: Sequence[bookings.Booking],
          new: bookings.Booking) -> bool:
    """Tell whether a host has room for one more, class by class."""
    beside = []
    for each in there:
        if capacity is not None and None not in (each.amounts, new.amounts):
            if each.start < new.end and new.start < each.end:
                if new.affinity is False and each.group == new.group:
                    return False
                beside.append(each)
        elif (each.start < _until(capacity, new)
                and new.start < _until(capacity, each)):
            return False
    if capacity is None or new.amounts is None:
        return True
    needed = dict(new.amounts)
    return all(
        needed.get(name, 0) + sum(
            dict(each.amounts or ()).get(name, 0) for each in beside
            if each.start <= at < each.end) <= capacity.get(name, 0)
        for at in {new.start, *(each.start for each in beside
                                if each.start > new.start)}
        for name in CLASSES)


def _until(capacity: _Capacity, each: bookings.Booking) -> int:
    shared = capacity is not None and each.amounts is not None
    return each.end if shared else each.end + each.margin


def _torn(held: Sequence[Sequence[bookings.Booking]], node: int,
          new: bookings.Booking) -> bool:
    """Tell whether the group of a booking would be on several hosts."""
    return new.affinity is True and any(
        each.group == new.group for number, there in enumerate(held)
        if number != node for each in there)


def depth(case: Case, start: int, until: int) -> int:
    """Return the most bookings that stand at one instant of a window."""
    return max(sum(booking.start <= at < booking.end + booking.margin
                   for booking in case.there)
               for at in range(start, until))


@st.composite
def cases(draw: st.DrawFn, alike: bool = False, demands: int = 2,
          started_only: bool = False) -> Case:
    """Small timelines without overlaps, and demands.

    :param alike: every booking may be on every node.
    :param started_only: what cannot move began before everything else.
    """
    nodes = draw(st.integers(1, 4))
    everything = host_sets.everything(nodes)
    eligible = (st.just(everything) if alike
                else st.integers(1, everything))
    there: list[bookings.Booking] = []
    for number, (node, start, length, margin, fixed) in enumerate(draw(
            st.lists(st.tuples(
                st.integers(0, nodes - 1), st.integers(0, 9),
                st.integers(1, 5), st.sampled_from((0, 0, 1)),
                st.sampled_from((False, False, False, True))),
                max_size=8))):
        until = start + length + margin
        if any(other.node == node and other.start < until
               and start < other.until for other in there):
            continue
        there.append(bookings.Booking(
            str(number), start, start + length, node,
            draw(eligible) | 1 << node,
            start > 0 if started_only else not fixed, margin))
    wanted = []
    for number in range(draw(st.integers(1, demands))):
        start, least = draw(st.integers(1, 9)), draw(st.integers(1, 2))
        wanted.append(bookings.Demand(
            f'demand {number}', start, start + draw(st.integers(1, 5)),
            least, least + draw(st.integers(0, 2)), draw(eligible),
            draw(st.sampled_from((0, 1)))))
    return Case((None,) * nodes, tuple(there), tuple(wanted))


@st.composite
def crowds(draw: st.DrawFn) -> Case:
    """More nodes, all alike, with many bookings, and one demand."""
    chance = draw(st.randoms(use_true_random=False))
    nodes = draw(st.integers(5, 12))
    everything = host_sets.everything(nodes)
    there = []
    for node in range(nodes):
        at = chance.randint(0, 4)
        while at < 40:
            end = at + chance.randint(1, 9)
            there.append(bookings.Booking(f'{node}.{at}', at, end, node,
                                          everything, at > 0))
            at = end + chance.choice((0, 1, 1, 2, 5))
    start = chance.randint(1, 30)
    return Case((None,) * nodes, tuple(there), (bookings.Demand(
        'demand', start, start + chance.randint(1, 15), 1, 3, everything),))


def fitting(capacities, amounts) -> int:
    """Return the hosts that an instance fits on, also nodes of Ironic."""
    return host_sets.mask(
        node for node, capacity in enumerate(capacities)
        if capacity is None or all(capacity.get(name, 0) >= amount
                                   for name, amount in amounts))


_sizes = st.fixed_dictionaries(
    {'VCPU': st.integers(1, 3)},
    optional={'MEMORY_MB': st.integers(1, 3), 'DISK_GB': st.integers(1, 2)}
).map(lambda size: tuple(sorted(size.items())))
_affinities = st.sampled_from((None, None, True, False))


@st.composite
def shared_cases(draw: st.DrawFn, hosts: int = 3, most: int = 4,
                 demands: int = 2, fixed: bool = True) -> Case:
    """Small pools in which everything has its place, and demands.

    :param fixed: whether some of what is there must not move.
    """
    capacities = tuple(draw(st.lists(st.none() | st.fixed_dictionaries({
        'VCPU': st.integers(3, 6), 'MEMORY_MB': st.integers(3, 6),
        'DISK_GB': st.integers(2, 5)}), min_size=min(2, hosts),
        max_size=hosts)))
    everything = host_sets.everything(len(capacities))
    there: list[bookings.Booking] = []
    groups: dict[int, tuple] = {}
    for number in range(draw(st.integers(most // 2, most))):
        node = draw(st.integers(0, len(capacities) - 1))
        movable = not fixed or draw(st.sampled_from((True, True, False)))
        if draw(st.sampled_from((False, False, True))):
            start = draw(st.integers(0, 6))
            end = start + draw(st.integers(1, 4))
            each: bookings.Booking = bookings.Booking(
                f'there/{number}', start, end, node,
                draw(st.just(everything) | st.integers(1, everything))
                | 1 << node, movable, draw(st.sampled_from((0, 0, 1))))
        else:
            group = draw(st.integers(0, 2))
            if group not in groups:
                start = draw(st.integers(0, 6))
                groups[group] = (start, start + draw(st.integers(1, 4)),
                                 draw(_sizes), draw(_affinities),
                                 draw(st.sampled_from((0, 0, 1))))
            start, end, size, affinity, margin = groups[group]
            each = bookings.Booking(
                f'group {group}/{number}', start, end, node,
                fitting(capacities, size) & draw(
                    st.just(everything) | st.integers(1, everything))
                | 1 << node, movable, margin, size, f'group {group}',
                affinity)
        if sound(capacities, [*there, each]):
            there.append(each)
    # NOTE: instances of a group start together, if at all, and a group has
    # one set of hosts; what stays put its group where it is.
    begun = {each.group for each in there
             if each.amounts is not None and not each.movable
             and each.affinity is not None}
    there = [dataclasses.replace(each, movable=False)
             if each.amounts is not None and each.group in begun
             else each for each in there]
    sets: dict[str, int] = {}
    for each in there:
        if each.amounts is not None and each.affinity:
            sets[each.group] = (sets.get(each.group, everything)
                                & each.eligible | 1 << each.node)
    there = [dataclasses.replace(each, eligible=sets[each.group])
             if each.amounts is not None and each.affinity
             else each for each in there]
    return Case(capacities, tuple(there), tuple(
        draw(_demand(capacities, number))
        for number in range(draw(st.integers(1, demands)))))


@st.composite
def _demand(draw: st.DrawFn, capacities, number: int) -> bookings.Demand:
    everything = host_sets.everything(len(capacities))
    start = draw(st.integers(1, 6))
    end = start + draw(st.integers(1, 3))
    margin = draw(st.sampled_from((0, 0, 1)))
    if draw(st.sampled_from((False, False, True))):
        count = draw(st.sampled_from((1, 1, 2)))
        return bookings.Demand(
            f'demand {number}', start, end, count,
            count + draw(st.integers(0, 2)),
            draw(st.just(everything) | st.integers(1, everything)), margin)
    size = draw(_sizes)
    count, affinity = draw(st.integers(1, 3)), draw(_affinities)
    more = 0 if affinity else draw(st.sampled_from((0, 0, 1)))
    return bookings.Demand(
        f'demand {number}', start, end, count, count + more,
        fitting(capacities, size) & draw(
            st.just(everything) | st.integers(1, everything)), margin,
        amounts=size, affinity=affinity)
