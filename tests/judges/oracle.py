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

import dataclasses

from hypothesis import strategies as st

from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import timeline


@dataclasses.dataclass(frozen=True)
class Case:
    """A timeline, and what is demanded of it."""

    nodes: int
    there: tuple[bookings.Booking, ...]
    demands: tuple[bookings.Demand, ...]

    @property
    def timeline(self) -> timeline.Timeline:
        return timeline.Timeline.of(self.nodes, self.there)


def exists(case: Case, counts: list[int]) -> bool:
    """Tell whether each demand can have so many nodes."""
    held: dict[int, list[tuple[int, int]]] = {
        node: [] for node in range(case.nodes)}
    for booking in case.there:
        if not booking.movable:
            held[booking.node].append(
                (booking.start, booking.end + booking.margin))
    todo = [(booking.start, booking.end + booking.margin, booking.eligible)
            for booking in case.there if booking.movable]
    for demand, count in zip(case.demands, counts, strict=True):
        todo.extend([(demand.start, demand.end + demand.margin,
                      demand.eligible)] * count)
    todo.sort(key=lambda each: each[2].bit_count())

    def place(number: int) -> bool:
        if number == len(todo):
            return True
        start, end, eligible = todo[number]
        for node, windows in held.items():
            if eligible >> node & 1 and all(
                    end <= begin or finish <= start
                    for begin, finish in windows):
                windows.append((start, end))
                if place(number + 1):
                    return True
                windows.pop()
        return False

    return place(0)


def best(case: Case) -> list[int] | None:
    """Give how many nodes each demand gets, ``None`` where one falls short.
    """
    counts = [demand.least for demand in case.demands]
    if not exists(case, counts):
        return None
    for number, demand in enumerate(case.demands):
        while counts[number] < demand.most:
            counts[number] += 1
            if not exists(case, counts):
                counts[number] -= 1
                break
    return counts


def depth(case: Case, start: int, until: int) -> int:
    """Give the most bookings that stand at one instant of a window."""
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
    everything = fleet.everything(nodes)
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
    return Case(nodes, tuple(there), tuple(wanted))


@st.composite
def crowds(draw: st.DrawFn) -> Case:
    """More nodes, all alike, with many bookings, and one demand."""
    chance = draw(st.randoms(use_true_random=False))
    nodes = draw(st.integers(5, 12))
    everything = fleet.everything(nodes)
    there = []
    for node in range(nodes):
        at = chance.randint(0, 4)
        while at < 40:
            end = at + chance.randint(1, 9)
            there.append(bookings.Booking(f'{node}.{at}', at, end, node,
                                          everything, at > 0))
            at = end + chance.choice((0, 1, 1, 2, 5))
    start = chance.randint(1, 30)
    return Case(nodes, tuple(there), (bookings.Demand(
        'demand', start, start + chance.randint(1, 15), 1, 3, everything),))
