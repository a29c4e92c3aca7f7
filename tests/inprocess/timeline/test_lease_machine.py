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

"""Leases in any order of events keep what was promised."""


import hypothesis

from tests import examples
from tests.inprocess.timeline import lease_machine

EXAMPLES = examples.drawn(25)


class TestLeases(lease_machine.Leases.TestCase):
    """Any order of events keeps the promises."""

    settings = hypothesis.settings(
        max_examples=EXAMPLES, stateful_step_count=30, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck))
