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

"""Each method finds the plan in which one booking moves.

The planner tries several methods, so that one finds what another misses.
"""

import dataclasses

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import ejection
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import timeline
from tests import examples
from tests.judges import checker
from tests.judges import oracle

_NOBODY = frozenset()


@st.composite
def _one_movable(draw, cases):
    """Return cases in which one booking may move, and one unit is demanded."""
    case = draw(cases)
    hypothesis.assume(case.there)
    movable = draw(st.sampled_from(case.there))
    return dataclasses.replace(
        case, there=tuple(dataclasses.replace(
            each, movable=each is movable, affinity=None)
            for each in case.there),
        demands=tuple(dataclasses.replace(each, least=1, most=1,
                                          affinity=None)
                      for each in case.demands))


_WHOLE = _one_movable(oracle.cases(demands=1))
_SHARED = _one_movable(oracle.shared_cases(most=8, demands=1))


class TestOneMove(testtools.TestCase):

    def check(self, case, place):
        draft = timeline.Draft.of(case.timeline)
        demand, = case.demands
        unit = placement_units.unit([demand.booking(0, -1)], draft)
        found = place(draft, unit, budget.Budget(100_000))
        self.assertEqual(oracle.exists(case, [1]), found)
        after = draft.timeline()
        if found:
            self.assertEqual([], checker.wrong(case, after))
        else:
            self.assertEqual(case.timeline.rows, after.rows)

    @examples.settings(200)
    @hypothesis.given(_WHOLE | _SHARED)
    def test_ejection(self, case):
        self.check(case, lambda draft, unit, steps: ejection.eject(
            draft, unit, _NOBODY, steps))

    def test_share_that_leaves_for_a_larger_one(self):
        """Another host has exactly the needed room."""
        def share(name, node, amount, movable):
            return bookings.Booking(
                name, 0, 5, node, 0b11, movable,
                amounts=(('VCPU', amount),), group=name)
        case = oracle.Case(({'VCPU': 4},) * 2, (
            share('leaves', 0, 3, True), share('stays', 1, 1, False)), (
                bookings.Demand('demand', 2, 9, 1, 1, 0b11,
                                amounts=(('VCPU', 4),)),))
        self.check(case, lambda draft, unit, steps: ejection.eject(
            draft, unit, _NOBODY, steps))
