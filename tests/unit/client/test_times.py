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

"""Times in typed, sent and shown form."""

from __future__ import annotations

import datetime

from hypothesis import given
from hypothesis import strategies as st
import testtools

from ironic_reservations_client import times

NOON = datetime.datetime(2030, 1, 31, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


class TimesTest(testtools.TestCase):
    """Texts that are read, and texts that are refused with a hint."""

    def test_durations(self):
        """A duration has one unit, or several."""
        for text, wanted in (('90s', 90), ('45s', 45), ('30m', 1800),
                             ('4h', 14_400), ('1h30m', 5400),
                             ('7d', 604_800), ('2w', 1_209_600)):
            self.assertEqual(wanted, times.seconds(text), text)

    def test_what_is_no_duration(self):
        """The refusal shows how to write a duration."""
        for text in ('', '0', '0h', '-4h', '4 h', '4y', 'h', '1.5h', '٤h'):
            error = self.assertRaises(ValueError, times.seconds, text)
            self.assertIn('1h30m', str(error))

    def test_a_number_without_a_unit(self):
        """The refusal names the units: days were meant as often as hours."""
        for text in ('3', '90', '007'):
            error = self.assertRaises(ValueError, times.seconds, text)
            for unit in ('seconds', 'minutes', 'hours', 'days', 'weeks'):
                self.assertIn(f'{text}{unit[0]} ({unit})', str(error))

    @given(st.integers(1, 10 ** 8))
    def test_shown_as_typed(self, number):
        """The two largest units of a duration can be typed again."""
        shown = times.shown_duration(datetime.timedelta(seconds=number))
        again = times.seconds(shown)
        self.assertLessEqual(again, number)
        self.assertLess((number - again) / number, 0.05)

    def test_instants(self):
        """Without a zone, an instant is in UTC."""
        for text, wanted in (
                ('2030-01-31 13:00', NOON + HOUR),
                ('2030-01-31T13:00:00+01:00', NOON),
                ('2030-01-31T12:00:00Z', NOON),
                ('+1h', NOON + HOUR)):
            self.assertEqual(wanted, times.utc(times.instant(text, NOON)),
                             text)
        self.assertEqual('now', times.instant('now', NOON))

    def test_what_is_no_instant(self):
        """The refusal shows how to write an instant."""
        for text in ('', 'tomorrow', '+', '+h', '-1h', '2030-13-01 00:00',
                     '+999999999w', '0001-01-01T00:00:00+10:00'):
            error = self.assertRaises(ValueError, times.instant, text, NOON)
            self.assertIn('+4h', str(error), text)

    def test_sent_with_a_zone(self):
        """The zone does not matter; words stay as they are."""
        zone = datetime.timezone(HOUR)
        self.assertEqual('2030-01-31T12:00:00+00:00',
                         times.written(NOON.astimezone(zone)))
        self.assertEqual('2030-01-31T12:00:00+00:00',
                         times.written(NOON.replace(tzinfo=None)))
        self.assertEqual('now', times.written('now'))
        self.assertEqual('2030-01-31 12:00',
                         times.written('2030-01-31 12:00'))
