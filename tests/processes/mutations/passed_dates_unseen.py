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

"""What was planned is written, whatever date has passed since then."""

from __future__ import annotations

from ironic_reservations.engine import change
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={'hold_write': 1}, aims=('UPDATE leases', 'UPDATE nodes'),
    pause=(0.2, 0.8), lives={'lease': 1}, instances=0.0, all_hosts=1.0,
    open_dates=0.7, fix_before=(0, 2), starts=(3, 10), ended=0.3,
    classes={'gold': 3}))
FOUND_AS = 'dates moved'
KEPT_BY = (
    'tests.inprocess.engine.test_change_stands_still.TestStandsStill.'
    'test_lease_that_has_begun_meanwhile_is_not_moved',
    'tests.inprocess.engine.test_change_stands_still.TestStandsStill.'
    'test_lease_that_is_fixed_meanwhile_keeps_its_dates')


def apply() -> None:
    """Break this process."""
    assert change.Change.wrong_from
    change.Change.wrong_from = (  # type: ignore[method-assign]
        lambda *arguments: None)
