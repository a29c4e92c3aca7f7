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

"""The number that a project has at once, at each instant."""

import collections
import datetime

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import allowance

_START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


def _at(hour):
    return _START + datetime.timedelta(hours=hour)


_windows = st.tuples(st.integers(0, 9), st.integers(1, 5)).map(
    lambda each: (each[0], sum(each)))


class TestAtOnce(testtools.TestCase):

    @hypothesis.given(st.lists(_windows, max_size=6), _windows,
                      st.integers(0, 3))
    def test_counts_are_those_of_each_instant(self, windows, window, most):
        held = [allowance.Held(_at(start), _at(end), True)
                for start, end in windows]

        def count(hour):
            return sum(start <= hour < end for start, end in windows)
        counts = [count(hour) for hour in range(*window)]
        together = [allowance.Held(_at(start), _at(end), True, count=alike)
                    for (start, end), alike
                    in collections.Counter(windows).items()]
        for each in (held, together):
            self.assertEqual(max(counts), allowance.most_at_once(
                each, *map(_at, window)))
            self.assertEqual(
                sum(end - start for start, end in windows) * 3600,
                allowance.seconds_ahead(each, _at(0)))
        over = [hour for hour in range(*window) if count(hour) > most]
        expected = None
        if over:
            last = over[-1]
            while count(last) > most:
                last += 1
            expected = _at(over[0]), _at(last)
        for each in (held, together):
            self.assertEqual(expected, allowance.beyond(
                each, *map(_at, window), most))
