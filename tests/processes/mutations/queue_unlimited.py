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

"""One that waits is moved to where its project has too much already."""

from __future__ import annotations

import types
from typing import Any

from ironic_reservations.engine import ceiling
from ironic_reservations.features.queue import pull
from ironic_reservations.model import limits
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 1}, acts={}, instances=0.0, all_hosts=1.0,
    queued=1.0, starts=(0, 3), of_class={'gold': 1, 'silver': 1}), 'sqlite',
    seconds=90)
FOUND_AS = 'too much for a project'
KEPT_BY = (
    'tests.inprocess.engine.test_waitlist.TestWaitlist.'
    'test_not_beyond_what_its_project_may_have',)


def apply() -> None:
    """Break this process."""
    def unlimited(*arguments: Any, **named: Any) -> limits.Limits:
        return limits.NONE
    assert pull.ceiling is ceiling
    pull.ceiling = types.SimpleNamespace(  # type: ignore[assignment]
        limits_of=unlimited, of_project=ceiling.of_project)
