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


"""The end of a lease leaves its project on the node as lessee."""

from __future__ import annotations

from typing import Any

from ironic_reservations.clouds import ironic
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 1}, instances=0.0), 'sqlite', seconds=40)
FOUND_AS = 'left over'
KEPT_BY = (
    'tests.inprocess.clouds.test_ironic.TestChanges.'
    'test_each_change_is_one_request',)


def apply() -> None:
    """Break this process."""
    right = ironic.Ironic.write_lessee

    def wrong(self: Any, uuid: str, lessee: str | None, *more: Any,
              **named: Any) -> None:
        if lessee is not None:
            right(self, uuid, lessee, *more, **named)
    ironic.Ironic.write_lessee = wrong  # type: ignore[method-assign]
