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

"""Rows that many want: so many threads of a process wait for each.

A row may be locked by a process that is no more, until the database ends its
session.  Whoever wants such a row meanwhile must not take all threads along.
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

#: So many threads of this process wait for a row in the database.
MOST = 4
#: How long, in seconds, others wait for their turn to do so while nobody gets
#: the row; and from when on they do not, since it is not to be had.
_PATIENCE = 1.0
#: How long they wait at most, while others get it one after the other,
_LONGEST = 10.0
#: unless more than so many threads want it.
_MANY = 16


@dataclasses.dataclass
class _Row:
    """Who waits for a row.

    :ivar wanted: how many want it, those who wait for their turn, too.
    :ivar since: when each of those who wait for it began.
    :ivar had: when somebody last had got it.
    """

    wanted: int = 0
    since: list[float] = dataclasses.field(default_factory=list)
    had: float = -math.inf

    @property
    def full(self) -> bool:
        return len(self.since) >= MOST

    def stuck(self, now: float) -> bool:
        """Check whether nobody has got it for too long."""
        return self.full and max(min(self.since),
                                 self.had) < now - _PATIENCE


_changed = threading.Condition()
_waiting: dict[str, _Row] = {}


@contextlib.contextmanager
def turn(rows: Collection[str]) -> Iterator[None]:
    """Wait for a turn to wait for some rows, which is within this block.

    :param rows: their names, unique among all that are waited for so.
    :raises Contention: too many wait for one of them.
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
    """Wait until none of some rows is full.

    :raises Contention: that takes too long.
    """
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
