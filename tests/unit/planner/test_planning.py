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

"""Admission: no wrong refusal and no double booking, in any order."""

import dataclasses
import itertools

import hypothesis
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline
from tests import examples
from tests.judges import checker
from tests.judges import oracle

AB = 0b11
A, B = 0b01, 0b10


def _booking(name, start, end, node, eligible=AB, **more):
    return bookings.Booking(name, start, end, node, eligible, **more)


def _demand(start, end, least=1, most=None, eligible=AB, **more):
    return bookings.Demand('demand', start, end, least, most or least,
                           eligible, **more)


def _plan(nodes, there, *demands, **more):
    return planning.plan(timeline.Timeline.of([None] * nodes, there),
                         demands, **more)


def _granted(answer):
    return (None if isinstance(answer, plans.Refusal)
            else [len(granted) for granted in answer.granted])


def _renumbered(case, order):
    def mask(nodes):
        return host_sets.mask(order[node] for node in host_sets.members(nodes))
    capacities = list(case.capacities)
    for node, capacity in enumerate(case.capacities):
        capacities[order[node]] = capacity
    return oracle.Case(
        tuple(capacities),
        tuple(dataclasses.replace(booking, node=order[booking.node],
                                  eligible=mask(booking.eligible))
              for booking in reversed(case.there)),
        tuple(dataclasses.replace(demand, eligible=mask(demand.eligible))
              for demand in case.demands))


class TestAgainstTheOracle(testtools.TestCase):
    """The cases have nodes of Ironic, compute hosts, or both together."""

    @examples.settings(500)
    @hypothesis.given(oracle.cases() | oracle.shared_cases())
    def test_admission_is_what_can_be_assigned(self, case):
        answer = planning.plan(case.timeline, case.demands)
        self.assertEqual(oracle.best(case), _granted(answer))
        if isinstance(answer, plans.Refusal):
            self.assertTrue(answer.cause.proved)
            self.assertIn(answer.demand, case.demands)
            self.assertGreater(answer.short, 0)
        else:
            self.assertTrue(answer.maximal)
            self.assertEqual([], checker.wrong(case, answer.timeline))

    @examples.settings(300)
    @hypothesis.given(oracle.cases() | oracle.shared_cases())
    def test_search_alone_finds_what_can_be_assigned(self, case):
        answer = planning.plan(case.timeline, case.demands, budget.Limits(
            proof=0, swap=0, search=200_000,
            eject=0))
        self.assertEqual(oracle.best(case), _granted(answer))

    @examples.settings(40)
    @hypothesis.given(oracle.shared_cases(most=8, demands=3))
    def test_plan_of_a_crowd_passes_the_checker(self, case):
        answer = planning.plan(case.timeline, case.demands)
        hypothesis.assume(isinstance(answer, plans.Plan))
        self.assertEqual([], checker.wrong(case, answer.timeline))


    @examples.settings(100)
    @hypothesis.given(oracle.cases(alike=True, demands=1, started_only=True))
    def test_alike_nodes_need_no_search(self, case):
        answer = planning.plan(case.timeline, case.demands,
                               budget.Limits(search=0, eject=0))
        self.assertEqual(oracle.best(case), _granted(answer))

    @examples.settings(200)
    @hypothesis.given(oracle.crowds())
    def test_crowds_of_alike_nodes_take_what_depth_allows(self, case):
        wanted, = case.demands
        answer = planning.plan(case.timeline, case.demands,
                               budget.Limits(search=0, eject=0))
        room = case.nodes - oracle.depth(case, wanted.start, wanted.until)
        self.assertEqual([min(room, wanted.most)] if room else None,
                         _granted(answer))
        if room:
            self.assertEqual([], checker.wrong(case, answer.timeline))

    @examples.settings(160)
    @hypothesis.given(oracle.cases(demands=3) | oracle.shared_cases())
    def test_order_of_demands_does_not_matter(self, case):
        least = [dataclasses.replace(demand, most=demand.least)
                 for demand in case.demands]
        for order in itertools.permutations(least):
            answer = planning.plan(case.timeline, order)
            self.assertEqual(
                oracle.exists(case, [demand.least for demand in least]),
                isinstance(answer, plans.Plan))

    @examples.settings(120)
    @hypothesis.given(oracle.cases() | oracle.shared_cases())
    def test_order_of_hosts_does_not_matter(self, case):
        granted = _granted(planning.plan(case.timeline, case.demands))
        for order in itertools.permutations(range(case.nodes)):
            other = _renumbered(case, order)
            self.assertEqual(granted, _granted(planning.plan(
                other.timeline, other.demands)))

    @examples.settings(160)
    @hypothesis.given(oracle.cases() | oracle.shared_cases())
    def test_moves_and_grants_are_all_that_differs(self, case):
        answer = planning.plan(case.timeline, case.demands)
        hypothesis.assume(isinstance(answer, plans.Plan))
        where = {booking.id: booking.node for booking in case.there}
        for move in answer.moves:
            self.assertNotEqual(where[move.booking.id], move.node)
            self.assertTrue(move.booking.movable)
            where[move.booking.id] = move.node
        where.update({booking.id: booking.node for row in answer.granted
                      for booking in row})
        self.assertEqual(where, {booking.id: booking.node for booking
                                 in answer.timeline.promised()})


class TestNamedCases(testtools.TestCase):

    def test_exchange_makes_room_by_itself(self):
        there = [_booking('ends', 0, 3, 0), _booking('in the way', 6, 9, 0),
                 _booking('other', 0, 5, 1)]
        for swap, granted in ((0, None), (100, [1])):
            self.assertEqual(granted, _granted(_plan(
                2, there, _demand(3, 8), limits=budget.Limits(
                    proof=0, swap=swap, search=0,
                    eject=0))))

    def test_no_way_of_looking_moves_what_is_fixed(self):
        there = [_booking('fixed', 0, 9, 0, movable=False)]
        nothing = budget.Limits(proof=0, swap=0, search=0,
                                eject=0)
        for way in ('swap', 'search', 'eject'):
            self.assertIsInstance(_plan(
                2, there, _demand(0, 5, eligible=A),
                limits=dataclasses.replace(nothing, **{way: 10_000})),
                plans.Refusal, way)

    def test_search_uses_a_host_without_any_class(self):
        """Its inventory is empty, which is no capacity to compare."""
        now = timeline.Timeline.of([None, {}], [_booking('a', 0, 5, 0)])
        answer = planning.plan(now, [_demand(0, 5, eligible=A)], budget.Limits(
            proof=0, swap=0, eject=0))
        self.assertEqual([1], _granted(answer))

    def test_hosts_pinned_at_creation_do_not_refuse_the_third_lease(self):
        there = (_booking('L1', 0, 2, 0), _booking('L2', 4, 6, 1))
        answer = _plan(2, there, _demand(1, 5))
        self.assertEqual([1], _granted(answer))
        self.assertEqual(1, len(answer.moves))

    def test_started_lease_stays_and_the_other_moves(self):
        there = (_booking('L1', 0, 2, 0, movable=False),
                 _booking('L2', 4, 6, 1))
        answer = _plan(2, there, _demand(1, 5))
        self.assertEqual(['L2'], [move.booking.id for move in answer.moves])

    def test_matching_at_each_instant_is_not_an_assignment(self):
        there = (_booking('P', 0, 5, 0, A), _booking('Q', 5, 10, 1, B))
        answer = _plan(2, there, _demand(0, 10))
        self.assertEqual(plans.Cause.NO_ASSIGNMENT, answer.cause)
        self.assertEqual(['P', 'Q'],
                         [booking.id for booking in answer.blockers])

    def test_nodes_never_used_and_used_before_are_all_granted(self):
        there = [_booking(str(node), 0, 1, node, 0b11111, movable=False)
                 for node in range(4)]
        answer = _plan(5, there, _demand(2, 4, 1, 5, 0b11111))
        self.assertEqual([5], _granted(answer))

    def test_windows_back_to_back_share_a_node(self):
        there = (_booking('before', 0, 5, 0, A), _booking('after', 8, 9, 0,
                                                          A))
        self.assertEqual([1], _granted(_plan(1, there,
                                             _demand(5, 8, eligible=A))))

    def test_peak_outside_the_window_does_not_count(self):
        there = (_booking('1', 0, 5, 0), _booking('2', 0, 5, 1))
        self.assertEqual([2], _granted(_plan(2, there, _demand(5, 9, 2))))

    def test_margin_keeps_windows_apart_on_both_sides(self):
        there = (_booking('there', 5, 8, 0, A, margin=2),)
        for start, end, margin, fits in (
                (10, 11, 0, True), (9, 11, 0, False),
                (3, 4, 1, True), (3, 4, 2, False), (3, 5, 0, True)):
            self.assertEqual([1] if fits else None, _granted(_plan(
                1, there, _demand(start, end, eligible=A, margin=margin))))

    def test_demands_of_one_lease_are_all_served_or_none(self):
        one = _demand(0, 5, eligible=A)
        two = bookings.Demand('other', 0, 5, 2, 2, AB)
        answer = _plan(2, (), one, two)
        self.assertEqual(two, answer.demand)
        self.assertEqual(1, answer.short)

    def test_started_bookings_that_are_extended_push_others_aside(self):
        there = (_booking('next', 5, 9, 0),)
        answer = _plan(2, there, _demand(0, 6, eligible=A))
        self.assertEqual([('next', 1)], [(move.booking.id, move.node)
                                         for move in answer.moves])

    def test_preferred_nodes_are_taken_first(self):
        answer = _plan(2, (), _demand(0, 5, preferred=B))
        self.assertEqual(1, answer.granted[0][0].node)

    def test_shortage_names_the_instant_and_who_is_there(self):
        there = (_booking('1', 0, 5, 0), _booking('2', 3, 8, 1))
        answer = _plan(2, there, _demand(1, 9))
        self.assertEqual((plans.Cause.SHORTAGE, 3),
                         (answer.cause, answer.at))
        self.assertEqual(['1', '2'],
                         [booking.id for booking in answer.blockers])

    def test_no_eligible_node_is_a_shortage(self):
        self.assertEqual(plans.Cause.SHORTAGE,
                         _plan(2, (), _demand(0, 1, eligible=0)).cause)

    def test_search_that_ends_early_does_not_claim_a_proof(self):
        there = (_booking('P', 0, 5, 0, A), _booking('Q', 5, 10, 1, B))
        answer = _plan(2, there, _demand(0, 10),
                       limits=budget.Limits(search=0, eject=0))
        self.assertEqual(plans.Cause.SEARCH_LIMIT, answer.cause)
        self.assertFalse(answer.cause.proved)


class TestDemands(testtools.TestCase):

    def test_demands_with_one_id_are_refused(self):
        self.assertRaises(ValueError, _plan, 2, (), _demand(0, 1),
                          _demand(2, 3))

    def test_senseless_demands_are_refused(self):
        for wrong in ((5, 5, 1, 1), (5, 4, 1, 1), (0, 1, 2, 1),
                      (0, 1, 0, 0), (0, 1, -1, 1)):
            self.assertRaises(ValueError, bookings.Demand, 'demand', *wrong,
                              AB)
        self.assertRaises(ValueError, bookings.Demand, 'demand', 0, 1, 1, 1,
                          AB, -1)
