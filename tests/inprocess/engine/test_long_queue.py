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
from unittest import mock

from ironic_reservations.features.queue import long_queue
from ironic_reservations.features.queue import pull as lease_pull
from tests import leasing
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
        leasing.pull(self.engine)
        self.assertEqual((1, 3), self.hours(lease))


class TestNothingHasChanged(open_dates.TestCase):
    """A lease is planned again only when something concerns it."""

    def setUp(self):
        super().setUp()
        self.gold, self.silver = self.gold_and_silver()
        self.first = self.leasing.create(0, 5, self.gold)
        self.lease = self.leasing.create(1, 3, self.gold, queue=True)
        self.queue = long_queue.LongQueue()
        self.pull()

    def pull(self):
        """Return how many leases are planned in a pass."""
        planned = lease_pull.lease_replan.earlier
        with mock.patch.object(lease_pull.lease_replan, 'earlier',
                               side_effect=planned) as earliest:
            leasing.pull(self.engine, self.queue)
        return earliest.call_count

    def test_it_is_not_planned_again_while_nothing_changes(self):
        self.assertEqual([0, 0], [self.pull(), self.pull()])

    def test_it_is_not_planned_again_for_hosts_that_it_cannot_have(self):
        self.leasing.create(1, 2, self.silver, project_id='others')
        self.assertEqual(0, self.pull())

    def test_it_starts_earlier_once_its_host_is_free(self):
        self.pull()
        self.leasing.end(self.first)
        self.assertEqual(1, self.pull())
        self.assertEqual((1, 3), self.hours(self.lease))

    def test_it_is_planned_again_once_a_lease_of_its_project_ends(self):
        """Limits count that one, wherever it is."""
        other = self.leasing.create(1, 2, self.silver)
        self.pull()
        self.leasing.end(other)
        self.assertEqual(1, self.pull())

    def test_it_is_planned_again_now_and_then(self):
        """Time alone changes for how long hosts are lent."""
        self.world.clock.now += datetime.timedelta(minutes=10)
        self.assertEqual([1, 0], [self.pull(), self.pull()])
