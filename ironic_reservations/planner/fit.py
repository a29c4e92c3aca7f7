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

"""Room on the plan as it stands: nobody moves."""

from __future__ import annotations

import bisect

from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import timeline

#: Before every instant that is used.
_NEVER = -(1 << 80)


def fit(draft: timeline.Draft, demand: bookings.Demand,
        count: int) -> list[int]:
    """Find up to ``count`` nodes that are free over a demand's window.

    Of the free ones, those that are preferred come first, then those that
    stood idle for the shortest time: long gaps are kept for long leases.
    """
    start, until, preferred = demand.start, demand.until, demand.preferred
    free: list[tuple[bool, int, int]] = []
    all_starts, all_untils = draft.starts, draft.untils
    find = bisect.bisect_left
    for node in fleet.members(demand.eligible):
        place = find(all_starts[node], until)
        since = all_untils[node][place - 1] if place else _NEVER
        if since <= start:
            free.append((not preferred >> node & 1, -since, node))
    free.sort()
    return [node for _, _, node in free[:count]]
