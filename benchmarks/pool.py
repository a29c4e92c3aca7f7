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

"""Instances on compute hosts by the planner alone: no database, no HTTP.

200 hosts of 256 VCPU have 5,000 instances of 1 to 8 VCPU, in windows drawn at
random over 90 days; what began before the fifth day does not move.  A lease
of 1,000 instances is asked for, together with whole hosts, and where there is
too little.
"""

from __future__ import annotations

from collections.abc import Callable
import random
import time
from typing import Any

from benchmarks import table
from ironic_reservations.model import instants
from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline

_DAY = 24 * 3600 * instants.SECOND
_HOSTS = 200
_ALL = host_sets.everything(_HOSTS)
_CAPACITY = {'VCPU': 256, 'MEMORY_MB': 512 * 1024, 'DISK_GB': 4000}


def run(there: int = 5000, times: int = 10) -> None:
    """Measure on a pool that is used, and on one that is nearly full."""
    chance = random.Random(there)
    promised = _promised(chance, there)
    now = timeline.Timeline.of([_CAPACITY] * _HOSTS, promised)
    rows = [_timed('sort all instances', lambda: timeline.Timeline.of(
        now.capacities, promised), times)]
    rows.extend(_planned(now, what, demands, times) for what, demands in (
        ('1,000 instances', [_ask(1000, 4)]),
        ('1,000 instances for 60 days', [_ask(1000, 1, days=60)]),
        ('200 instances apart', [_ask(200, 4, False)]),
        ('20 instances together', [_ask(20, 4, True)]),
        ('1,000 instances and 3 whole hosts', [_ask(1000, 4), _hosts(3)]),
        ('one whole host', [_hosts(1)]),
        ('10,000 instances', [_ask(10000, 4)]),
        ('500 instances together', [_ask(500, 4, True)])))
    full = _filled(chance, now)
    rows.extend(_planned(full, f'crowded: {what}', demands, times)
                for what, demands in (
                    ('20 instances', [_ask(20, 8, start=8)]),
                    ('100 large ones', [_ask(100, 30, start=8)]),
                    ('one whole host', [_hosts(1, 8)])))
    rows.append(_timed('crowded: four counter-offers', lambda: (
        offers.offers(full, [_ask(100, 30, start=8)], 5 * _DAY,
                           90 * _DAY)), 3))
    table.show(f'The pool: {_HOSTS} hosts, {there} instances', rows)


def _promised(chance: random.Random,
              count: int) -> list[bookings.Booking]:
    made: list[bookings.Booking] = []
    rows: list[list[bookings.Booking]] = [[] for _ in range(_HOSTS)]
    while len(made) < count:
        start = chance.randrange(90 * 24) * _DAY // 24
        end = start + chance.randrange(1, 8 * 24) * _DAY // 24
        wanted = _size(chance.choice((1, 2, 4, 8)))
        group = str(len(made))
        for number in range(min(chance.randint(1, 20), count - len(made))):
            node = chance.randrange(_HOSTS)
            row = rows[node]
            row.sort(key=lambda each: each.start)
            if shares.room(_CAPACITY, row, wanted, start, end):
                row.append(bookings.Booking(
                    f'{group}/{number}', start, end, node, _ALL,
                    start > 5 * _DAY, amounts=wanted, group=group))
                made.append(row[-1])
    return made


def _size(vcpus: int) -> inventories.Amounts:
    return inventories.of_sizes(vcpus, vcpus * 4096, vcpus * 10)


def _ask(amount: int, vcpus: int, affinity: bool | None = None,
         start: int = 10, days: int = 5,
         name: str = 'new') -> bookings.Demand:
    return bookings.Demand(
        name, start * _DAY, (start + days) * _DAY, amount, amount, _ALL,
        amounts=_size(vcpus), affinity=affinity)


def _hosts(count: int, start: int = 10) -> bookings.Demand:
    return bookings.Demand('hosts', start * _DAY, (start + 5) * _DAY, count,
                           count, _ALL)


def _filled(chance: random.Random,
            now: timeline.Timeline) -> timeline.Timeline:
    """Fill two weeks until a lease is refused."""
    number = 0
    while True:
        answer = planning.plan(now, [_ask(
            chance.randint(1, 60), chance.choice((2, 4, 8)), None,
            chance.randint(6, 14), chance.randint(1, 12), f'fill {number}')])
        if isinstance(answer, plans.Refusal):
            return now
        now, number = answer.timeline, number + 1


def _planned(now: timeline.Timeline, what: str, demands: list[bookings.Demand],
             times: int) -> table.Row:
    answer = planning.plan(now, demands)
    if isinstance(answer, plans.Refusal):
        what += f', refused, {answer.cause}'
    return _timed(what, lambda: planning.plan(now, demands), times)


def _timed(what: str, call: Callable[[], Any], times: int) -> table.Row:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return table.Row(what, seconds, sum(seconds))
