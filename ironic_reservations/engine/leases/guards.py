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

"""Keep what others have of a host where it is not drawn.

Where two overlap, one is drawn as far as the other leaves it.  So what is
taken out of the timeline to be planned anew may leave a place that is another
one's, or that a maintenance window has: it looks free, and is not.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable

from ironic_reservations.engine import snapshots
from ironic_reservations.planner import bookings
from ironic_reservations.planner import covered
from ironic_reservations.planner import standing


def of_host(snapshot: snapshots.Snapshot, number: int,
            without: Collection[str], taken: Iterable[tuple[int, int]]
            ) -> list[bookings.Booking]:
    """Return bookings of what others have of a host beside what is taken.

    NOTE: hosts that instances share are drawn as they are promised.

    :param without: whose promises do not count, by what the planner calls
        them.
    :param taken: from when until when nobody gets in there anyway.
    """
    here = snapshot.standing(number)
    if here.host.node.compute:
        return []
    there = covered.Covered(taken)
    parts = [part for window in standing.windows(here, snapshot.now, without)
             for part in there.add(window)]
    return [bookings.Booking(f'guard/{number}/{place}', *part, number,
                             1 << number, False)
            for place, part in enumerate(parts)]
