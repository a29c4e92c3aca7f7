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

"""Requests that can all be served: each refusal is wrong.

A packing is drawn first and kept to itself; what it consists of is asked for
in a random order, and everything may move.  So there is a place for each
request, whatever was asked for before.  The planner alone is measured: no
database, no HTTP, one processor.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import random
import time

from benchmarks import judge
from ironic_reservations.model import instants
from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import fleet
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline

#: Requests are for so many of these, over a month.
_SLOT = 12 * 3600 * instants.SECOND
_HORIZON = 60
_LENGTHS = (1, 14)
_CLASSES = ('bronze', 'silver', 'gold')
_SIZES = (64, 128, 256, 512)
_TRAITS = 4
_NODES_IN_A_RACK = 8
#: What a compute host has, and what instances need of it: two thirds of the
#: flavors have more or less memory for a VCPU than the host.
_CAPACITY = {'VCPU': 64, 'MEMORY_MB': 256, 'DISK_GB': 2000}
_VCPUS = (2, 4, 8, 16)
_MEMORY = (2, 4, 8)


@dataclasses.dataclass(frozen=True)
class Case:
    """Hosts, and requests that can all be served together.

    :ivar requests: in the order in which they arrive.
    """

    capacities: tuple[shares.Capacity | None, ...]
    requests: tuple[bookings.Demand, ...]


@dataclasses.dataclass(frozen=True)
class Refused:
    """A request that was refused, and what had been promised then."""

    demand: bookings.Demand
    cause: plans.Cause
    capacities: tuple[shares.Capacity | None, ...]
    promised: tuple[bookings.Booking, ...]


@dataclasses.dataclass
class Outcome:
    """What became of the requests of some cases."""

    seconds: list[float] = dataclasses.field(default_factory=list)
    refused: list[Refused] = dataclasses.field(default_factory=list)
    asked_time: int = 0


def nodes(count: int, used: float, seed: int) -> Case:
    """Return nodes of Ironic with requirements that overlap.

    :param used: the share of the time for which each node is asked for.
    """
    chance = random.Random(f'{count} {used} {seed}')
    classes = [chance.choice(_CLASSES) for _ in range(count)]
    sizes = [chance.choice(_SIZES) for _ in range(count)]
    traits = [frozenset(trait for trait in range(_TRAITS)
                        if chance.random() < 0.4) for _ in range(count)]
    requests: list[bookings.Demand] = []
    for node in range(count):
        for start, end in _windows(chance, used):
            alike = {
                'class': fleet.mask(other for other in range(count)
                                    if classes[other] == classes[node]),
                'size': fleet.mask(other for other in range(count)
                                   if sizes[other] >= sizes[node]),
                'rack': fleet.mask(
                    other for other in range(count)
                    if other // _NODES_IN_A_RACK
                    == node // _NODES_IN_A_RACK)}
            if traits[node]:
                wanted = chance.choice(sorted(traits[node]))
                alike['trait'] = fleet.mask(
                    other for other in range(count)
                    if wanted in traits[other])
            requests.append(bookings.Demand(
                str(len(requests)), start, end, 1, 1,
                alike[chance.choice(sorted(alike))]))
    chance.shuffle(requests)
    return Case((None,) * count, tuple(requests))


def compute_hosts(count: int, used: float, seed: int) -> Case:
    """Return compute hosts that are shared by instances of many flavors.

    :param used: the share of all VCPUs and of the time that is asked for.
    """
    chance = random.Random(f'{count} hosts {used} {seed}')
    everything = fleet.everything(count)
    requests: list[bookings.Demand] = []
    for _ in range(count):
        for size in _flavors(chance):
            requests.extend(bookings.Demand(
                str(len(requests) + number), start, end, 1, 1, everything,
                amounts=size)
                for number, (start, end) in enumerate(_windows(chance, used)))
    chance.shuffle(requests)
    return Case((_CAPACITY,) * count, tuple(requests))


def _windows(chance: random.Random,
             used: float) -> Iterator[tuple[int, int]]:
    """Yield windows that fill so much of the horizon, one after another."""
    left = round(_HORIZON * used)
    lengths = []
    while left:
        lengths.append(min(left, chance.randint(*_LENGTHS)))
        left -= lengths[-1]
    free = _HORIZON - sum(lengths)
    before = sorted(chance.randint(0, free) for _ in lengths)
    passed = 0
    for length, gap in zip(lengths, before, strict=True):
        yield (passed + gap) * _SLOT, (passed + gap + length) * _SLOT
        passed += length


def _flavors(chance: random.Random) -> Iterator[inventories.Amounts]:
    """Yield sizes of instances that take all VCPUs of a host together."""
    vcpus, memory = _CAPACITY['VCPU'], _CAPACITY['MEMORY_MB']
    while vcpus:
        size = chance.choice([each for each in _VCPUS if each <= vcpus])
        # NOTE: two for each VCPU are left for all that comes.
        most = memory - 2 * (vcpus - size)
        needed = chance.choice([each * size for each in _MEMORY
                                if each * size <= most])
        vcpus -= size
        memory -= needed
        yield inventories.of_sizes(size, needed, 10 * size)


def play(case: Case, outcome: Outcome,
         limits: budget.Limits = planning.LIMITS) -> None:
    """Ask for everything, one after another, and note what was refused."""
    now = timeline.Timeline.of(case.capacities)
    for demand in case.requests:
        begun = time.process_time()
        answer = planning.plan(now, [demand], limits)
        outcome.seconds.append(time.process_time() - begun)
        outcome.asked_time += _weight(demand)
        if isinstance(answer, plans.Refusal):
            outcome.refused.append(Refused(
                demand, answer.cause, case.capacities,
                tuple(now.promised())))
        else:
            now = answer.timeline


def _weight(demand: bookings.Demand) -> int:
    """Return the time that a request is for, times its VCPUs."""
    length = demand.end - demand.start
    if demand.amounts is None:
        return length
    return length * dict(demand.amounts)['VCPU']


def main(arguments: Sequence[str]) -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser('python -m benchmarks feasible',
                                     description=__doc__)
    parser.add_argument('--seeds', type=int, default=3,
                        help='how many packings of each kind are drawn')
    parser.add_argument('--eject', type=int, default=planning.LIMITS.eject,
                        help='steps of the search by ejection; 0: without')
    parser.add_argument('--judge', type=float, metavar='SECONDS',
                        help='have OR-tools look for what was refused, so '
                             'long for each')
    parser.add_argument('--only', default='',
                        help='the kinds whose title contains this')
    given = parser.parse_args(arguments)
    limits = dataclasses.replace(planning.LIMITS, eject=given.eject)
    print(f'{"":34} {"requests":>8} {"search_limit":>22} '
          f'{"falsely proved":>22} {"p50 s":>7} {"p95 s":>7} {"max s":>7}')
    for title, draw, count, used in _KINDS:
        if given.only not in title:
            continue
        outcome = Outcome()
        for seed in range(given.seeds):
            play(draw(count, used, seed), outcome, limits)
        print(_line(title, outcome), flush=True)
        if given.judge is not None:
            print(_judged(outcome, given.judge), flush=True)


_KINDS: tuple[tuple[str, Callable[[int, float, int], Case], int, float],
              ...] = (
    ('30 nodes, 94 % used', nodes, 30, 0.94),
    ('30 nodes, 98 % used', nodes, 30, 0.98),
    ('100 nodes, 94 % used', nodes, 100, 0.94),
    ('100 nodes, 98 % used', nodes, 100, 0.98),
    ('20 compute hosts, 85 % used', compute_hosts, 20, 0.85),
    ('20 compute hosts, 95 % used', compute_hosts, 20, 0.95))


def _line(title: str, outcome: Outcome) -> str:
    columns = []
    for proved in (False, True):
        there = [each for each in outcome.refused
                 if each.cause.proved is proved]
        part = len(there) / len(outcome.seconds)
        lost = sum(_weight(each.demand) for each in there)
        columns.append(f'{len(there):>4} {part:>6.2%} '
                       f'({lost / outcome.asked_time:>6.2%})')
    ordered = sorted(outcome.seconds)
    middle, most = (ordered[int((len(ordered) - 1) * part)]
                    for part in (0.5, 0.95))
    return (f'{title:34} {len(ordered):>8} {columns[0]:>22} '
            f'{columns[1]:>22} {middle:>7.3f} {most:>7.3f} '
            f'{ordered[-1]:>7.3f}')


def _judged(outcome: Outcome, seconds: float) -> str:
    found = [judge.verdict(each.capacities, each.promised, each.demand,
                           seconds) for each in outcome.refused]
    return '    CP-SAT says: ' + ', '.join(
        f'{answer}: {found.count(answer)}'
        for answer in ('yes', 'no', 'unknown'))
