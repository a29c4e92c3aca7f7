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


"""The enforcement service is not told of what requests change."""

from __future__ import annotations

from typing import Any

from ironic_reservations.features.enforcement import feature
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 1}, instances=0.0), 'sqlite', seconds=40)
FOUND_AS = 'charged wrong'
KEPT_BY = (
    'tests.inprocess.notices.test_enforcement_commits.TestLife.'
    'test_granted_changed_and_ended',)


def apply() -> None:
    """Break this process."""
    whole = feature.Enforcement.join

    def join(self: Any, engine: Any, change: Any) -> Any:
        asked = change.writes and change.writes[0]
        return (None if asked and asked.before and asked.after
                else whole(self, engine, change))
    feature.Enforcement.join = join  # type: ignore[method-assign]
