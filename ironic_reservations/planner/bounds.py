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

"""Proves that shared hosts have no room.

There are two proofs. Either there is too little room beside the bookings that
have to stay, for any move of the others; or, at one instant, the units that
have to be on a set of hosts need more of a resource class than all of these
hosts have.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import heapq
import operator

from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import reach
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline


def room_left(draft: timeline.Draft, template: placement_units.Unit,
              count: int, pinned: frozenset[str]) -> int:
    """Return the number of units that fit beside bookings that stay.

    :param template: like each of the units to place.
    :param count: the maximum to return: the number of units, including the
        placed ones.
    :param pinned: the groups that stay where they are.
    """
    found = 0
    for node in host_sets.members(template.eligible):
        until = template.released_at(draft.capacities[node] is not None)
        found += placement_units.room(draft, node, [
            each for each in draft.between(node, template.start, until)
            if not placement_units.leaves(each, pinned)], template)
        if found >= count:
            return count
    return found


class Fullness:
    """The units that must be on the hosts that units and moves can reach.

    For any moves, each node of Ironic takes one unit at most, so that the
    compute hosts have to take at least the smaller ones.

    :param template: like each of the units still to place.
    """

    def __init__(self, draft: timeline.Draft,
                 template: placement_units.Unit) -> None:
        nodes = reach.hosts(draft, template.eligible)
        ironic_nodes = nodes & ~draft.compute
        self._have: dict[str, int] = {}
        least = _leasts(draft)
        self._more = _piece(draft, nodes, template, least)
        pieces: list[_Piece] = []
        taken: list[tuple[int, int]] = []
        for node in host_sets.members(nodes):
            there = [each for each in draft.rows[node]
                     if each.start < template.end
                     and template.start < each.end]
            capacity = draft.capacities[node]
            if capacity is None:
                taken.extend((each.start, each.end) for each in there
                             if not each.movable)
                there = [each for each in there if each.movable]
            else:
                self._add(capacity, there, template.start)
            pieces.extend(
                _piece(draft, nodes, placement_units.unit((each,), draft),
                       least)
                if each.movable and not (
                    capacity is not None and each.amounts is not None
                    and not ironic_nodes)
                else _Piece(each.start, each.end, capacity or {}
                            if each.amounts is None else dict(each.amounts))
                for each in there)
        free = ironic_nodes.bit_count()
        self._at: list[_Instant] = []
        # The units still to place are there all the time, and so do not
        # change which instants are the fullest.
        for at in sorted({template.start} | _fullest(
                pieces, template.start, _INSTANTS if ironic_nodes else 1)):
            now = [each for each in pieces if each.start <= at < each.end]
            left = free - sum(start <= at < end for start, end in taken)
            left -= sum(each.needs_node for each in now)
            now = [each for each in now if not each.needs_node]
            need: dict[str, int] = {}
            for each in now:
                for name, amount in each.amounts.items():
                    need[name] = need.get(name, 0) + amount
            self._at.append(_Instant(at, left, need, {
                name: [each.amounts.get(name, 0) for each in now
                       if each.can_have_node] if left > 0 else []
                for name in need.keys() | self._more.amounts.keys()}))

    def _add(self, capacity: shares.Capacity,
             there: Sequence[bookings.Booking], start: int) -> None:
        """Add the amounts of a compute host."""
        # Started bookings may have more than the present inventory.
        peaks = shares.peak(sorted(
            (each for each in there if not each.movable
             and each.amounts is not None),
            key=operator.attrgetter('start')), start)
        for name in capacity.keys() | peaks.keys():
            self._have[name] = self._have.get(name, 0) + max(
                capacity.get(name, 0), peaks.get(name, 0))

    def overfull(self, count: int) -> int | None:
        """Return an instant at which more of a class is needed than exists.

        :param count: the number of the units still to place.
        :returns: ``None`` if none was found.
        """
        more = self._more
        for now in self._at:
            left = now.left - more.needs_node * count
            if left < 0:
                return now.at
            for name, could in now.could_leave.items():
                have, each = self._have.get(name, 0), more.amounts.get(name, 0)
                need = now.need.get(name, 0)
                if not more.needs_node:
                    need += each * count
                if need <= have:
                    continue
                if left:
                    own = min(left, count) if (
                        more.can_have_node and not more.needs_node) else 0
                    need -= sum(heapq.nlargest(left, could + [each] * own))
                if need > have:
                    return now.at
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class _Instant:
    """The demand at an instant, without the units still to place.

    :ivar left: the nodes of Ironic that nothing needs.
    :ivar need: the amount of each class for pieces that could be on compute
        hosts.
    :ivar could_leave: for each class, the amount of each piece that could be
        on a node of Ironic instead.
    """

    at: int
    left: int
    need: Mapping[str, int]
    could_leave: Mapping[str, list[int]]


#: The number of instants at which nodes of Ironic are taken into account.
_INSTANTS = 8
#: The number of different sets of hosts whose capacities are counted.
_SETS = 256


@dataclasses.dataclass(frozen=True, slots=True)
class _Piece:
    """A unit that has to be on one of the hosts.

    :ivar amounts: the minimum that it takes of a compute host.
    :ivar can_have_node: whether it can be on a node of Ironic.
    :ivar needs_node: whether it can only be on a node of Ironic.
    """

    start: int
    end: int
    amounts: Mapping[str, int]
    can_have_node: bool = False
    needs_node: bool = False


def _piece(draft: timeline.Draft, nodes: int, unit: placement_units.Unit,
           least: Callable[[int], dict[str, int]]) -> _Piece:
    can_have_node = bool(unit.eligible & nodes & ~draft.compute)
    compute = unit.eligible & nodes & draft.compute
    amounts = dict(unit.amounts or ())
    if unit.amounts is None:
        amounts = least(compute)
    return _Piece(unit.start, unit.end, amounts, can_have_node,
                  can_have_node and not compute)


def _fullest(pieces: Sequence[_Piece], start: int, count: int) -> set[int]:
    """Return, for each class, the instant at which most of it is needed."""
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


def _leasts(draft: timeline.Draft) -> Callable[[int], dict[str, int]]:
    """Return the smallest capacities by the set of compute hosts.

    Mostly the bookings have the same few sets. Beyond these, the capacities
    are not counted, which proves less.
    """
    known: dict[int, dict[str, int]] = {}

    def least(nodes: int) -> dict[str, int]:
        if nodes not in known:
            known[nodes] = (_least(draft, nodes) if len(known) < _SETS
                            else {})
        return known[nodes]
    return least


def _least(draft: timeline.Draft, nodes: int) -> dict[str, int]:
    """Return the smallest capacity of some compute hosts for each class."""
    least: dict[str, int] | None = None
    for node in host_sets.members(nodes):
        capacity = draft.capacities[node] or {}
        if least is None:
            least = dict(capacity)
        else:
            least = {name: min(amount, capacity.get(name, 0))
                     for name, amount in least.items()}
    return least or {}


def used(now: timeline.Timeline, eligible: int, needed: inventories.Amounts
         ) -> Iterator[tuple[int, dict[int, int], int]]:
    """Yield the free amount of each class over time on reachable hosts.

    Movable bookings of whole hosts are ignored.

    :param eligible: the set of hosts from which moves start.
    :returns: for each needed class: the total, the changes of the free amount
        by instant, and the needed amount; nothing if nodes of Ironic could
        help.
    """
    nodes = reach.hosts(now, eligible)
    if nodes & ~now.compute:
        return
    for name, amount in needed:
        have = 0
        changes: dict[int, int] = {}
        for node in host_sets.members(nodes):
            capacity = now.capacities[node] or {}
            row = [each for each in now.rows[node]
                   if each.amounts is not None]
            have += max(capacity.get(name, 0), shares.peak(
                [each for each in row if not each.movable],
                bookings.NEVER).get(name, 0))
            there = [(each, dict(each.amounts or ()).get(name, 0))
                     for each in row]
            windows = [(each.start, each.end, size) for each, size in there]
            windows.extend((each.start, each.end, capacity.get(name, 0))
                           for each in now.rows[node]
                           if each.amounts is None and not each.movable)
            for start, end, size in windows:
                if size:
                    changes[start] = changes.get(start, 0) - size
                    changes[end] = changes.get(end, 0) + size
        yield have, changes, amount
