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

"""Exact search through all assignments of the movable bookings.

The units that compete with the new one, directly or through others, are placed
again in the order of their starts. For later units, only the times matter at
which each host becomes free; of hosts that are equivalent for them, one is
tried. A state that has proved hopeless is remembered and not entered again.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import enum

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
_State = tuple[int, tuple[tuple[int, tuple[_Placed, ...]], ...]]


def search(draft: timeline.Draft, wanted: placement_units.Unit,
           pinned: frozenset[str], steps: budget.Budget) -> Outcome:
    """Place a unit by moving any movable bookings.

    The draft is changed only if a place is found.

    :param pinned: the groups that stay where they are.
    """
    try:
        involved = _involved(draft, wanted, pinned, steps)
        near = [each for each in involved
                if each.start < wanted.until and wanted.start < each.until]
        if len(near) < len(involved):
            # Mostly it is enough to move bookings in the window, which
            # is found much sooner. A failure proves nothing.
            part = budget.Budget(steps.left // 3)
            steps.spend(part.left)
            try:
                if _assign(draft, wanted, near, part, steps):
                    return Outcome.FOUND
            except budget.Exhausted:
                pass
        if _assign(draft, wanted, involved, steps, steps):
            return Outcome.FOUND
    except budget.Exhausted:
        return Outcome.UNKNOWN
    return Outcome.NONE


def _involved(draft: timeline.Draft, wanted: placement_units.Unit,
              pinned: frozenset[str],
              steps: budget.Budget) -> list[placement_units.Unit]:
    """Return all units on which the place of the new one could depend."""
    found: list[placement_units.Unit] = []
    for node, there in reach.rows(draft, wanted.eligible):
        steps.spend(1 + len(there) // _looks(draft))
        steps.charge(_UNIT * len(there))
        found.extend(placement_units.movable(draft, node, there, pinned))
    # A run ends where there is no unit; later ones do not depend on earlier
    # ones. The new unit may join several runs.
    found.append(wanted)
    found.sort(key=_start)
    runs: list[list[placement_units.Unit]] = []
    until = 0
    for each in found:
        if runs and each.start < until:
            runs[-1].append(each)
            until = max(until, each.until)
        else:
            runs.append([each])
            until = each.until
    return [each for run in runs if any(other is wanted for other in run)
            for each in run if each is not wanted]


def _assign(draft: timeline.Draft, wanted: placement_units.Unit,
            involved: list[placement_units.Unit],
            steps: budget.Budget, work: budget.Budget) -> bool:
    problem = _Problem(draft, wanted, involved, steps, work)
    nodes = problem.solve(steps)
    if nodes is None:
        return False
    arriving: list[bookings.Booking] = []
    leaving: list[bookings.Booking] = []
    for each, node in zip(problem.units, nodes, strict=True):
        if each.node == node:
            continue
        arriving.extend(each.on(node))
        if each is not wanted:
            leaving.extend(each.parts)
    draft.put(arriving, leaving)
    return True


class _Problem:
    """Units to place, in the order of their starts, and where they can go.

    :ivar domains: for each unit, the hosts with room beside bookings that
        stay.
    :ivar cells: sets of hosts that are equivalent for every unit; the sets
        that the fewest units can use come first.
    """

    def __init__(self, draft: timeline.Draft, wanted: placement_units.Unit,
                 involved: list[placement_units.Unit],
                 steps: budget.Budget, work: budget.Budget) -> None:
        work.charge(_UNIT * len(involved))
        self.units = sorted([*involved, wanted], key=_order)
        self._rest = placement_units.without(draft, involved)
        self._capacities = draft.capacities
        known: dict[tuple[object, ...], int] = {}
        self.domains: list[int] = []
        for each in self.units:
            key = (each.start, each.end, each.margin, each.amounts,
                   each.eligible, each.apart)
            if key not in known:
                known[key] = self._domain(each, steps)
            self.domains.append(known[key])
        self.cells = self._split(steps)
        self.cell_of = {node: number
                        for number, cell in enumerate(self.cells)
                        for node in host_sets.members(cell)}

    def _domain(self, unit: placement_units.Unit, steps: budget.Budget) -> int:
        rest = self._rest
        members = host_sets.members(unit.eligible)
        if unit.amounts is None or not unit.eligible & rest.compute:
            steps.spend(1 + len(members) // 8)
            start, until = unit.start, unit.until
            return host_sets.mask(node for node in members
                              if rest.free(node, start, until))
        steps.spend(1 + len(members))
        return host_sets.mask(node for node in members
                          if placement_units.takes(rest, node, unit))

    def _split(self, steps: budget.Budget) -> list[int]:
        domains = set(self.domains)
        everything = 0
        for domain in domains:
            everything |= domain
        cells = [everything & ~self._rest.compute]
        cells.extend(self._alike(everything & self._rest.compute))
        for domain in domains:
            steps.spend(1 + len(cells) // 8)
            cells = [part for cell in cells
                     for part in (cell & domain, cell & ~domain) if part]
        uses = {cell: sum(1 for domain in self.domains if domain & cell)
                for cell in cells}
        return sorted(cells, key=lambda cell: (uses[cell], cell))

    def _alike(self, compute: int) -> list[int]:
        """Return sets of compute hosts with the same room over time."""
        first = self.units[0].start
        last = max(each.end for each in self.units)
        alike: dict[object, int] = {}
        for node in host_sets.members(compute):
            key = (frozenset((self._capacities[node] or {}).items()),
                   tuple(sorted((each.start, each.end, each.amounts or ())
                                for each in shares.between(
                                    self._rest.rows[node], first, last))))
            alike[key] = alike.get(key, 0) | 1 << node
        return list(alike.values())

    def solve(self, steps: budget.Budget) -> list[int] | None:
        """Return a host for each unit, or ``None`` if there is no solution.

        :raises budget.Exhausted: the steps did not suffice.
        """
        count, looks = len(self.units), _looks(self._rest)
        hopeless: set[_State] = set()
        chosen: list[int] = []
        # For each level: the hosts in use when the unit starts, and the hosts
        # that have not been tried.
        taken: list[_Taken] = [{}]
        choices = [self._choices(0, {})]
        while len(chosen) < count:
            level = len(chosen)
            node = next(choices[level], None)
            if node is None:
                hopeless.add(self._state(level, taken[level]))
                taken.pop()
                choices.pop()
                if not chosen:
                    return None
                chosen.pop()
                continue
            steps.spend(1 + len(taken[level]) // looks)
            chosen.append(node)
            if level + 1 == count:
                break
            then = self._then(level, taken[level], node)
            if hopeless and self._state(level + 1, then) in hopeless:
                chosen.pop()
                continue
            taken.append(then)
            choices.append(self._choices(level + 1, then))
        return chosen

    def _then(self, level: int, taken: _Taken, node: int) -> _Taken:
        """Return the hosts in use when the next unit starts."""
        start = self.units[level + 1].start
        then: _Taken = {}
        for other, placed in taken.items():
            if len(placed) > 1:
                placed = tuple([each for each in placed if each[0] > start])
                if placed:
                    then[other] = placed
            elif placed[0][0] > start:
                then[other] = placed
        unit = self.units[level]
        until = unit.lets_go(self._capacities[node] is not None)
        if until > start:
            then[node] = tuple(sorted((
                *then.get(node, ()),
                (until, unit.amounts or (), unit.apart))))
        return then

    def _state(self, level: int, taken: _Taken) -> _State:
        cell_of = self.cell_of
        return level, tuple(sorted([(cell_of[node], placed)
                                    for node, placed in taken.items()]))

    def _choices(self, level: int, taken: _Taken) -> Iterator[int]:
        """Yield the hosts to try: the present one, then one of each kind."""
        domain = self.domains[level]
        unit = self.units[level]
        seen: set[tuple[int, tuple[_Placed, ...]]] = set()
        empty = domain
        for node in taken:
            empty &= ~(1 << node)
        current = unit.node
        if current >= 0 and domain >> current & 1 and self._has_room(
                unit, current, taken.get(current, ())):
            seen.add((self.cell_of[current], taken.get(current, ())))
            yield current
        if unit.amounts is not None and domain & self._rest.compute:
            for node, placed in taken.items():
                kind = (self.cell_of[node], placed)
                if domain >> node & 1 and kind not in seen:
                    seen.add(kind)
                    if self._has_room(unit, node, placed):
                        yield node
        for number, cell in enumerate(self.cells):
            left = empty & cell
            if left and (number, ()) not in seen:
                yield (left & -left).bit_length() - 1

    def _has_room(self, unit: placement_units.Unit, node: int,
                  placed: Sequence[_Placed]) -> bool:
        """Return whether a host of the domain has room beside placed units.

        All placed units began earlier, so that their usage only
        decreases; bookings that stay may begin later.
        """
        if not placed:
            return True
        capacity = self._capacities[node]
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


def _looks(draft: timeline.Draft) -> int:
    """Return how many bookings are examined in one step; shares take longer.
    """
    return 4 if draft.compute else 8


def _start(each: placement_units.Unit) -> int:
    return each.start


def _order(each: placement_units.Unit) -> tuple[int, bool, int]:
    # At the same start, large units come first.
    if each.amounts is None:
        return each.start, False, 0
    return each.start, True, -max(amount for _, amount in each.amounts)
