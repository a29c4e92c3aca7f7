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


"""A notice is marked as sent, and never posted."""

from __future__ import annotations

from ironic_reservations.features.notices import webhooks
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'lease': 1}, instances=0.0), 'sqlite', seconds=40)
FOUND_AS = 'not told'
KEPT_BY = (
    'tests.inprocess.notices.test_webhooks.TestLife.'
    'test_lease_deleted_before_its_start_has_ended',)


def apply() -> None:
    """Break this process."""
    assert webhooks._post
    webhooks._post = lambda *arguments: None
