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

"""A demand while it is being planned, and what serves it so far."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import timeline
from ironic_reservations.planner import units

#: The bookings of the groups that are on one host each.
Groups = Mapping[str, Sequence[bookings.Booking]]


@dataclasses.dataclass(slots=True)
class Served:
    """A demand, and how many of its hosts or shares it has so far.

    :ivar template: a unit of it, on no host yet; the others are like it.
    :ivar whole: whether it has all of any host that it gets.
    """

    demand: bookings.Demand
    template: units.Unit
    whole: bool
    count: int = 0

    @property
    def unit_size(self) -> int:
        """Return how many hosts or shares a unit counts for."""
        return len(self.template.parts)

    def ids(self) -> frozenset[str]:
        """Return the ids of what serves the demand so far."""
        first = self.demand.first
        return frozenset(f'{self.demand.id}/{count}' for count in range(
            first, first + self.count))

    def unit(self) -> units.Unit:
        """Return the next unit, on no host yet."""
        if self.unit_size > 1:
            return self.template
        return dataclasses.replace(self.template, parts=(
            self.demand.booking(self.count, -1),))

    def take(self, draft: timeline.Draft,
             places: Sequence[tuple[int, int]]) -> None:
        """Place units: pairs of a host and how many of them it gets."""
        made = []
        for node, count in places:
            for _ in range(count * self.unit_size):
                made.append(self.demand.booking(self.count, node))
                self.count += 1
        draft.put(made)


def of(draft: timeline.Draft, demand: bookings.Demand,
       siblings: Sequence[bookings.Booking]) -> Served:
    """Return a demand of which nothing is served yet.

    :param siblings: what has to be on the same host.
    """
    template = _template(draft, demand)
    if siblings:
        template = dataclasses.replace(
            template, eligible=template.eligible & fleet.mask(
                {each.node for each in siblings}))
    whole = template.amounts is None or (
        not siblings and len(template.parts) == 1
        and not template.eligible & draft.compute)
    return Served(demand, template, whole)


def hardest(served: Served) -> tuple[int, int]:
    """Order demands: those that leave the least choice come first."""
    demand = served.demand
    if demand.amounts is None:
        return 0, 0
    if demand.affinity is True:
        return 1, -demand.most
    return (2 if demand.affinity is False else 3), 0


def shares_first(served: Served) -> bool:
    """Order demands: those for whole hosts come last."""
    return served.demand.amounts is None


def groups(now: timeline.Timeline,
           demands: Sequence[bookings.Demand]) -> Groups:
    """Return the groups that are on one host each.

    NOTE: a node of Ironic has one of a group at most, so those matter only
    to a demand that would add to them.
    """
    nodes = (range(now.nodes) if any(each.affinity for each in demands)
             else fleet.members(now.compute))
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


def _template(draft: timeline.Draft, demand: bookings.Demand) -> units.Unit:
    """Return one unit of a demand, on no host yet."""
    count = 1
    if demand.affinity is True:
        # NOTE: one more than any host has room for is as impossible as any
        # number that somebody may send.
        count = min(demand.most, 1 + max(1, _most_together(draft, demand)))
    return units.unit([demand.booking(number, -1)
                       for number in range(count)], draft)


def _most_together(draft: timeline.Draft, demand: bookings.Demand) -> int:
    """Return how many shares the largest host can have at most."""
    return max((min((draft.capacities[node] or {}).get(name, 0) // amount
                    for name, amount in demand.amounts or ())
                for node in fleet.members(demand.eligible & draft.compute)),
               default=0)
