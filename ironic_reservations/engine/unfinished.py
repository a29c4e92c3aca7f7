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

"""Claims that a process which lives has left behind."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import threading
from typing import Generic
from typing import TypeVar

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection

LOG = log.getLogger(__name__)

_Claim = TypeVar('_Claim')

#: After how many seconds one tries again where the database has failed.
AGAIN = 2.0
#: Nobody knows then what is written of a claim, or it stands as it was.
FAILURES = (errors.DatabaseUnavailable, errors.Contention,
            db_connection.Conflict)


class Unfinished(Generic[_Claim]):
    """What nobody of this process works on any more, but may still be its.

    A COMMIT was lost in which it was taken, or the connection was before it
    could be given back.

    NOTE: a claim is as long as others wait for one that is dead.  One that
    lives need not have anything wait that long.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # NOTE: from when on each is let go of, and when it has surely ended.
        self._claims: dict[_Claim, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._claims)

    def add(self, claims: Iterable[_Claim], now: float, ttl: float,
            wait: float = AGAIN) -> None:
        """Have claims let go of.

        :param now: by the timer of the process.
        :param ttl: after how many seconds they end by themselves.
        :param wait: not before so many seconds have passed.
        """
        with self._lock:
            self._claims.update(dict.fromkeys(
                claims, (now + wait, now + wait + ttl)))

    def let_go(self, drop: Callable[[list[_Claim]], None], now: float,
               at_once: bool = False) -> None:
        """Let go of what it is time for; what fails is tried again.

        :param drop: has the database let go of claims.
        :param at_once: of all, since nobody will be there later.
        """
        with self._lock:
            # NOTE: so that they do not add up while nothing can be written.
            self._claims = {claim: times for claim, times
                            in self._claims.items() if times[1] > now}
            claims = [claim for claim, (at, _) in self._claims.items()
                      if at_once or at <= now]
        if not claims:
            return
        try:
            drop(claims)
        except FAILURES as exc:
            LOG.debug('The claims are left for a moment: %s', exc)
            return
        with self._lock:
            for claim in claims:
                self._claims.pop(claim, None)
