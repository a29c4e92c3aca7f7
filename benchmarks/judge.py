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
import os
from typing import Any

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """A promise or a request.

    :ivar starts: when it may start; the first one is that of the promise.
    :ivar length: until its host is free again.
    :ivar hint: the node and the start to try first.
    """

    id: str
    starts: tuple[int, ...]
    length: int
    nodes: tuple[int, ...]
    amounts: Mapping[str, int]
    hint: tuple[int, int] | None = None


def verdict(capacities: Sequence[Mapping[str, int] | None],
            promised: Sequence[bookings.Booking], demand: bookings.Demand,
            seconds: float,
            starts: Mapping[str, Sequence[int]] | None = None,
            homes: Mapping[str, tuple[int, int]] | None = None) -> str:
    """Return whether there is a place for one more: yes, no or unknown.

    What is promised may move, except for bookings that are not movable.

    :param starts: when those may start whose dates are open, by the id of
        the request.
    :param homes: the node and the start to try first, by the id of the
        request; by default where each promise is.
    """
    from ortools.sat.python import cp_model
    dates = starts or {}
    wanted = [*(_promised(each, dates) for each in promised),
              _demanded(demand, dates)]
    model = cp_model.CpModel()
    on: list[dict[tuple[int, int], Any]] = []
    for each in wanted:
        on.append({(node, start): model.new_bool_var('')
                   for node in each.nodes for start in each.starts})
        model.add_exactly_one(on[-1].values())
        hint = (homes or {}).get(each.id, each.hint)
        for place, var in on[-1].items():
            if hint is not None:
                model.add_hint(var, place == hint)
    for there in _together(wanted, on):
        for node, at_once in there.items():
            capacity = capacities[node]
            if capacity is None:
                model.add_at_most_one(var for var, _ in at_once)
                continue
            for name, amount in capacity.items():
                model.add(sum(var * amounts.get(name, 0)
                              for var, amounts in at_once) <= amount)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    # NOTE: as many as there are processors, for any number of them.
    solver.parameters.num_workers = os.cpu_count() or 1
    return {cp_model.OPTIMAL: 'yes', cp_model.FEASIBLE: 'yes',
            cp_model.INFEASIBLE: 'no'}.get(solver.solve(model), 'unknown')


def _promised(each: bookings.Booking,
              dates: Mapping[str, Sequence[int]]) -> _Wanted:
    amounts = {} if each.amounts is None else each.amounts
    request = each.id.partition('/')[0]
    nodes = (host_sets.members(each.eligible) if each.movable
             else (each.node,))
    return _Wanted(
        request, tuple(dict.fromkeys((each.start, *dates.get(request, ())))),
        each.end + each.margin - each.start, nodes, dict(amounts),
        (each.node, each.start))


def _demanded(demand: bookings.Demand,
              dates: Mapping[str, Sequence[int]]) -> _Wanted:
    amounts = ({} if demand.amounts is None
               else demand.amounts)
    return _Wanted(demand.id, tuple(dates.get(demand.id, (demand.start,))),
                   demand.until - demand.start,
                   host_sets.members(demand.eligible), dict(amounts))


def _together(wanted: Sequence[_Wanted],
              on: Sequence[Mapping[tuple[int, int], Any]]
              ) -> Iterator[dict[int, list[tuple[Any, Mapping[str, int]]]]]:
    """Yield by the node what may be there, at each instant of a start."""
    for at in sorted({start for each in wanted for start in each.starts}):
        there: dict[int, list[tuple[Any, Mapping[str, int]]]] = {}
        for each, variables in zip(wanted, on, strict=True):
            for (node, start), var in variables.items():
                if start <= at < start + each.length:
                    there.setdefault(node, []).append((var, each.amounts))
        yield there
