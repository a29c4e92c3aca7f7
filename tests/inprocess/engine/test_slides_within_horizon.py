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

"""No lease slides to where a request for it would be refused.

Found as leases that ended beyond ``max_horizon``: their windows reached
beyond it, and others made them slide.
"""

from ironic_reservations import errors
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from tests import leasing
from tests.inprocess.engine import open_dates

HOUR = open_dates.HOUR


class TestSlidesWithinTheHorizon(open_dates.TestCase):
    """One host; leases end within ten hours."""

    def setUp(self):
        super().setUp()
        self.configure(project_limits=True, max_horizon=10 * 3600)
        self.leasing.hosts(1)

    def test_for_a_new_lease(self):
        lease = self.flexible(2, 5000, 2)
        self.leasing.refused(1, 9.9)
        self.assertEqual((2, 4), self.hours(lease))
        self.leasing.create(1, 8)
        self.assertEqual((8, 10), self.hours(lease))

    def test_whose_window_was_opened(self):
        lease = self.leasing.create(2, 4)
        self.leasing.change(lease, opened=leases.OpenDates(
            between=(leasing.at(2), leasing.at(5000)), duration=2 * HOUR,
            fix_before=60))
        self.leasing.refused(1, 9.9)
        self.assertEqual((2, 4), self.hours(lease))

    def test_for_a_change_of_another(self):
        lease = self.flexible(4, 5000, 2)
        other = self.leasing.create(1, 3)
        self.refuse(other, end=9.9)
        self.assertEqual((4, 6), self.hours(lease))
        self.leasing.change(other, end=8)
        self.assertEqual((8, 10), self.hours(lease))

    def test_as_time_passes_further(self):
        lease = self.flexible(5, 5000, 2)
        self.leasing.clock_passes(2)
        self.leasing.create(4, 10)
        self.assertEqual((10, 12), self.hours(lease))

    def test_lease_that_is_beyond_it_slides_no_further(self):
        """Whoever made it may exceed the limits."""
        lease = self.leasing.create(
            20, 22, flexible=leases.Flexible(leasing.at(5000), 2 * HOUR, 60),
            allowed=limits.NONE)
        self.assertEqual((20, 22), self.hours(lease))
        self.assertRaises(
            errors.LeaseRefused, lease_create.create, self.engine,
            leasing.ask(19, 25), allowed=limits.NONE)
        self.assertEqual((20, 22), self.hours(lease))
