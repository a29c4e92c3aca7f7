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

"""The use of leases is divided without a loss and without a double count.
"""

from __future__ import annotations

import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.features.usage import sums as lifecycle
from ironic_reservations.features.usage import values as usage

FIRST = datetime.date(2026, 3, 1)
BEGIN = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
DAYS = 5
_TICK = datetime.timedelta(minutes=90)
_MICROSECOND = datetime.timedelta(microseconds=1)
#: From two days before the first day until two days after the last one.
_TICKS = st.integers(-32, 16 * (DAYS + 2))


@st.composite
def spells(draw):
    """Return spells of no time, of parts of days, and of weeks."""
    start, length = draw(_TICKS), draw(st.integers(0, 16 * 9))
    odd = draw(st.sampled_from((0, 1, 999999)))
    begin = BEGIN + start * _TICK + odd * _MICROSECOND
    end = begin + length * _TICK
    kind = draw(st.sampled_from(('promised', 'bound', 'part', 'deployed')))
    return usage.Spell(
        draw(st.sampled_from(('red', 'blue', None))),
        draw(st.sampled_from(('gold', ''))), begin, end,
        draw(st.integers(1, 3)), kind != 'deployed',
        {'bound': end, 'part': begin + length // 2 * _TICK}.get(kind),
        kind == 'deployed')


def counted(spells_of, begin, end, now):
    """Count by brute force: each spell against one span of time."""
    amounts = [0, 0, 0]
    for each in spells_of:
        for number, until in enumerate((
                each.end if each.promised else None,
                each.bound_until and min(each.bound_until, each.end, now),
                min(each.end, now) if each.deployed else None)):
            if until is not None:
                amounts[number] += each.hosts * max(0, (
                    min(until, end) - max(each.start, begin)) // _MICROSECOND)
    return tuple(amounts)


def amounts(row):
    return row.promised, row.bound, row.deployed


class TestDivide(testtools.TestCase):

    @hypothesis.given(st.lists(spells(), max_size=6), _TICKS)
    def test_each_day_is_what_counting_gives(self, given, tick):
        """The sum over the days is the whole, for any grouping."""
        now = BEGIN + tick * _TICK
        day = datetime.timedelta(days=1)
        rows = lifecycle.divide(given, FIRST, DAYS, now, tuple(usage.Group))
        found = {(row.day, row.project_id, row.resource_class): amounts(row)
                 for row in rows}
        self.assertEqual(len(rows), len(found))
        for number in range(DAYS):
            for project in ('red', 'blue', None):
                for name in ('gold', ''):
                    mine = [each for each in given if (
                        each.project_id, each.resource_class)
                        == (project, name)]
                    self.assertEqual(
                        counted(mine, BEGIN + number * day,
                                BEGIN + (number + 1) * day, now),
                        found.pop((FIRST + number * day, project, name),
                                  (0, 0, 0)))
        self.assertEqual({}, found)
        whole = counted(given, BEGIN, BEGIN + DAYS * day, now)
        for by in ((), ('day',), ('project',), ('class',),
                   ('project', 'class')):
            parts = [amounts(row) for row in lifecycle.divide(
                given, FIRST, DAYS, now, [usage.Group(word) for word in by])]
            self.assertEqual(whole, tuple(map(sum, zip((0, 0, 0), *parts,
                                                       strict=True))))

    def test_one_row_in_the_order_of_days_projects_and_classes(self):
        given = [usage.Spell(project, name, BEGIN,
                             BEGIN + datetime.timedelta(days=2), 1, True)
                 for project in ('b', 'a') for name in ('y', 'x')]
        self.assertEqual(
            [(day, project, name) for day in (1, 2) for project in 'ab'
             for name in 'xy'],
            [(row.day.day, row.project_id, row.resource_class)
             for row in lifecycle.divide(given, FIRST, DAYS, BEGIN,
                                         tuple(usage.Group))])
