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


"""Times in sentences."""

import datetime

import testtools

from ironic_reservations.model import time_text


class TestToldTimes(testtools.TestCase):

    def test_moments_have_no_more_than_seconds(self):
        """Seconds are shown only if they are not zero."""
        noon = datetime.datetime(2030, 1, 31, 12, tzinfo=datetime.UTC)
        for more, told in (({}, '12:00'), ({'seconds': 9}, '12:00:09'),
                           ({'microseconds': 473772}, '12:00:00')):
            self.assertEqual(f'2030-01-31 {told} UTC', time_text.moment(
                noon + datetime.timedelta(**more)))
        there = datetime.timezone(datetime.timedelta(hours=9))
        self.assertEqual('2030-01-31 12:00 UTC',
                         time_text.moment(noon.astimezone(there)))

    def test_durations_are_in_words(self):
        """Each part of a duration is written in words."""
        for seconds, told in (
                (259200, '3 days'), (86400, '1 day'), (5400, '1 hour and 30 '
                                                             'minutes'),
                (90061.9, '1 day 1 hour 1 minute and 1 second'),
                (10, '10 seconds'), (0.4, '0 seconds'), (0, '0 seconds')):
            self.assertEqual(told, time_text.duration(seconds))
            self.assertEqual(told, time_text.duration(
                datetime.timedelta(seconds=seconds)))
