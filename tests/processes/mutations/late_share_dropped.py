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

"""What has no room beside a share that is late is left out, and given away."""

from __future__ import annotations

from typing import Any

from ironic_reservations.model import host_inventories
from ironic_reservations.model import inventories
from ironic_reservations.planner import instance_host_states
from tests.processes import mix

#: Each instance takes a whole host, and what is promised from minutes ahead
#: meets what starts at once and is there until then.
BEST = mix.Best(mix.Mix(
    faults={'stop': 1}, lives={'lease': 1}, acts={}, instances=1.0,
    sizes=(16,), starts=(0, 0, 3, 6, 100, 130), lengths=(8, 8, 60, 240),
    ended=1.0, classes={'gold': 1}, rounds=(1.0, 2.0)), placement=True)
FOUND_AS = 'promised twice'
KEPT_BY = (
    'tests.inprocess.engine.test_late_share.TestShrunken.'
    'test_what_has_no_room_is_planned_where_there_is_some',)


def apply() -> None:
    """Break this process."""
    right = instance_host_states.draw

    def wrong(here: Any, *more: Any) -> Any:
        there = right(here, *more)
        if not here.host.node.compute or here.unfit() is not None:
            return there
        out = instance_host_states.displaced(inventories.capacities(
            host_inventories.of(here.host.node)),
            there)  # type: ignore[arg-type]
        return [each for each in there if each.id not in out]
    instance_host_states.draw = wrong
