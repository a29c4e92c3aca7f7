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


"""A lease that waits is started long after it was promised."""

from __future__ import annotations

import datetime
from typing import Any

from ironic_reservations.lifecycle import lease_cycle
from tests.processes import mix

_LATER = datetime.timedelta(seconds=20)
BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 1}, instances=0.0, all_hosts=1.0, queued=1.0,
    starts=(3,), lengths=(40,), ended=0.0,
    times=mix.Times(late=12.0)), 'sqlite', seconds=90)
FOUND_AS = 'started late'
KEPT_BY = (
    'tests.inprocess.reconciler.test_start_in_time.TestStartInTime.'
    'test_at_the_start_that_was_promised',)


def apply() -> None:
    """Break this process."""
    whole = lease_cycle.tasks

    def broken(lease: Any, now: datetime.datetime) -> Any:
        return tuple(
            each for each in whole(lease, now)
            if each is not lease_cycle.Task.START or lease.queued is None
            or now >= lease.start + _LATER)
    lease_cycle.tasks = broken
