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

"""Limits the notifications about a lease that a process sends in a day."""

from __future__ import annotations

import datetime
import threading

_DAY = datetime.timedelta(days=1)
#: The number of leases that are remembered.
REMEMBERED = 5000


class NoticeQuota:
    """Counts notifications by lease.

    Each process has its own counts, so N processes may send N times as many.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: The times of the notifications, the latest last, by the lease
        #: and the reason.
        self._times: dict[tuple[str, str], list[datetime.datetime]] = {}

    def __len__(self) -> int:
        """Return the number of leases that are remembered."""
        return len(self._times)

    def may_notify(self, lease_id: str, reason: str, most: int | None,
                   now: datetime.datetime) -> bool:
        """Count one more notification, unless there were too many.

        :param most: the maximum number in a day; ``None``: there is none.
        :returns: whether it may be sent.
        """
        if most is None:
            return True
        key = lease_id, reason
        with self._lock:
            # Removed and added, so that the lease without a notification for
            # the longest time is first.
            times = [each for each in self._times.pop(key, ())
                     if each > now - _DAY]
            few = len(times) < most
            self._times[key] = [*times, now] if few else times
            if len(self._times) > REMEMBERED:
                del self._times[next(iter(self._times))]
            return few
