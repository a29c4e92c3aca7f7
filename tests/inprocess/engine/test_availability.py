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

"""What is free, and when so many hosts can be had for so long."""

import datetime

from ironic_reservations import errors
from ironic_reservations.engine import availability
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines


class TestAvailability(timelines.TestCase):

    def _look(self, start, end, **asked):
        return availability.count_free(self.engine, leasing.at(start),
                                       leasing.at(end), **asked)

    def _free(self, start, end, **asked):
        """Return (class, hosts, [(from, until, free)]), in hours."""
        return [(each.resource_class, each.hosts, [
            ((span.start - world.NOON) / datetime.timedelta(hours=1),
             (span.end - world.NOON) / datetime.timedelta(hours=1),
             span.free) for span in each.spans])
            for each in self._look(start, end, **asked).classes]

    def test_free_hosts_are_counted_by_class_and_time(self):
        """From one change to the next, until the end."""
        self.leasing.hosts(2, resource_class='gold')
        self.leasing.hosts(1, resource_class='silver')
        for window in ((1, 3), (2, 4)):
            self.leasing.create(*window, leasing.wish_of('gold'))
        self.assertEqual(
            [('gold', 2, [(0, 1, 2), (1, 2, 1), (2, 3, 0), (3, 4, 1),
                          (4, 5, 2)]), ('silver', 1, [(0, 5, 1)])],
            self._free(0, 5))
        self.assertEqual([('silver', 1, [(0, 5, 1)])],
                         self._free(0, 5, resource_class='silver'))
        self.assertEqual([('gold', 2, [(1, 2, 1)])], self._free(
            1, 2, resource_properties=leasing.of_class('gold')))

    def test_hosts_that_cannot_be_used_are_never_free(self):
        """They are counted, and that is all."""
        (closed, broken) = self.leasing.hosts(2)
        self.leasing.set_reservable(closed, False)
        self.leasing.break_node(broken)
        self.world.enrol(1)
        self.assertEqual([(None, 2, [(0, 2, 0)])], self._free(0, 2))

    def test_time_for_cleaning_is_not_free(self):
        """What cannot be leased is not told to be free."""
        self.begin(leases__cleaning_time=1800)
        self.leasing.hosts()
        self.leasing.create(1, 2)
        self.assertEqual([(None, 1, [(0, 1, 1), (1, 2.5, 0), (2.5, 3, 1)])],
                         self._free(0, 3))

    def test_earliest_start_can_be_had(self):
        """So many hosts, for so long, from then on."""
        self.leasing.hosts(2)
        self.leasing.create(1, 3)
        self.leasing.create(2, 4)
        for count, hours, earliest in ((1, 1, 0), (1, 2, 0), (2, 1, 0),
                                       (2, 2, 4), (1, 9, 3), (3, 1, None)):
            found = self._look(0, 1, count=count,
                               duration=hours * 3600).earliest
            self.assertEqual(
                None if earliest is None else leasing.at(earliest), found)
        self.leasing.create(4, 6, leasing.wish(2))

    def test_earliest_start_is_a_whole_second(self):
        """Its fraction was cut off where it was shown, so it was refused."""
        self.leasing.hosts()
        self.leasing.create(0, 2 + 0.5 / 3600)
        found = self._look(0, 3, count=1, duration=3600).earliest
        self.assertEqual(leasing.at(2 + 1 / 3600), found)
        self.world.clock.now = leasing.at(2 + 0.6 / 3600)
        self.assertEqual(found, self._look(0, 3, count=1,
                                           duration=3600).earliest)

    def test_earliest_start_is_never_in_the_past(self):
        """Though the window that is looked at begins there."""
        self.leasing.hosts()
        self.world.clock.now = leasing.at(2)
        self.assertEqual(leasing.at(2), self._look(
            0, 3, count=1, duration=3600).earliest)

    def test_questions_that_make_no_sense_are_refused(self):
        """An end before the start, half of a question, no hosts."""
        self.leasing.hosts()
        for asked in ({'count': 1}, {'duration': 60},
                      {'count': 0, 'duration': 60},
                      {'count': 1, 'duration': 0},
                      {'count': -1, 'duration': 60},
                      {'count': 1, 'duration': 10 ** 12},
                      {'resource_properties': '["~"]'}):
            self.assertRaises(errors.InvalidValue, self._look, 0, 1, **asked)
        self.assertRaises(errors.InvalidValue, self._look, 1, 1)
        self.assertRaises(errors.InvalidValue, self._look, 2, 1)

    def test_looking_writes_nothing(self):
        """Whoever asks changes nothing."""
        self.leasing.hosts(2)
        self.leasing.create(1, 2)
        before = leasing.tables_as_text(self.world)
        self._look(0, 5, count=2, duration=7200)
        self.assertEqual(before, leasing.tables_as_text(self.world))
