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

"""What the pool has room for at all: tries everything.  And small cases."""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import pool

CLASSES = ('DISK_GB', 'MEMORY_MB', 'VCPU')


@dataclasses.dataclass(frozen=True)
class Case:
    """A pool, and what is demanded of it."""

    capacities: tuple[dict[str, int] | None, ...]
    there: tuple[instances.Promise, ...]
    demands: tuple[instances.Wish, ...]

    @property
    def pool(self) -> pool.Pool:
        return pool.Pool.of(self.capacities, self.there)


def wanted(demand, count):
    """Give so many bookings or instances of a demand, nowhere yet."""
    make = (demand.booking if isinstance(demand, bookings.Demand)
            else demand.instance)
    return [make(number, -1) for number in range(count)]


def least(demand):
    """Give how many a demand needs."""
    return (demand.least if isinstance(demand, bookings.Demand)
            else demand.amount)


def sound(capacities, there) -> bool:
    """Tell whether promises can stand together where they are.

    What begins an overlap begins at some start, so that it is enough to look
    at each start.
    """
    for at in {each.start for each in there}:
        hosts: dict[int, list[instances.Promise]] = {}
        for each in there:
            margin = each.margin
            if isinstance(each, instances.Instance) and (
                    capacities[each.node] is not None):
                margin = 0
            if each.start <= at < each.end + margin:
                hosts.setdefault(each.node, []).append(each)
        for node, now in hosts.items():
            capacity = capacities[node]
            if len(now) > 1 and (capacity is None or any(
                    isinstance(each, bookings.Booking) for each in now)):
                return False
            if capacity is None or isinstance(now[0], bookings.Booking):
                continue
            for name in CLASSES:
                if sum(dict(each.amounts).get(name, 0)
                       for each in now) > capacity.get(name, 0):
                    return False
    groups: dict[str, list[instances.Instance]] = {}
    for each in there:
        if isinstance(each, instances.Instance) and each.affinity is not None:
            groups.setdefault(each.group, []).append(each)
    for group in groups.values():
        nodes = {each.node for each in group}
        if group[0].affinity and len(nodes) > 1:
            return False
        for node in nodes:
            on_it = [each for each in group if each.node == node]
            if not group[0].affinity and any(
                    one.start < other.end and other.start < one.end
                    for number, one in enumerate(on_it)
                    for other in on_it[:number]):
                return False
    return True


def exists(case: Case, counts: list[int]) -> bool:
    """Tell whether each demand can have so many hosts or instances."""
    fixed = [each for each in case.there if not each.movable]
    todo = [each for each in case.there if each.movable]
    for demand, count in zip(case.demands, counts, strict=True):
        todo.extend(wanted(demand, count))
    todo.sort(key=lambda each: each.eligible.bit_count())

    def place(number, placed):
        if number == len(todo):
            return True
        each = todo[number]
        for node in range(len(case.capacities)):
            if not each.eligible >> node & 1 and node != each.node:
                continue
            more = [*placed, dataclasses.replace(each, node=node)]
            if sound(case.capacities, more) and place(number + 1, more):
                return True
        return False

    return place(0, fixed)


def best(case: Case) -> list[int] | None:
    """Give how many each demand gets, ``None`` where one falls short."""
    counts = [least(demand) for demand in case.demands]
    if not exists(case, counts):
        return None
    for number, demand in enumerate(case.demands):
        if isinstance(demand, instances.InstanceDemand):
            continue
        while counts[number] < demand.most:
            counts[number] += 1
            if not exists(case, counts):
                counts[number] -= 1
                break
    return counts


def fitting(capacities, amounts) -> int:
    """Give the hosts that an instance fits on, nodes of Ironic among them."""
    return fleet.mask(
        node for node, capacity in enumerate(capacities)
        if capacity is None or all(capacity.get(name, 0) >= amount
                                   for name, amount in amounts))


_sizes = st.fixed_dictionaries(
    {'VCPU': st.integers(1, 3)},
    optional={'MEMORY_MB': st.integers(1, 3), 'DISK_GB': st.integers(1, 2)}
).map(lambda size: tuple(sorted(size.items())))
_affinities = st.sampled_from((None, None, True, False))


@st.composite
def cases(draw: st.DrawFn, hosts: int = 3, most: int = 4, demands: int = 2,
          fixed: bool = True) -> Case:
    """Small pools in which everything has its place, and demands.

    :param fixed: whether some of what is there must not move.
    """
    capacities = tuple(draw(st.lists(st.none() | st.fixed_dictionaries({
        'VCPU': st.integers(3, 6), 'MEMORY_MB': st.integers(3, 6),
        'DISK_GB': st.integers(2, 5)}), min_size=min(2, hosts),
        max_size=hosts)))
    everything = fleet.everything(len(capacities))
    there: list[instances.Promise] = []
    groups: dict[int, tuple] = {}
    for number in range(draw(st.integers(most // 2, most))):
        node = draw(st.integers(0, len(capacities) - 1))
        movable = not fixed or draw(st.sampled_from((True, True, False)))
        if draw(st.sampled_from((False, False, True))):
            start = draw(st.integers(0, 6))
            end = start + draw(st.integers(1, 4))
            each: instances.Promise = bookings.Booking(
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
            each = instances.Instance(
                f'group {group}/{number}', start, end, node,
                fitting(capacities, size) & draw(
                    st.just(everything) | st.integers(1, everything))
                | 1 << node, size, f'group {group}', affinity, movable,
                margin)
        if sound(capacities, [*there, each]):
            there.append(each)
    # NOTE: instances of a group start together, if at all, and a group has
    # one set of hosts; what stays put its group where it is.
    begun = {each.group for each in there
             if isinstance(each, instances.Instance) and not each.movable
             and each.affinity is not None}
    there = [dataclasses.replace(each, movable=False)
             if isinstance(each, instances.Instance) and each.group in begun
             else each for each in there]
    sets: dict[str, int] = {}
    for each in there:
        if isinstance(each, instances.Instance) and each.affinity:
            sets[each.group] = (sets.get(each.group, everything)
                                & each.eligible | 1 << each.node)
    there = [dataclasses.replace(each, eligible=sets[each.group])
             if isinstance(each, instances.Instance) and each.affinity
             else each for each in there]
    return Case(capacities, tuple(there), tuple(
        draw(_demand(capacities, number))
        for number in range(draw(st.integers(1, demands)))))


@st.composite
def _demand(draw: st.DrawFn, capacities, number: int) -> instances.Wish:
    everything = fleet.everything(len(capacities))
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
    return instances.InstanceDemand(
        f'demand {number}', start, end, draw(st.integers(1, 3)),
        fitting(capacities, size) & draw(
            st.just(everything) | st.integers(1, everything)), size,
        draw(_affinities), margin)
