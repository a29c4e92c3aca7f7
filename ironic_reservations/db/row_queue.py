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

"""Limits how many threads of a process wait for the same row.

A row may be locked by a process that has died, until the database ends its
session. Requests for that row must not block all threads meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import math
import threading

from ironic_reservations import clock
from ironic_reservations import errors

#: How many threads of this process wait for a row in the database.
MOST = 4
#: How long, in seconds, other threads wait while no thread gets the row. After
#: that time, further threads are refused at once.
_PATIENCE = 1.0
#: How long they wait at most while other threads get the row one by one,
_LONGEST = 10.0
#: unless more threads than this want it.
_MANY = 16


@dataclasses.dataclass
class _Row:
    """The threads that wait for a row.

    :ivar wanted: the number of threads that want the row.
    :ivar since: the times at which threads that now wait in the database
        began to wait.
    :ivar had: the last time at which a thread got the row.
    """

    wanted: int = 0
    since: list[float] = dataclasses.field(default_factory=list)
    had: float = -math.inf

    @property
    def full(self) -> bool:
        return len(self.since) >= MOST

    def stuck(self, now: float) -> bool:
        """Return whether no thread has got the row for too long."""
        return self.full and max(min(self.since),
                                 self.had) < now - _PATIENCE


_changed = threading.Condition()
_waiting: dict[str, _Row] = {}


@contextlib.contextmanager
def turn(rows: Collection[str]) -> Iterator[None]:
    """Wait for access to some rows, and keep it for the block.

    :param rows: names that are unique among all rows that use this.
    :raises Contention: too many threads wait for one of them.
    """
    begun = clock.elapsed()
    with _changed:
        theirs = {row: _waiting.setdefault(row, _Row()) for row in rows}
        for there in theirs.values():
            there.wanted += 1
        try:
            _wait(list(theirs.values()), begun)
        except BaseException:
            _leave(theirs)
            raise
        for there in theirs.values():
            there.since.append(begun)
    got = False
    try:
        yield
        got = True
    finally:
        with _changed:
            for there in theirs.values():
                there.since.remove(begun)
                if got:
                    there.had = clock.elapsed()
            _leave(theirs)
            _changed.notify_all()


def _wait(rows: Collection[_Row], begun: float) -> None:
    """Wait until no row has the maximum number of threads."""
    while full := [there for there in rows if there.full]:
        had = begun if any(there.wanted > _MANY for there in full) else min(
            max(begun, there.had) for there in full)
        left = min(had + _PATIENCE, begun + _LONGEST) - clock.elapsed()
        if left <= 0 or any(there.stuck(begun) for there in full):
            raise errors.Contention(
                'Too many requests wait for the same node, or for others of '
                'the same project, and another process may keep it locked. '
                'Nothing was changed; try again.')
        _changed.wait(left)


def _leave(rows: Mapping[str, _Row]) -> None:
    for row, there in rows.items():
        there.wanted -= 1
        if not there.wanted:
            del _waiting[row]
