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

"""What a process knows of all hosts: one immutable value.

A snapshot is as it was at one moment of the database, and after it what this
process has committed itself.  :mod:`.cache` keeps one from one request to the
next.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import hashlib

from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import fleet
from ironic_reservations.planner import instance_standing
from ironic_reservations.planner import loans as loans_module
from ironic_reservations.planner import standing
from ironic_reservations.planner import timeline

#: A booking, what it asks of its host, and of a share of one.
Promised = tuple[leases.NodeBooking, requirements.Requirement,
                 instance_reservations.InstanceReservation | None]

#: A booking that is not where it can be, and what it asks of its host.
Displaced = tuple[leases.NodeBooking, requirements.Requirement]


@dataclasses.dataclass(frozen=True)
class State:
    """What tells whether two snapshots differ, in whichever processes.

    :ivar sums: of generations and revisions: different where a node or its
        bookings are.
    :ivar busy: the nodes for which guarded requests are under way.
    :ivar turn: when the next booking is drawn in another way, if nothing
        changes; ``None`` for never.
    :ivar margin: for cleaning, as it is configured.
    :ivar uneven: unlike any other, where some bookings may have been drawn as
        they stand later than the snapshot is; else empty.
    """

    sums: Mapping[int, tuple[int, int, int]] = dataclasses.field(
        default_factory=dict)
    busy: frozenset[str] = frozenset()
    turn: int | None = None
    margin: int = 0
    uneven: str = ''

    def digest(self) -> str:
        """Return a text that is another one for each other state."""
        return hashlib.sha256(repr((
            sorted(self.sums.items()), sorted(self.busy), self.turn,
            self.margin, self.uneven)).encode()).hexdigest()


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """All hosts and what they are promised to, at one moment.

    :ivar standings: one for each host; its place is the planner's number,
        ``None`` where a host has been removed.
    :ivar ready: the set of hosts that can be used at once.
    :ivar usable: the set of hosts that can serve something new.
    :ivar compared: whether all that was committed before is in it for sure.
    :ivar state: tells snapshots apart that differ.
    :ivar loans: which hosts their owners lend.
    """

    now: datetime.datetime
    fleet: fleet.Fleet
    standings: tuple[standing.Standing | None, ...]
    timeline: timeline.Timeline
    ready: int
    usable: int
    _sets: Mapping[requirements.Requirement, int]
    compared: bool = True
    state: State = dataclasses.field(default=State(), repr=False)
    loans: loans_module.Loans = loans_module.NONE

    def eligible(self, wanted: requirements.Requirement) -> int:
        """Return the set of hosts that meet a requirement."""
        return self._sets[wanted]

    def suits(self, number: int, wanted: requirements.Requirement) -> bool:
        """Check whether a host is, or will be, what a booking asks for."""
        return bool(self._sets[wanted] >> number & 1) or (
            requirements.suits(wanted, self.standing(number).host))

    def displaced(self) -> list[Displaced]:
        """Return what is planned on hosts and cannot start there.

        That is on hosts that can serve nothing new, that have no room for
        it, or that are not what it asks for any more.
        """
        found: list[Displaced] = []
        for number, here in enumerate(self.standings):
            if here is None or not here.promised:
                continue
            there = instance_standing.stranded(here, self.now)
            known = {row.uuid for row, _ in there}
            found.extend(there)
            found.extend(
                (row, wanted) for row, wanted in here.promised
                if row.uuid not in known and not row.begun
                and row.ends_at > self.now and not self.suits(number, wanted))
        return found

    def lacking(self) -> list[Displaced]:
        """Return what has started and does not have what it should.

        That is on hosts that are broken, that are not what it asks for any
        more, or that have got too small for it.
        """
        found: list[Displaced] = []
        for number, here in enumerate(self.standings):
            if here is None or not here.promised:
                continue
            found.extend(instance_standing.crowded(here, self.now))
            found.extend(
                (row, wanted) for row, wanted in here.promised
                if row.state is leases.BookingState.BOUND
                and (here.broken() is not None
                     or not self.suits(number, wanted)))
        return found

    def standing(self, number: int) -> standing.Standing:
        """Return a host by its number.

        :raises KeyError: it has been removed.
        """
        found = self.standings[number]
        if found is None:
            raise KeyError(number)
        return found

    def generation(self, number: int) -> tuple[str, int]:
        """Return the uuid of a host's node, and its generation."""
        node = self.standing(number).host.node
        return node.uuid, node.generation

    def owners(self, numbers: Iterable[int]) -> dict[str, str | None]:
        """Return of which project nodes are, where that matters."""
        if not self.loans.matter:
            return {}
        nodes = (self.standing(number).host.node for number in numbers)
        return {node.uuid: node.owner or None for node in nodes}


def promised(lease: leases.Lease, rows: Iterable[leases.NodeBooking]
             ) -> list[Promised]:
    """Return bookings of a lease with what it asks of their hosts."""
    asked = {each.id: each for each in lease.reservations}
    return [(row, requirements.parse(
        asked[row.reservation_id].hypervisor_properties,
        asked[row.reservation_id].resource_properties,
        None if (instances := asked[row.reservation_id].instances) is None
        else instances.need), instances) for row in rows]
