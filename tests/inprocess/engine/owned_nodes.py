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

"""Nodes of owners who have precedence, and lend them."""

from tests import leasing
from tests.inprocess.engine import timelines

OWNER = 'owner'
OWNED = f'["==", "$owner", "{OWNER}"]'


class TestCase(timelines.TestCase):
    """One node of its owner's; four hours of notice, half an hour to clean."""

    options = {'leases__owner_notice': 4 * 3600, 'leases__cleaning_time': 1800}

    def setUp(self):
        super().setUp()
        self.node, = self.leasing.hosts(owner=OWNER)

    def owners(self, start, end, **more):
        """Make a lease of the owner's."""
        return self.leasing.create(start, end, leasing.wish(
            properties=OWNED), project_id=OWNER, **more)
