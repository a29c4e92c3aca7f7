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

"""The hosts from which snapshots are made, updated one by one."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import heapq
import uuid as uuid_module

from oslo_config import cfg

from ironic_reservations.engine import feature
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.snapshots import node_versions
from ironic_reservations.model import instants
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import host_states
from ironic_reservations.planner import instance_host_states
from ironic_reservations.planner import loans
from ironic_reservations.planner import shares
from ironic_reservations.planner import timeline

#: So many sets of hosts are kept for requirements without bookings.
_SETS = 1000
#: Bookings whose row ids are not known here get numbers above this one, beyond
#: all row ids.
_LAST = 1 << 62


class WorkingCopy:
    """All hosts and their promises, until a change.

    :param conf: [leases] cleaning_time.
    :param limits: of a feature, without hosts yet; ``None``: there are none.
    :ivar drawn: the number of bookings that have been drawn.
    """

    def __init__(self, conf: cfg.ConfigOpts,
                 limits: feature.HostLimits | None = None) -> None:
        self._conf = conf
        self.drawn = 0
        self._numbers: dict[str, int] = {}
        self._uuids: list[str] = []
        self._states: list[host_states.HostState | None] = []
        self._known: list[requirements.Described | None] = []
        self._rows: list[host_states.DrawnRows] = []
        self._sets: dict[requirements.Requirement, int] = {}
        self._limits = limits
        self._draft = timeline.Draft.empty([])
        self._ready = self._usable = 0
        self._boundaries: list[tuple[int, int]] = []
        self._due: dict[int, int] = {}
        #: The hosts that have changed since they were drawn, or are due. Each
        #: is drawn when a snapshot is taken, however often it has changed.
        self._undrawn: set[int] = set()
        #: The latest instant as of which anything was drawn.
        self._latest = 0
        self._busy: set[str] = set()
        self._made = 0
        self._host_set: host_sets.HostSet | None = None
        self._drawn: timeline.Timeline | None = None
        self._seen: tuple[host_states.HostState | None, ...] | None = None

    def busy(self) -> set[str]:
        """Return the nodes for which guarded requests are under way."""
        return set(self._busy)

    def states(self, uuids: Iterable[str]
               ) -> dict[str, host_states.HostState]:
        """Return the known hosts by the uuids of their nodes."""
        return {uuid: here for uuid in uuids if uuid in self._numbers
                and (here := self._states[self._numbers[uuid]])}

    def commit(self, generations: Mapping[str, int],
               removed: Iterable[leases.NodeBooking],
               added: Iterable[snapshots.Promised],
               homes: Mapping[leases.NodeBooking, str]) -> bool:
        """Add a commit, and return whether all its nodes and rows are known.

        Otherwise nothing is added.

        :param generations: the new generations of nodes.
        """
        uuids = generations.keys()
        there = self.states(uuids)
        gone = {booking.uuid: booking.node_uuid
                for booking in (*removed, *homes)}
        new: dict[str, list[snapshots.Promised]] = {}
        for each in added:
            new.setdefault(each[0].node_uuid, []).append(each)
        if there.keys() != uuids or not uuids >= {
                *gone.values(), *new, *homes.values()}:
            return False
        for booking, home in homes.items():
            found = _promised(there[booking.node_uuid], booking)
            if found is None:
                return False
            new.setdefault(home, []).append((
                dataclasses.replace(booking, node_uuid=home), *found[1:]))
        left: dict[str, set[str]] = {}
        for ident, node_uuid in gone.items():
            left.setdefault(node_uuid, set()).add(ident)
        staying = {uuid: [each for each in there[uuid].promised
                          if each[0].uuid not in idents]
                   for uuid, idents in left.items()}
        if any(len(there[uuid].promised) - len(staying[uuid]) != len(idents)
               for uuid, idents in left.items()):
            return False
        after = {uuid: self._changed(here, staying.get(uuid, here.promised),
                                     new.get(uuid, ()), generations[uuid])
                 for uuid, here in there.items()}
        for uuid, here in after.items():
            number = self._numbers[uuid]
            self._states[number], self._seen = here, None
            if here.promised_now != there[uuid].promised_now:
                # Nothing else that a commit changes has to do with it.
                self._note_use(number, here)
            self._undrawn.add(number)
        return True

    def put(self, changed: Iterable[str],
            read: Mapping[str, host_states.HostState]) -> None:
        """Replace hosts by the ones that have been read.

        :param changed: uuids of nodes; a node that was not read is gone.
        """
        rebuilt = False
        for uuid in changed:
            here = read.get(uuid)
            if here is not None and here.busy:
                self._busy.add(uuid)
            else:
                self._busy.discard(uuid)
            number = self._numbers.get(uuid)
            if number is None:
                if here is None:
                    continue
                number = self._append(uuid)
            rebuilt |= self._place(
                number, here,
                None if here is None else requirements.describe(here.host))
            self._undrawn.add(number)
        if rebuilt:
            self._undrawn.update(range(len(self._uuids)))

    def draw(self, now: datetime.datetime, most: int | None = None) -> bool:
        """Draw the hosts that have changed or are due.

        :param most: the maximum number of bookings; ``None``: all of them.
        :returns: whether there are more.
        """
        margin: int = self._conf.leases.cleaning_time * instants.SECOND
        instant = instants.instant(now)
        while self._boundaries and self._boundaries[0][0] <= instant:
            boundary, number = heapq.heappop(self._boundaries)
            if self._due.get(number) == boundary:
                del self._due[number]
                self._undrawn.add(number)
        while self._undrawn:
            if most == 0:
                return True
            most = None if most is None else most - 1
            self._draw(self._undrawn.pop(), now, margin)
        return False

    def take(self, now: datetime.datetime,
             wanted: Iterable[requirements.Requirement],
             sums: node_versions.Sums, compared: bool) -> snapshots.Snapshot:
        """Return a snapshot of all hosts as they are at a time."""
        wanted = set(wanted)
        for requirement in wanted:
            self._add_set(requirement)
        self.draw(now)
        margin: int = self._conf.leases.cleaning_time * instants.SECOND
        instant = instants.instant(now)
        if len(self._sets) > _SETS:
            used = {requirement for each in self._states if each
                    for _, requirement in each.promised}
            self._sets = {key: value for key, value in self._sets.items()
                          if key in used or key in wanted}
        if self._host_set is None:
            self._host_set = host_sets.HostSet(tuple(self._uuids))
        if self._seen is None:
            self._seen = tuple(self._states)
        if self._drawn is None:
            self._drawn = self._draft.timeline()
        return snapshots.Snapshot(
            now, self._host_set, self._seen, self._drawn, self._ready,
            self._usable, dict(self._sets), compared, snapshots.State(
                sums, frozenset(self._busy), self._next_boundary(), margin,
                '' if instant >= self._latest else uuid_module.uuid4().hex),
            loans.NONE if self._limits is None
            else self._limits.loans(instant))

    def _next_boundary(self) -> int | None:
        while self._boundaries and self._due.get(
                self._boundaries[0][1]) != self._boundaries[0][0]:
            heapq.heappop(self._boundaries)
        return self._boundaries[0][0] if self._boundaries else None

    def _append(self, uuid: str) -> int:
        number = len(self._uuids)
        self._host_set = None
        self._numbers[uuid] = number
        self._uuids.append(uuid)
        self._states.append(None)
        self._known.append(None)
        self._rows.append({})
        self._draft.append(None)
        return number

    def _place(self, number: int, here: host_states.HostState | None,
               known: requirements.Described | None) -> bool:
        """Store the state and the properties of a host.

        :returns: whether bookings may now move to other hosts than before.
        """
        bit = 1 << number
        self._seen = None
        self._states[number] = here
        self._note_use(number, here)
        changed = (self._limits is not None
                   and self._limits.put(number, here))
        if known == self._known[number]:
            return changed
        self._known[number] = known
        self._drawn = None
        self._draft.resize(number, _capacity(known))
        for requirement, members in self._sets.items():
            meets = known is not None and requirement.met_by(known)
            if meets != bool(members & bit):
                self._sets[requirement] = members ^ bit
                changed = True
        return changed

    def _note_use(self, number: int,
                  here: host_states.HostState | None) -> None:
        """Store whether a host is ready, and whether it is usable."""
        bit = 1 << number
        self._ready &= ~bit
        self._usable &= ~bit
        if here is not None:
            self._ready |= bit if here.ready() else 0
            self._usable |= bit if here.unfit is None else 0

    def _add_set(self, requirement: requirements.Requirement) -> None:
        if requirement not in self._sets:
            self._sets[requirement] = host_sets.mask(
                number for number, known in enumerate(self._known)
                if known is not None and requirement.met_by(known))

    def _changed(
            self, here: host_states.HostState,
            staying: Iterable[tuple[leases.NodeBooking,
                                    requirements.Requirement]],
            new: Iterable[snapshots.Promised],
            generation: int) -> host_states.HostState:
        """Return a host with the bookings that stay and with new ones."""
        promised = list(staying)
        instances = dict(here.instances)
        for booking, wanted, asked in new:
            # It counts as made last, which it is.
            if not booking.id:
                self._made += 1
                booking = dataclasses.replace(booking, id=_LAST + self._made)
            promised.append((booking, wanted))
            if asked is not None:
                instances[booking.reservation_id] = asked
        node = here.host.node
        having = {booking.reservation_id for booking, _ in promised}
        return dataclasses.replace(
            here, promised=tuple(promised), instances={
                ident: each for ident, each in instances.items()
                if ident in having},
            host=dataclasses.replace(here.host, node=dataclasses.replace(
                node, generation=generation)))

    def _draw(self, number: int, now: datetime.datetime,
              margin: int) -> None:
        self._drawn = None
        instant = instants.instant(now)
        self._latest = max(self._latest, instant)
        here = self._states[number]
        if here is None:
            # It has no bookings, and is never eligible again.
            self._draft.write(number, [])
            return
        last = None
        for _, requirement in here.promised:
            # Mostly they require the same.
            if requirement is not last:
                last = requirement
                self._add_set(requirement)
        drawn = instance_host_states.draw(
            here, number, now, margin, self._sets.__getitem__,
            self._rows[number])
        longer: list[int] = []
        if self._limits is not None:
            drawn, longer = self._limits.narrow(here, drawn, now, margin)
        self._draft.draw(number, drawn)
        self.drawn += len(drawn)
        boundary = min((each for each in (
            host_states.next_boundary(here, now), *longer)
            if each is not None), default=None)
        if self._due.get(number, instant + 1) <= instant:
            # This was it.
            del self._due[number]
        if boundary is not None and boundary < self._due.get(
                number, boundary + 1):
            self._due[number] = boundary
            heapq.heappush(self._boundaries, (boundary, number))


def _promised(here: host_states.HostState, booking: leases.NodeBooking
              ) -> snapshots.Promised | None:
    return next(((row, wanted, here.instances.get(row.reservation_id))
                 for row, wanted in here.promised
                 if row.uuid == booking.uuid), None)


def _capacity(known: requirements.Described | None
              ) -> shares.Capacity | None:
    """Return the capacity of a host for instances, if they can share it."""
    if known is None or not known.compute:
        return None
    return inventories.capacities(known.inventories)
