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

"""Finds room on the present plan, without moving any booking."""

from __future__ import annotations

import bisect
import heapq
import itertools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import gaps
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import timeline

#: Before all hosts are examined, _GAPS gaps are tried for each wanted host,
#: and one more for each _HOSTS eligible ones.
_GAPS = 64
_HOSTS = 16
#: So few hosts are examined at once.
_FEW = 8


def fit(draft: timeline.Draft, demand: bookings.Demand,
        template: placement_units.Unit, count: int) -> list[tuple[int, int]]:
    """Find places for up to ``count`` units of a demand.

    Shares are placed on compute hosts before nodes of Ironic.

    :param template: like each of the units.
    :returns: pairs of a host and the number of units on it.
    """
    eligible = template.eligible
    places: list[tuple[int, int]] = []
    if template.amounts is not None and eligible & draft.compute:
        places = _on_shared(draft, demand, template, count)
        count -= sum(taken for _, taken in places)
        eligible &= ~draft.compute
    if count and eligible:
        places.extend((node, 1) for node in _whole(
            draft, demand, eligible, count))
    return places


def _on_shared(draft: timeline.Draft, demand: bookings.Demand,
               template: placement_units.Unit,
               count: int) -> list[tuple[int, int]]:
    """Find places for shares on compute hosts.

    Preferred hosts come first, then hosts that are shared already, so that
    others stay free for whole bookings, and then the fullest.
    """
    found = []
    for node in host_sets.members(template.eligible & draft.compute):
        room = placement_units.room(draft, node, draft.between(
            node, template.start, template.end), template)
        if room:
            found.append((not demand.preferred >> node & 1,
                          not draft.is_shared(node), room, node))
    places: list[tuple[int, int]] = []
    for _, _, room, node in sorted(found):
        taken = min(room, count)
        if not taken:
            break
        places.append((node, taken))
        count -= taken
    return places


def _whole(draft: timeline.Draft, demand: bookings.Demand, eligible: int,
           count: int) -> list[int]:
    """Return up to ``count`` hosts that are free over a demand's window.

    Preferred hosts come first, then the hosts that have been idle for the
    shortest time, so that long gaps are kept for long leases.
    """
    changed = host_sets.mask(draft.changed)
    places: list[int] = []
    for hosts in (eligible & demand.preferred, eligible & ~demand.preferred):
        left = count - len(places)
        if not left or not hosts:
            continue
        found = None if hosts.bit_count() <= _FEW else _latest(
            draft, demand, hosts & ~changed, left)
        free = (_free(draft, demand, hosts) if found is None else heapq.merge(
            found, _free(draft, demand, hosts & changed)))
        places.extend(node for _, node in itertools.islice(free, left))
    return places


def _latest(draft: timeline.Draft, demand: bookings.Demand, hosts: int,
            count: int) -> list[gaps.Gap] | None:
    """Return free hosts for a demand, without examining all hosts.

    :param hosts: the hosts whose gaps are known.
    :returns: ``None`` if there are too few among the latest gaps.
    """
    found: list[gaps.Gap] = []
    seen: set[int] = set()
    # For many hosts, it is faster to examine all of them.
    looks = min(_GAPS * count + hosts.bit_count() // _HOSTS,
                max(_GAPS, hosts.bit_count() // 2))
    for gap in itertools.islice(draft.gaps.before(demand.start), looks):
        node = gap[1]
        if hosts >> node & 1 and node not in seen:
            # Only the latest gap of a host can reach the start.
            seen.add(node)
            if draft.free(node, demand.start, demand.until):
                found.append(gap)
                if len(found) == count:
                    return found
    return None


def _free(draft: timeline.Draft, demand: bookings.Demand,
          hosts: int) -> list[gaps.Gap]:
    """Return all hosts that are free over a demand's window, in order."""
    start, until = demand.start, demand.until
    free: list[gaps.Gap] = []
    all_starts, all_untils = draft.starts, draft.untils
    find = bisect.bisect_left
    for node in host_sets.members(hosts):
        place = find(all_starts[node], until)
        since = all_untils[node][place - 1] if place else bookings.NEVER
        if since <= start:
            free.append((-since, node))
    free.sort()
    return free
