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

"""Admission by the planner alone: no database, no HTTP, one processor.

Each node has as many bookings, in windows drawn at random over 90 days; what
began before the fifth day does not move.  A demand is for windows of an hour
to eight days.  The timeline is there already; what it takes to sort it is
told apart.
"""

from __future__ import annotations

from collections.abc import Callable
import random
import time
from typing import Any

from benchmarks import table
from ironic_reservations.model import instants
from ironic_reservations.planner import availability
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline

_HOUR = 3600 * instants.SECOND
_DAYS = 90
_NOW = 5 * 24 * _HOUR
_END = _DAYS * 24 * _HOUR


def run(demands: int = 60) -> None:
    """Measure at the two sizes that matter."""
    for nodes, there in ((1000, 5000), (10000, 100000)):
        for classes in (1, 5):
            _size(nodes, there, classes, demands)


def _size(nodes: int, there: int, classes: int, demands: int) -> None:
    chance = random.Random(nodes + classes)
    pools = [host_sets.mask(range(first, nodes, classes))
             for first in range(classes)]
    booked = _bookings(chance, nodes, there // nodes, pools)
    rows = [_timed('sort all bookings', lambda _: timeline.Timeline.of(
        [None] * nodes, booked), 3)]
    now = timeline.Timeline.of([None] * nodes, booked)

    asked = [_demand(chance, number, pools[0], 6, 80)
             for number in range(demands)]
    rows.append(_timed('one node', lambda number: planning.plan(
        now, [asked[number]]), demands))
    rows.append(_timed('free counts, all nodes, 90 days',
                       lambda _: availability.free_counts(
                           now, host_sets.everything(nodes), 0, _END), 5))
    rows.append(_timed('five nodes', lambda number: planning.plan(
        now, [bookings.Demand('many', asked[number].start,
                              asked[number].end, 5, 5, pools[0])]),
        demands))
    full = _crowded(chance, now, pools[0])
    by_end: dict[str, list[float]] = {}
    for number in range(demands * 2):
        demand = _demand(chance, number, pools[0], 30, 34)
        start = time.perf_counter()
        answer = planning.plan(full, [demand])
        spent = time.perf_counter() - start
        by_end.setdefault(_ending(answer), []).append(spent)
    # One hour at which every node of the class is taken.
    taken = planning.plan(full, [bookings.Demand(
        'all', 35 * 24 * _HOUR, (35 * 24 + 1) * _HOUR, 1, nodes, pools[0])])
    assert isinstance(taken, plans.Plan)
    rejected = [bookings.Demand(str(number), (34 * 24 - number) * _HOUR,
                                (36 * 24 + number) * _HOUR, 1, 1, pools[0])
                for number in range(20)]
    by_end['one node, refused'] = _times(lambda number: planning.plan(
        taken.timeline, [rejected[number]]), 20)
    by_end['its four counter-offers'] = _times(lambda number: (
        offers.offers(taken.timeline, [rejected[number]], _NOW, _END)),
        5)
    rows.extend(table.Row(f'crowded: {ending}', seconds, sum(seconds))
                for ending, seconds in sorted(by_end.items()))
    table.show(f'Planning: {nodes} nodes, {there} bookings, '
               f'{classes} class(es)', rows)


def _ending(answer: plans.Plan | plans.Refusal) -> str:
    if isinstance(answer, plans.Refusal):
        return f'one node, refused, {answer.cause}'
    return ('one node, others move' if answer.moves
            else 'one node, fits')


def _bookings(chance: random.Random, nodes: int, each: int,
              pools: list[int]) -> list[bookings.Booking]:
    booked = []
    for node in range(nodes):
        cuts = [hour * _HOUR for hour in sorted(chance.sample(
            range(_DAYS * 24), 2 * each))]
        booked.extend(bookings.Booking(
            f'{node}.{number}', start, end, node, pools[node % len(pools)],
            start > _NOW) for number, (start, end) in enumerate(
                zip(cuts[::2], cuts[1::2], strict=True)))
    return booked


def _demand(chance: random.Random, number: int, pool: int, first: int,
            last: int) -> bookings.Demand:
    start = chance.randrange(first * 24, last * 24) * _HOUR
    return bookings.Demand(
        str(number), start, start + chance.randrange(1, 8 * 24) * _HOUR,
        1, 1, pool)


def _crowded(chance: random.Random, now: timeline.Timeline,
             pool: int) -> timeline.Timeline:
    """Fill a few days until next to nothing fits as things stand."""
    members = host_sets.members(pool)
    added = []
    draft = timeline.Draft.of(now)
    for node in members:
        for number in range(40):
            start = chance.randrange(30 * 24, 41 * 24) * _HOUR
            end = start + chance.randrange(6, 48) * _HOUR
            if draft.free(node, start, end):
                booking = bookings.Booking(f'crowd {node}.{number}', start,
                                           end, node, pool)
                draft.put([booking])
                added.append(booking)
    return now.adding(added)


def _timed(what: str, call: Callable[[int], Any], times: int) -> table.Row:
    seconds = _times(call, times)
    return table.Row(what, seconds, sum(seconds))


def _times(call: Callable[[int], Any], times: int) -> list[float]:
    seconds = []
    for number in range(times):
        start = time.perf_counter()
        call(number)
        seconds.append(time.perf_counter() - start)
    return seconds
