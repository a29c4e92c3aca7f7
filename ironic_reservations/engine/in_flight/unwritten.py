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

"""Answers of Ironic that could not be written, since the database was down.

Whoever knows an answer writes it as soon as it can be, so that the reconciler
need not find out what is known.
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


class Unwritten:
    """The outcomes of requests that this process has yet to write.

    NOTE: it gets no longer while the database is away: no request is let
    through then.
    """

    def __init__(self) -> None:
        self._kept: collections.deque[_Kept] = collections.deque()

    def keep_for_later(self, until: float,
                       write: Callable[[], object]) -> None:
        """Have something written later.

        :param until: by the timer; from then on the reconciler may look what
            became of the request, and knows more.
        :param write: names the request by its token, so that it may be done
            twice, and does nothing where somebody else was first.
        """
        self._kept.append(_Kept(until, write))

    def write(self, timer: clock.Timer) -> None:
        """Write all of it.

        :raises ReservationError: the database is not back, or others were in
            the way; the rest waits, too.
        :raises Conflict: likewise.
        """
        while self._kept:
            first = self._kept.popleft()
            if timer() >= first.until:
                continue
            try:
                first.write()
            except (errors.ReservationError, connection.Conflict):
                # NOTE: behind the others, which it is not to hold up.
                self._kept.append(first)
                raise
