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

import datetime

from ironic_reservations.features.queue import pull as lease_pull
from tests.inprocess.engine import open_dates

_MANY = 101


class TestLongQueue(open_dates.TestCase):
    """A project has many leases in the queue that cannot start earlier."""

    def test_leases_behind_it_start_earlier(self):
        """Otherwise, one project could hold up the queue of all others."""
        gold, silver = self.gold_and_silver()
        self.leasing.create(0, 5, gold, project_id='theirs')
        for _ in range(_MANY):
            self.leasing.create(1, 1.1, gold, queue=True, project_id='theirs')
            self.world.clock.now += datetime.timedelta(milliseconds=1)
        first = self.leasing.create(0, 5, silver)
        lease = self.leasing.create(1, 3, silver, queue=True)
        self.leasing.end(first)
        lease_pull.pull(self.engine)
        self.assertEqual((1, 3), self.hours(lease))
