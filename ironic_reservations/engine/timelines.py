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

"""The timeline as this process knows it: read once, then what changed.

Each change of a node's bookings or facts raises a number of its row, so that
one sum over the rows tells whether anything changed, and sums over parts of
them tell where.  What is read is read in one snapshot of the database.  A
commit names the generations of all nodes that it touches, so that a plan
made on what has been outrun is never carried out.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import heapq
import threading

from oslo_config import cfg
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import passages as db_passages
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.planner import fleet
from ironic_reservations.planner import instance_reservations
from ironic_reservations.planner import instance_standing
from ironic_reservations.planner import instants
from ironic_reservations.planner import leases
from ironic_reservations.planner import requirements
from ironic_reservations.planner import standing
from ironic_reservations.planner import timeline
from ironic_reservations.planner.placement import inventories
from ironic_reservations.planner.pool import pool
from ironic_reservations.planner.pool import shares

#: More nodes than this are read by reading all of them.
_FEW = 500
#: So many sets of hosts are kept for requirements that nobody books by.
_SETS = 1000
#: How long, in seconds, those are waited for who read it already.
_PATIENCE = 10


#: A booking that is not where it can be, and what it asks of its host.
Displaced = tuple[leases.NodeBooking, requirements.Requirement]


@dataclasses.dataclass(frozen=True)
class Horizon:
    """All hosts and what they are promised to, at one moment.

    :ivar standings: one for each host; its place is the planner's number,
        ``None`` where a host has been removed.
    :ivar ready: the set of hosts that can be used at once.
    :ivar usable: the set of hosts that can serve something new.
    """

    now: datetime.datetime
    fleet: fleet.Fleet
    standings: tuple[standing.Standing | None, ...]
    pool: pool.Pool
    ready: int
    usable: int
    _sets: Mapping[requirements.Requirement, int]

    @property
    def timeline(self) -> timeline.Timeline:
        """Give when which host is had by anybody at all."""
        return self.pool.timeline

    def eligible(self, wanted: requirements.Requirement) -> int:
        """Give the set of hosts that meet a requirement."""
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
            known = {row.id for row, _ in there}
            found.extend(there)
            found.extend(
                (row, wanted) for row, wanted in here.promised
                if row.id not in known and not row.begun
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
        """Give a host by its number.

        :raises KeyError: it has been removed.
        """
        found = self.standings[number]
        if found is None:
            raise KeyError(number)
        return found

    def generation(self, number: int) -> tuple[str, int]:
        """Give the uuid of a host's node, and its generation."""
        node = self.standing(number).host.node
        return node.uuid, node.generation


class Timelines:
    """Keeps the timeline between requests.

    :param conf: [leases] cleaning_time.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._sums: dict[int, tuple[int, int, int]] = {}
        self._versions: dict[str, tuple[int, int, int]] = {}
        self._numbers: dict[str, int] = {}
        self._uuids: list[str] = []
        self._standings: list[standing.Standing | None] = []
        self._known: list[requirements.Described | None] = []
        self._sets: dict[requirements.Requirement, int] = {}
        self._draft = pool.Draft.empty([])
        self._ready = self._usable = 0
        self._turns: list[tuple[int, int]] = []
        self._due: dict[int, int] = {}
        self._busy: set[str] = set()
        self._gone = 0

    def look(self, database: db_connection.Database, now: datetime.datetime,
             wanted: Iterable[requirements.Requirement] = ()) -> Horizon:
        """Read what changed, and give everything.

        :param wanted: requirements that the caller will ask about.
        :raises DatabaseUnavailable: nothing can be read.
        :raises Conflict: another transaction was in the way.
        :raises Contention: others read it, and take too long.
        """
        # NOTE: whoever has it asks the database, which may not answer.
        if not self._lock.acquire(timeout=_PATIENCE):
            raise errors.Contention(
                'Too many requests wait for the timeline to be read, which '
                'takes the database long. Nothing was changed; try again.')
        try:
            with database.snapshot() as connection:
                changed, read = self._read(connection, now)
            self._apply(changed, read, now, wanted)
            return Horizon(now, fleet.Fleet(tuple(self._uuids)),
                           tuple(self._standings), self._draft.pool(),
                           self._ready, self._usable, dict(self._sets))
        except BaseException:
            # NOTE: half of a change must not pass for the whole.
            self._forget()
            raise
        finally:
            self._lock.release()

    def _read(self, connection: sa.Connection, now: datetime.datetime
              ) -> tuple[set[str], dict[str, standing.Standing]]:
        sums = db_nodes.read_sums(connection)
        buckets = [bucket for bucket in {*sums, *self._sums}
                   if sums.get(bucket) != self._sums.get(bucket)]
        changed = set(self._busy)
        if buckets:
            everything = not self._versions or len(buckets) > _FEW
            versions = db_nodes.read_versions(
                connection, None if everything else buckets)
            there = set(buckets)
            changed.update(
                uuid for uuid, version in self._versions.items()
                if version[0] in there and uuid not in versions)
            changed.update(
                uuid for uuid, version in versions.items()
                if self._versions.get(uuid) != version)
            for uuid in changed:
                if uuid in versions:
                    self._versions[uuid] = versions[uuid]
                elif uuid not in self._busy:
                    del self._versions[uuid]
        self._sums = sums
        if not changed:
            return changed, {}
        return changed, _standings(
            connection, now, changed if len(changed) <= _FEW else None)

    def _apply(self, changed: Collection[str],
               read: Mapping[str, standing.Standing],
               now: datetime.datetime,
               wanted: Iterable[requirements.Requirement]) -> None:
        numbers: set[int] = set()
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
            rebuilt |= self._place(number, here)
            numbers.add(number)
        for requirement in wanted:
            self._set(requirement)
        instant = instants.instant(now)
        while self._turns and self._turns[0][0] <= instant:
            turn, number = heapq.heappop(self._turns)
            if self._due.get(number) == turn:
                del self._due[number]
                numbers.add(number)
        margin = self._conf.leases.cleaning_time * instants.SECOND
        for number in (range(len(self._uuids)) if rebuilt else numbers):
            self._draw(number, now, margin)
        if len(self._sets) > _SETS:
            used = {requirement for each in self._standings if each
                    for _, requirement in each.promised}
            self._sets = {key: value for key, value in self._sets.items()
                          if key in used or key in set(wanted)}

    def _append(self, uuid: str) -> int:
        number = len(self._uuids)
        self._numbers[uuid] = number
        self._uuids.append(uuid)
        self._standings.append(None)
        self._known.append(None)
        self._draft.append(None)
        return number

    def _place(self, number: int, here: standing.Standing | None) -> bool:
        """Take in what stands on a host; tells whether a set changed."""
        bit = 1 << number
        self._standings[number] = here
        self._ready &= ~bit
        self._usable &= ~bit
        known: requirements.Described | None = None
        if here is not None:
            known = requirements.describe(here.host)
            self._ready |= bit if here.ready() else 0
            self._usable |= bit if here.unfit() is None else 0
        if known == self._known[number]:
            return False
        self._known[number] = known
        self._draft.resize(number, _capacity(known))
        changed = False
        for requirement, members in self._sets.items():
            meets = known is not None and requirement.met_by(known)
            if meets != bool(members & bit):
                self._sets[requirement] = members ^ bit
                changed = True
        return changed

    def _set(self, requirement: requirements.Requirement) -> int:
        if requirement not in self._sets:
            self._sets[requirement] = fleet.mask(
                number for number, known in enumerate(self._known)
                if known is not None and requirement.met_by(known))
        return self._sets[requirement]

    def _draw(self, number: int, now: datetime.datetime,
              margin: int) -> None:
        here = self._standings[number]
        if here is None:
            # NOTE: nobody's, and never eligible again.
            self._draft.write(number, [])
            return
        for _, requirement in here.promised:
            self._set(requirement)
        self._draft.draw(number, instance_standing.draw(
            here, number, now, margin, self._set))
        turn = standing.turn(here, now)
        if turn is not None and turn < self._due.get(number, turn + 1):
            self._due[number] = turn
            heapq.heappush(self._turns, (turn, number))


def _standings(connection: sa.Connection, now: datetime.datetime,
               uuids: Collection[str] | None
               ) -> dict[str, standing.Standing]:
    hosts = {row.node_uuid: row for row in
             db_hosts.read(connection, node_uuids=uuids)}
    if not hosts:
        return {}
    nodes = db_nodes.read_nodes(connection, uuids)
    promised: dict[str, list[tuple[leases.NodeBooking,
                                   requirements.Requirement]]] = {}
    asked: dict[str, dict[
        str, instance_reservations.InstanceReservation]] = {}
    for booking, (hypervisor, resource, each) in db_bookings.read_with_wants(
            connection, uuids):
        if each is not None:
            asked.setdefault(booking.node_uuid, {})[
                booking.reservation_id] = each
        promised.setdefault(booking.node_uuid, []).append(
            (booking, requirements.parse(
                hypervisor, resource, None if each is None else each.need)))
    held = db_reservations.read_of_nodes(connection, uuids)
    busy = db_passages.read_busy(connection, uuids)
    return {uuid: standing.Standing(
        row.with_node(nodes[uuid]), tuple(promised.get(uuid, ())),
        held[uuid] if uuid in held and held[uuid].live(now) else None,
        uuid in busy, asked.get(uuid, {})) for uuid, row in hosts.items()}


def _capacity(known: requirements.Described | None
              ) -> shares.Capacity | None:
    """Give what a host has for instances that share it, if they can."""
    if known is None or not known.compute:
        return None
    return inventories.capacities(known.inventories)

