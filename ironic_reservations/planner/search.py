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

"""An exact search through all assignments of the bookings that may move.

The units that compete with the new one, directly or through others, are placed
again in the order of their starts, depth first. For later units, only the
times matter at which each host becomes free; of hosts that are equivalent for
all units, one is tried. A state without a solution is stored, and not examined
again.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import enum
import functools
import math
import operator

from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import reach
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline

#: The units of work for each unit that is involved.
_UNIT = 12
#: How many bookings or hosts are examined in one step.
_EXAMINED = 8


class Outcome(enum.Enum):
    """The outcome of a search."""

    FOUND = 'found'
    #: Every assignment has been ruled out.
    NONE = 'none'
    #: The steps ran out first.
    UNKNOWN = 'unknown'


#: A placed unit: its end, its amounts (empty: the whole host), and its group
#: if a host may have only one booking of it.
_Placed = tuple[int, inventories.Amounts, str]
#: The placed units that have not ended, by host.
_Taken = dict[int, tuple[_Placed, ...]]
#: The number of placed units, and the cells of the hosts in use.
_State = tuple[int, tuple[tuple[int, tuple[_Placed, ...]], ...]]


def search(draft: timeline.Draft, wanted: placement_units.Unit,
           pinned: frozenset[str], steps: budget.Budget) -> Outcome:
    """Place a unit by moving any movable bookings.

    The draft is changed only if a place is found.

    :param pinned: the groups that stay where they are.
    """
    try:
        units = _involved(draft, wanted, pinned, steps)
        nodes = _Problem(draft, units, steps).solve(steps)
    except budget.Exhausted:
        return Outcome.UNKNOWN
    if nodes is None:
        return Outcome.NONE
    placement_units.place(draft, [
        (unit, node) for unit, node in zip(units, nodes, strict=True)
        if unit.node != node])
    return Outcome.FOUND


def _involved(draft: timeline.Draft, wanted: placement_units.Unit,
              pinned: frozenset[str],
              steps: budget.Budget) -> list[placement_units.Unit]:
    """Return the new unit and all on which its place could depend, in order.
    """
    found = [wanted]
    for node, there in reach.rows(draft, wanted.eligible):
        steps.spend(1 + len(there) // _EXAMINED)
        steps.charge(_UNIT * len(there))
        found.extend(placement_units.movable(draft, node, there, pinned))
    # A run ends where there is no unit; later ones do not depend on earlier
    # ones.
    run: list[placement_units.Unit] = []
    until = -bookings.FOREVER
    for each in sorted(found, key=_order):
        if each.start >= until:
            if any(other is wanted for other in run):
                break
            run = []
        run.append(each)
        until = max(until, each.until)
    steps.charge(_UNIT * len(run))
    return run


class _Problem:
    """Units to place, in the order of their starts.

    :ivar domains: for each unit, the hosts with room beside bookings that
        stay.
    :ivar cells: sets of hosts that are equivalent for every unit.
    :ivar cell_of: for each host, the number of its set.
    """

    def __init__(self, draft: timeline.Draft,
                 units: Sequence[placement_units.Unit],
                 steps: budget.Budget) -> None:
        self._units = units
        self._rest = placement_units.without(draft, units)
        known: dict[placement_units.Unit, int] = {}
        self._domains: list[int] = []
        for each in units:
            alike = dataclasses.replace(each, parts=())
            if alike not in known:
                known[alike] = self._domain(each, steps)
            self._domains.append(known[alike])
        self._cells = self._split(known.values(), steps)
        self._cell_of = {node: number
                         for number, cell in enumerate(self._cells)
                         for node in host_sets.members(cell)}

    def _domain(self, unit: placement_units.Unit, steps: budget.Budget) -> int:
        members = host_sets.members(unit.eligible)
        steps.spend(1 + len(members) // _EXAMINED)
        return host_sets.mask(
            node for node in members
            if placement_units.takes(self._rest, node, unit))

    def _split(self, domains: Collection[int],
               steps: budget.Budget) -> list[int]:
        """Return sets of hosts that are equivalent for every unit."""
        cells = self._alike(functools.reduce(operator.or_, domains))
        for domain in domains:
            steps.spend(1 + len(cells) // _EXAMINED)
            cells = [part for cell in cells
                     for part in (cell & domain, cell & ~domain) if part]
        return cells

    def _alike(self, nodes: int) -> list[int]:
        """Return sets of hosts with the same room over time.

        Nodes of Ironic are one set: their room is known from the domains.
        """
        first = self._units[0].start
        last = max(each.end for each in self._units)
        alike: dict[object, list[int]] = {}
        for node in host_sets.members(nodes):
            capacity = self._rest.capacities[node]
            key = None if capacity is None else (
                frozenset(capacity.items()),
                tuple(sorted((each.start, each.end, each.amounts or ())
                             for each in shares.between(
                                 self._rest.rows[node], first, last))))
            alike.setdefault(key, []).append(node)
        return [host_sets.mask(there) for there in alike.values()]

    def solve(self, steps: budget.Budget) -> list[int] | None:
        """Return a host for each unit, or ``None`` if there is no solution.

        :raises budget.Exhausted: the steps did not suffice.
        """
        hopeless: set[_State] = set()
        chosen: list[int] = []
        # For each unit that is placed, and the next one: the hosts in use when
        # it starts, and the hosts that have not been tried.
        stack: list[tuple[_Taken, Iterator[int]]] = [
            ({}, self._choices(0, {}))]
        while stack:
            taken, choices = stack[-1]
            node = next(choices, None)
            if node is None:
                stack.pop()
                hopeless.add(self._state(len(stack), taken))
                continue
            steps.spend(1 + len(taken) // _EXAMINED)
            chosen[len(stack) - 1:] = [node]
            if len(stack) == len(self._units):
                return chosen
            then = self._then(len(stack), taken, node)
            if self._state(len(stack), then) not in hopeless:
                stack.append((then, self._choices(len(stack), then)))
        return None

    def _then(self, count: int, taken: _Taken, node: int) -> _Taken:
        """Return the hosts in use when the next unit starts.

        :param count: the number of placed units.
        :param taken: the hosts in use when the last of these starts.
        :param node: its host.
        """
        start, unit = self._units[count].start, self._units[count - 1]
        until = unit.released_at(self._rest.capacities[node] is not None)
        then = {other: left for other, placed in taken.items() if (
            left := tuple([each for each in placed if each[0] > start]))}
        if until > start:
            then[node] = tuple(sorted((
                *then.get(node, ()),
                (until, unit.amounts or (), unit.apart))))
        return then

    def _state(self, count: int, taken: _Taken) -> _State:
        cell_of = self._cell_of
        return count, tuple(sorted([(cell_of[node], placed)
                                    for node, placed in taken.items()]))

    def _choices(self, count: int, taken: _Taken) -> Iterator[int]:
        """Yield the hosts to try for the next unit, one of each kind.

        Its present host comes first, then hosts in use, then an unused one of
        each cell.
        """
        unit, domain = self._units[count], self._domains[count]
        unused = domain & ~host_sets.mask(taken)
        seen: set[tuple[int, tuple[_Placed, ...]]] = set()
        for node in (unit.node, *taken, *[
                (there & -there).bit_length() - 1
                for cell in self._cells if (there := unused & cell)]):
            if node < 0 or not domain >> node & 1:
                continue
            placed = taken.get(node, ())
            kind = self._cell_of[node], placed
            if kind not in seen:
                seen.add(kind)
                if self._has_room(unit, node, placed):
                    yield node

    def _has_room(self, unit: placement_units.Unit, node: int,
                  placed: Sequence[_Placed]) -> bool:
        """Return whether a host of the domain has room beside placed units.

        All placed units began earlier, so that their usage only
        decreases; bookings that stay may begin later.
        """
        if not placed:
            return True
        capacity = self._rest.capacities[node]
        if capacity is None or unit.amounts is None:
            return False
        for _, amounts, apart in placed:
            if not amounts or (apart and apart == unit.apart):
                return False
        for at, _, used in shares.steps(self._rest.rows[node], unit.start,
                                        unit.end):
            for until, amounts, _ in placed:
                if until > at:
                    for name, amount in amounts:
                        used[name] = used.get(name, 0) + amount
            for name, amount in unit.amounts:
                if used.get(name, 0) + amount > capacity.get(name, 0):
                    return False
        return True


def _order(each: placement_units.Unit) -> tuple[int, float]:
    # At the same start, large units come first.
    return each.start, -max((amount for _, amount in each.amounts or ()),
                            default=math.inf)
