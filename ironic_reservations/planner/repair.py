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

"""Repair by making room: bookings in the way on a shared host move away."""

from __future__ import annotations

import heapq
import operator

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline

#: How many hosts are tried for a unit, and examined.
_HOMES = 8
_LOOKED_AT = 24
#: The maximum depth of moves that make room for moves.
_DEPTH = 2


def make_room(draft: timeline.Draft, wanted: placement_units.Unit,
              pinned: frozenset[str], steps: budget.Budget) -> bool:
    """Place a unit by moving others; return whether it was possible.

    The draft is changed only if it was.
    """
    try:
        return _make_room(draft, wanted, pinned, steps, _DEPTH, 0)
    except budget.Exhausted:
        return False


def _make_room(draft: timeline.Draft, wanted: placement_units.Unit,
               pinned: frozenset[str], steps: budget.Budget, depth: int,
               settled: int) -> bool:
    """Place a unit; bookings on settled hosts stay."""
    found: list[tuple[int, int, list[placement_units.Unit]]] = []
    for node in _nearest(draft, wanted, settled, steps):
        leaving = _in_the_way(draft, wanted, node, pinned, steps)
        if leaving is not None:
            found.append((sum(len(each.parts) for each in leaving), node,
                          leaving))
    found.sort(key=lambda each: each[:2])
    for _, node, leaving in found[:_HOMES]:
        attempt = draft.copy()
        attempt.put(wanted.on(node),
                    [part for each in leaving for part in each.parts])
        if _rehouse(attempt, leaving, pinned, steps, depth,
                    settled | 1 << node):
            draft.become(attempt)
            return True
    return False


def _nearest(draft: timeline.Draft, wanted: placement_units.Unit, settled: int,
             steps: budget.Budget) -> list[int]:
    """Return the hosts that have the least excess for a unit."""
    found: list[tuple[float, int, int]] = []
    for node in host_sets.members(wanted.eligible & ~settled):
        capacity = draft.capacities[node]
        near = draft.between(node, wanted.start,
                             wanted.lets_go(capacity is not None))
        steps.spend(1 + len(near) // 8)
        staying = [each for each in near if not each.movable]
        if capacity is None or wanted.amounts is None:
            if not staying:
                found.append((0.0, len(near), node))
            continue
        if any(each.amounts is None for each in staying):
            continue
        peaks = []
        for there in (near, staying):
            sharing = sorted((each for each in there
                              if each.amounts is not None),
                             key=operator.attrgetter('start'))
            used = shares.peak(sharing, wanted.start)
            peaks.append(max(
                (used.get(name, 0) + amount - capacity.get(name, 0)) / amount
                for name, amount in wanted.amounts))
        if peaks[1] <= 0:
            found.append((peaks[0], len(near), node))
    return [node for _, _, node in heapq.nsmallest(_LOOKED_AT, found)]


def _rehouse(draft: timeline.Draft, leaving: list[placement_units.Unit],
             pinned: frozenset[str], steps: budget.Budget, depth: int,
             settled: int) -> bool:
    # NOTE: units that are hard to place come first.
    for each in sorted(leaving, key=_size, reverse=True):
        steps.spend(1 + each.eligible.bit_count())
        node = placement_units.best(draft, each, settled)
        if node is not None:
            draft.put(each.on(node))
            settled |= 1 << node
        elif not depth or not _make_room(draft, each, pinned, steps,
                                         depth - 1, settled):
            return False
    return True


def _size(each: placement_units.Unit) -> tuple[bool, int, int]:
    if each.amounts is None:
        return True, 0, 0
    return False, len(each.parts), max(each.amounts, key=_amount)[1]


def _amount(pair: tuple[str, int]) -> int:
    return pair[1]


def _in_the_way(draft: timeline.Draft, wanted: placement_units.Unit, node: int,
                pinned: frozenset[str], steps: budget.Budget
                ) -> list[placement_units.Unit] | None:
    """Return the units that have to leave a host for another one.

    :returns: ``None`` if that would not suffice, or some of them have to stay.
    """
    capacity = draft.capacities[node]
    until = wanted.lets_go(capacity is not None)
    near = draft.between(node, wanted.start, until)
    steps.spend(1 + len(near))
    free = {part.id: each
            for each in placement_units.movable(draft, node, near, pinned)
            for part in each.parts}
    if capacity is None or wanted.amounts is None:
        if any(each.id not in free for each in near):
            return None
        return list({id(each): each for each in free.values()}.values())
    leaving: list[placement_units.Unit] = []
    staying: list[bookings.Booking] = []
    for each in near:
        if each.amounts is not None and (
                not wanted.apart or each.group != wanted.apart):
            staying.append(each)
        elif each.id not in free:
            return None
        else:
            leaving.append(free[each.id])
    while True:
        spell = next(iter(shares.spells(capacity, staying, wanted.amounts,
                                        wanted.start, wanted.end)), None)
        if spell is None:
            return leaving
        steps.spend(len(staying))
        chosen = _choose(spell, [
            free[each.id] for each in staying
            if each.id in free and each.start < spell.end
            and spell.start < each.end])
        if chosen is None:
            return None
        leaving.append(chosen)
        gone = {part.id for part in chosen.parts}
        staying = [each for each in staying if each.id not in gone]


def _choose(spell: shares.Spell,
            there: list[placement_units.Unit]) -> placement_units.Unit | None:
    """Choose the smallest unit that is large enough to leave, or the largest.
    """
    name = spell.resource_class
    having = []
    for each in there:
        amount = next((amount for key, amount in each.amounts or ()
                       if key == name), 0)
        if amount:
            having.append((amount < spell.short,
                           abs(amount - spell.short), each.start, each))
    if not having:
        return None
    return min(having, key=lambda each: each[:3])[3]
