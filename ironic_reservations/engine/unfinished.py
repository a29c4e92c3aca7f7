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

"""Claims that a running process could not release."""

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

#: The seconds between attempts after the database has failed.
AGAIN = 2.0
#: After these errors a claim may or may not have been written.
FAILURES = (errors.DatabaseUnavailable, errors.Contention,
            db_connection.Conflict)


class Unfinished(Generic[_Claim]):
    """Claims that this process may still hold although nothing uses them.

    Either the COMMIT that took the claim was not answered, or the connection
    was lost before the claim could be released.  A claim lasts until other
    processes consider its owner dead; a living process should not delay work
    for so long.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: When to release each claim, and when it has certainly ended.
        self._claims: dict[_Claim, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._claims)

    def add(self, claims: Iterable[_Claim], now: float, ttl: float,
            wait: float = AGAIN) -> None:
        """Add claims that have to be released.

        :param now: the monotonic time of the process, in seconds.
        :param ttl: the seconds after which the claims end.
        :param wait: the seconds before the claims are released.
        """
        with self._lock:
            self._claims.update(dict.fromkeys(
                claims, (now + wait, now + wait + ttl)))

    def release_due(self, drop: Callable[[list[_Claim]], None], now: float,
                    at_once: bool = False) -> None:
        """Release the claims that are due; after a failure, try again later.

        :param drop: releases claims in the database.
        :param at_once: whether to release all, since the process is ending.
        """
        with self._lock:
            # Ended claims must not pile up while the database is down.
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
