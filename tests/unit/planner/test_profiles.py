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

"""A demand that a profile excludes is impossible, whatever moves."""

import dataclasses

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import profiles
from tests import examples
from tests.judges import oracle


class TestMissing(testtools.TestCase):

    @examples.settings(300)
    @hypothesis.given(oracle.cases(demands=1)
                      | oracle.shared_cases(demands=1, most=6),
                      st.integers(0, 9))
    def test_window_with_too_little_is_impossible(self, case, start):
        """The same is true for windows that are no nearer to enough hosts."""
        demand, = case.demands
        demand = dataclasses.replace(
            demand, start=start, end=start + demand.end - demand.start)
        profile = profiles.of(case.timeline, demand)
        missing = profile.missing(demand)
        hypothesis.assume(missing is not None)
        first, until = missing
        length = profile.end(demand) - start
        self.assertTrue(first < start + length and start < until)
        for at in range(max(-9, first - length + 1), min(19, until)):
            self.assertFalse(oracle.exists(dataclasses.replace(
                case, demands=(dataclasses.replace(
                    demand, start=at, end=at + demand.end - demand.start),)),
                [demand.least]))
