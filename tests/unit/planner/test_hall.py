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

"""The proof that no node is left is exact if no booking may move."""

import dataclasses

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import hall
from ironic_reservations.planner import host_sets
from tests import examples
from tests.judges import oracle


@st.composite
def _leapfrog(draw):
    """Return long rows in which the nodes are free in turn."""
    chance = draw(st.randoms(use_true_random=False))
    nodes = draw(st.integers(2, 4))
    there = []
    for node in range(nodes):
        at = chance.randint(0, 3)
        while at < 60:
            end = at + chance.randint(1, 3)
            there.append(bookings.Booking(f'{node}.{at}', at, end, node, 1))
            at = end + chance.randint(1, 2)
    return oracle.Case((None,) * nodes, tuple(there), (bookings.Demand(
        'demand', 1, 60, 1, 1, host_sets.everything(nodes)),))


class TestFind(testtools.TestCase):

    @examples.settings(150)
    @hypothesis.given(oracle.cases() | oracle.crowds() | _leapfrog())
    def test_shortage_is_where_all_nodes_are_taken_at_once(self, case):
        draft = dataclasses.replace(case, there=tuple(
            dataclasses.replace(each, movable=False)
            for each in case.there)).timeline
        for demand in case.demands:
            wanted = demand.booking(0, -1)
            full = {at: holders for at in range(wanted.start, wanted.until)
                    if len(holders := {
                        each.id for each in case.there
                        if each.start <= at < each.until
                        and wanted.eligible >> each.node & 1
                    }) == wanted.eligible.bit_count()}
            found = hall.find(draft, wanted, budget.Budget(1_000_000))
            self.assertEqual(bool(full), found is not None)
            if found is not None:
                self.assertEqual(full[found.at],
                                 {each.id for each in found.holders})

    @examples.settings(150)
    @hypothesis.given(oracle.cases() | oracle.crowds(), st.integers(1, 6))
    def test_count_is_exact_where_nothing_may_move(self, case, needed):
        draft = dataclasses.replace(case, there=tuple(
            dataclasses.replace(each, movable=False)
            for each in case.there)).timeline
        for demand in case.demands:
            wanted = demand.booking(0, -1)
            left = min(wanted.eligible.bit_count() - len({
                each.node for each in case.there
                if each.start <= at < each.until
                and wanted.eligible >> each.node & 1})
                for at in range(wanted.start, wanted.until))
            found = hall.count(draft, wanted, needed,
                               budget.Budget(1_000_000))
            self.assertEqual(max(0, needed - left),
                             0 if found is None else found.short)
