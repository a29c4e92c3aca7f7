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

"""Computes the amounts that instances use of a compute host over time."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from ironic_reservations.model import inventories
from ironic_reservations.planner import bookings

Capacity = Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Spell:
    """A period in which a host has too little of a class.

    :ivar resource_class: ``None`` if the whole host is taken or requested.
    :ivar short: the largest missing amount.
    """

    start: int
    end: int
    resource_class: str | None = None
    short: int = 0


def between(there: Sequence[bookings.Booking], start: int,
            end: int) -> list[bookings.Booking]:
    """Return the instances of a compute host that overlap [start, end)."""
    return [each for each in there if each.start < end and each.end > start]


def times(wanted: inventories.Amounts, count: int) -> inventories.Amounts:
    """Return the amounts for several instances of one size."""
    if count == 1:
        return wanted
    return tuple((name, amount * count) for name, amount in wanted)


def room(capacity: Capacity, there: Sequence[bookings.Booking],
         wanted: inventories.Amounts, start: int, end: int) -> int:
    """Return the number of instances of one size that fit over a window.

    :param there: the instances on the host, ordered by start.
    """
    near = between(there, start, end)
    peaks = peak(near, start) if near else {}
    return max(0, min((capacity.get(name, 0) - peaks.get(name, 0)) // amount
                      for name, amount in wanted))


def peak(near: Sequence[bookings.Booking], start: int) -> dict[str, int]:
    """Return the maximum use of each class at an instant from ``start`` on.

    :param near: the instances that end after it, ordered by start.
    """
    used: dict[str, int] = {}
    first = 0
    for each in near:
        if each.start > start:
            break
        first += 1
        for name, amount in each.amounts or ():
            used[name] = used.get(name, 0) + amount
    peaks = dict(used)
    if first == len(near):
        return peaks
    ends = sorted(near, key=_end)
    passed = 0
    for place in range(first, len(near)):
        each = near[place]
        while ends[passed].end <= each.start:
            for name, amount in ends[passed].amounts or ():
                used[name] -= amount
            passed += 1
        for name, amount in each.amounts or ():
            total = used[name] = used.get(name, 0) + amount
            if total > peaks.get(name, 0):
                peaks[name] = total
    return peaks


def steps(there: Iterable[bookings.Booking], start: int, end: int
          ) -> Iterator[tuple[int, int, dict[str, int]]]:
    """Yield the amounts of instances by class, from instant to instant.

    :returns: (from, until, amounts), which cover [start, end).
    """
    changes: dict[int, dict[str, int]] = {start: {}}
    for each in there:
        if each.start >= end or each.end <= start:
            continue
        for at, sign in ((max(each.start, start), 1), (each.end, -1)):
            change = changes.setdefault(at, {})
            for name, amount in each.amounts or ():
                change[name] = change.get(name, 0) + sign * amount
    instants = sorted(at for at in changes if at < end)
    used: dict[str, int] = {}
    for place, at in enumerate(instants):
        for name, amount in changes[at].items():
            used[name] = used.get(name, 0) + amount
        following = instants[place + 1] if place + 1 < len(instants) else end
        yield at, following, dict(used)


def spells(capacity: Capacity, there: Iterable[bookings.Booking],
           wanted: inventories.Amounts, start: int,
           end: int) -> tuple[Spell, ...]:
    """Return the periods in which a host has too little, for each class."""
    found: dict[str, list[Spell]] = {}
    for begin, until, used in steps(there, start, end):
        for name, amount in wanted:
            short = used.get(name, 0) + amount - capacity.get(name, 0)
            if short <= 0:
                continue
            row = found.setdefault(name, [])
            if row and row[-1].end == begin:
                last = row.pop()
                row.append(Spell(last.start, until, name,
                                 max(last.short, short)))
            else:
                row.append(Spell(begin, until, name, short))
    return tuple(sorted((spell for row in found.values() for spell in row),
                        key=lambda spell: (spell.start,
                                           spell.resource_class or '')))


def runs(there: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge windows that overlap or touch, in order."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(there):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def fits(capacity: Capacity, there: Iterable[bookings.Booking],
         each: bookings.Booking) -> bool:
    """Return whether a host has enough resources for one of its instances.

    :param there: all instances on the host, including that one.
    """
    return all(used[name] <= capacity.get(name, 0)
               for _, _, used in steps(there, each.start, each.end)
               for name, _ in each.amounts or ())


def roomy(capacity: Capacity, there: Iterable[bookings.Booking]) -> bool:
    """Return whether a host has room for all of some instances together."""
    ordered = sorted(there, key=_start)
    return not ordered or all(
        amount <= capacity.get(name, 0)
        for name, amount in peak(ordered, ordered[0].start).items())


def homeless(capacity: Capacity, there: Sequence[bookings.Booking]
             ) -> frozenset[str]:
    """Return the ids of movable instances without room on their host.

    The planner makes none; but the inventory may have shrunk, or a started
    instance may have been extended.
    """
    if roomy(capacity, there):
        return frozenset()
    kept = [each for each in there if not each.movable]
    out = set()
    for each in sorted(there, key=lambda each: (each.start, each.id)):
        if not each.movable:
            continue
        if fits(capacity, [*kept, each], each):
            kept.append(each)
        else:
            out.add(each.id)
    return frozenset(out)


def _start(each: bookings.Booking) -> int:
    return each.start


def _end(each: bookings.Booking) -> int:
    return each.end
