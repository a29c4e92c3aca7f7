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

"""Limits the number of requests with a key by project and day.

A key is kept for a day, also after its resource is deleted, so a client that
makes and deletes resources in a loop would fill the database.
"""

from __future__ import annotations

import math
import threading

from ironic_reservations import errors

_DAY = 86400.0
#: The maximum number of projects that are remembered.
REMEMBERED = 5000


class KeyLimit:
    """Counts requests with a key, by project.

    Each process has its own counts, so N processes allow N times as many.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: The time at which each project may send its full number again.
        self._free_at: dict[str, float] = {}

    def __len__(self) -> int:
        """Return the number of projects that are remembered."""
        return len(self._free_at)

    def count(self, project_id: str, most: int, now: float) -> None:
        """Count one more request, unless there were too many.

        A project may send the number of a day at once; after that, the
        requests become available again evenly over the day.

        :param most: the number that is allowed in a day.
        :param now: monotonic seconds.
        :raises TooManyKeys: there were too many.
        """
        step = _DAY / most
        with self._lock:
            free_at = max(self._free_at.get(project_id, now), now) + step
            # Half of a step allows for rounding.
            left = free_at - now - _DAY
            if left > step / 2:
                seconds = math.ceil(left)
                raise errors.TooManyKeys(
                    f'The project has sent {most} requests with an '
                    'Idempotency-Key or with a uuid of their own in a day, '
                    'and [api] max_keys_per_day allows no more. Nothing was '
                    f'done. Send the request again in {seconds} s.', seconds,
                    limit='max_keys_per_day', allowed=most)
            if (project_id not in self._free_at
                    and len(self._free_at) >= REMEMBERED):
                del self._free_at[min(self._free_at,
                                      key=self._free_at.__getitem__)]
            self._free_at[project_id] = free_at
