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

"""The gaps of all hosts, ordered by their starts.

A booking of a whole host gets the host that has been idle for the shortest
time. So the gaps that begin last before a window are tried first, and mostly
one of the first few fits, however many hosts there are.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

from ironic_reservations.model import instants
from ironic_reservations.planner import bookings

#: The length of the spans of time by which gaps are grouped.
_SPAN = 6 * 3600 * instants.SECOND

#: The negative of the start of a gap, and the host, so that the latest gaps
#: come first, and hosts are in order.
Gap = tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps of hosts at one time.

    :ivar starts: for each host, the instants at which it becomes taken.
    :ivar untils: for each host, the instants at which it becomes free.
    """

    starts: Sequence[tuple[int, ...]] = ()
    untils: Sequence[tuple[int, ...]] = ()
    _spans: dict[int, list[Gap]] = dataclasses.field(default_factory=dict)
    _order: tuple[int, ...] = ()

    def updated(self, starts: Sequence[tuple[int, ...]],
                untils: Sequence[tuple[int, ...]],
                changed: Collection[int]) -> Gaps:
        """Return the present gaps of hosts.

        :param changed: the hosts that are new or have changed.
        """
        spans = dict(self._spans)
        touched: set[int] = set()
        for node in changed:
            before = (_begins(self.starts[node], self.untils[node])
                      if node < len(self.starts) else set())
            now = _begins(starts[node], untils[node])
            for since in before ^ now:
                number = since // _SPAN
                if number not in touched:
                    touched.add(number)
                    spans[number] = list(spans.get(number, ()))
                there, gap = spans[number], (-since, node)
                if since in now:
                    there.append(gap)
                else:
                    there.remove(gap)
        for number in touched:
            spans[number].sort()
            if not spans[number]:
                del spans[number]
        return Gaps(starts, untils, spans,
                    self._order if spans.keys() == self._spans.keys()
                    else tuple(sorted(spans)))

    def before(self, start: int) -> Iterator[Gap]:
        """Yield the gaps that begin by an instant, the latest first."""
        last = start // _SPAN
        place = bisect.bisect_right(self._order, last)
        for number in reversed(self._order[:place]):
            there = self._spans[number]
            yield from (there[bisect.bisect_left(there, (-start, -1)):]
                        if number == last else there)


def _begins(starts: tuple[int, ...], untils: tuple[int, ...]) -> set[int]:
    """Return the starts of the gaps of a host."""
    found = {bookings.NEVER, *untils}
    # There is no gap between adjacent bookings.
    found.difference_update(starts)
    return found
