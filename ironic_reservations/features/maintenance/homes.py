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

from ironic_reservations.engine import difference as difference_module
from ironic_reservations.engine import Engine
from ironic_reservations.engine import snapshots
from ironic_reservations.features.open_dates import slides as lease_slides
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.planner import bookings
from ironic_reservations.planner import displace
from ironic_reservations.planner import host_states

_Unit = Sequence[leases.NodeBooking]


@dataclasses.dataclass(frozen=True)
class Homes:
    """The new hosts of the bookings on the nodes of a window.

    :ivar difference: the bookings that get other nodes.
    :ivar slid: the leases whose dates change.
    :ivar stays: the bookings without another node or date.
    """

    difference: difference_module.Difference
    slid: Sequence[lease_slides.Change]
    stays: Sequence[leases.NodeBooking]


def find(engine: Engine, snapshot: snapshots.Snapshot,
         windows: Mapping[int, tuple[datetime.datetime, datetime.datetime]],
         units: Mapping[bookings.Demand, _Unit],
         others: lease_slides.Others | None = None) -> Homes:
    """Find other nodes for bookings, or other dates for their leases.

    :param windows: start and end, by the number of the node.
    :param units: the bookings in the windows that have not started, grouped by
        the demand for one host.
    :param others: the leases that may get other dates if there are not enough
        nodes.
    :raises Conflict: a lease has changed since it was read.
    """
    search = _Search(engine, snapshot, windows, units)
    cleared = displace.clear_windows(
        snapshot.timeline, search.windows, search.names)
    if not cleared.homeless or others is None or not others.leases:
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

    def __init__(self, engine: Engine, snapshot: snapshots.Snapshot,
                 windows: Mapping[int, tuple[datetime.datetime,
                                             datetime.datetime]],
                 units: Mapping[bookings.Demand, _Unit]) -> None:
        self._engine = engine
        self._snapshot = snapshot
        self._units = units
        self._first = min((start for start, _ in windows.values()),
                          default=snapshot.now)
        self._until = max((end for _, end in windows.values()),
                          default=snapshot.now)
        self.windows = {number: (instants.instant(start),
                                 instants.instant(end))
                        for number, (start, end) in windows.items()}
        self.names = {demand: [host_states.name(row) for row in unit]
                      for demand, unit in units.items()}

    def slide(self, others: lease_slides.Others,
              given_up: Set[bookings.Demand]) -> lease_slides.Slide | None:
        """Plan all bookings, with other dates for some leases."""
        leaving = [each for each in self._units if each not in given_up]
        room = lease_slides.find_room(
            self._engine, self._snapshot, displace.vacated(
                self._snapshot.timeline, self.windows,
                self._named(leaving), self._named(given_up)), leaving,
            lease_slides.SlideRequest(
                None, limits.NONE, self._first, self._until, None,
                lambda start: [], lambda project, start: True,
                leaving={each: self._units[each][0].reservation_id
                         for each in leaving}), others)
        return room if isinstance(room, lease_slides.Slide) else None

    def _named(self, demands: Sequence[bookings.Demand]
               | Set[bookings.Demand]) -> set[str]:
        return set(itertools.chain.from_iterable(
            self.names[each] for each in demands))

    def found(self, plan: displace.Cleared | lease_slides.Slide) -> Homes:
        """Return the changes of a plan."""
        changes: Sequence[lease_slides.Change] = ()
        if isinstance(plan, lease_slides.Slide):
            changes, after = plan.changes, plan.plan.timeline
        else:
            after = plan.timeline
        difference = difference_module.compare(
            self._snapshot, after, lease_slides.names(changes),
            {f'{demand.id}/{count}': row
             for demand, unit in self._units.items()
             for count, row in enumerate(unit)})
        gone = {*difference.homes, *lease_slides.removed(changes)}
        return Homes(difference, changes, [
            row for unit in self._units.values() for row in unit
            if row not in gone])
