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

"""Proofs that the pool has no room, and what its hosts are short of.

Two proofs: what has to stay where it is leaves too little, whatever moves;
or at one instant all that has to be on a set of hosts needs more of a class
than all of them have.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import heapq
import operator

from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import plans as pool_plans
from ironic_reservations.planner.pool import pool
from ironic_reservations.planner.pool import shares
from ironic_reservations.planner.pool import units


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Units of a demand, all of a kind.

    :ivar kind: one of them.
    :ivar count: how many there are.
    """

    kind: units.Unit
    count: int


def stuck(draft: pool.Draft, wanted: Wanted,
          pinned: frozenset[str]) -> bool:
    """Tell whether what has to stay leaves too little, whatever moves."""
    kind = wanted.kind
    found = 0
    for node in fleet.members(kind.eligible):
        staying = [each for each in draft.there(node)
                   if not each.movable or (
                       isinstance(each, instances.Instance)
                       and each.affinity is True and each.group in pinned)]
        found += _room(draft, node, staying, kind)
        if found >= wanted.count:
            return False
    return True


def _room(draft: pool.Draft, node: int,
          staying: Sequence[instances.Promise], kind: units.Unit) -> int:
    capacity = draft.capacities[node]
    until = kind.until(capacity is not None)
    near = [each for each in staying
            if each.start < until and kind.start < draft.until(each, node)]
    if capacity is None or kind.amounts is None:
        return not near
    there: list[instances.Instance] = []
    for each in near:
        if not isinstance(each, instances.Instance):
            return 0
        there.append(each)
    if kind.apart and any(each.group == kind.apart for each in there):
        return 0
    there.sort(key=operator.attrgetter('start'))
    found = shares.room(capacity, there, kind.amounts, kind.start, kind.end)
    return min(1, found) if kind.apart else found


def overfull(draft: pool.Draft, wanted: Wanted) -> int | None:
    """Find an instant at which more is needed of a class than there is.

    Whatever moves, the nodes of Ironic take one each of what is there, so
    that the compute hosts have to take at least the smaller ones.

    :param wanted: what is still to be placed.
    :returns: ``None`` where none was found.
    """
    kind = wanted.kind
    nodes = _closure(draft, kind.eligible)
    compute, lone = nodes & draft.compute, nodes & ~draft.compute
    have: dict[str, int] = {}
    pieces = [_piece(draft, nodes, kind)] * wanted.count
    taken: list[tuple[int, int]] = []
    for node in fleet.members(nodes):
        there = [each for each in draft.there(node)
                 if each.start < kind.end and kind.start < each.end]
        capacity = draft.capacities[node]
        if capacity is None:
            taken.extend((each.start, each.end) for each in there
                         if not each.movable)
            there = [each for each in there if each.movable]
        else:
            # NOTE: what has started may have more than there is now.
            peaks = shares.peak(sorted(
                (each for each in there if not each.movable
                 and isinstance(each, instances.Instance)),
                key=operator.attrgetter('start')), kind.start)
            for name in capacity.keys() | peaks.keys():
                have[name] = have.get(name, 0) + max(
                    capacity.get(name, 0), peaks.get(name, 0))
        pieces.extend(_piece(draft, nodes, units.unit((each,), draft))
                      if each.movable or isinstance(each, instances.Instance)
                      else _Piece(each.start, each.end, capacity or {})
                      for each in there)
    free = lone.bit_count()
    for at in _fullest(pieces, kind.start, _INSTANTS if lone else 1):
        left = free - sum(start <= at < end for start, end in taken)
        now = [each for each in pieces if each.start <= at < each.end]
        left -= sum(each.alone for each in now)
        if left < 0 and lone | compute:
            return at
        now = [each for each in now if not each.alone]
        for name in {name for each in now for name in each.amounts}:
            need = sum(each.amounts.get(name, 0) for each in now)
            if need <= have.get(name, 0):
                continue
            need -= sum(heapq.nlargest(left, (
                each.amounts.get(name, 0) for each in now if each.lone)))
            if need > have.get(name, 0):
                return at
    return None


#: At how many instants it is counted what nodes of Ironic could take.
_INSTANTS = 8


@dataclasses.dataclass(frozen=True, slots=True)
class _Piece:
    """What has to be somewhere.

    :ivar amounts: what it takes of a compute host at least.
    :ivar lone: whether it can be on a node of Ironic.
    :ivar alone: whether it can be nowhere else.
    """

    start: int
    end: int
    amounts: Mapping[str, int]
    lone: bool = False
    alone: bool = False


def _piece(draft: pool.Draft, nodes: int, unit: units.Unit) -> _Piece:
    lone = bool(unit.eligible & nodes & ~draft.compute)
    compute = unit.eligible & nodes & draft.compute
    amounts = dict(unit.amounts or ())
    if unit.amounts is None:
        amounts = _least(draft, compute)
    return _Piece(unit.start, unit.end, amounts, lone, lone and not compute)


def _fullest(pieces: Sequence[_Piece], start: int, count: int) -> set[int]:
    """Give the instants at which the most is needed of each class."""
    changes: dict[int, dict[str, int]] = {start: {}}
    for each in pieces:
        for at, sign in ((max(each.start, start), 1), (each.end, -1)):
            change = changes.setdefault(at, {})
            change[''] = change.get('', 0) + sign
            for name, amount in each.amounts.items():
                change[name] = change.get(name, 0) + sign * amount
    needed: dict[str, int] = {}
    most: dict[str, list[tuple[int, int]]] = {}
    for at in sorted(changes):
        for name, amount in changes[at].items():
            needed[name] = needed.get(name, 0) + amount
            if amount > 0:
                most.setdefault(name, []).append((needed[name], -at))
    return {-at for row in most.values()
            for _, at in heapq.nlargest(count, row)}


def _closure(draft: pool.Draft, eligible: int) -> int:
    """Give all hosts on which what may be on a set of them can be."""
    walk = fleet.Walk(eligible)
    for node in walk:
        for each in draft.there(node):
            if each.movable:
                walk.leads_to(each.eligible)
    return walk.nodes


def _least(draft: pool.Draft, nodes: int) -> dict[str, int]:
    """Give the least that one of some compute hosts has of each class."""
    least: dict[str, int] | None = None
    for node in fleet.members(nodes):
        capacity = draft.capacities[node] or {}
        if least is None:
            least = dict(capacity)
        else:
            least = {name: min(amount, capacity.get(name, 0))
                     for name, amount in least.items()}
    return least or {}


def used(now: pool.Pool, eligible: int, needed: inventories.Amounts
         ) -> Iterator[tuple[int, dict[int, int], int]]:
    """Tell how much of each class is left over time where a set can lead.

    NOTE: what has a whole host and may move is taken for nothing.

    :param eligible: the set of hosts that would do.
    :returns: for each class that is needed, how much there is, how that
        changes and when, and how much is needed; nothing where nodes of
        Ironic could help.
    """
    draft = pool.Draft.of(now)
    nodes = _closure(draft, eligible)
    if nodes & ~draft.compute:
        return
    for name, amount in needed:
        have = 0
        changes: dict[int, int] = {}
        for node in fleet.members(nodes):
            capacity = draft.capacities[node] or {}
            row = draft.rows[node]
            have += max(capacity.get(name, 0), shares.peak(
                [each for each in row if not each.movable],
                _START).get(name, 0))
            there = [(each, dict(each.amounts).get(name, 0)) for each in row]
            windows = [(each.start, each.end, size) for each, size in there]
            windows.extend((each.start, each.end, capacity.get(name, 0))
                           for each in draft.whole(node)
                           if not each.movable)
            for start, end, size in windows:
                if size:
                    changes[start] = changes.get(start, 0) - size
                    changes[end] = changes.get(end, 0) + size
        yield have, changes, amount


#: Before everything that is planned.
_START = -(1 << 80)


def explain(draft: pool.Draft, kind: units.Unit
            ) -> tuple[tuple[pool_plans.HostShortage, ...],
                       tuple[instances.Promise, ...]]:
    """Tell what each eligible host lacks, and what is in the way there.

    :param draft: without what has been placed for the demand already.
    """
    found: list[pool_plans.HostShortage] = []
    blockers: dict[str, instances.Promise] = {}
    for node in fleet.members(kind.eligible):
        capacity = draft.capacities[node]
        until = kind.until(capacity is not None)
        near = draft.between(node, kind.start, until)
        there = _room(draft, node, near, kind)
        spells = _spells(draft, node, near, kind, there)
        if not spells:
            continue
        if len(kind.parts) > 1:
            there = _room(draft, node, near, units.unit(kind.parts[:1],
                                                        draft))
        found.append(pool_plans.HostShortage(node, there, spells))
        for each in near:
            if _in_the_way(each, spells):
                blockers[each.id] = each
        if kind.amounts is None and len(found) == pool_plans.MOST_HOSTS:
            # NOTE: none of them has room for one.
            break
    found.sort(key=lambda each: (-each.room, each.node))
    return tuple(found[:pool_plans.MOST_HOSTS]), tuple(heapq.nsmallest(
        pool_plans.MOST_HOSTS, blockers.values(),
        key=operator.attrgetter('start', 'end', 'id')))


def _spells(draft: pool.Draft, node: int,
            near: Sequence[instances.Promise], kind: units.Unit,
            there: int) -> tuple[shares.Spell, ...]:
    capacity = draft.capacities[node]
    if capacity is not None and kind.amounts is not None:
        if kind.apart and there:
            return ()
        whole = [each for each in near if isinstance(each, bookings.Booking)
                 or (kind.apart and each.group == kind.apart)]
        if not whole:
            return shares.spells(
                capacity, [each for each in near
                           if isinstance(each, instances.Instance)],
                shares.times(kind.amounts, there + 1), kind.start, kind.end)
        near = whole
    # NOTE: that a host has room for no more than one of what takes it whole
    # goes without saying.
    until = kind.until(capacity is not None)
    return tuple(shares.Spell(max(start, kind.start), min(end, until))
                 for start, end in shares.runs(
                     (each.start, draft.until(each, node)) for each in near))


def _in_the_way(each: instances.Promise,
                spells: Sequence[shares.Spell]) -> bool:
    for spell in spells:
        if each.start < spell.end and spell.start < each.end + each.margin:
            if spell.resource_class is None or isinstance(
                    each, bookings.Booking):
                return True
            if any(name == spell.resource_class for name, _ in each.amounts):
                return True
    return False
