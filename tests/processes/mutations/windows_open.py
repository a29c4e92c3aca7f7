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

"""A node in its maintenance window is let to whoever deploys it."""

from __future__ import annotations

from typing import Any

from ironic_reservations.lifecycle import admit
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'squat': 1}, acts={}, booking=True, rounds=(0.5, 2.0),
    leisure=(0.05, 0.5), classes={'gold': 3}), 'sqlite', seconds=120)
FOUND_AS = 'deployed in maintenance'
KEPT_BY = (
    'tests.inprocess.engine.test_decided_before_a_date.TestDeploys.'
    'test_maintenance_that_has_begun',
    'tests.unit.lifecycle.test_admit.TestDecisionTable.'
    'test_node_in_its_maintenance_is_used_by_nobody_new')


def apply() -> None:
    """Break this process."""
    right = admit.admit

    def wrong(*arguments: Any, **named: Any) -> admit.Verdict:
        verdict = right(*arguments, **named)
        return (admit.Verdict.FREE
                if verdict is admit.Verdict.IN_MAINTENANCE else verdict)
    admit.admit = wrong
