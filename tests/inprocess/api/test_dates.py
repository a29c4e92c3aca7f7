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
"""Dates in the format of Blazar."""

import datetime

import hypothesis
from hypothesis import strategies
import testtools

from ironic_reservations.api.types import dates

_ZONES = strategies.timedeltas(
    datetime.timedelta(hours=-23), datetime.timedelta(hours=23)).map(
        lambda each: datetime.timezone(
            datetime.timedelta(minutes=each // datetime.timedelta(
                minutes=1))))


class TestDates(testtools.TestCase):
    """Reading and writing dates."""

    @hypothesis.given(strategies.datetimes(
        datetime.datetime(1971, 1, 1), datetime.datetime(8999, 12, 30),
        timezones=_ZONES))
    def test_what_is_written_is_read(self, date):
        """A date is in UTC, for our zones and those of Python."""
        self.assertEqual(date, dates.read(date.isoformat()))
        utc = date.astimezone(datetime.UTC)
        self.assertEqual(date, dates.read(dates.write(utc)))
        self.assertEqual(utc.replace(microsecond=0),
                         dates.read(dates.write_short(utc)))
        self.assertEqual(
            utc.replace(second=0, microsecond=0),
            dates.read(utc.strftime('%Y-%m-%d %H:%M')))

    @hypothesis.given(strategies.datetimes(
        datetime.datetime(1970, 1, 1), datetime.datetime(8999, 12, 31),
        timezones=strategies.just(datetime.UTC)))
    def test_clients_of_blazar_read_it(self, date):
        """The format of Blazar's clients reads it."""
        self.assertEqual(date, datetime.datetime.strptime(
            dates.write(date), '%Y-%m-%dT%H:%M:%S.%f').replace(
                tzinfo=datetime.UTC))

    @hypothesis.given(strategies.one_of(
        strategies.text(), strategies.none(), strategies.integers(),
        strategies.lists(strategies.text()),
        strategies.from_regex(r'\A[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:+-]*\Z')))
    def test_anything_else_is_refused(self, value):
        """Other text is refused with a printable sentence, or is a date."""
        try:
            read = dates.read(value)
        except ValueError as exc:
            self.assertIn('is an invalid date', str(exc))
            self.assertTrue(str(exc).isprintable())
        else:
            self.assertTrue(read == dates.NOW
                            or read.utcoffset() == datetime.timedelta())
