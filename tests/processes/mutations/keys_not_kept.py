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

"""What a request has made is forgotten as soon as that is gone."""

from __future__ import annotations

from ironic_reservations.features.keys import request_keys
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'repeat': 1}, instances=0.0, all_hosts=1.0),
    'sqlite', seconds=40)
FOUND_AS = 'made twice'
KEPT_BY = (
    'tests.inprocess.engine.test_lease_keys.TestLateCopy.'
    'test_copy_that_comes_after_its_lease_was_deleted_makes_none',)


def apply() -> None:
    """Break this process."""
    assert request_keys.keep
    request_keys.keep = lambda *arguments: None
