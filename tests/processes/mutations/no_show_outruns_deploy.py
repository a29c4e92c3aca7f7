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

"""A node that nobody has deployed is released, though somebody just has."""

from __future__ import annotations

import types
from typing import Any

from ironic_reservations.engine import change
from ironic_reservations.engine import seen
from ironic_reservations.engine.lease_cycle import context
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={'hold_write': 1}, aims=('UPDATE reservations', 'UPDATE nodes'),
    pause=(0.2, 0.8), lives={'lease': 1}, instances=0.0, all_hosts=1.0,
    lengths=(25, 40), ended=0.3, no_show={'gold': 5, 'silver': 8}))
FOUND_AS = 'lost'
KEPT_BY = (
    'tests.inprocess.reconciler.test_deploy_before_release.'
    'TestDeployBeforeRelease.'
    'test_deployed_node_stays',)


def apply() -> None:
    """Break this process."""
    commit, right = context.Context.commit, change.generations.commit
    releasing: list[bool] = []

    def step(this: Any, *arguments: Any, **more: Any) -> Any:
        releasing[:] = [isinstance(event, change.Unused)
                        for event in more.get('events', ())]
        try:
            return commit(this, *arguments, **more)
        finally:
            releasing.clear()

    def wrong(connection: Any, looked: Any, now: Any, difference: Any,
              *arguments: Any) -> None:
        if any(releasing):
            looked = seen.read(connection, looked.generations)
            difference = None
        right(connection, looked, now, difference, *arguments)
    context.Context.commit = step  # type: ignore[method-assign]
    change.generations = types.SimpleNamespace(  # type: ignore[assignment]
        commit=wrong)
