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


"""The room on shared hosts, counted for a large fleet."""

from unittest import mock

import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import bounds
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import timeline


class TestFullness(testtools.TestCase):

    def test_a_set_of_hosts_is_examined_once(self):
        """It was examined for each booking: minutes with 10,000 hosts."""
        self.assertEqual(1, self.examined(*[0b1111] * 4))

    def test_of_very_many_sets_only_some_are_examined(self):
        """Each was: minutes with 10,000 hosts whose bookings differ."""
        with mock.patch.object(bounds, '_SETS', 2):
            self.assertEqual(2, self.examined(0b11, 0b111, 0b1011, 0b1110))

    def examined(self, *eligible):
        """Return how many sets of hosts are examined for such bookings."""
        draft = timeline.Draft.of(timeline.Timeline.of([{'VCPU': 4}] * 4, [
            bookings.Booking(str(node), 0, 9, node, nodes)
            for node, nodes in enumerate(eligible)]))
        wanted = placement_units.unit([bookings.Booking(
            'wanted', 0, 9, -1, 0b1111, amounts=(('VCPU', 1),))], draft)
        with mock.patch.object(bounds, '_least', wraps=bounds._least) as least:
            bounds.Fullness(draft, wanted)
        return least.call_count
