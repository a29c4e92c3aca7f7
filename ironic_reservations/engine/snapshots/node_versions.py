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

"""The versions of nodes, and their sums, which show changes."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Set
import dataclasses

from ironic_reservations.db import node_sums
from ironic_reservations.engine.snapshots import seen_changes

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

    def know(self, changes: Iterable[seen_changes.Change]) -> bool:
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
