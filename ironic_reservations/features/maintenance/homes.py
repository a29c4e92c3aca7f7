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

"""Find other nodes, or other dates, for bookings on the nodes of a window."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
import dataclasses
import datetime
import itertools

from ironic_reservations.engine import change
from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import ladder
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.planner import bookings
from ironic_reservations.planner import displace
from ironic_reservations.planner import host_states

_Unit = Sequence[leases.NodeBooking]


@dataclasses.dataclass(frozen=True)
class Homes:
    """The new hosts of the bookings on the nodes of a window.

    :ivar difference: the bookings that get other nodes.
    :ivar slid: the leases whose dates change.
    :ivar stays: the bookings for which no other node or date was found.
    """

    difference: difference_module.Difference
    slid: Sequence[change.Write[leases.Lease]]
    stays: Sequence[leases.NodeBooking]


def find(snapshot: snapshots.Snapshot,
         windows: Mapping[int, tuple[datetime.datetime, datetime.datetime]],
         units: Mapping[bookings.Demand, _Unit],
         others: ladder.Others | None = None) -> Homes:
    """Find other nodes for bookings, or other dates for their leases.

    :param windows: start and end, by the number of the node.
    :param units: the bookings in the windows that have not started, grouped by
        the demand for one host.
    :param others: the leases that may get other dates if there are not enough
        nodes.
    :raises Conflict: a lease has changed since it was read.
    """
    search = _Search(snapshot, windows, units)
    cleared = displace.clear_windows(
        snapshot.timeline, search.windows, search.names)
    if not cleared.homeless or others is None:
        return search.found(cleared)
    homeless = [each for each in units if each.id in cleared.homeless]
    room = search.slide(others, frozenset())
    if room is not None:
        return search.found(room)
    # Without the bookings that cannot move, there may be a plan for the rest.
    given_up = frozenset(homeless)
    for each in homeless:
        more = search.slide(others, given_up - {each})
        if more is not None:
            room, given_up = more, given_up - {each}
    return search.found(cleared if room is None else room)


class _Search:

    def __init__(self, snapshot: snapshots.Snapshot,
                 windows: Mapping[int, tuple[datetime.datetime,
                                             datetime.datetime]],
                 units: Mapping[bookings.Demand, _Unit]) -> None:
        self._snapshot = snapshot
        self._units = units
        self.windows = {number: (instants.instant(start),
                                 instants.instant(end))
                        for number, (start, end) in windows.items()}
        self.names = {demand: [host_states.name(row) for row in unit]
                      for demand, unit in units.items()}

    def slide(self, others: ladder.Others,
              given_up: Set[bookings.Demand]) -> ladder.Room | None:
        """Plan all bookings, with other dates for some leases."""
        leaving = [each for each in self._units if each not in given_up]
        room = others.find_room(
            self._snapshot, displace.vacated(
                self._snapshot.timeline, self.windows,
                self._named(leaving), self._named(given_up)), leaving,
            None, {each: self._units[each][0].reservation_id
                   for each in leaving})
        return room if isinstance(room, ladder.Room) else None

    def _named(self, demands: Sequence[bookings.Demand]
               | Set[bookings.Demand]) -> set[str]:
        return set(itertools.chain.from_iterable(
            self.names[each] for each in demands))

    def found(self, plan: displace.Cleared | ladder.Room) -> Homes:
        """Return the changes of a plan."""
        slid: Sequence[change.Write[leases.Lease]] = ()
        if isinstance(plan, ladder.Room):
            slid, after = plan.writes, plan.plan.timeline
        else:
            after = plan.timeline
        difference = difference_module.compare(
            self._snapshot, after, ladder.names(slid),
            {f'{demand.id}/{count}': row
             for demand, unit in self._units.items()
             for count, row in enumerate(unit)})
        gone = {*difference.homes, *ladder.replaced(slid)}
        return Homes(difference, slid, [
            row for unit in self._units.values() for row in unit
            if row not in gone])
