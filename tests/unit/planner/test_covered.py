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
"""The time that windows cover together, compared with the pairwise result."""

from __future__ import annotations

from collections.abc import Iterable
import functools

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import covered

_WINDOW = st.tuples(st.integers(0, 30), st.integers(1, 12)).map(
    lambda drawn: (drawn[0], sum(drawn)))
_WINDOWS = st.lists(_WINDOW, max_size=12)


def _left_of(window: tuple[int, int], others: Iterable[tuple[int, int]]
             ) -> list[tuple[int, int]]:
    """Return the parts of a window that other windows do not cover."""
    windows = [window]
    for other in others:
        windows = [part for start, end in windows for part in (
            (start, min(end, other[0])), (max(start, other[1]), end))
            if part[0] < part[1]]
    return windows


@functools.total_ordering
class _Counted(int):
    """A number that counts how often it is compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        _Counted.compared += 1
        return int(self) < int(other)

    def __eq__(self, other: object) -> bool:
        _Counted.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


class TestCovered(testtools.TestCase):

    @hypothesis.given(_WINDOWS, _WINDOWS)
    def test_each_window_gets_what_those_before_leave_of_it(self, taken, more):
        there, before = covered.Covered(taken), list(taken)
        for window in more:
            left = _left_of(window, before)
            self.assertEqual(left != [window], there.meets(window))
            self.assertEqual(left, there.add(window))
            self.assertEqual([], there.add(window))
            before.append(window)

    @hypothesis.given(_WINDOWS, _WINDOWS)
    def test_order_does_not_matter(self, taken, more):
        added = covered.Covered()
        for window in (*more, *taken):
            added.add(window)
        at_once = covered.Covered((*taken, *more))
        self.assertEqual(added.add((-1, 99)), at_once.add((-1, 99)))

    def test_window_that_ends_before_it_begins_covers_nothing(self):
        there = covered.Covered([(8, 2), (5, 5)])
        self.assertEqual([], there.add((7, 3)))
        self.assertFalse(there.meets((0, 10)))
        self.assertEqual([(0, 10)], there.add((0, 10)))

    def compared(self, count: int) -> int:
        """Return the number of comparisons for twice as many windows."""
        windows = [(_Counted(each * 10), _Counted(each * 10 + 15))
                   for each in range(0, count, 2)]
        _Counted.compared = 0
        there = covered.Covered(windows)
        for each in range(count):
            there.add((_Counted(each * 10 + 3), _Counted(each * 10 + 6)))
        return _Counted.compared

    def test_windows_are_not_compared_with_all_others(self):
        few, many = self.compared(100), self.compared(800)
        self.assertLess(many, 8 * 2 * few)
