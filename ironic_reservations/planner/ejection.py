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

"""Repair by ejection: bookings in the way are ejected, and placed elsewhere.

A new booking takes the place where the bookings in its way have the least
weight. These are then placed one after another, the heaviest first. Long
bookings weigh more than short ones, since short ones find a place more easily.
Each time a booking ejects others, its weight grows, so that bookings that are
hard to place stay in the end, and bookings do not eject each other in a
circle.

After each ejection on a node of Ironic, bookings near it are exchanged between
two nodes, chosen at random, as long as there are no more gaps than before.
Otherwise, most of the plan would never change, and the search would repeat the
same few places.

This finds assignments that exchanges do not find, in which many bookings move
at once. It proves nothing. It is the same for exclusive and
shared hosts, which differ only in their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import math
import operator

from ironic_reservations.planner import budget
from ironic_reservations.planner import exclusive_row
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import places
from ironic_reservations.planner import shared_row
from ironic_reservations.planner import timeline

#: The powers of the time that pieces take, times the part of a host, that are
#: their initial weights in a search among exclusive hosts only, and others.
#: NOTE: shares are of many sizes: with less than the first power, a large one
#: would rather leave than the small ones for which there is more room.
_EXCLUSIVE, _SHARED = 0.5, 1.0
#: The number of steps to set up the row of a host, for each booking, and the
#: units of work that it takes besides.
_SET_UP = 4
_MADE = 16
#: The number of exchanges that are tried after an ejection, and the number of
#: steps for each.
_EXCHANGES, _EXCHANGE = 10, 3


def eject(draft: timeline.Draft, wanted: placement_units.Unit,
          pinned: frozenset[str], steps: budget.Budget) -> bool:
    """Place a unit by ejecting others; return whether a plan was found.

    The draft is changed only if one was found.

    :param pinned: the groups that stay where they are.
    """
    shared = bool(wanted.eligible & draft.compute)
    found = find(lambda node: row(draft, node, pinned, shared),
                 _piece(draft, wanted, True, shared), steps)
    if found is None:
        return False
    placement_units.place(draft, [(each.unit, each.node) for each in found])
    return True


def row(draft: timeline.Draft, node: int, pinned: frozenset[str],
        shared: bool = False) -> places.Row:
    """Return the row of a host in its present state.

    :param shared: whether the search is about shared hosts, too.
    """
    there = list(_there(draft, node, pinned, shared))
    capacity = draft.capacities[node]
    if capacity is None:
        return exclusive_row.Row(there)
    return shared_row.Row(capacity, there)


def _there(draft: timeline.Draft, node: int, pinned: frozenset[str],
           shared: bool) -> Iterator[places.Piece]:
    """Yield the pieces on a host; on an exclusive one, ordered by start."""
    there = draft.rows[node]
    if draft.capacities[node] is None:
        for each in there:
            yield _piece(draft, placement_units.unit((each,), draft),
                         placement_units.leaves(each, pinned), shared)
        return
    free: set[str] = set()
    for unit in placement_units.movable(draft, node, there, pinned):
        free.update([each.id for each in unit.parts])
        yield _piece(draft, unit, True, shared)
    for each in there:
        if each.id not in free:
            yield _piece(draft, placement_units.unit((each,), draft), False,
                         shared)


def _piece(draft: timeline.Draft, unit: placement_units.Unit,
           movable: bool, shared: bool = False) -> places.Piece:
    part = 1.0
    if unit.amounts is not None:
        # As a part of the first compute host, over all classes.
        first = draft.compute & -draft.compute
        capacity = (draft.capacities[first.bit_length() - 1] if first
                    else None) or {}
        parts = [amount / capacity[name] for name, amount in unit.amounts
                 if capacity.get(name)]
        if parts:
            part = min(1.0, sum(parts) / len(parts))
    return places.Piece(unit, unit.eligible, movable, part,
                        _SHARED if shared else _EXCLUSIVE)


class Rows(dict[int, places.Row]):
    """The rows of the hosts examined so far."""

    def __init__(self, make: Callable[[int], places.Row],
                 steps: budget.Budget, work: budget.Budget) -> None:
        super().__init__()
        self._make = make
        self._steps = steps
        self._work = work

    def __missing__(self, node: int) -> places.Row:
        row = self[node] = self._make(node)
        count = len(row.pieces())
        self._work.charge(_MADE * (1 + count))
        self._steps.spend(_SET_UP * count)
        return row


def find(make: Callable[[int], places.Row], wanted: places.Piece,
         steps: budget.Budget) -> list[places.Piece] | None:
    """Find a place for a piece, moving others.

    :param make: returns the row of a host in its present state.
    :returns: the pieces that have moved, including the new one; ``None`` if no
        place was found.
    """
    if not wanted.hosts:
        return None
    chance = pseudorandom()
    kind = make(wanted.hosts[0])
    for heavier in kind.heavier:
        if steps.is_over:
            break
        wanted.node, wanted.weight = wanted.home, wanted.first
        part = budget.Budget(min(steps.left, kind.patience))
        allowed = part.left
        rows = Rows(make, part, steps)
        try:
            found = settle(rows, wanted, heavier, chance, part)
        except budget.Exhausted:
            found = False
        steps.left -= allowed - max(part.left, 0)
        if found:
            return list(_elsewhere(rows))
    return None


def settle(rows: Rows, wanted: places.Piece, heavier: float,
           chance: Iterator[int], steps: budget.Budget,
           choose: Callable[[Rows, places.Piece, budget.Budget],
                            int | None] | None = None) -> bool:
    """Place a piece, and the pieces that it ejects, one after another.

    :param choose: returns the host for a piece; ``None``: the cheapest one.
    """
    homeless = [wanted]
    while homeless:
        piece = max(homeless, key=_weight)
        homeless.remove(piece)
        chosen = (cheapest(rows, piece, steps)[0] if choose is None
                  else choose(rows, piece, steps))
        if chosen is None:
            return False
        row = rows[chosen]
        leaving = row.blockers(piece)
        for each in leaving:
            row.take(each)
        if leaving:
            homeless.extend(leaving)
            piece.weight += heavier * piece.first
        row.put(piece)
        piece.node = chosen
        if leaving and isinstance(row, exclusive_row.Row):
            _exchange(rows, piece, chance, steps)
    return True


def _exchange(rows: Rows, piece: places.Piece, chance: Iterator[int],
              steps: budget.Budget) -> None:
    """Exchange pieces near a piece with pieces on other hosts.

    Only a few of the possible exchanges are tried, since most of them are not
    allowed.
    """
    steps.spend(_EXCHANGES * _EXCHANGE)
    for _ in range(_EXCHANGES):
        row = rows[_one_of(piece.hosts, chance)]
        if not isinstance(row, exclusive_row.Row):
            continue
        near = row.near(piece.start, _one_of((-1, 0, 1), chance))
        if near is None:
            continue
        node = _one_of(near.hosts, chance)
        other = rows[node]
        if other is not row and isinstance(other, exclusive_row.Row):
            row.exchange(near, other, node)


def pseudorandom() -> Iterator[int]:
    """Yield the numbers of Park and Miller's generator.

    The sequence is always the same, so that a snapshot has only one plan.
    """
    number = 1
    while True:
        number = number * 48271 % 0x7fffffff
        yield number


def _one_of(numbers: Sequence[int], chance: Iterator[int]) -> int:
    return numbers[next(chance) % len(numbers)]


_weight = operator.attrgetter('weight')


def cheapest(rows: Rows, piece: places.Piece,
             steps: budget.Budget) -> tuple[int | None, float]:
    """Return the best host for a piece, and the weight that it ejects."""
    chosen, least, effort = None, math.inf, 2
    for node in piece.hosts:
        row = rows[node]
        cost = row.cost(piece, least)
        effort += row.effort
        if cost < least:
            chosen, least = node, cost
    steps.spend(effort)
    return chosen, least


def _elsewhere(rows: Rows) -> Iterator[places.Piece]:
    for row in rows.values():
        for piece in row.pieces():
            if piece.node != piece.home:
                yield piece
