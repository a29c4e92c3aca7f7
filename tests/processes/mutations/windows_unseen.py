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


"""Nobody sees what operators have booked for maintenance."""

from __future__ import annotations

from typing import Any

from ironic_reservations.db import host_views
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 2, 'squat': 1}, instances=0.0, all_hosts=1.0,
    acts={}, booking=True, classes={'gold': 3}), 'sqlite', seconds=90)
FOUND_AS = 'promised across maintenance'
KEPT_BY = (
    'tests.inprocess.timeline.test_maintenance.TestBooking.'
    'test_nothing_is_planned_across',)


def apply() -> None:
    """Break this process."""
    right = host_views.read_unleased

    def wrong(*arguments: Any) -> tuple[Any, Any]:
        return right(*arguments)[0], {}
    host_views.read_unleased = wrong
