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

"""A demand during planning, and the bookings that serve it so far."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import timeline

#: The bookings of groups with affinity, by group.
Groups = Mapping[str, Sequence[bookings.Booking]]


@dataclasses.dataclass(slots=True)
class Served:
    """A demand, and the number of hosts or shares that it has so far.

    :ivar template: a unit of it without a host; the others are like it.
    :ivar whole: whether it takes the whole of any host that it gets.
    """

    demand: bookings.Demand
    template: placement_units.Unit
    whole: bool
    count: int = 0

    @property
    def unit_size(self) -> int:
        """The number of hosts or shares that a unit counts for."""
        return len(self.template.parts)

    def ids(self) -> frozenset[str]:
        """Return the ids of the bookings that serve the demand so far."""
        first = self.demand.first
        return frozenset(f'{self.demand.id}/{count}' for count in range(
            first, first + self.count))

    def unit(self) -> placement_units.Unit:
        """Return the next unit, without a host."""
        if self.unit_size > 1:
            return self.template
        return dataclasses.replace(self.template, parts=(
            self.demand.booking(self.count, -1),))

    def take(self, draft: timeline.Draft,
             places: Sequence[tuple[int, int]]) -> None:
        """Place units, given as pairs of a host and a number of units."""
        made = []
        for node, count in places:
            for _ in range(count * self.unit_size):
                made.append(self.demand.booking(self.count, node))
                self.count += 1
        draft.put(made)


def of(draft: timeline.Draft, demand: bookings.Demand,
       siblings: Sequence[bookings.Booking]) -> Served:
    """Return a demand that has no bookings yet.

    :param siblings: bookings that have to be on the same host.
    """
    template = _template(draft, demand)
    if siblings:
        template = dataclasses.replace(
            template, eligible=template.eligible & host_sets.mask(
                {each.node for each in siblings}))
    whole = template.amounts is None or (
        not siblings and len(template.parts) == 1
        and not template.eligible & draft.compute)
    return Served(demand, template, whole)


def hardest(served: Served) -> tuple[int, int]:
    """Return the sort key that puts demands with the fewest hosts first."""
    demand = served.demand
    if demand.amounts is None:
        return 0, 0
    if demand.affinity is True:
        return 1, -demand.most
    return (2 if demand.affinity is False else 3), 0


def shares_first(served: Served) -> bool:
    """Return the sort key by which demands for whole hosts come last."""
    return served.demand.amounts is None


def groups(now: timeline.Timeline,
           demands: Sequence[bookings.Demand]) -> Groups:
    """Return the groups with affinity.

    A node of Ironic has at most one booking of a group. So groups on nodes
    matter only for a demand that adds bookings to them.
    """
    nodes = (range(now.nodes) if any(each.affinity for each in demands)
             else host_sets.members(now.compute))
    found: dict[str, list[bookings.Booking]] = {}
    for node in nodes:
        for each in now.rows[node]:
            if each.affinity is True:
                found.setdefault(each.group, []).append(each)
    return found


def pinned(there: Groups,
           demands: Sequence[bookings.Demand]) -> frozenset[str]:
    """Return the groups that stay where they are."""
    grown = {demand.family for demand in demands}
    return frozenset(
        group for group, row in there.items() if group in grown
        or not all(each.movable for each in row))


def _template(draft: timeline.Draft,
              demand: bookings.Demand) -> placement_units.Unit:
    """Return one unit of a demand, without a host."""
    count = 1
    if demand.affinity is True:
        # Limited to one more than any host can have, which is as
        # impossible as any larger number.
        count = min(demand.most, 1 + max(1, _most_together(draft, demand)))
    return placement_units.unit([demand.booking(number, -1)
                       for number in range(count)], draft)


def _most_together(draft: timeline.Draft, demand: bookings.Demand) -> int:
    """Return the maximum number of shares that one host can have."""
    return max(
        (min((draft.capacities[node] or {}).get(name, 0) // amount
             for name, amount in demand.amounts or ())
         for node in host_sets.members(demand.eligible & draft.compute)),
        default=0)
