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

"""The changes of nodes that a process has read, and the missing ones.

Numbers of changes are assigned before the commit, and may become visible late;
so missing numbers are read again for a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping

from ironic_reservations import clock
from ironic_reservations.db import changes as db_changes

#: Numbers of changes that were left out are asked for again for so many
#: seconds, and no more than so many.
_OPEN = 10.0
_MISSING = 100

#: The number of a change, its node, and the generation of the node; the node
#: is ``None`` for a request that changed none.
Change = tuple[int, str | None, int | None]


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
        for seq, node_uuid, generation in changes:
            self.missing.pop(seq, None)
            if node_uuid is not None and generation is not None and (
                    self.landmark is None or seq > self.landmark.known):
                self.landmark = db_changes.Landmark.read(seq, node_uuid,
                                                         generation)
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
        last, node_uuid, generation = change or (0, None, None)
        if known:
            self._leave_out(last, clock.elapsed())
        self.last = last
        if node_uuid is not None and generation is not None and (
                self.landmark is landmark):
            self.landmark = db_changes.Landmark.read(last, node_uuid,
                                                     generation)

    def _leave_out(self, last: int, now: float) -> None:
        for seq in range(max(self.last, last - _MISSING) + 1, last + 1):
            self.missing[seq] = now
