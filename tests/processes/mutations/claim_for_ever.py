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


"""What a process works on is left to it for ever, also once it is dead."""

from __future__ import annotations

from tests.processes import mix
from tests.processes import statements

_UNTIL = r'(leases\.claimed_until <= (?:%\(\w+\)s|%s|\?))'

BEST = mix.Best(mix.Mix(
    faults={'kill_at_commit': 2, 'kill': 1}, aims=('UPDATE leases',),
    lives={'lease': 1}, off=(0.0,)), seconds=60)
FOUND_AS = 'left over'
KEPT_BY = (
    'tests.inprocess.reconciler.test_lease_workers.TestLeaseClaims.'
    'test_dead_process_is_replaced_when_its_claims_end',)


def apply() -> None:
    """Break this process."""
    statements.change(_UNTIL, r'(\1 AND 1 = 0)')
