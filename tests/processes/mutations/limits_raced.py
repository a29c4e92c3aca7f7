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


"""Two requests of one project do not wait for each other."""

from __future__ import annotations

from ironic_reservations.features.limits import feature
from ironic_reservations.features.limits import limit_checks
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={'hold_write': 1}, aims=('INTO leases', 'UPDATE nodes'),
    pause=(0.2, 0.8), lives={'lease': 1}, instances=0.0, all_hosts=1.0,
    lengths=(10,), leisure=(0.05, 0.3), of_class={'gold': 1, 'silver': 1}))
FOUND_AS = 'too much for a project'
KEPT_BY = (
    'tests.inprocess.engine.test_lease_limits.TestCount.'
    'test_two_at_once_do_not_exceed_the_number_of_leases',)


def apply() -> None:
    """Break this process."""
    assert feature.Limits.join and limit_checks.check_again
    feature.Limits.join = (  # type: ignore[method-assign]
        lambda *arguments: None)
    limit_checks.check_again = lambda *arguments: None
