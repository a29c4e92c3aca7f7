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

"""Placeholders for promises that the timeline does not show.

If two promises on a host overlap, the timeline shows the second only outside
the first.  When the first is removed from the timeline to be planned again,
its time appears to be free although the second, or a maintenance window, still
has it.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable

from ironic_reservations.engine import snapshots
from ironic_reservations.planner import bookings
from ironic_reservations.planner import covered
from ironic_reservations.planner import host_states


def of_host(snapshot: snapshots.Snapshot, number: int,
            without: Collection[str], taken: Iterable[tuple[int, int]]
            ) -> list[bookings.Booking]:
    """Return immovable bookings for promises on a host that are hidden.

    On hosts that instances share, all promises are shown.

    :param without: the planner's names of promises that do not count.
    :param taken: the intervals that are occupied on the timeline anyway.
    """
    here = snapshot.host_state(number)
    if here.host.node.compute:
        return []
    taken = list(taken)
    shown = dict(taken)
    # Mostly there are none.
    hidden = [(start, end) for start, end in host_states.windows(
        here, snapshot.now, without) if shown.get(start, start) < end]
    there = covered.Covered(taken if hidden else ())
    parts = [part for window in hidden for part in there.add(window)]
    return [bookings.Booking(f'placeholder/{number}/{place}', *part, number,
                             1 << number, False)
            for place, part in enumerate(parts)]
