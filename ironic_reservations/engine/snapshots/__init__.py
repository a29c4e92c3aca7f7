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

"""The snapshot of all hosts and their bookings: one immutable value.

It has the state of the database at one moment, and the later commits of this
process.  :mod:`.cache` keeps one from one request to the next.
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
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import host_states
from ironic_reservations.planner import instance_host_states
from ironic_reservations.planner import loans as loans_module
from ironic_reservations.planner import timeline

#: A booking, its requirement, and its size if it is an instance.
Promised = tuple[leases.NodeBooking, requirements.Requirement,
                 instance_reservations.InstanceReservation | None]

#: A booking that cannot be on its host, and its requirement.
Displaced = tuple[leases.NodeBooking, requirements.Requirement]


@dataclasses.dataclass(frozen=True)
class State:
    """Compares two snapshots, also those of two processes.

    :ivar sums: sums of generations and revisions, which differ if any node or
        booking does.
    :ivar busy: the nodes for which guarded requests are under way.
    :ivar boundary: the instant of the next change of the timeline by the clock
        alone; ``None``: never.
    :ivar margin: the configured time for cleaning.
    :ivar uneven: a unique text if some rows may be newer than the snapshot;
        empty otherwise.
    """

    sums: Mapping[int, tuple[int, int, int]] = dataclasses.field(
        default_factory=dict)
    busy: frozenset[str] = frozenset()
    boundary: int | None = None
    margin: int = 0
    uneven: str = ''

    def digest(self) -> str:
        """Return a text that differs for different states."""
        return hashlib.sha256(repr((
            sorted(self.sums.items()), sorted(self.busy), self.boundary,
            self.margin, self.uneven)).encode()).hexdigest()


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """All hosts and their promises at one moment.

    :ivar states: one for each host, by the planner's number; ``None`` for
        a host that has been removed.
    :ivar ready: the set of hosts that can be used at once.
    :ivar usable: the set of hosts that can serve new bookings.
    :ivar compared: whether it certainly has all earlier commits of other
        processes.
    :ivar state: differs between snapshots that differ.
    :ivar loans: the hosts that their owners lend.
    """

    now: datetime.datetime
    host_set: host_sets.HostSet
    states: tuple[host_states.HostState | None, ...]
    timeline: timeline.Timeline
    ready: int
    usable: int
    _sets: Mapping[requirements.Requirement, int]
    compared: bool = True
    state: State = dataclasses.field(default=State(), repr=False)
    loans: loans_module.Loans = loans_module.NONE

    @property
    def margin(self) -> int:
        """The time for cleaning a node, in microseconds."""
        return self.state.margin

    def eligible(self, wanted: requirements.Requirement) -> int:
        """Return the set of hosts that meet a requirement."""
        return self._sets[wanted]

    def suits(self, number: int, wanted: requirements.Requirement) -> bool:
        """Return whether a host meets a requirement, now or when usable."""
        return bool(self._sets[wanted] >> number & 1) or (
            requirements.suits(wanted, self.host_state(number).host))

    def displaced(self) -> list[Displaced]:
        """Return planned bookings that cannot start on their hosts.

        These hosts are unusable, have no room for the booking, or do not meet
        its requirement any more.
        """
        found: list[Displaced] = []
        for number, here in enumerate(self.states):
            if here is None or not here.promised:
                continue
            there = instance_host_states.stranded(here, self.now)
            found.extend(there)
            if all(self.suits(number, wanted) for wanted in here.wanted):
                continue
            known = {row.uuid for row, _ in there}
            found.extend(
                (row, wanted) for row, wanted in here.promised
                if row.uuid not in known and not row.begun
                and row.ends_at > self.now and not self.suits(number, wanted))
        return found

    def lacking(self) -> list[Displaced]:
        """Return started bookings whose hosts do not meet the promise.

        These hosts are broken, do not meet the requirement any more, have
        become too small, or have a maintenance window before the end.
        """
        found: list[Displaced] = []
        for number, here in enumerate(self.states):
            if here is None or not here.promised:
                continue
            found.extend(instance_host_states.crowded(here, self.now))
            found.extend(
                (row, wanted) for row, wanted in here.promised
                if row.state is leases.BookingState.BOUND
                and (here.broken() is not None
                     or not self.suits(number, wanted)
                     or here.interruption(row, self.now) is not None))
        return found

    def host_state(self, number: int) -> host_states.HostState:
        """Return a host by its number.

        :raises KeyError: the host has been removed.
        """
        found = self.states[number]
        if found is None:
            raise KeyError(number)
        return found

    def find(self, node_uuid: str) -> int | None:
        """Return the number of the host of a node, if it is one now."""
        try:
            number = self.host_set.number(node_uuid)
        except KeyError:
            return None
        return None if self.states[number] is None else number

    def number_of(self, row: leases.NodeBooking) -> int:
        """Return the number of the host of a booking.

        :raises KeyError: the node is not a host.
        """
        return self.host_set.number(row.node_uuid)

    def host_of(self, row: leases.NodeBooking) -> host_states.HostState:
        """Return the host of a booking.

        :raises KeyError: the node is not a host, or not any more.
        """
        return self.host_state(self.number_of(row))

    def generation(self, number: int) -> tuple[str, int]:
        """Return the uuid of a host's node, and its generation."""
        node = self.host_state(number).host.node
        return node.uuid, node.generation

    def limited(self, demand: bookings.Demand, project_id: str | None,
                kept: int = 0) -> bookings.Demand:
        """Return a demand without hosts that are not lent for so long.

        :param kept: the set of hosts that the project has until then.
        """
        return demand if self.loans is loans_module.NONE else (
            self.loans.limit(demand, project_id, kept))

    def owners(self, numbers: Iterable[int]) -> dict[str, str | None]:
        """Return the owners of nodes, if these matter."""
        if self.loans is loans_module.NONE:
            return {}
        nodes = (self.host_state(number).host.node for number in numbers)
        return {node.uuid: node.owner or None for node in nodes}


def promised(lease: leases.Lease, rows: Iterable[leases.NodeBooking]
             ) -> list[Promised]:
    """Return bookings of a lease with their requirements."""
    wanted = {each.id: (requirements.of(each), each.instances)
              for each in lease.reservations}
    return [(row, *wanted[row.reservation_id]) for row in rows]
