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

"""The time that is taken on one host."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
import operator

_end = operator.itemgetter(1)


class Covered:
    """A union of windows.

    The windows are kept in order and without overlaps, so that finding
    an overlap is fast even if a node is booked for years to come.

    :param windows: starts and ends; a window that ends before it begins is
        empty.
    """

    def __init__(self, windows: Iterable[tuple[int, int]] = ()) -> None:
        self._windows: list[tuple[int, int]] = []
        for start, end in sorted(windows):
            if start >= end:
                continue
            if self._windows and start <= self._windows[-1][1]:
                first, last = self._windows[-1]
                self._windows[-1] = first, max(last, end)
            else:
                self._windows.append((start, end))

    def meets(self, window: tuple[int, int]) -> bool:
        """Return whether a part of a window is covered."""
        first = bisect.bisect_right(self._windows, window[0], key=_end)
        return (first < len(self._windows)
                and self._windows[first][0] < window[1])

    def add(self, window: tuple[int, int]) -> list[tuple[int, int]]:
        """Add a window.

        :returns: the parts of it that were not covered before, in order.
        """
        start, end = window
        if start >= end:
            return []
        # Adjacent windows are merged, too, to keep the list short.
        first = last = bisect.bisect_left(self._windows, start, key=_end)
        parts, at = [], start
        while last < len(self._windows) and self._windows[last][0] <= end:
            other = self._windows[last]
            if at < other[0]:
                parts.append((at, other[0]))
            at = max(at, other[1])
            last += 1
        if at < end:
            parts.append((at, end))
        if first < last:
            start = min(start, self._windows[first][0])
        self._windows[first:last] = [(start, max(at, end))]
        return parts
