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

#: The maximum number of notifications of a kind for a lease in a day.
A_DAY = 5
DAY = datetime.timedelta(days=1)
#: The number of leases that are remembered.
REMEMBERED = 5000


class NoticeQuota:
    """Counts notifications by lease.

    Each process has its own counts, so N processes may send N times as many.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: The times of the notifications by lease, the latest last.
        self._times: dict[str, list[datetime.datetime]] = {}

    def __len__(self) -> int:
        """Return the number of leases that are remembered."""
        return len(self._times)

    def may_notify(self, lease_id: str, now: datetime.datetime) -> bool:
        """Count one more notification, unless there were too many.

        :returns: whether it may be sent.
        """
        with self._lock:
            # Removed and added, so that the lease without a notification for
            # the longest time is first.
            times = [each for each in self._times.pop(lease_id, ())
                     if each > now - DAY]
            few = len(times) < A_DAY
            self._times[lease_id] = [*times, now] if few else times
            if len(self._times) > REMEMBERED:
                del self._times[next(iter(self._times))]
            return few
