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

"""The versions of nodes and the changes that a process has read.

Sums of the versions show whether another process has changed any node. The
number of a change is assigned before the commit, and may become visible late,
so missing numbers are read again for a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Set
import dataclasses

from ironic_reservations import clock
from ironic_reservations.db import changes as db_changes
from ironic_reservations.db import node_sums

#: Numbers of changes that were left out are asked for again for so many
#: seconds, and no more than so many.
_OPEN = 10.0
_MISSING = 100

#: The number of a change, its node, and the generation of the node; the node
#: is ``None`` for a request that changed none.
Change = tuple[int, str | None, int | None]

#: For each bucket of nodes: how many there are, a sum of their ids, and one of
#: their generations and revisions.
Sums = Mapping[int, tuple[int, int, int]]


class Versions:
    """The versions of the nodes that are known, and their sums."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, int, int]] = {}
        self._versions: dict[str, node_sums.Version] = {}
        #: The nodes of commits here since the last reading began.
        self._own: set[str] = set()

    def sums(self) -> Sums:
        """Return the sums as they are now."""
        return dict(self._sums)

    def begin_reading(self) -> Sums:
        """Return the sums that a reading is compared with.

        The reading has every commit in these sums. It may lack commits that
        this process makes from now on. With them in a sum, a node with a newer
        version here could hide a node with an older version.
        """
        self._own.clear()
        return self.sums()

    def know(self, changes: Iterable[Change]) -> bool:
        """Return whether changes are already known."""
        return all(uuid is None or generation is not None
                   and uuid in self._versions
                   and self._versions[uuid].generation >= generation
                   for _, uuid, generation in changes)

    def are_at(self, generations: Mapping[str, int]) -> bool:
        """Return whether all nodes are known with these generations."""
        return all(uuid in self._versions
                   and self._versions[uuid].generation == generation
                   for uuid, generation in generations.items())

    def advance(self, generations: Mapping[str, int]) -> None:
        """Write the generations of nodes that this process has committed.

        :param generations: the new generations.
        """
        for uuid, generation in generations.items():
            version = self._versions[uuid]
            self._versions[uuid] = dataclasses.replace(
                version, generation=generation)
            count, ids, total = self._sums[version.bucket]
            self._sums[version.bucket] = (
                count, ids, total + generation - version.generation)
            self._own.add(uuid)

    def went_back(self, read: Mapping[str, node_sums.Version]) -> bool:
        """Return whether the version read of a node is older than ours."""
        return any(
            known.id == version.id and (
                version.revision < known.revision
                or version.generation < known.generation
                and uuid not in self._own)
            for uuid, version in read.items()
            if (known := self._versions.get(uuid)) is not None)

    def changed(self, buckets: Set[int],
                read: Mapping[str, node_sums.Version]) -> set[str]:
        """Return the nodes that are missing or have changed.

        :param buckets: the buckets whose sums differ.
        :param read: the versions of the nodes in these buckets, at least.
        """
        if not buckets:
            return set()
        changed = {uuid for uuid, version in self._versions.items()
                   if version.bucket in buckets and uuid not in read}
        changed.update(uuid for uuid, version in read.items()
                       if self._versions.get(uuid) != version
                       and not self._is_newer(uuid, read))
        return changed

    def put(self, changed: Iterable[str], buckets: Set[int],
            read: Mapping[str, node_sums.Version], sums: Sums) -> set[str]:
        """Add versions that were read, and return the nodes that have them.

        A node that this process has committed meanwhile is newer, and is kept.
        """
        older = {uuid for uuid in changed if not self._is_newer(uuid, read)}
        for uuid in older:
            if uuid in read:
                self._versions[uuid] = read[uuid]
            elif self._versions[uuid].bucket in buckets:
                del self._versions[uuid]
        totals = dict.fromkeys(buckets, 0)
        for uuid, version in read.items():
            if version.bucket in totals:
                here = self._versions[uuid]
                totals[version.bucket] += here.generation + here.revision
        for bucket, total in totals.items():
            if bucket in sums:
                self._sums[bucket] = (*sums[bucket][:2], total)
            else:
                del self._sums[bucket]
        return older

    def _is_newer(self, uuid: str,
                  read: Mapping[str, node_sums.Version]) -> bool:
        """Return whether this process committed a node after it was read."""
        version = read.get(uuid)
        return (version is not None and uuid in self._own
                and self._versions[uuid].generation > version.generation)


class SeenChanges:
    """The numbers of the changes that have been read.

    :ivar last: the last number that has been read.
    :ivar missing: the smaller numbers that have not been read, with the times
        since when they are missing.
    :ivar landmark: the last change of a commit; another history lacks it.
    """

    def __init__(self) -> None:
        self.last = 0
        self.missing: dict[int, float] = {}
        self.landmark: db_changes.Landmark | None = None

    def note(self, changes: Iterable[Change]) -> None:
        """Store the changes that have been read, and the missing ones."""
        now = clock.elapsed()
        for change in changes:
            seq = change[0]
            self.missing.pop(seq, None)
            if self.landmark is None or seq > self.landmark.known:
                self._mark(change)
            if seq > self.last:
                self._leave_out(seq - 1, now)
                self.last = seq
        self.missing = {seq: since for seq, since in [
            *self.missing.items()][-_MISSING:] if now - since < _OPEN}

    def wrote(self, generations: Mapping[str, int]) -> None:
        """Store the last commit of this process as the landmark.

        :param generations: the new generations, by node.
        """
        node_uuid, generation = next(iter(generations.items()))
        self.landmark = db_changes.Landmark.written(node_uuid, generation,
                                                    self.last)

    def go_on_from(self, change: Change | None, known: bool,
                   landmark: db_changes.Landmark | None) -> None:
        """Continue from a change up to which all nodes have been compared.

        The comparison does not show which earlier changes are visible, so
        all of their numbers are read again.

        :param change: the last change; ``None``: there is none.
        :param known: whether any node was known before.
        :param landmark: the landmark before the comparison.
        """
        last = 0 if change is None else change[0]
        if known:
            self._leave_out(last, clock.elapsed())
        self.last = last
        if change is not None and self.landmark is landmark:
            self._mark(change)

    def _mark(self, change: Change) -> None:
        """Store a change as the landmark, if it is of a node's bookings."""
        seq, node_uuid, generation = change
        if node_uuid is not None and generation is not None:
            self.landmark = db_changes.Landmark.read(seq, node_uuid,
                                                     generation)

    def _leave_out(self, last: int, now: float) -> None:
        for seq in range(max(self.last, last - _MISSING) + 1, last + 1):
            self.missing[seq] = now
