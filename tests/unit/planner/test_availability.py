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

"""Free counts are right at every instant."""

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import availability
from ironic_reservations.planner import host_sets
from tests import examples
from tests.judges import oracle


class TestFreeCounts(testtools.TestCase):

    @examples.settings(200)
    @hypothesis.given(oracle.cases(), st.integers(0, 8), st.integers(1, 9),
                      st.integers(0, 15))
    def test_counts_are_right_at_every_instant(self, case, start, length,
                                               nodes):
        nodes &= host_sets.everything(case.nodes)
        end = start + length
        spans = availability.free_counts(case.timeline, nodes, start, end)
        self.assertEqual(start, spans[0].start)
        self.assertEqual(end, spans[-1].end)
        for one, other in zip(spans, spans[1:], strict=False):
            self.assertEqual(one.end, other.start)
            self.assertNotEqual(one.free, other.free)
        for span in spans:
            for at in range(span.start, span.end):
                taken = sum(booking.start <= at < booking.until
                            and bool(nodes >> booking.node & 1)
                            for booking in case.there)
                self.assertEqual(nodes.bit_count() - taken, span.free)
