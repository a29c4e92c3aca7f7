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

"""The snapshot of this process, kept from one request to the next.

Commits of this process are added from memory (:meth:`SnapshotCache.commit`);
those of others are read from the database, in two ways.

**Comparing.** Each change of a node's bookings raises the generation of its
row, and each change of its state in Ironic raises the revision, by a random
number; row ids are never used again.  So one sum for each 64 rows shows
whether any of them has changed.  This does not depend on the order in which
transactions become visible.  All rows are read at one moment of the database.

**Another history.** A restored backup, or a replica that is promoted and lacks
the last commits, has another history than this process has read.  Since
numbers are random, the two histories have no number in common after they
part.  A comparison detects another history by a node that has an older version
than before, or by a change that does not exist any more
(:class:`.db_changes.Landmark`), or by the row of ``histories``; then all nodes
are uncertain (:mod:`.lost_requests`), and are read anew.

**Changes.** The cost of sums grows with the number of nodes.  Therefore each
change is also recorded (:mod:`~ironic_reservations.db.changes`), and a caller
that need not be certain reads only the records that are newer than the records
it knows.  Their numbers are assigned before the commit, so a record may become
visible late; missing numbers are read again for a while.  A change whose
transaction was open for longer is found by comparing: once a second, before
any refusal, and after an attempt that another request overtook.  A record only
names a node to read, so no change is applied in part.

**Commits of this process** name the generations that they were planned on.  If
the snapshot has the same generations for all their nodes, they are added to
it; otherwise they are read later, as commits of other processes are.  The
result is the same: no other commit has changed one of these nodes between the
snapshot and this commit, and changes of other nodes do not affect them.  After
the COMMIT and before it is added, other callers may read its record; they
continue without it.

**No lock is held during a query.** A reading locks the snapshot twice for a
moment: to find the nodes to read, and to add the rows.  Commits in between are
newer than these rows, and stay.  One caller compares all nodes for all callers
that came before it began; they wait for it.  Each caller reads records of
changes itself: this takes less time than to wait until the reading of another
caller ends and the next one is done, and no more processor time.

An outdated snapshot costs another attempt and nothing else: the commit names
the generations, and the database compares them.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import datetime
import gc
import os
import threading

from oslo_config import cfg
from oslo_log import log

from ironic_reservations import clock as clock_module
from ironic_reservations import errors
from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import node_sums
from ironic_reservations.engine import feature
from ironic_reservations.engine import lost_requests
from ironic_reservations.engine import seen as seen_module
from ironic_reservations.engine import snapshots
from ironic_reservations.engine.snapshots import node_versions
from ironic_reservations.engine.snapshots import readings
from ironic_reservations.engine.snapshots import rows
from ironic_reservations.engine.snapshots import working_copy
from ironic_reservations.model import leases
from ironic_reservations.model import requirements

LOG = log.getLogger(__name__)

#: Seconds after which all nodes are compared.
_COMPARED = 1.0
#: After so many bookings have been drawn, they are left out of garbage
#: collections.
_MANY = 10_000
#: How many hosts are drawn while others wait.
_DRAWN = 100


class _OtherHistoryError(Exception):
    """The database lacks rows that this process has read before."""


class _OtherServerError(_OtherHistoryError):
    """The server is another one, but has all rows that were read before."""


class SnapshotCache:
    """The snapshot of a process.

    :param conf: [leases] cleaning_time, and the options of the features.
    :param features: the features, one of which may limit the hosts of
        projects.
    :ivar other_histories: the number of times that the database had another
        history.
    """

    def __init__(self, conf: cfg.ConfigOpts,
                 features: Sequence[feature.Feature] = ()) -> None:
        self._conf = conf
        self._features = features
        self.other_histories = 0
        self._begin_process()

    def _begin_process(self) -> None:
        """Reset the snapshot after a fork, which copies no waiting threads."""
        self._pid = os.getpid()
        # Held for work in memory only.
        self._lock = threading.Lock()
        self._readings = readings.Readings()
        self._filling: threading.Thread | None = None
        #: Whether all hosts have been read.
        self.filled = False
        #: The nodes, and their new generations, of commits that are being
        #: made here.
        self._coming: collections.Counter[tuple[str, int]] = (
            collections.Counter())
        self._forgotten = 0
        #: The generation of the history that was read.
        self._history = 0
        self._forget()

    def _forget(self) -> None:
        self._forgotten += 1
        self._versions = node_versions.Versions()
        self._changes = node_versions.SeenChanges()
        self._copy = working_copy.WorkingCopy(self._conf, feature.first(
            each.narrow(self._conf) for each in self._features))
        #: When all nodes were compared.
        self._compared: float | None = None

    def snapshot(self, database: db_connection.Database,
                 now: datetime.datetime,
                 wanted: Iterable[requirements.Requirement] = (),
                 compared: bool = True) -> snapshots.Snapshot:
        """Return a snapshot with all that was committed before the call.

        Without a comparison, commits that this process is still making may be
        missing: their requests have not been answered yet.

        :param wanted: requirements that the caller will ask about.
        :param compared: whether all nodes have to be compared, as is necessary
            before a refusal.
        :raises Conflict: another transaction was in the way.
        :raises Contention: the read by another caller takes too long.
        """
        if self._pid != os.getpid():
            self._begin_process()
        newer: list[node_versions.Change] = []
        if not compared:
            with self._lock:
                compared = self._is_due()
        if not compared:
            newer = self._newer(database)
            self._draw(now)
            with self._lock, self._whole():
                newer = [each for each in newer
                         if each[1:] not in self._coming]
                if not self._is_due() and self._versions.know(newer):
                    self._changes.note(newer)
                    return self._take(now, wanted, compared=False)
        self._readings.share(lambda: self._read(database, now))
        self._draw(now)
        with self._lock, self._whole():
            self._changes.note(newer)
            found = self._take(now, wanted, compared=True)
        self._leave_out()
        return found

    def _draw(self, now: datetime.datetime) -> None:
        """Draw the hosts that have changed.

        The lock is released after some hosts, since other callers wait for it.
        """
        more = True
        while more:
            with self._lock, self._whole():
                more = self._copy.draw(now, _DRAWN)

    def _leave_out(self) -> None:
        """Exclude the present objects from garbage collections.

        A full collection stops all threads while it visits all objects, for
        half a second with 100,000 bookings. It is not needed to free bookings.
        So after many bookings have been drawn, one collection runs here, and
        later ones skip the objects that exist now.
        """
        with self._lock:
            if self._copy.drawn < _MANY:
                return
            self._copy.drawn = 0
        gc.collect()
        gc.freeze()

    def _take(self, now: datetime.datetime,
              wanted: Iterable[requirements.Requirement],
              compared: bool) -> snapshots.Snapshot:
        return self._copy.take(now, wanted, self._versions.sums(), compared)

    def confirm(self, database: db_connection.Database,
                found: snapshots.Snapshot) -> None:
        """Check that the snapshot of a refusal is up to date.

        :param found: the snapshot that was planned on.
        :raises Conflict: the snapshot is outdated.
        """
        if not found.compared and self.snapshot(
                database, found.now).timeline is not found.timeline:
            raise db_connection.Conflict('another host may do by now')

    def fill(self, database: db_connection.Database,
             clock: clock_module.Clock) -> threading.Thread:
        """Return the thread that reads all hosts; start it if necessary.

        It is called at the start of a process, so that the first request does
        not have to wait.
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
            found = self.snapshot(database, clock())
            # A refusal asks for it, and then it is known of each host.
            found.displaced()
        except (errors.ReservationError, db_connection.Conflict) as exc:
            LOG.warning('The timeline could not be read yet: %s', exc)
        except Exception:
            LOG.exception('The timeline could not be read')

    def _is_due(self) -> bool:
        """Return whether it is time to compare.

        A comparison that is running is not waited for: a caller that need
        not be certain uses the snapshot as it is.
        """
        return self._compared is None or (
            clock_module.elapsed() - self._compared > _COMPARED
            and not self._readings.is_running)

    def _newer(self, database: db_connection.Database
               ) -> list[node_versions.Change]:
        """Return the changes that have not been read."""
        with self._lock:
            since, missing = self._changes.last, list(self._changes.missing)
        with database.read() as connection:
            return db_changes.read_since(connection, since, missing)

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Reset the snapshot if a change is applied only in part."""
        try:
            yield
        except BaseException:
            self._forget()
            raise

    def _read(self, database: db_connection.Database,
              now: datetime.datetime) -> None:
        """Add the changes of other processes."""
        try:
            self._read_changed(database, now)
        except _OtherHistoryError as exc:
            lost = not isinstance(exc, _OtherServerError)
            # If this fails, the next reading must find the loss again, so
            # nothing is forgotten before.
            begun = lost_requests.may_come(database, self._conf, now,
                                           self._history)
            with self._lock:
                self.other_histories += lost
                self._history = 0
                self._forget()
            LOG.warning('%s', (
                'The database of the reservations has another history than '
                'the one that this process has seen: a backup was restored, '
                'or a replica was promoted that lacks the last commits. This '
                'process has dropped all that it knew, and reads it anew. '
                'Promises that were made may be gone: run '
                '"ironic-reservations-manage audit".') if lost else (
                'The server of the database of the reservations is another '
                'one than before: a replica was promoted, or a backup loaded. '
                'It lacks nothing that this process has seen.'))
            if begun:
                LOG.warning(
                    'Requests that the lost history let through may still be '
                    'on their way to Ironic, so each node is promised to '
                    'nobody until Ironic has shown twice that it is idle.')
            self._read_changed(database, now)

    def _read_changed(self, database: db_connection.Database,
                      now: datetime.datetime) -> None:
        """Read the nodes that have changed.

        :raises _OtherHistoryError: rows that were read before are gone.
        """
        with self._lock:
            before, forgotten = self._versions.begin_reading(), self._forgotten
            busy, landmark = self._copy.busy(), self._changes.landmark
        begun = clock_module.elapsed()
        with database.snapshot() as connection:
            read = node_sums.read_sums(connection, landmark)
            if read.lost or read.buckets and read.history < self._history:
                raise _OtherHistoryError
            sums = read.buckets
            buckets = {bucket for bucket in sums.keys() | before.keys()
                       if sums.get(bucket) != before.get(bucket)}
            versions = {} if not buckets else node_sums.read_versions(
                connection,
                buckets if before and len(buckets) <= rows.FEW else None)
            with self._lock:
                if self._versions.went_back(versions):
                    raise _OtherHistoryError
                if read.elsewhere:
                    raise _OtherServerError
                changed = self._versions.changed(buckets, versions)
                known = self._copy.states(changed | busy)
            if busy:
                # The end of a request in flight raises no generation.
                changed |= busy - db_in_flight.read_used(connection, busy)
            hosts = rows.read(connection, now, changed,
                              known) if changed else {}
        with self._lock:
            if self._forgotten != forgotten:
                raise db_connection.Conflict('it has to be read anew')
            with self._whole():
                self._copy.put(self._versions.put(
                    changed, buckets, versions, sums), hosts)
                self._changes.go_on_from(read.last, bool(before), landmark)
            self._compared, self.filled = begun, True
            self._history = read.history or self._history

    @contextlib.contextmanager
    def committing(self, seen: seen_module.Seen) -> Iterator[None]:
        """Announce a commit during the block, which ends with :meth:`commit`.

        Other callers may read its change in between. They plan without it,
        as if they had come before: its request has not been answered yet. The
        number of the change remains among the missing ones.

        :param seen: the generations that the commit names.
        """
        coming = list(seen.raised().items())
        with self._lock:
            self._coming.update(coming)
        try:
            yield
        finally:
            with self._lock:
                self._coming.subtract(coming)
                self._coming = +self._coming

    def wrote(self, seen: seen_module.Seen) -> None:
        """Store a commit of this process; its absence shows another history.

        :param seen: the generations that the commit named.
        """
        raised = {uuid: generation for uuid, generation
                  in seen.raised().items() if seen.generations[uuid]}
        with self._lock:
            if raised and self._pid == os.getpid():
                self._changes.wrote(raised)

    def commit(self, seen: seen_module.Seen,
               removed: Iterable[leases.NodeBooking] = (),
               added: Iterable[snapshots.Promised] = (),
               homes: Mapping[leases.NodeBooking, str] | None = None
               ) -> None:
        """Add a commit of this process, if the snapshot has its generations.

        Called after the commit.  If the snapshot has other generations than
        the plan, nothing is done, and the commit is read later.

        :param seen: the generations that the commit named.
        :param removed: bookings that are deleted, and changed ones as they
            were.
        :param added: new bookings, and changed ones as they are now; with
            their requirements.
        :param homes: the new nodes of bookings that have moved.
        """
        raised = seen.raised()
        with self._lock, self._whole():
            if (raised and self._pid == os.getpid()
                    and self._versions.are_at(seen.generations)
                    and self._copy.commit(raised, removed, added,
                                          homes or {})):
                self._versions.advance(raised)
