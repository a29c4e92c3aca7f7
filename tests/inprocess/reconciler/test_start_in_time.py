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

"""Every lease starts at its start, however it came to that start."""

import datetime

from ironic_reservations.model import leases as values
from tests import leasing
from tests.inprocess.reconciler import leases

_HOUR = datetime.timedelta(hours=1)
_EARLY = 1 / 3600


class TestStartInTime(leases.TestCase):

    def setUp(self):
        super().setUp()
        self.node, = self.leasing.hosts()

    def queued(self):
        """Return a lease that waits, behind one that is over before that."""
        other = self.leasing.create(0, 5)
        lease = self.leasing.create(3, 4, queue=True)
        self.assertEqual(leasing.at(5), lease.start)
        self.at(2)
        self.work()
        self.leasing.end(other)
        self.work()
        return lease

    def assert_starts(self, lease, hours):
        """Check that it gets its node at that time, and none before."""
        self.assertEqual(leasing.at(hours), self.lease(lease).start)
        self.at(hours - _EARLY)
        self.work()
        self.assert_status(leases.STATUS.PENDING, lease)
        self.at(hours)
        self.work()
        self.assert_status(leases.STATUS.ACTIVE, lease)
        self.assertEqual(leasing.PROJECT, self.ironic.there[self.node].lessee)

    def test_at_the_start_that_was_promised(self):
        self.assert_starts(self.queued(), 5)

    def test_at_the_earlier_start_that_it_was_moved_to(self):
        lease = self.queued()
        self.assertEqual(1, leasing.pull(self.engine))
        self.assert_starts(lease, 3)

    def test_at_the_start_that_its_owner_set_instead_of_a_promised_one(self):
        lease = self.queued()
        self.leasing.change(lease, start=6, end=7)
        self.assert_starts(lease, 6)

    def test_at_the_start_at_which_open_dates_were_fixed(self):
        lease = self.leasing.create(
            1, 2, flexible=values.Flexible(leasing.at(9), _HOUR, 0))
        self.assert_starts(lease, 1)
