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

"""Explains a refusal: the shortage of each host, and bookings in the way."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import heapq
import operator

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import plans
from ironic_reservations.planner import served as served_module
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline


def refusal(draft: timeline.Draft, served: served_module.Served,
            lacking: plans.Lacking, explained: bool = True) -> plans.Refusal:
    """Return the refusal of a demand.

    :param draft: including the bookings that serve it so far.
    :param explained: whether to name hosts and blockers.
    """
    cause, at = lacking.cause, lacking.at
    short = (served.demand.least - served.count if lacking.short is None
             else lacking.short)
    if not explained:
        return plans.Refusal(cause, served.demand, short, at)
    own = served.ids()
    rest = draft.copy()
    rest.put((), [each for node in host_sets.members(served.template.eligible)
                  for each in rest.rows[node] if each.id in own]
             if own else ())
    hosts, blockers = explain(rest, served.template)
    if lacking.holders:
        blockers = _first(each for each in lacking.holders
                          if each.id not in own)
    if cause is plans.Cause.SHORTAGE and at is None:
        at = min((host.spells[0].start for host in hosts),
                 default=served.template.start)
    if served.unit_size > 1:
        short -= max((host.room for host in hosts), default=0)
    return plans.Refusal(cause, served.demand, short, at, hosts, blockers)


def _first(there: Iterable[bookings.Booking]) -> tuple[bookings.Booking, ...]:
    return tuple(heapq.nsmallest(
        plans.MOST_HOSTS, there,
        key=operator.attrgetter('start', 'end', 'id')))


def explain(draft: timeline.Draft, template: placement_units.Unit
            ) -> tuple[tuple[plans.HostShortage, ...],
                       tuple[bookings.Booking, ...]]:
    """Return the shortage of each eligible host, and bookings in the way.

    :param draft: without the bookings that serve the demand so far.
    """
    found: list[plans.HostShortage] = []
    blockers: dict[str, bookings.Booking] = {}
    for node in host_sets.members(template.eligible):
        capacity = draft.capacities[node]
        until = template.released_at(capacity is not None)
        near = draft.between(node, template.start, until)
        there = placement_units.room(draft, node, near, template)
        spells = _spells(draft, node, near, template, there)
        if not spells:
            continue
        if len(template.parts) > 1:
            one = placement_units.unit(template.parts[:1], draft)
            there = placement_units.room(draft, node, near, one)
        found.append(plans.HostShortage(node, there, spells))
        for each in near:
            if _in_the_way(each, spells):
                blockers[each.id] = each
        if template.amounts is None and len(found) == plans.MOST_HOSTS:
            # None of these hosts has room for one.
            break
    found.sort(key=lambda each: (-each.room, each.node))
    return tuple(found[:plans.MOST_HOSTS]), _first(blockers.values())


def _spells(draft: timeline.Draft, node: int,
            near: Sequence[bookings.Booking], template: placement_units.Unit,
            there: int) -> tuple[shares.Spell, ...]:
    capacity = draft.capacities[node]
    if capacity is not None and template.amounts is not None:
        if template.apart and there:
            return ()
        whole = [each for each in near if each.amounts is None
                 or (template.apart and each.group == template.apart)]
        if not whole:
            return shares.spells(
                capacity, near, shares.times(template.amounts, there + 1),
                template.start, template.end)
        near = whole
    # Bookings of whole hosts need no amounts: a host has room for one.
    until = template.released_at(capacity is not None)
    return tuple(shares.Spell(max(start, template.start), min(end, until))
                 for start, end in shares.runs(
                     (each.start, draft.until(each, node)) for each in near))


def _in_the_way(each: bookings.Booking,
                spells: Sequence[shares.Spell]) -> bool:
    for spell in spells:
        if each.start < spell.end and spell.start < each.end + each.margin:
            if spell.resource_class is None or each.amounts is None:
                return True
            if any(name == spell.resource_class for name, _ in each.amounts):
                return True
    return False
