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

"""The timeline's parts: sets of nodes, instants, rows that do not overlap."""

import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.model import instants
from ironic_reservations.planner import bookings
from ironic_reservations.planner import fleet
from ironic_reservations.planner import timeline

ONE = bookings.Booking('1', 0, 5, 0, 1)
TWO = bookings.Booking('2', 5, 9, 0, 1)


class TestInstants(testtools.TestCase):

    @hypothesis.given(st.datetimes(timezones=st.just(datetime.UTC)))
    def test_moment_survives_the_way_there_and_back(self, moment):
        self.assertEqual(moment, instants.moment(instants.instant(moment)))

    def test_moment_of_another_zone_is_the_same_instant(self):
        zone = datetime.timezone(datetime.timedelta(hours=2))
        self.assertEqual(
            instants.instant(datetime.datetime(2026, 3, 1, 10,
                                               tzinfo=datetime.UTC)),
            instants.instant(datetime.datetime(2026, 3, 1, 12,
                                               tzinfo=zone)))

    def test_moment_without_a_zone_is_refused(self):
        self.assertRaises(ValueError, instants.instant,
                          datetime.datetime(2026, 3, 1))


class TestFleet(testtools.TestCase):

    @hypothesis.given(st.sets(st.integers(0, 200)))
    def test_members_are_what_the_mask_was_made_of(self, numbers):
        self.assertEqual(tuple(sorted(numbers)),
                         fleet.members(fleet.mask(numbers)))

    def test_nodes_go_by_number_and_back(self):
        nodes = fleet.Fleet(('a', 'b', 'c'))
        self.assertEqual(0b101, nodes.mask(['c', 'a', 'unknown']))
        self.assertEqual(('c', 'a'), nodes.names([2, nodes.number('a')]))


class TestTimeline(testtools.TestCase):

    def test_overlap_is_refused(self):
        self.assertRaises(ValueError, timeline.Timeline.of, 1,
                          [ONE, bookings.Booking('2', 4, 9, 0, 1)])
        self.assertRaises(ValueError, timeline.Timeline.of, 1, [
            bookings.Booking('1', 0, 5, 0, 1, margin=1), TWO])

    def test_adding_and_removing_leaves_the_original_alone(self):
        first = timeline.Timeline.of(1, [TWO])
        second = first.adding([ONE])
        self.assertEqual([ONE, TWO], list(second.promised()))
        self.assertEqual([TWO], list(first.promised()))
        self.assertEqual(first, second.without([ONE]))
