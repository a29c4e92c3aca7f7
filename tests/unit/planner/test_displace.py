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

"""Making room for a reservation: all leases are kept, or none moves."""

import dataclasses

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import displace
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline
from tests.judges import checker
from tests.judges import oracle

#: The demanded windows begin here.
NOW = 0


@st.composite
def timelines(draw):
    """Return a few nodes with planned bookings."""
    nodes = draw(st.integers(1, 4))
    there, ends = [], [NOW] * nodes
    for count in range(draw(st.integers(0, 7))):
        node = draw(st.integers(0, nodes - 1))
        start = ends[node] + draw(st.integers(0, 3))
        ends[node] = start + draw(st.integers(1, 4))
        eligible = draw(st.integers(0, host_sets.everything(nodes)))
        there.append(bookings.Booking(
            str(count), start, ends[node], node, eligible | 1 << node,
            start > NOW))
    return timeline.Timeline.of([None] * nodes, there)


def _possible(now, node, end):
    return oracle.exists(oracle.Case(
        now.capacities, tuple(now.promised()),
        (bookings.Demand('taken', NOW, end, 1, 1, 1 << node),)), [1])


class TestFirst(testtools.TestCase):

    @hypothesis.given(timelines(), st.integers(1, 12), st.data())
    def test_first_that_can_be_had_is_found(self, now, end, data):
        """An examination of every assignment gives the same node."""
        order = data.draw(st.permutations(range(len(now.rows))))
        found = displace.first(now, order, NOW, end)
        possible = [node for node in order if _possible(now, node, end)]
        served = isinstance(found, tuple)
        self.assertEqual(possible[:1], [found[0]] if served else [])
        if served:
            self.assertEqual([], checker.faults(
                now.promised(), [bookings.Demand(
                    'taken', NOW, end, 1, 1,
                    found[1].granted[0][0].eligible)],
                found[1].timeline.promised(), now.capacities))

    @hypothesis.given(timelines(), st.integers(1, 12))
    def test_any_that_can_be_had_will_do(self, now, end):
        found = displace.first(now, range(now.nodes), NOW, end,
                               ordered=False)
        possible = {node for node in range(len(now.rows))
                    if _possible(now, node, end)}
        served = isinstance(found, tuple)
        self.assertEqual(bool(possible), served)
        self.assertLessEqual({found[0]} if served else set(), possible)

    @hypothesis.given(timelines(), st.integers(1, 12), st.booleans(),
                      st.integers(0, 3000))
    def test_nothing_is_proved_where_the_search_has_ended(
            self, now, end, ordered, units):
        found = displace.first(
            now, range(now.nodes), NOW, end, ordered, dataclasses.replace(
                planning.LIMITS, request=budget.Work(units)))
        if isinstance(found, plans.Refusal) and found.cause.proved:
            self.assertFalse([node for node in range(now.nodes)
                              if _possible(now, node, end)])

    def test_no_nodes_is_no_room(self):
        self.assertIsNone(displace.first(
            timeline.Timeline.of([None]), [], 0, 1))


class TestClear(testtools.TestCase):

    @hypothesis.given(timelines(), st.integers(1, 12), st.data())
    def test_node_is_taken_and_what_can_be_kept_is_kept(self, now, end,
                                                        data):
        """All leases are kept exactly if that is possible."""
        node = data.draw(st.integers(0, len(now.rows) - 1))
        hypothesis.assume(timeline.Draft.of(now).free(
            node, NOW, NOW + 1))
        inside = [each for each in now.rows[node] if each.start < end]
        demands = [bookings.Demand(
            f'{each.id}:home', each.start, each.end, 1, 1,
            each.eligible & ~(1 << node)) for each in inside]
        cleared = displace.clear_node(now, node, NOW, end, demands)
        self.assertEqual(_possible(now, node, end), not cleared.homeless)
        kept = [demand for demand in demands
                if demand.id not in cleared.homeless]
        taken = bookings.Booking('taken/0', NOW, end, node, 1 << node, False)
        stayed = [each for each in now.promised() if each not in inside]
        self.assertEqual([], checker.faults(
            [*stayed, taken], kept, cleared.timeline.promised(),
            now.capacities))

    def test_node_is_taken_whatever_stands_there(self):
        now = timeline.Timeline.of([None], [bookings.Booking(
            'started', -1, 5, 0, 1, False)])
        cleared = displace.clear_node(now, 0, 0, 3, [])
        self.assertEqual(['taken/0'], [each.id for each
                                       in cleared.timeline.rows[0]])
