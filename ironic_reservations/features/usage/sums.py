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

"""Sums up the usage of leases by days, projects and classes."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
import datetime
import itertools

from ironic_reservations.features.usage import values as usage

_DAY = datetime.timedelta(days=1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_OF_A_DAY = _DAY // _MICROSECOND
#: A project and a class, ``None`` if the sum is over all of them.
_Key = tuple[str | None, str | None]


class _Days:
    """Host microseconds by day.

    Whole days are stored as changes at their start and end, so that a year
    costs no more than a day.
    """

    def __init__(self, count: int) -> None:
        self._parts = [0] * count
        self._changes = [0] * (count + 1)

    def add(self, start: int, end: int, hosts: int) -> None:
        """Add hosts over a period, in microseconds since the first day."""
        first, begun = divmod(start, _OF_A_DAY)
        last, over = divmod(end, _OF_A_DAY)
        if first == last:
            self._parts[first] += hosts * (over - begun)
            return
        self._parts[first] += hosts * (_OF_A_DAY - begun)
        if over:
            self._parts[last] += hosts * over
        self._changes[first + 1] += hosts
        self._changes[last] -= hosts

    def each(self) -> list[int]:
        """Return the sum of each day."""
        return [part + hosts * _OF_A_DAY for part, hosts
                in zip(self._parts, itertools.accumulate(self._changes),
                       strict=False)]


def divide(spells: Iterable[usage.Spell], first: datetime.date, days: int,
           now: datetime.datetime,
           by: Collection[usage.Group]) -> list[usage.Usage]:
    """Sum up the usage of leases, by days in UTC, projects and classes.

    :param first: the first day.
    :param days: the number of days.
    :param now: bound and deployed hosts count until then.
    :param by: the properties by which to group.
    :returns: the sums that are not zero, by day, project and class.
    """
    begin = datetime.datetime.combine(first, datetime.time(),
                                      datetime.UTC)
    end = begin + days * _DAY
    found: dict[_Key, tuple[_Days, _Days, _Days]] = {}
    for each in spells:
        key = (each.project_id if usage.Group.PROJECT in by else None,
               each.resource_class if usage.Group.CLASS in by else None)
        if key not in found:
            found[key] = (_Days(days), _Days(days), _Days(days))
        for there, until in zip(found[key], (
                each.end if each.promised else None,
                None if each.bound_until is None
                else min(each.bound_until, each.end, now),
                min(each.end, now) if each.deployed else None),
                strict=True):
            if until is not None and max(each.start, begin) < min(until, end):
                there.add((max(each.start, begin) - begin) // _MICROSECOND,
                          (min(until, end) - begin) // _MICROSECOND,
                          each.hosts)
    return sorted(_rows(found, first, usage.Group.DAY in by),
                  key=lambda row: (row.day or first, row.project_id or '',
                                   row.resource_class or ''))


def _rows(found: dict[_Key, tuple[_Days, _Days, _Days]],
          first: datetime.date, by_day: bool) -> Iterable[usage.Usage]:
    for (project_id, name), kinds in found.items():
        daily = list(zip(*(kind.each() for kind in kinds), strict=True))
        if by_day:
            for number, amounts in enumerate(daily):
                if any(amounts):
                    yield usage.Usage(first + number * _DAY, project_id, name,
                                      *amounts)
        elif any(map(any, daily)):
            promised, bound, deployed = map(sum, zip(*daily, strict=True))
            yield usage.Usage(None, project_id, name, promised, bound,
                              deployed)
