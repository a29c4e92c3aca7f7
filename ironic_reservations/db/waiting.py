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
import contextlib
import threading

from ironic_reservations import clock
from ironic_reservations import errors

#: So many threads of this process wait for a row in the database.
MOST = 4
#: How long, in seconds, others wait for their turn to do so; and from when on
#: they do not, since the row is not to be had.
_PATIENCE = 1.0

_changed = threading.Condition()
_waiting: dict[str, list[float]] = {}


@contextlib.contextmanager
def turn(rows: Collection[str]) -> Iterator[None]:
    """Wait for a turn to wait for some rows, which is within this block.

    :param rows: their names, unique among all that are waited for so.
    :raises Contention: too many wait for one of them.
    """
    begun = clock.elapsed()
    with _changed:
        while any(len(_waiting.get(row, ())) >= MOST for row in rows):
            left = begun + _PATIENCE - clock.elapsed()
            if left <= 0 or any(_stuck(row, begun) for row in rows):
                raise errors.Contention(
                    'Too many requests wait for the same node, which another '
                    'process keeps locked. Nothing was changed; try again.')
            _changed.wait(left)
        for row in rows:
            _waiting.setdefault(row, []).append(begun)
    try:
        yield
    finally:
        with _changed:
            for row in rows:
                there = _waiting[row]
                there.remove(begun)
                if not there:
                    del _waiting[row]
            _changed.notify_all()


def _stuck(row: str, now: float) -> bool:
    there = _waiting.get(row, ())
    return len(there) >= MOST and min(there) < now - _PATIENCE
