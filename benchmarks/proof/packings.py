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

"""Requests that can all be served: late binding beside pinned hosts.

Pinned stands for Blazar's policy: the first hosts that are free, chosen when
a lease is made, for good. Blazar has no open dates, so it is asked for the
dates of the packing.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import importlib.util
import time

from benchmarks import feasible
from benchmarks import judge
from benchmarks.proof import rows
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import shares

Draw = Callable[[int, float, int], feasible.Case]

#: Families with what their hosts are, their number, the share that is used,
#: and the number of packings; quick ones have fewer hosts, and one packing.
FAMILIES: Sequence[tuple[str, Draw, str, int, float, int]] = (
    ('below the peak', feasible.nodes, 'nodes', 30, 0.80, 20),
    ('overlapping requirements', feasible.nodes, 'nodes', 30, 0.94, 20),
    ('overlapping requirements', feasible.nodes, 'nodes', 30, 0.98, 20),
    ('overlapping requirements', feasible.nodes, 'nodes', 100, 0.94, 3),
    ('with pins', feasible.pinned_nodes, 'nodes', 30, 0.94, 20),
    ('open dates', feasible.open_nodes, 'nodes', 30, 0.94, 8),
    ('shared compute hosts', feasible.compute_hosts, 'hosts', 20, 0.85, 2))
_QUICK_HOSTS = 6


def measure(quick: bool, judged: int,
            patience: float) -> Iterator[rows.Row]:
    """Yield a row for each family and policy.

    :param judged: the number of refusals in each row that CP-SAT judges.
    :param patience: the time that it has for each, in seconds.
    """
    if importlib.util.find_spec('ortools') is None:
        judged = 0
    for name, draw, noun, many, used, packings in FAMILIES:
        count = _QUICK_HOSTS if quick else many
        family = f'{name}: {count} {noun}, {100 * used:.0f} % used'
        cases = [draw(count, used, seed)
                 for seed in range(1 if quick else packings)]
        for policy, play in ((rows.LATE, _late), (rows.PINNED, pinned)):
            yield _played(family, policy, cases, play, judged, patience)


Play = Callable[[feasible.Case], list[feasible.Refused]]


def _played(family: str, policy: str, cases: Sequence[feasible.Case],
            play: Play, judged: int, patience: float) -> rows.Packed:
    began = time.process_time()
    refused = [(case, each) for case in cases for each in play(case)]
    cpu = time.process_time() - began
    chosen = refused[::max(1, -(-len(refused) // judged))] if judged else []
    # NOTE: each proof is judged, however many refusals there are.
    chosen += [each for each in refused if judged
               and each[1].cause.proved and each not in chosen]
    verdicts = [(each, judge.verdict(
        each.capacities, each.promised, each.demand, patience,
        case.starts() if policy == rows.LATE else None, case.homes))
        for case, each in chosen]
    said = [verdict for _, verdict in verdicts]
    return rows.Packed(
        family, policy, len(cases), sum(len(case.requests) for case in cases),
        len(refused), sum(each.cause.proved for _, each in refused),
        said.count('yes'), said.count('no'), said.count('unknown'),
        sum(each.cause.proved and verdict == 'yes'
            for each, verdict in verdicts), cpu)


def _late(case: feasible.Case) -> list[feasible.Refused]:
    """Ask this service's planner, with the work that one request may cause."""
    outcome = feasible.Outcome()
    feasible.play(case, outcome, planning.LIMITS, bounded=True)
    return outcome.refused


def pinned(case: feasible.Case) -> list[feasible.Refused]:
    """Give each request the first host that is free, for good."""
    there: list[list[bookings.Booking]] = [[] for _ in case.capacities]
    for each in case.running:
        there[each.node].append(each)
    refused = []
    for demand in case.requests:
        node = _first(case.capacities, there, demand)
        if node is None:
            refused.append(feasible.Refused(
                # NOTE: this policy searches no further, and proves nothing.
                demand, plans.Cause.SEARCH_LIMIT, case.capacities,
                tuple(each for row in there for each in row)))
        else:
            there[node].append(demand.booking(0, node))
            there[node].sort(key=lambda each: each.start)
    return refused


def _first(capacities: Sequence[shares.Capacity | None],
           there: Sequence[Sequence[bookings.Booking]],
           demand: bookings.Demand) -> int | None:
    for node in host_sets.members(demand.eligible):
        capacity, row = capacities[node], there[node]
        if capacity is None or demand.amounts is None:
            if not shares.between(row, demand.start, demand.end):
                return node
        elif shares.room(capacity, row, demand.amounts, demand.start,
                         demand.end):
            return node
    return None
