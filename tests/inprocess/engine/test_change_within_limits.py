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

"""A change asks for no more than the project may have, where less will do.

Found as a refusal (LeaseLimit) of leases with "min" below "max": they were
planned with "max", which the project might not have.
"""

from ironic_reservations.model import leases
from tests import leasing
from tests.inprocess.engine import open_dates


class TestChangeWithinLimits(open_dates.TestCase):

    def setUp(self):
        super().setUp()
        self.limit(2)
        self.leasing.hosts(3)

    def has(self, count, lease):
        self.assertEqual(count, len(self.leasing.nodes(lease)), lease.name)

    def test_lease_moves_to_where_it_may_have_fewer(self):
        lease = self.leasing.create(1, 3, leasing.wish(1, 2))
        self.has(2, lease)
        self.leasing.create(10, 20)
        self.leasing.change(lease, start=12, end=14)
        self.assertEqual((12, 14), self.hours(lease))
        self.has(1, lease)

    def test_window_moves_to_where_it_may_have_fewer(self):
        lease = self.flexible(1, 4, 2, leasing.wish(1, 2))
        self.leasing.create(10, 20)
        self.leasing.change(lease, opened=leases.OpenDates(
            between=(leasing.at(12), leasing.at(16)),
            duration=2 * open_dates.HOUR))
        self.assertEqual((12, 14), self.hours(lease))
        self.has(1, lease)

    def test_window_moves_to_where_it_may_have_more(self):
        """It was refused, since no lease of its class ends then."""
        _, silver = self.gold_and_silver()
        self.limit(1)
        lease = self.flexible(1, 4, 2, leasing.wish_of('gold'))
        self.leasing.create(10, 20, silver)
        self.leasing.change(lease, opened=leases.OpenDates(
            between=(leasing.at(12), leasing.at(30)),
            duration=2 * open_dates.HOUR))
        self.assertEqual((20, 22), self.hours(lease))

    def test_most_is_raised_beyond_the_limit(self):
        """Of a lease to come, and of one that has started."""
        for start in (1, None):
            self.leasing.create(1, 10)
            lease = self.leasing.started(start, 3)
            self.leasing.resize(lease, 1, 2)
            self.has(1, lease)
            for each in self.leasing.all():
                self.leasing.end(each)
            self.leasing.clean_up()

    def test_most_is_had_where_the_project_may_have_it(self):
        lease = self.leasing.create(1, 3)
        self.leasing.resize(lease, 1, 3)
        self.has(2, lease)

    def test_lease_over_a_lowered_limit_keeps_its_hosts(self):
        lease = self.leasing.create(1, 3, leasing.wish(1, 2))
        self.configure(max_hosts_per_project=1)
        self.leasing.change(lease, start=1.5)
        self.assertEqual((1.5, 3), self.hours(lease))
        self.has(2, lease)

    def test_queued_lease_is_pulled_with_as_many_as_it_may_have(self):
        blocker = self.leasing.create(1, 9, leasing.wish(2),
                                      project_id='other')
        self.leasing.create(8, 20)
        lease = self.leasing.create(1, 3, leasing.wish(1, 2),
                                    leasing.wish(1), queue=True)
        self.leasing.end(blocker)
        leasing.pull(self.engine)
        self.assertEqual((1, 3), self.hours(lease))
