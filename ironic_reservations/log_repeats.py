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

"""Failures that repeat: the log has each once a minute."""

from __future__ import annotations

import threading
import time

from ironic_reservations import clock

#: Seconds until the same text is logged again.
_PAUSE = 60.0


class Repeats:
    """The texts that were logged during the last minute."""

    def __init__(self, timer: clock.Timer = time.monotonic) -> None:
        self._timer = timer
        self._logged: dict[str, float] = {}
        self._lock = threading.Lock()

    def are_due(self, text: str) -> bool:
        """Return whether to log a text, and note that it is logged."""
        now = self._timer()
        with self._lock:
            self._logged = {each: at for each, at in self._logged.items()
                            if now < at + _PAUSE}
            due = text not in self._logged
            self._logged.setdefault(text, now)
        return due
