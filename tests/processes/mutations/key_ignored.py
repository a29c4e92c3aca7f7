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


"""A request for a lease that is sent again makes another lease."""

from __future__ import annotations

from ironic_reservations.engine.leases import create
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={'swallow': 1, 'hold': 1}, aims=('INSERT INTO leases',),
    held='POST /v1/leases ', pause=(0.3, 1.0), lives={'lease': 1}))
FOUND_AS = 'made twice'
KEPT_BY = (
    'tests.inprocess.engine.test_lease_keys.TestKeys.'
    'test_same_request_with_the_same_key_is_served_once',)


def apply() -> None:
    """Break this process."""
    assert create._key_of
    create._key_of = lambda ask: None
