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

"""Certifies a plan by definition.

Shares no code with what made it.  Slow and plain on purpose: it goes through
every instant at which something begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from ironic_reservations.planner import bookings
from ironic_reservations.planner import timeline
from tests.judges import oracle


def faults(before: Iterable[bookings.Booking],
           demands: Sequence[bookings.Demand],
           after: Iterable[bookings.Booking],
           capacities: Sequence[Mapping[str, int] | None]) -> list[str]:
    """Tell everything that is wrong with a plan; nothing, if it is sound.

    :param before: all that was promised.
    :param demands: what was to be served besides.
    :param after: all that the plan promises.
    :param capacities: of each compute host, what it has of each class;
        ``None`` for a node of Ironic.
    """
    before, plan = list(before), list(after)
    origin = {each.id: each.node for each in before}
    # NOTE: a host may have become unfit for what it has already, or too
    # small; that is no fault of the plan.
    arrived = [each for each in plan if origin.get(each.id) != each.node]
    wrong = [f'{each.id} is on {each.node}, which it may not be on.'
             for each in arrived if not 0 <= each.node < len(capacities)
             or not (each.eligible // 2 ** each.node) % 2]
    if wrong:
        return wrong
    for node, capacity in enumerate(capacities):
        there = [each for each in plan if each.node == node]
        wrong.extend(_overfull(node, capacity, there,
                               {each.id for each in arrived}))
    wrong.extend(_affinities(plan, {each.id for each in arrived}))
    known = {each.id: each for each in plan}
    if len(known) != len(plan):
        wrong.append('Something is there more than once.')
    for old in before:
        new = known.pop(old.id, None)
        if new is None:
            wrong.append(f'{old.id} is gone.')
        elif not old.movable and new.node != old.node:
            wrong.append(f'{old.id} must not move, and is on {new.node} '
                         f'instead of {old.node}.')
        if new is not None and _terms(old) != _terms(new):
            wrong.append(f'{old.id} is not what it was.')
    for demand in demands:
        wrong.extend(_unserved(demand, known))
    wrong.extend(f'Nobody asked for {key}.' for key in known)
    return wrong


def wrong(case: oracle.Case, after: timeline.Timeline) -> list[str]:
    """Tell everything that is wrong with a plan for a case.

    :param after: the timeline of the plan.
    """
    promised = list(after.promised())
    return [*faults(case.there, case.demands, promised, case.capacities),
            *([] if oracle.sound(case.capacities, promised)
              else ['A host is too full.'])]


def _unserved(demand: bookings.Demand,
              known: dict[str, bookings.Booking]) -> list[str]:
    """Take out what serves a demand, and tell what is wrong with it."""
    names = [f'{demand.id}/{demand.first + count}'
             for count in range(demand.most)]
    serving = [known.pop(name) for name in names if name in known]
    wrong = []
    if len(serving) < demand.least:
        wrong.append(f'The demand {demand.id} gets {len(serving)}, and needs '
                     f'{demand.least}.')
    for each in serving:
        terms = (each.start, each.end, each.margin, each.eligible)
        if terms != (demand.start, demand.end, demand.margin,
                     demand.eligible):
            wrong.append(f'{each.id} is not what was demanded.')
        elif (each.amounts, each.affinity, each.group) != (
                demand.amounts, demand.affinity, demand.family):
            wrong.append(f'{each.id} is not of the size that was demanded.')
    return wrong


def _terms(each: bookings.Booking) -> tuple[object, ...]:
    return (each.start, each.end, each.margin, each.eligible, each.movable,
            each.amounts, each.group, each.affinity)


def _until(each: bookings.Booking, compute: bool) -> int:
    if compute and each.amounts is not None:
        return each.end
    return each.end + each.margin


def _overfull(node: int, capacity: Mapping[str, int] | None,
              there: Sequence[bookings.Booking],
              arrived: set[str]) -> list[str]:
    wrong = []
    compute = capacity is not None
    for at in sorted({each.start for each in there}):
        now = [each for each in there
               if each.start <= at < _until(each, compute)]
        names = sorted(each.id for each in now)
        whole = [each for each in now
                 if capacity is None or each.amounts is None]
        if whole and len(now) > 1:
            wrong.append(f'{" and ".join(names)} overlap on {node} at {at}.')
            continue
        if capacity is None or not arrived.intersection(names) and not any(
                each.movable for each in now):
            continue
        used: dict[str, int] = {}
        wanted: set[str] = set()
        for each in now:
            if each.amounts is not None:
                for name, amount in each.amounts:
                    used[name] = used.get(name, 0) + amount
                    if each.movable or each.id in arrived:
                        wanted.add(name)
        wrong.extend(
            f'{" and ".join(names)} need {amount} of {name} at {at}, and '
            f'the host {node} has {capacity.get(name, 0)}.'
            for name, amount in used.items()
            if name in wanted and amount > capacity.get(name, 0))
    return wrong


def _affinities(plan: Sequence[bookings.Booking],
                arrived: set[str]) -> list[str]:
    wrong = []
    groups: dict[str, list[bookings.Booking]] = {}
    for each in plan:
        if each.amounts is not None and each.affinity is not None:
            groups.setdefault(each.group, []).append(each)
    for group, there in groups.items():
        if there[0].affinity and len({each.node for each in there}) > 1:
            wrong.append(f'The group {group} is on several hosts.')
        for place, one in enumerate(there):
            for other in there[place + 1:]:
                if (not one.affinity and one.node == other.node
                        and one.start < other.end and other.start < one.end
                        and arrived.intersection((one.id, other.id))):
                    wrong.append(f'{one.id} and {other.id} are on one host.')
    return wrong
