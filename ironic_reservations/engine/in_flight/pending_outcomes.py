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

"""Outcomes that could not be written while the database did not answer.

The process that has an answer writes it as soon as the database is back, so
that the reconciler does not have to ask Ironic again.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
import dataclasses

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.db import connection


@dataclasses.dataclass(frozen=True)
class _Kept:
    until: float
    write: Callable[[], object]


class PendingOutcomes:
    """The outcomes of requests that this process has yet to write.

    Their number does not grow while the database is down, since no request is
    let through then.
    """

    def __init__(self) -> None:
        self._kept: collections.deque[_Kept] = collections.deque()

    def keep_for_later(self, until: float,
                       write: Callable[[], object]) -> None:
        """Keep a write for the time when the database is back.

        :param until: the time by the timer from which on the reconciler may
            ask Ironic, and so has a newer answer.
        :param write: writes the outcome.  It names the request by its token,
            so it may be called twice, and has no effect after another process.
        """
        self._kept.append(_Kept(until, write))

    def write(self, timer: clock.Timer) -> None:
        """Write all outcomes.

        :raises ReservationError: the database is not back, or the rows are
            locked; the remaining writes stay in the list.
        :raises Conflict: likewise, for rows that have changed.
        """
        while self._kept:
            first = self._kept.popleft()
            if timer() >= first.until:
                continue
            try:
                first.write()
            except (errors.ReservationError, connection.Conflict):
                # It goes to the end, so that it does not block the others.
                self._kept.append(first)
                raise
