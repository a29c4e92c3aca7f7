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

"""Exact search in the pool: every assignment of what may move, if need be.

As :mod:`~ironic_reservations.planner.search` does it for whole hosts: in the
order of their starts, so that of what was placed before only that matters
which is there still.  Of hosts that are alike to all that comes and have the
same on them, one is tried; a state found hopeless is never entered again.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence

from ironic_reservations.model import inventories
from ironic_reservations.planner import budget
from ironic_reservations.planner import fleet
from ironic_reservations.planner import search
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import pool
from ironic_reservations.planner.pool import shares
from ironic_reservations.planner.pool import units

#: What has been placed on a host: until when, its amounts (none: all of the
#: host), and the group that has one instance on a host at most.
_Placed = tuple[int, inventories.Amounts, str]
#: What has been placed and is there still, by host.
_Taken = dict[int, tuple[_Placed, ...]]
_State = tuple[int, tuple[tuple[int, tuple[_Placed, ...]], ...]]


def find(draft: pool.Draft, wanted: units.Unit, pinned: frozenset[str],
         steps: budget.Budget) -> search.Outcome:
    """Place a unit, wherever those that can move have to go for it.

    The draft is changed only where a place is found.
    """
    try:
        involved = _involved(draft, wanted, pinned, steps)
        near = [each for each in involved
                if each.start < wanted.until(False)
                and wanted.start < each.until(False)]
        if len(near) < len(involved):
            # NOTE: most often it is enough to move those in the window, and
            # it is seen much sooner.  No proof comes of it.
            part = budget.Budget(steps.left // 3)
            steps.spend(part.left)
            try:
                if _assign(draft, wanted, near, part):
                    return search.Outcome.FOUND
            except budget.Exhausted:
                pass
        if _assign(draft, wanted, involved, steps):
            return search.Outcome.FOUND
    except budget.Exhausted:
        return search.Outcome.UNKNOWN
    return search.Outcome.NONE


def _involved(draft: pool.Draft, wanted: units.Unit, pinned: frozenset[str],
              steps: budget.Budget) -> list[units.Unit]:
    """Give all units whose place the new one could depend on."""
    found: list[units.Unit] = []
    walk = fleet.Walk(wanted.eligible)
    for node in walk:
        there = draft.there(node)
        steps.spend(1 + len(there) // 4)
        for each in units.movable(draft, node, there, pinned):
            found.append(each)
            walk.leads_to(each.eligible)
    # What is not connected with the window over time does not matter.
    runs = shares.runs([(wanted.start, wanted.until(False)),
                        *((each.start, each.until(False))
                          for each in found)])
    first, last = next(run for run in runs
                       if run[0] <= wanted.start < run[1])
    return [each for each in found
            if each.start < last and first < each.until(False)]


def _assign(draft: pool.Draft, wanted: units.Unit,
            involved: list[units.Unit], steps: budget.Budget) -> bool:
    problem = _Problem(draft, wanted, involved, steps)
    nodes = problem.solve(steps)
    if nodes is None:
        return False
    arriving: list[instances.Promise] = []
    leaving: list[instances.Promise] = []
    for each, node in zip(problem.units, nodes, strict=True):
        if each is wanted:
            arriving.extend(each.on(node))
        elif each.node != node:
            arriving.extend(each.on(node))
            leaving.extend(each.parts)
    draft.put(arriving, leaving)
    return True


class _Problem:
    """Units to place, in the order of their starts, and where they can go.

    :ivar domains: for each unit, the hosts on which what stays leaves room.
    :ivar cells: sets of hosts that are alike to every unit.
    """

    def __init__(self, draft: pool.Draft, wanted: units.Unit,
                 involved: list[units.Unit], steps: budget.Budget) -> None:
        self.units = sorted([*involved, wanted], key=_order)
        self._rest = units.without(draft, involved)
        self._capacities = draft.capacities
        known: dict[tuple[object, ...], int] = {}
        self.domains: list[int] = []
        for each in self.units:
            key = (each.start, each.end, each.margin, each.amounts,
                   each.eligible, each.apart)
            if key not in known:
                members = fleet.members(each.eligible)
                steps.spend(1 + len(members))
                known[key] = fleet.mask(
                    node for node in members
                    if units.takes(self._rest, node, each))
            self.domains.append(known[key])
        self.cells: list[int] = []
        self.cell_of: dict[int, int] = {}
        self._split(steps)

    def _split(self, steps: budget.Budget) -> None:
        first = self.units[0].start
        last = max(each.end for each in self.units)
        domains = list(set(self.domains))
        everything = 0
        for domain in domains:
            everything |= domain
        alike: dict[object, int] = {}
        for node in fleet.members(everything):
            steps.spend(1 + len(domains) // 16)
            capacity = self._capacities[node]
            alike_to: tuple[object, ...] = ()
            if capacity is not None:
                alike_to = (frozenset(capacity.items()), tuple(sorted(
                    (each.start, each.end, each.amounts) for each in
                    shares.between(self._rest.rows[node], first, last))))
            key = (alike_to, tuple(domain >> node & 1 for domain in domains))
            alike[key] = alike.get(key, 0) | 1 << node
        self.cells = list(alike.values())
        self.cell_of = {node: number
                        for number, cell in enumerate(self.cells)
                        for node in fleet.members(cell)}

    def solve(self, steps: budget.Budget) -> list[int] | None:
        """Give a host for each unit, or ``None`` where there is no way.

        :raises budget.Exhausted: where the steps do not suffice to tell.
        """
        count = len(self.units)
        hopeless: set[_State] = set()
        chosen: list[int] = []
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
            steps.spend(1 + len(taken[level]) // 4)
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
        """Give what is there when the next unit starts."""
        start = self.units[level + 1].start
        then: _Taken = {}
        for other, placed in taken.items():
            left = tuple(each for each in placed if each[0] > start)
            if left:
                then[other] = left
        unit = self.units[level]
        until = unit.until(self._capacities[node] is not None)
        if until > start:
            then[node] = tuple(sorted((
                *then.get(node, ()),
                (until, unit.amounts or (), unit.apart))))
        return then

    def _state(self, level: int, taken: _Taken) -> _State:
        cell_of = self.cell_of
        return level, tuple(sorted((cell_of[node], placed)
                                   for node, placed in taken.items()))

    def _choices(self, level: int, taken: _Taken) -> Iterator[int]:
        """Give the hosts to try: where it is now, then one of each kind."""
        domain = self.domains[level]
        unit = self.units[level]
        seen: set[tuple[int, tuple[_Placed, ...]]] = set()
        empty = domain & ~fleet.mask(taken)
        current = unit.node
        if current >= 0 and domain >> current & 1 and self._has_room(
                unit, current, taken.get(current, ())):
            seen.add((self.cell_of[current], taken.get(current, ())))
            yield current
        for node, placed in taken.items():
            if not domain >> node & 1:
                continue
            kind = (self.cell_of[node], placed)
            if kind not in seen:
                seen.add(kind)
                if self._has_room(unit, node, placed):
                    yield node
        for number, cell in enumerate(self.cells):
            left = empty & cell
            if left and (number, ()) not in seen:
                yield (left & -left).bit_length() - 1

    def _has_room(self, unit: units.Unit, node: int,
                  placed: Sequence[_Placed]) -> bool:
        """Tell whether a host of the domain has room beside what was placed.

        NOTE: all of it began before and ends by and by, so that it never
        gets more; what stays there may begin later.
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


def _order(each: units.Unit) -> tuple[int, bool, int]:
    # NOTE: of those that start together, the large ones first.
    if each.amounts is None:
        return each.start, False, 0
    return each.start, True, -max(amount for _, amount in each.amounts)
