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

"""A judge of refusals that shares nothing with the planner: CP-SAT.

It needs ``pip install -r benchmarks/requirements.txt``.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets


@dataclasses.dataclass(frozen=True)
class _Wanted:
    start: int
    until: int
    nodes: tuple[int, ...]
    amounts: Mapping[str, int]
    node: int = -1


def verdict(capacities: Sequence[Mapping[str, int] | None],
            promised: Sequence[bookings.Booking], demand: bookings.Demand,
            seconds: float) -> str:
    """Return whether there is a place for one more: yes, no or unknown.

    What is promised may all move.
    """
    from ortools.sat.python import cp_model
    wanted = [*(_promised(each) for each in promised), _demanded(demand)]
    model = cp_model.CpModel()
    on: list[dict[int, Any]] = []
    for each in wanted:
        on.append({node: model.new_bool_var('') for node in each.nodes})
        model.add_exactly_one(on[-1].values())
        for node, var in on[-1].items():
            if each.node >= 0:
                model.add_hint(var, node == each.node)
    for now in _together(wanted):
        for node, capacity in enumerate(capacities):
            there = [(on[number][node], wanted[number].amounts)
                     for number in now if node in on[number]]
            if capacity is None:
                model.add_at_most_one(var for var, _ in there)
                continue
            for name, amount in capacity.items():
                model.add(sum(var * amounts.get(name, 0)
                              for var, amounts in there) <= amount)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    return {cp_model.OPTIMAL: 'yes', cp_model.FEASIBLE: 'yes',
            cp_model.INFEASIBLE: 'no'}.get(solver.solve(model), 'unknown')


def _promised(each: bookings.Booking) -> _Wanted:
    amounts = {} if each.amounts is None else each.amounts
    return _Wanted(each.start, each.end + each.margin,
                   host_sets.members(each.eligible), dict(amounts), each.node)


def _demanded(demand: bookings.Demand) -> _Wanted:
    amounts = ({} if demand.amounts is None
               else demand.amounts)
    return _Wanted(demand.start, demand.until,
                   host_sets.members(demand.eligible), dict(amounts))


def _together(wanted: Sequence[_Wanted]) -> Iterator[list[int]]:
    """Yield who is there, at each instant at which somebody begins."""
    for at in sorted({each.start for each in wanted}):
        yield [number for number, each in enumerate(wanted)
               if each.start <= at < each.until]
