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


"""What Ironic does not answer for is taken for not done."""

from __future__ import annotations

from typing import Any

from ironic_reservations.engine.in_flight import admission
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={'hold_rpc': 1}, pause=(0.2, 0.8),
    lives={'reserve': 4, 'squat': 1}, acts={'tidy': 1}, rounds=(1.0, 3.0),
    classes={'gold': 3, 'silver': 2},
    times=mix.Times(conductor=20, longest_rpc_hold=15.0)))
FOUND_AS = 'done to the node of another'
KEPT_BY = (
    'tests.inprocess.guard.test_stands_still.TestConductorPaused.'
    'test_it_is_looked_at_twice',)


def apply() -> None:
    """Break this process."""
    assert admission.mark_uncertain

    def wrong(engine: Any, sent: admission.InFlightRequest) -> None:
        admission.close(engine, sent, False)
    admission.mark_uncertain = wrong
