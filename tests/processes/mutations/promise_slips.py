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


"""One that waits is moved to a later start instead of an earlier one."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from ironic_reservations.features.queue import pull
from tests.processes import mix

_LATER = datetime.timedelta(seconds=7)
BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 1}, instances=0.0, all_hosts=1.0, queued=1.0,
    starts=(3, 10), classes={'gold': 3}), 'sqlite', seconds=90)
FOUND_AS = 'dates moved'
KEPT_BY = (
    'tests.inprocess.engine.test_waitlist.TestWaitlist.'
    'test_it_starts_earlier_when_others_end',)


def apply() -> None:
    """Break this process."""
    whole = pull._starting

    def broken(lease: Any, start: datetime.datetime, now: Any) -> Any:
        after = whole(lease, lease.start + _LATER, now)
        return dataclasses.replace(after, queued=lease.queued)
    pull._starting = broken
