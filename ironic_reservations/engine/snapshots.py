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

"""What this process knows of all hosts, kept from one request to the next.

**A snapshot** is one immutable value: all hosts and what they are promised to
at one moment of the database, and after it what this process has committed
itself.  The latter is put in from memory (:meth:`SnapshotCache.commit`); what
others have committed is read.

**Comparing.** Each change of a node's bookings raises the generation of its
row, each change of what Ironic says its revision, and a number of a row is
given once.  So one sum for each 64 rows tells whether anything has changed,
and where.  Generations are what is compared, never the order in which
transactions become visible: nothing can be overtaken.  What is read is read
at one moment of the database.

**Changes.** Sums cost the database the more the more nodes there are.  So who
changes nodes writes it down (:mod:`~ironic_reservations.db.changes`), and who
does not need to know for sure reads what is newer than what is known: mostly
nothing but what this process has written itself.  Numbers are given before
the commit, and may be seen late; so those that were left out are asked for
again for a while.  What is not found so, since it was open for longer or
comes from the release before, which writes nothing down, is found by
comparing: once a second, before anything is refused, and after an attempt
that was outrun.  Changes tell that there is something to be read, and what
is read is compared; so nothing is ever known by half.

**What this process commits** names the generations that it was planned on.
It is put in if these are what the snapshot has, for all of its nodes, or else
it is left to be read as if others had made it.  Both give the same: between
the moment of the snapshot and such a commit nobody else has changed one of
these nodes, and what others have done to other nodes does not matter to them.

**No lock is held while the database is asked.** A reading takes hold of the
snapshot twice, for a moment: to tell what has to be read, and to put in what
has been.  What is committed in between is newer than what was read, and
stays.  One reading serves all who came before it began; they wait for it.

A snapshot that has been outrun costs another attempt and nothing else: the
commit names the generations, and the database compares them.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Set
import contextlib
import dataclasses
import datetime
import hashlib
import heapq
import os
import threading
import uuid as uuid_module

from oslo_config import cfg
from oslo_log import log
import sqlalchemy as sa

from ironic_reservations import clock as clock_module
from ironic_reservations import errors
from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import hosts as db_hosts
from ironic_reservations.db import maintenance as db_maintenance
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import passages as db_passages
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import instants
from ironic_reservations.model import inventories
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import instance_standing
from ironic_reservations.planner import loans as loans_module
from ironic_reservations.planner import shares
from ironic_reservations.planner import standing
from ironic_reservations.planner import timeline

LOG = log.getLogger(__name__)

#: More nodes than this are read by reading all of them.
_FEW = 500
#: So many sets of hosts are kept for requirements that nobody books by.
_SETS = 1000
#: How long, in seconds, a reading is waited for.
_PATIENCE = 10
#: After so many seconds all nodes are compared.
_COMPARED = 1.0
#: Numbers of changes that were left out are asked for again for so many
#: seconds, and no more than so many.
_OPEN = 10.0
_MISSING = 100
#: The number of a booking whose row has one that is not known here begins
#: beyond all those that are.
_LAST = 1 << 62

#: The number of a change, its node, and what generation that has.
_Change = tuple[int, str, int | None]
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


class _Reading:
    """A reading of the database, and those who wait for it."""

    def __init__(self) -> None:
        #: Whether one of them has to know for sure.
        self.compares = False
        self._done = threading.Event()
        self._error: BaseException | None = None

    def finish(self, error: BaseException | None) -> None:
        """Let go on those who wait."""
        self._error = error
        self._done.set()

    def wait(self) -> None:
        """Wait until it is finished, however it ends.

        :raises Contention: that takes too long.
        """
        if not self._done.wait(_PATIENCE):
            raise errors.Contention(
                'Too many requests wait for the timeline to be read, which '
                'takes the database long. Nothing was changed; try again.')

    def join(self) -> None:
        """Wait until it is finished, and share what came of it.

        :raises DatabaseUnavailable: nothing could be read.
        :raises Conflict: something else came in between.
        :raises Contention: it takes too long.
        """
        self.wait()
        if isinstance(self._error, errors.DatabaseUnavailable
                      | errors.Contention):
            raise type(self._error)(str(self._error))
        if self._error is not None:
            raise db_connection.Conflict('another request failed to read')


@dataclasses.dataclass(frozen=True)
class _Version:
    """What tells whether a node has changed.

    :ivar bucket: the nodes that it is summed up with.
    :ivar generation: of its bookings.
    :ivar revision: of what Ironic says of it.
    """

    bucket: int
    generation: int
    revision: int


class SnapshotCache:
    """Keeps the snapshot of a process.

    :param conf: [leases] cleaning_time, owner_notice.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._begin_process()

    def _begin_process(self) -> None:
        """Begin with nothing: a fork takes no waiting thread along."""
        self._pid = os.getpid()
        # NOTE: held for what is done in memory, and for nothing else.
        self._lock = threading.Lock()
        self._running: _Reading | None = None
        self._next: _Reading | None = None
        self._filling: threading.Thread | None = None
        #: Whether all hosts have been read.
        self.filled = False
        self._forgotten = 0
        self._forget()

    def _forget(self) -> None:
        self._forgotten += 1
        self._sums: dict[int, tuple[int, int, int]] = {}
        self._versions: dict[str, _Version] = {}
        self._numbers: dict[str, int] = {}
        self._uuids: list[str] = []
        self._standings: list[standing.Standing | None] = []
        self._known: list[requirements.Described | None] = []
        self._sets: dict[requirements.Requirement, int] = {}
        #: The hosts of each owner, and the owner of each host.
        self._owned: dict[str, int] = {}
        self._owners: list[str | None] = []
        self._narrowed: dict[tuple[int, str | None], int] = {}
        self._draft = timeline.Draft.empty([])
        self._ready = self._usable = 0
        self._turns: list[tuple[int, int]] = []
        self._due: dict[int, int] = {}
        #: The latest instant as of which anything was drawn.
        self._latest = 0
        self._busy: set[str] = set()
        #: What was committed here since the last reading began.
        self._own: set[str] = set()
        #: The last change that has been seen, those before it that have not
        #: and since when, and when all nodes were compared.
        self._seq = 0
        self._missing: dict[int, float] = {}
        self._compared: float | None = None
        self._made = 0
        self._fleet: fleet.Fleet | None = None
        self._drawn: timeline.Timeline | None = None
        self._seen: tuple[standing.Standing | None, ...] | None = None

    def snapshot(self, database: db_connection.Database,
                 now: datetime.datetime,
                 wanted: Iterable[requirements.Requirement] = (),
                 compared: bool = True) -> Snapshot:
        """Return a snapshot with all that was committed before the call.

        :param wanted: requirements that the caller will ask about.
        :param compared: whether that has to be so for sure; nobody is refused
            anything, or told, otherwise.
        :raises DatabaseUnavailable: nothing can be read.
        :raises Conflict: another transaction was in the way.
        :raises Contention: others read it, and take too long.
        """
        if self._pid != os.getpid():
            self._begin_process()
        with self._lock:
            reading, before = self._next, self._running
            leads = reading is None
            if reading is None:
                reading = self._next = _Reading()
            reading.compares |= compared
        if leads:
            self._lead(reading, before, database, now)
        else:
            reading.join()
        with self._lock, self._whole():
            return self._take(now, wanted, reading.compares)

    def confirm(self, database: db_connection.Database,
                found: Snapshot) -> None:
        """Check that what a refusal rests on is so for sure.

        :param found: what was planned on.
        :raises Conflict: it is not.
        """
        if not found.compared and self.snapshot(
                database, found.now).timeline is not found.timeline:
            raise db_connection.Conflict('another host may do by now')

    def fill(self, database: db_connection.Database,
             clock: clock_module.Clock) -> threading.Thread:
        """Return a thread that reads all hosts, unless that is done.

        To be called before the first request that needs them, so that it
        does not have to wait for them.
        """
        if self._pid != os.getpid():
            self._begin_process()
        with self._lock:
            filling = self._filling
            if filling is None or not (filling.is_alive() or self.filled):
                filling = self._filling = threading.Thread(
                    target=self._fill, args=(database, clock), daemon=True,
                    name='ironic-reservations-snapshot')
                filling.start()
            return filling

    def _fill(self, database: db_connection.Database,
              clock: clock_module.Clock) -> None:
        try:
            self.snapshot(database, clock())
        except (errors.ReservationError, db_connection.Conflict) as exc:
            LOG.warning('The timeline could not be read yet: %s', exc)
        except Exception:
            LOG.exception('The timeline could not be read')

    def _lead(self, reading: _Reading, before: _Reading | None,
              database: db_connection.Database,
              now: datetime.datetime) -> None:
        """Read for all who have come until the reading begins."""
        error: BaseException | None = None
        try:
            if before is not None:
                before.wait()
            with self._lock:
                self._running, self._next = reading, None
                # NOTE: from now on nobody joins it.
                reading.compares |= self._is_due()
            newer = [] if reading.compares else self._newer(database)
            if reading.compares or not self._knows(newer):
                reading.compares = True
                self._read(database, now)
            with self._lock:
                self._note(newer)
        except BaseException as exc:
            error = exc
            raise
        finally:
            with self._lock:
                if self._next is reading:
                    self._next = None
                if self._running is reading:
                    self._running = None
            reading.finish(error)

    def _is_due(self) -> bool:
        """Return whether it is time to compare."""
        return (self._compared is None
                or clock_module.elapsed() - self._compared > _COMPARED)

    def _newer(self, database: db_connection.Database) -> list[_Change]:
        """Return the changes that have not been seen."""
        with self._lock:
            since, missing = self._seq, list(self._missing)
        with database.read() as connection:
            return db_changes.read_since(connection, since, missing)

    def _knows(self, changes: Iterable[_Change]) -> bool:
        """Return whether changes are known here."""
        with self._lock:
            return all(generation is not None and uuid in self._versions
                       and self._versions[uuid].generation >= generation
                       for _, uuid, generation in changes)

    def _note(self, changes: Iterable[_Change]) -> None:
        """Remember which changes have been seen, and which were left out."""
        now = clock_module.elapsed()
        for seq, _, _ in changes:
            self._missing.pop(seq, None)
            if seq > self._seq:
                self._leave_out(seq - 1, now)
                self._seq = seq
        self._missing = {seq: since for seq, since in [
            *self._missing.items()][-_MISSING:] if now - since < _OPEN}

    def _leave_out(self, last: int, now: float) -> None:
        for seq in range(max(self._seq, last - _MISSING) + 1, last + 1):
            self._missing[seq] = now

    def _pass(self, last: int, known: bool) -> None:
        """Go on from a change up to which all nodes have been compared.

        NOTE: which of the numbers before it can be seen was not read, so
        all of them are asked for again.

        :param known: whether anything was known before.
        """
        if known:
            self._leave_out(last, clock_module.elapsed())
        self._seq = last

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Have half of a change never pass for the whole."""
        try:
            yield
        except BaseException:
            self._forget()
            raise

    def _read(self, database: db_connection.Database,
              now: datetime.datetime) -> None:
        """Put in what others have changed."""
        with self._lock:
            # NOTE: of these the database has everything; of what is committed
            # here from now on it may not, and one that is ahead would make up
            # for one that is behind.
            before, forgotten = dict(self._sums), self._forgotten
            busy = set(self._busy)
            self._own.clear()
        begun = clock_module.elapsed()
        with database.snapshot() as connection:
            sums, last = db_nodes.read_sums(connection)
            buckets = {bucket for bucket in sums.keys() | before.keys()
                       if sums.get(bucket) != before.get(bucket)}
            versions: dict[str, _Version] = {}
            if buckets:
                versions = {uuid: _Version(*version) for uuid, version
                            in db_nodes.read_versions(
                                connection, buckets if before and len(buckets)
                                <= _FEW else None).items()}
            with self._lock:
                changed = self._changed(buckets, versions)
            if busy:
                # NOTE: that nobody uses a node any more raises nothing.
                changed |= busy - db_passages.read_busy(
                    connection, busy).keys()
            read = _standings(
                connection, now, changed if len(changed) <= _FEW else None
            ) if changed else {}
        with self._lock:
            if self._forgotten != forgotten:
                raise db_connection.Conflict('it has to be read anew')
            with self._whole():
                changed = {uuid for uuid in changed
                           if not self._is_newer(uuid, versions)}
                self._put_versions(changed, buckets, versions)
                self._put_sums(buckets, sums, versions)
                self._put(changed, read, now)
                self._pass(last, bool(before))
            self._compared, self.filled = begun, True

    def _changed(self, buckets: Set[int],
                 versions: Mapping[str, _Version]) -> set[str]:
        """Return the nodes that are not, or not as they were read."""
        if not buckets:
            return set()
        changed = {uuid for uuid, version in self._versions.items()
                   if version.bucket in buckets and uuid not in versions}
        changed.update(uuid for uuid, version in versions.items()
                       if self._versions.get(uuid) != version
                       and not self._is_newer(uuid, versions))
        return changed

    def _is_newer(self, uuid: str, versions: Mapping[str, _Version]) -> bool:
        """Return whether a node was committed here since it was read."""
        version = versions.get(uuid)
        return (version is not None and uuid in self._own
                and self._versions[uuid].generation > version.generation)

    def _put_versions(self, changed: Iterable[str], buckets: Set[int],
                      versions: Mapping[str, _Version]) -> None:
        for uuid in changed:
            if uuid in versions:
                self._versions[uuid] = versions[uuid]
            elif self._versions[uuid].bucket in buckets:
                del self._versions[uuid]

    def _put_sums(self, buckets: Set[int],
                  sums: Mapping[int, tuple[int, int, int]],
                  versions: Mapping[str, _Version]) -> None:
        """Write the sums of what has been put in."""
        totals = dict.fromkeys(buckets, 0)
        for uuid, version in versions.items():
            if version.bucket in totals:
                here = self._versions[uuid]
                totals[version.bucket] += here.generation + here.revision
        for bucket, total in totals.items():
            if bucket in sums:
                self._sums[bucket] = (*sums[bucket][:2], total)
            else:
                del self._sums[bucket]

    def commit(self, generations: Mapping[str, int],
               now: datetime.datetime,
               removed: Iterable[leases.NodeBooking] = (),
               added: Iterable[Promised] = (),
               homes: Mapping[leases.NodeBooking, str] | None = None
               ) -> None:
        """Put in what this process has committed, if that can be told.

        Called after the commit.  Where the snapshot is not what was planned
        on, nothing is done; then it is read.

        :param generations: that the commit named.
        :param removed: bookings that are not, or not as they were.
        :param added: those that are new, or as they are now; with what they
            ask for.
        :param homes: the new nodes of bookings that have moved.
        """
        gone = {booking.uuid: booking.node_uuid for booking in removed}
        new: dict[str, list[Promised]] = {}
        for each in added:
            new.setdefault(each[0].node_uuid, []).append(each)
        with self._lock, self._whole():
            if self._pid != os.getpid() or not self._is_at(
                    generations, {*gone.values(), *new,
                                  *(homes or {}).values(),
                                  *(row.node_uuid for row in homes or ())}):
                return
            for booking, home in (homes or {}).items():
                found = self._promised(booking)
                if found is None:
                    return
                gone[booking.uuid] = booking.node_uuid
                new.setdefault(home, []).append((
                    dataclasses.replace(booking, node_uuid=home),
                    *found[1:]))
            there = {uuid: self._standings[self._numbers[uuid]]
                     for uuid in generations}
            if sum(row.uuid in gone for here in there.values() if here
                   for row, _ in here.promised) != len(gone):
                return
            margin = self._margin()
            for uuid, here in there.items():
                assert here is not None
                self._advance(uuid)
                number = self._numbers[uuid]
                self._place(number, self._changed_by(
                    here, gone, new.get(uuid, ())), self._known[number])
                self._draw(number, now, margin)

    def _is_at(self, generations: Mapping[str, int],
               touched: Set[str]) -> bool:
        """Return whether all nodes are known, and at these generations."""
        return generations.keys() >= touched and all(
            uuid in self._versions and uuid in self._numbers
            and self._versions[uuid].generation == generation
            and self._standings[self._numbers[uuid]] is not None
            for uuid, generation in generations.items())

    def _promised(self, booking: leases.NodeBooking) -> Promised | None:
        here = self._standings[self._numbers[booking.node_uuid]]
        assert here is not None
        return next(((row, wanted, here.instances.get(row.reservation_id))
                     for row, wanted in here.promised
                     if row.uuid == booking.uuid), None)

    def _advance(self, uuid: str) -> None:
        """Raise the generation of a node."""
        version = self._versions[uuid]
        self._versions[uuid] = dataclasses.replace(
            version, generation=version.generation + 1)
        count, ids, total = self._sums[version.bucket]
        self._sums[version.bucket] = (count, ids, total + 1)
        self._own.add(uuid)

    def _changed_by(self, here: standing.Standing,
                    gone: Mapping[str, str],
                    new: Iterable[Promised]) -> standing.Standing:
        promised = [each for each in here.promised
                    if each[0].uuid not in gone]
        instances = dict(here.instances)
        for booking, wanted, asked in new:
            # NOTE: it counts as made last, which it is.
            self._made += 1
            promised.append((dataclasses.replace(
                booking, id=booking.id or _LAST + self._made), wanted))
            if asked is not None:
                instances[booking.reservation_id] = asked
        node = here.host.node
        return dataclasses.replace(
            here, promised=tuple(promised), instances=instances,
            host=dataclasses.replace(here.host, node=dataclasses.replace(
                node, generation=node.generation + 1)))

    def _margin(self) -> int:
        margin: int = self._conf.leases.cleaning_time * instants.SECOND
        return margin

    def _put(self, changed: Iterable[str],
             read: Mapping[str, standing.Standing],
             now: datetime.datetime) -> None:
        """Put in hosts as they have been read."""
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
            rebuilt |= self._place(
                number, here,
                None if here is None else requirements.describe(here.host))
            numbers.add(number)
        margin = self._margin()
        for number in (range(len(self._uuids)) if rebuilt else numbers):
            self._draw(number, now, margin)

    def _take(self, now: datetime.datetime,
              wanted: Iterable[requirements.Requirement],
              compared: bool) -> Snapshot:
        """Return what there is, as it stands at a time."""
        wanted = set(wanted)
        for requirement in wanted:
            self._set(requirement)
        margin = self._margin()
        instant = instants.instant(now)
        while self._turns and self._turns[0][0] <= instant:
            turn, number = heapq.heappop(self._turns)
            if self._due.get(number) == turn:
                del self._due[number]
                self._draw(number, now, margin)
        if len(self._sets) > _SETS:
            used = {requirement for each in self._standings if each
                    for _, requirement in each.promised}
            self._sets = {key: value for key, value in self._sets.items()
                          if key in used or key in wanted}
        if self._fleet is None:
            self._fleet = fleet.Fleet(tuple(self._uuids))
        if self._seen is None:
            self._seen = tuple(self._standings)
        if self._drawn is None:
            self._drawn = self._draft.timeline()
        return Snapshot(now, self._fleet, self._seen, self._drawn,
                        self._ready, self._usable, dict(self._sets),
                        compared, State(
                            dict(self._sums), frozenset(self._busy),
                            self._next_turn(), margin,
                            '' if instant >= self._latest
                            else uuid_module.uuid4().hex),
                        self._loans(instant))

    def _notice(self) -> int:
        notice: int = self._conf.leases.owner_notice * instants.SECOND
        return notice

    def _loans(self, instant: int) -> loans_module.Loans:
        """Return which hosts are lent, as it stands at an instant."""
        notice = self._notice()
        return loans_module.Loans(
            dict(self._owned), loans_module.until(instant, notice)
        ) if notice and self._owned else loans_module.NONE

    def _next_turn(self) -> int | None:
        while self._turns and self._due.get(
                self._turns[0][1]) != self._turns[0][0]:
            heapq.heappop(self._turns)
        return self._turns[0][0] if self._turns else None

    def _append(self, uuid: str) -> int:
        number = len(self._uuids)
        self._fleet = None
        self._numbers[uuid] = number
        self._uuids.append(uuid)
        self._standings.append(None)
        self._known.append(None)
        self._owners.append(None)
        self._draft.append(None)
        return number

    def _place(self, number: int, here: standing.Standing | None,
               known: requirements.Described | None) -> bool:
        """Put in a host.

        :param known: what requirements are compared with.
        :returns: whether a set has changed.
        """
        bit = 1 << number
        self._seen = None
        self._standings[number] = here
        self._ready &= ~bit
        self._usable &= ~bit
        if here is not None:
            self._ready |= bit if here.ready() else 0
            self._usable |= bit if here.unfit() is None else 0
        owned = self._own_by(number, None if here is None
                             else here.host.node.owner or None)
        if known == self._known[number]:
            return owned
        self._known[number] = known
        self._drawn = None
        self._draft.resize(number, _capacity(known))
        changed = owned
        for requirement, members in self._sets.items():
            meets = known is not None and requirement.met_by(known)
            if meets != bool(members & bit):
                self._sets[requirement] = members ^ bit
                changed = True
        return changed

    def _own_by(self, number: int, owner: str | None) -> bool:
        """Put in who owns a host.

        :returns: whether that changes what others may have.
        """
        before = self._owners[number]
        if owner == before:
            return False
        self._owners[number] = owner
        self._narrowed.clear()
        if before is not None:
            self._owned[before] &= ~(1 << number)
            if not self._owned[before]:
                del self._owned[before]
        if owner is not None:
            self._owned[owner] = self._owned.get(owner, 0) | 1 << number
        return bool(self._notice())

    def _set(self, requirement: requirements.Requirement) -> int:
        if requirement not in self._sets:
            self._sets[requirement] = fleet.mask(
                number for number, known in enumerate(self._known)
                if known is not None and requirement.met_by(known))
        return self._sets[requirement]

    def _draw(self, number: int, now: datetime.datetime,
              margin: int) -> None:
        self._drawn = None
        self._latest = max(self._latest, instants.instant(now))
        here = self._standings[number]
        if here is None:
            # NOTE: nobody's, and never eligible again.
            self._draft.write(number, [])
            return
        for _, requirement in here.promised:
            self._set(requirement)
        drawn = instance_standing.draw(here, number, now, margin, self._set)
        turn = standing.turn(here, now)
        if self._owned and self._notice():
            drawn, longer = self._within_loans(here, drawn, now, margin)
            turn = min((each for each in (turn, *longer)
                        if each is not None), default=None)
        self._draft.draw(number, drawn)
        if turn is not None and turn < self._due.get(number, turn + 1):
            self._due[number] = turn
            heapq.heappush(self._turns, (turn, number))


    def _within_loans(self, here: standing.Standing,
                      drawn: list[bookings.Booking], now: datetime.datetime,
                      margin: int) -> tuple[list[bookings.Booking], list[int]]:
        """Have bookings move to no host that is not lent for so long.

        NOTE: where one is, it stays, whoever has come to own the host.

        :returns: also from when on some of them may move to more hosts.
        """
        notice = self._notice()
        there = loans_module.Loans(self._owned, loans_module.until(
            instants.instant(now), notice))
        projects = {standing.name(row): row.project_id
                    for row, _ in here.promised}
        narrowed, longer = [], []
        for each in drawn:
            # NOTE: elsewhere it needs all of its margin.
            until = each.end + margin
            if each.movable and each.id in projects and until > there.until:
                eligible = self._narrow(each.eligible, projects[each.id],
                                        there)
                if eligible != each.eligible:
                    each = dataclasses.replace(each, eligible=eligible)
                    longer.append(loans_module.since(until, notice))
            narrowed.append(each)
        return narrowed, longer

    def _narrow(self, eligible: int, project_id: str | None,
                there: loans_module.Loans) -> int:
        # NOTE: bookings that may be on the same hosts share one set, which
        # the planner makes use of.
        key = (eligible, project_id)
        if key not in self._narrowed:
            if len(self._narrowed) > _SETS:
                self._narrowed.clear()
            self._narrowed[key] = eligible & ~there.to(project_id)
        return self._narrowed[key]


def promised(lease: leases.Lease, rows: Iterable[leases.NodeBooking]
             ) -> list[Promised]:
    """Return bookings of a lease with what it asks of their hosts."""
    asked = {each.id: each for each in lease.reservations}
    return [(row, requirements.parse(
        asked[row.reservation_id].hypervisor_properties,
        asked[row.reservation_id].resource_properties,
        None if (instances := asked[row.reservation_id].instances) is None
        else instances.need), instances) for row in rows]


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
    maintained = db_maintenance.read_of_nodes(connection, uuids)
    return {uuid: standing.Standing(
        row.with_node(nodes[uuid]), tuple(promised.get(uuid, ())),
        held[uuid] if uuid in held and held[uuid].live(now) else None,
        uuid in busy, asked.get(uuid, {}), maintained.get(uuid, ()))
        for uuid, row in hosts.items()}


def _capacity(known: requirements.Described | None
              ) -> shares.Capacity | None:
    """Return what a host has for instances that share it, if they can."""
    if known is None or not known.compute:
        return None
    return inventories.capacities(known.inventories)

