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

"""The operator lowers how far ahead a lease may end, below one that is there.

What is planned stays as it is; it gets no new dates that are too far away.
"""

from ironic_reservations import errors
from tests import leasing
from tests.inprocess.engine import open_dates


class TestHorizonLowered(open_dates.TestCase):

    def setUp(self):
        super().setUp()
        self.leasing.hosts(2)
        self.early = self.leasing.create(0.5, 10, leasing.wish(2))
        self.loose = self.flexible(1, 20, 4)
        self.assertEqual((10, 14), self.hours(self.loose))

    def _lower(self, hours):
        self.configure(project_limits=True, max_horizon=hours * 3600)

    def _more(self):
        self.leasing.resize(self.loose, 2, 2)

    def test_lease_that_is_changed_stays_where_it_is(self):
        self._lower(3)
        self._more()
        self.assertEqual((10, 14), self.hours(self.loose))

    def test_lease_is_not_moved_to_where_it_would_end_too_late(self):
        """There is room from hour 1 to 5."""
        self.leasing.create(11, 12)
        self.leasing.end(self.early)
        self._lower(3)
        self.assertRaises(errors.LeaseRefused, self._more)
        self.assertEqual((10, 14), self.hours(self.loose))

    def test_lease_is_moved_to_where_it_ends_in_time(self):
        self.leasing.create(11, 12)
        self.leasing.end(self.early)
        self._lower(6)
        self._more()
        start, end = self.hours(self.loose)
        self.assertTrue(1 <= start < end <= 6, (start, end))
