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
request, whatever was asked for before.  The dates of some may be open: they
are asked for within a window, and slide for others, as leases do.  The planner
alone is measured: no database, no HTTP, one processor.
"""

from __future__ import annotations

import argparse
import collections
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import random
import time

from benchmarks import judge
from ironic_reservations.features.open_dates import make_way
from ironic_reservations.features.open_dates import planning as slides
from ironic_reservations.model import instants
from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
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
#: The part of all requests whose dates are open, and by how much at most.
_OPEN = 0.25
_SLACK = 14
#: The slots before which leases may have started, and the part of them that
#: has, as of the requests that name their host.
_EARLY, _PINNED = 10, 0.2
#: So many make room for one, as for leases.
_SLIDING = 5
_VCPUS = (2, 4, 8, 16)
_MEMORY = (2, 4, 8)


@dataclasses.dataclass(frozen=True)
class Case:
    """Hosts, and requests that can all be served together.

    :ivar requests: in the order in which they arrive.
    :ivar windows: from when until when those may begin whose dates are open,
        by their ids.
    :ivar homes: the host and the start of each in the packing, by its id.
    :ivar running: leases that have started: they stay where they are.
    """

    capacities: tuple[shares.Capacity | None, ...]
    requests: tuple[bookings.Demand, ...]
    windows: Mapping[str, tuple[int, int]] = dataclasses.field(
        default_factory=dict)
    homes: Mapping[str, tuple[int, int]] = dataclasses.field(
        default_factory=dict)
    running: tuple[bookings.Booking, ...] = ()

    def starts(self) -> dict[str, range]:
        """Return when those may start whose dates are open, by their ids."""
        return {name: range(first, last + 1, _SLOT)
                for name, (first, last) in self.windows.items()}


@dataclasses.dataclass(frozen=True)
class Refused:
    """A request that was refused, and what had been promised then."""

    demand: bookings.Demand
    cause: plans.Cause
    capacities: tuple[shares.Capacity | None, ...]
    promised: tuple[bookings.Booking, ...]


@dataclasses.dataclass
class Outcome:
    """What became of the requests of some cases.

    :ivar moves: how often a booking has moved for another one.
    """

    seconds: list[float] = dataclasses.field(default_factory=list)
    refused: list[Refused] = dataclasses.field(default_factory=list)
    asked_time: int = 0
    moves: int = 0


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
    homes: dict[str, tuple[int, int]] = {}
    for node in range(count):
        for start, end in _windows(chance, used):
            alike = {
                'class': host_sets.mask(other for other in range(count)
                                    if classes[other] == classes[node]),
                'size': host_sets.mask(other for other in range(count)
                                   if sizes[other] >= sizes[node]),
                'rack': host_sets.mask(
                    other for other in range(count)
                    if other // _NODES_IN_A_RACK
                    == node // _NODES_IN_A_RACK)}
            if traits[node]:
                wanted = chance.choice(sorted(traits[node]))
                alike['trait'] = host_sets.mask(
                    other for other in range(count)
                    if wanted in traits[other])
            homes[str(len(requests))] = node, start
            requests.append(bookings.Demand(
                str(len(requests)), start, end, 1, 1,
                alike[chance.choice(sorted(alike))]))
    chance.shuffle(requests)
    return Case((None,) * count, tuple(requests), homes=homes)


def alike_nodes(count: int, used: float, seed: int) -> Case:
    """Return nodes of Ironic that are all alike."""
    case = nodes(count, used, seed)
    everything = host_sets.everything(count)
    return dataclasses.replace(case, requests=tuple(
        dataclasses.replace(each, eligible=everything)
        for each in case.requests))


def compute_hosts(count: int, used: float, seed: int) -> Case:
    """Return compute hosts that are shared by instances of many flavors.

    :param used: the share of all VCPUs and of the time that is asked for.
    """
    chance = random.Random(f'{count} hosts {used} {seed}')
    everything = host_sets.everything(count)
    requests: list[bookings.Demand] = []
    homes: dict[str, tuple[int, int]] = {}
    for node in range(count):
        for size in _flavors(chance):
            for start, end in _windows(chance, used):
                homes[str(len(requests))] = node, start
                requests.append(bookings.Demand(
                    str(len(requests)), start, end, 1, 1, everything,
                    amounts=size))
    chance.shuffle(requests)
    return Case((_CAPACITY,) * count, tuple(requests), homes=homes)


def open_nodes(count: int, used: float, seed: int) -> Case:
    """Return nodes of Ironic, and requests of which some have open dates."""
    return _opened(nodes(count, used, seed), seed)


def open_compute_hosts(count: int, used: float, seed: int) -> Case:
    """Return compute hosts, and requests of which some have open dates."""
    return _opened(compute_hosts(count, used, seed), seed)


def _opened(case: Case, seed: int) -> Case:
    """Return a case in which the dates of some requests are open.

    NOTE: the window has the start that a request has in the packing, so that
    there is a place for it.
    """
    chance = random.Random(f'open {len(case.requests)} {seed}')
    latest = _HORIZON * _SLOT
    windows = {
        each.id: (
            max(0, each.start - chance.randint(0, _SLACK) * _SLOT),
            min(latest - (each.end - each.start),
                each.start + chance.randint(0, _SLACK) * _SLOT))
        for each in case.requests if chance.random() < _OPEN}
    return dataclasses.replace(case, windows=windows)


def pinned_nodes(count: int, used: float, seed: int) -> Case:
    """Return nodes with leases that have started, and requests that name them.

    A fifth of the leases that begin in the first days of the packing run on
    the node that they have in it, and a fifth of the requests name theirs.
    """
    chance = random.Random(f'pins {count} {used} {seed}')
    case = nodes(count, used, seed)
    early = [each for each in case.requests if each.start < _EARLY * _SLOT
             and chance.random() < _PINNED]
    started = {each.id for each in early}
    return dataclasses.replace(
        case, running=tuple(dataclasses.replace(
            each.booking(0, case.homes[each.id][0]), movable=False)
            for each in early),
        requests=tuple(
            dataclasses.replace(
                each, eligible=host_sets.mask((case.homes[each.id][0],)))
            if chance.random() < _PINNED else each
            for each in case.requests if each.id not in started))


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


class _Asker:
    """Asks for one after another, and has those slide whose dates are open.

    :ivar now: with all that was granted.
    """

    def __init__(self, case: Case, limits: budget.Limits,
                 bounded: bool) -> None:
        self.now = timeline.Timeline.of(case.capacities, case.running)
        self._windows = case.windows
        self._limits = limits
        self._bounded = bounded
        self._open: dict[str, slides.Sliding] = {}
        #: How often a booking has moved for another one.
        self.moves = 0

    def ask(self, demand: bookings.Demand) -> plans.Cause | None:
        """Ask for one; return why it is refused."""
        if self._bounded:
            self._limits = dataclasses.replace(self._limits,
                                               request=budget.Work())
        window = self._windows.get(demand.id)
        if window is None:
            answer = planning.plan(self.now, [demand], self._limits,
                                   explained=not self._open)
            if isinstance(answer, plans.Plan):
                self._follow(answer)
                return None
            if not self._open:
                return answer.cause
            return self._slide((demand,), None, demand)
        first, last = window
        own = slides.Sliding((dataclasses.replace(
            demand, start=first, end=first + demand.end - demand.start),),
            first, last)
        alone = slides.slide(self.now, (), [own], limits=self._limits)
        if isinstance(alone, slides.Slid):
            self._take(alone, [own])
            return None
        return self._slide((), own, demand)

    def _slide(self, firm: tuple[bookings.Demand, ...],
               own: slides.Sliding | None,
               demand: bookings.Demand) -> plans.Cause | None:
        """Have others make room for a request."""
        first, last = self._windows.get(demand.id, (demand.start,) * 2)
        until = last + demand.end - demand.start
        near = [each for each in self._open.values()
                if each.demands[0].eligible & demand.eligible
                and each.earliest < until and first < each.latest + (
                    each.demands[0].end - each.demands[0].start)]
        near.sort(key=lambda each: (
            not (each.preferred or 0) < until, each.preferred))
        way = make_way.make_way(
            self.now, firm if own is None else own.demands,
            None if own is None else own.latest,
            {f'{each.demands[0].id}/0': (each.earliest, each.latest)
             for each in near}, _SLIDING, 1, self._limits)
        if way is not None:
            self._follow(way.plan)
            if own is not None:
                self._opened(own, way.start)
            for each in near:
                start = way.starts.get(f'{each.demands[0].id}/0')
                if start is not None:
                    self._opened(each, start)
            return None
        chosen = near[:_SLIDING]
        names = {each.demands[0].id for each in chosen}
        free = self.now.without([
            each for row in self.now.rows for each in row
            if each.id.partition('/')[0] in names])
        sliding = [*([] if own is None else [own]), *chosen]
        found = slides.slide(free, firm, sliding, limits=self._limits)
        if isinstance(found, slides.Slid):
            self._take(found, sliding)
            return None
        # NOTE: others could slide that were not tried.
        return (plans.Cause.NO_ASSIGNMENT
                if found and len(chosen) == len(self._open)
                else plans.Cause.SEARCH_LIMIT)

    def _follow(self, plan: plans.Plan) -> None:
        self.now = plan.timeline
        self.moves += len(plan.moves)

    def _take(self, found: slides.Slid,
              sliding: Sequence[slides.Sliding]) -> None:
        self._follow(found.plan)
        for each, start in zip(sliding, found.starts, strict=True):
            self._opened(each, start)

    def _opened(self, each: slides.Sliding, start: int) -> None:
        self._open[each.demands[0].id] = dataclasses.replace(
            each, demands=each.at(start), preferred=start)


def play(case: Case, outcome: Outcome,
         limits: budget.Limits = planning.LIMITS,
         bounded: bool = False) -> _Asker:
    """Ask for everything, one after another, and note what was refused.

    :param bounded: whether each may cause no more work than a request.
    :returns: who has asked.
    """
    asker = _Asker(case, limits, bounded)
    for demand in case.requests:
        begun = time.process_time()
        cause = asker.ask(demand)
        outcome.seconds.append(time.process_time() - begun)
        outcome.asked_time += _weight(demand)
        if cause is not None:
            outcome.refused.append(Refused(
                demand, cause, case.capacities,
                tuple(asker.now.promised())))
    outcome.moves += asker.moves
    return asker


def ask_for_more(case: Case, asker: _Asker, count: int,
                 outcome: More) -> None:
    """Ask for parts of a packing once more, each at another time.

    :param asker: who has asked for the packing.
    """
    chance = random.Random(f'{count} more {len(case.requests)}')
    for number in range(count):
        each = chance.choice(case.requests)
        length = each.end - each.start
        start = _SLOT * chance.randint(0, _HORIZON - length // _SLOT)
        begun = time.process_time()
        outcome.causes[asker.ask(dataclasses.replace(
            each, id=f'more {number}', start=start, end=start + length))] += 1
        outcome.seconds += time.process_time() - begun


@dataclasses.dataclass
class More:
    """What became of requests for which there may be no place.

    :ivar causes: why how many were refused; ``None``: they were not.
    """

    causes: collections.Counter[plans.Cause | None] = dataclasses.field(
        default_factory=collections.Counter)
    seconds: float = 0.0

    def __str__(self) -> str:
        return (f'    more: {self.causes[None]} served, ' + ', '.join(
            f'{self.causes[cause]} {cause}' for cause in plans.Cause)
            + f', {self.seconds:.2f} s')


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
    for step, what in (('swap', 'exchanges between two nodes'),
                       ('eject', 'the search by ejection'),
                       ('search', 'the exact search')):
        parser.add_argument(f'--{step}', type=int,
                            default=getattr(planning.LIMITS, step),
                            help=f'steps of {what}; 0: without')
    parser.add_argument('--more', type=int, default=0,
                        help='so many requests after each packing, for which '
                             'there may be no place; on small fleets, too')
    parser.add_argument('--judge', type=float, metavar='SECONDS',
                        help='have OR-tools look for what was refused, so '
                             'long for each')
    parser.add_argument('--only', default='',
                        help='the kinds whose title contains this')
    parser.add_argument('--bounded', action='store_true',
                        help='each may cause no more work than a request to '
                             'the service, with its offers')
    given = parser.parse_args(arguments)
    limits = dataclasses.replace(planning.LIMITS, swap=given.swap,
                                 eject=given.eject, search=given.search)
    print(f'{"":34} {"requests":>8} {"search_limit":>22} '
          f'{"falsely proved":>22} {"p50 s":>7} {"p95 s":>7} {"max s":>7} '
          f'{"sum s":>7} {"moves":>7}')
    for title, draw, count, used in (*_SMALL, *_KINDS) if given.more else (
            _KINDS):
        if given.only not in title:
            continue
        outcome, more = Outcome(), More()
        for seed in range(given.seeds):
            case = draw(count, used, seed)
            asker = play(case, outcome, limits, given.bounded)
            ask_for_more(case, asker, given.more, more)
        print(_line(title, outcome), flush=True)
        if given.more:
            print(more, flush=True)
        if given.judge is not None:
            print(_judged(outcome, given.judge), flush=True)


_KINDS: tuple[tuple[str, Callable[[int, float, int], Case], int, float],
              ...] = (
    ('30 nodes, 94 % used', nodes, 30, 0.94),
    ('30 nodes, 98 % used', nodes, 30, 0.98),
    ('100 nodes, 94 % used', nodes, 100, 0.94),
    ('100 nodes, 98 % used', nodes, 100, 0.98),
    ('300 nodes alike, 95 % used', alike_nodes, 300, 0.95),
    ('300 nodes alike, 99 % used', alike_nodes, 300, 0.99),
    ('20 compute hosts, 85 % used', compute_hosts, 20, 0.85),
    ('20 compute hosts, 95 % used', compute_hosts, 20, 0.95),
    ('30 nodes, 94 % used, some open', open_nodes, 30, 0.94),
    ('30 nodes, 98 % used, some open', open_nodes, 30, 0.98),
    ('20 compute hosts, 85 %, some open', open_compute_hosts, 20, 0.85),
    ('30 nodes, 94 % used, with pins', pinned_nodes, 30, 0.94))
#: Those in which a search through all assignments may end.
_SMALL = (
    ('4 nodes, 80 % used', nodes, 4, 0.80),
    ('8 nodes, 80 % used', nodes, 8, 0.80),
    ('8 nodes, 94 % used, with pins', pinned_nodes, 8, 0.94),
    ('3 compute hosts, 85 % used', compute_hosts, 3, 0.85))


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
            f'{ordered[-1]:>7.3f} {sum(ordered):>7.2f} {outcome.moves:>7}')


def _judged(outcome: Outcome, seconds: float) -> str:
    found = [judge.verdict(each.capacities, each.promised, each.demand,
                           seconds) for each in outcome.refused]
    return '    CP-SAT says: ' + ', '.join(
        f'{answer}: {found.count(answer)}'
        for answer in ('yes', 'no', 'unknown'))
