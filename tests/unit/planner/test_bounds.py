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
        every = 0b1111
        draft = timeline.Draft.of(timeline.Timeline.of([{'VCPU': 4}] * 4, [
            bookings.Booking(str(node), 0, 9, node, every)
            for node in range(4)]))
        wanted = placement_units.unit([bookings.Booking(
            'wanted', 0, 9, -1, every, amounts=(('VCPU', 1),))], draft)
        with mock.patch.object(bounds, '_least', wraps=bounds._least) as least:
            bounds.Fullness(draft, wanted)
        self.assertEqual(1, least.call_count)
