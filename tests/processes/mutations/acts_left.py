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


"""The end of a lease cleans a node that was acted on, and puts nothing back.
"""

from __future__ import annotations

from ironic_reservations.lifecycle import put_back
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'act': 3, 'reserve': 1}, acts={}, all_hosts=1.0,
    classes={'gold': 6}), 'sqlite', seconds=60)
FOUND_AS = 'not as lent'
KEPT_BY = (
    'tests.unit.lifecycle.test_handover.HandoverTest.'
    'test_keys_with_slashes_are_put_back',)


def apply() -> None:
    """Break this process."""
    assert put_back.corrections
    put_back.corrections = lambda *arguments: iter(())
