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

"""Proofs by counting that there is too little room, wherever bookings move.

Whole hosts are counted by :mod:`~ironic_reservations.planner.hall`, shares by
:mod:`~ironic_reservations.planner.bounds`.
"""

from __future__ import annotations

import bisect

from ironic_reservations.planner import bounds
from ironic_reservations.planner import budget
from ironic_reservations.planner import hall
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import plans
from ironic_reservations.planner import served as served_module
from ironic_reservations.planner import timeline
from ironic_reservations.planner import work

#: The units of work for each booking that is counted on a compute host.
_COUNT = 6


def too_few(draft: timeline.Draft, served: served_module.Served, needed: int,
            meter: work.Meter, limits: budget.Limits) -> plans.Lacking | None:
    """Return a proof that there are too few hosts for some units.

    :param served: a demand for whole hosts, for which no share can make room.
    """
    found = meter.run(
        budget.PROOF, budget.Budget(limits.proof), lambda steps:
        hall.count(draft, served.unit().parts[0], needed, steps))
    return None if found is None else plans.Lacking(
        plans.Cause.SHORTAGE, found.at, found.holders, found.short)


def shortage(draft: timeline.Draft, unit: placement_units.Unit,
             meter: work.Meter, limits: budget.Limits
             ) -> plans.Lacking | None:
    """Return a proof that there is no host for one more unit.

    :param unit: of a whole host, for which no share can make room.
    """
    found = meter.run(
        budget.PROOF, budget.Budget(limits.proof), lambda steps:
        hall.find(draft, unit.parts[0], steps))
    return None if found is None else plans.Lacking(
        plans.Cause.SHORTAGE, found.at, found.holders)


def shortage_with_shares(draft: timeline.Draft, served: served_module.Served,
                         pinned: frozenset[str], meter: work.Meter
                         ) -> plans.Lacking | None:
    """Return a proof that there is no room for one more unit.

    It also holds if shares could make room.

    :param pinned: the groups that stay where they are.
    """
    meter.pay(_COUNT * sum(
        len(draft.rows[node])
        for node in host_sets.members(served.template.eligible)))
    # Beyond the minimum, units are added one by one.
    wanted = max(served.demand.least, served.count + served.unit_size)
    size = served.unit_size
    count = wanted // size
    left = bounds.room_left(draft, served.template, count, pinned)
    if left < count:
        return plans.Lacking(plans.Cause.SHORTAGE, short=(
            count - left if size == 1 else None))
    lacking = count - served.count // size
    fullness = bounds.Fullness(draft, served.template)
    at = fullness.overfull(lacking)
    if at is None:
        return None
    # Some of the units may get a place once others move; only the units
    # that are proved to get none are counted as lacking.
    placeable = bisect.bisect_left(
        range(1, lacking), True, key=lambda more: fullness.overfull(
            more) is not None)
    return plans.Lacking(plans.Cause.SHORTAGE, at, short=(
        lacking - placeable if size == 1 else None))
