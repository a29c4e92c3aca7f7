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

"""A lease that has started is extended in time, or not at all."""

from ironic_reservations import errors
from ironic_reservations.engine.leases import change
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from ironic_reservations.model import time_text
from tests import leasing
from tests import servers
from tests.inprocess.engine import timelines


@servers.also
class TestExtensionNotice(timelines.TestCase):
    """A lease from one until nine; two hours of notice."""

    options = {'leases__project_limits': True,
               'leases__extension_notice': 7200}

    def setUp(self):
        super().setUp()
        self.leasing.hosts(2)
        self.made = self.leasing.create(1, 9)

    def refused(self, **changes):
        return self.assertRaises(errors.LeaseLimit, self.leasing.change,
                                 self.made, **changes)

    def test_until_two_hours_before_the_end(self):
        self.leasing.clock_passes(7)
        self.assertEqual(leasing.at(10),
                         self.leasing.change(self.made, end=10).end)

    def test_not_later_and_the_answer_says_until_when(self):
        self.leasing.clock_passes(7.01)
        refused = self.refused(end=10)
        self.assertEqual(('extension_notice', 7200), (
            refused.details['limit'], refused.details['allowed']))
        self.assertIn(time_text.moment(leasing.at(7)), str(refused))
        self.assertEqual(leasing.at(9), self.leasing.reload(self.made).end)

    def test_all_else_is_allowed(self):
        self.leasing.clock_passes(8)
        self.leasing.resize(self.made, 2, 2)
        self.assertEqual(leasing.at(8.5),
                         self.leasing.change(self.made, end=8.5).end)

    def test_lease_that_has_not_started_is_free(self):
        short = self.leasing.create(1, 2)
        self.leasing.clock_passes(0.5)
        self.assertEqual(leasing.at(3), self.leasing.change(short, end=3).end)

    def test_who_may_exceed_limits_is_not_held_to_it(self):
        self.leasing.clock_passes(8)
        self.assertEqual(leasing.at(10), change.change(
            self.engine, self.made.id,
            leases.LeaseChange(end=leasing.at(10)),
            allowed=limits.NONE).end)
