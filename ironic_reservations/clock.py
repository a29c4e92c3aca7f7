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

"""The only place that reads the clock of this host."""

from __future__ import annotations

from collections.abc import Callable
import datetime
import functools
import time

Clock = Callable[[], datetime.datetime]
Timer = Callable[[], float]

#: Returns monotonic seconds, which nobody can set back. They also pass while a
#: host sleeps, where the system has such a clock.
elapsed: Timer = functools.partial(
    time.clock_gettime,
    getattr(time, 'CLOCK_BOOTTIME', time.CLOCK_MONOTONIC))


def utc_now() -> datetime.datetime:
    """Return the present time by this host's clock, zone-aware, in UTC."""
    return datetime.datetime.now(datetime.UTC)
