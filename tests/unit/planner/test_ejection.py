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

"""Search by ejection: each plan that it finds is valid."""

import dataclasses
import itertools
import math
import random
from unittest import mock

import hypothesis
import testtools

from benchmarks import feasible
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import ejection
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import placement_units
from ironic_reservations.planner import places
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import shared_row
from ironic_reservations.planner import timeline
from tests import examples
from tests.judges import checker
from tests.judges import oracle

#: Only the present free time and ejection.
ALONE = budget.Limits(proof=0, swap=0, search=0,
                      eject=1500)
#: The same, with a higher cost for each examined host.
SHARED_ALONE = dataclasses.replace(ALONE, eject=20_000)
NONE_PINNED = frozenset()


def _whole(case):
    """Tell whether all hosts are nodes of Ironic, and had as a whole."""
    return not any(case.capacities) and all(
        each.amounts is None for each in (*case.there, *case.demands))


def _alone(case):
    """Plan a case by ejection alone."""
    return planning.plan(case.timeline, case.demands,
                         ALONE if _whole(case) else SHARED_ALONE)


class TestPlans(testtools.TestCase):
    """The cases have nodes of Ironic, compute hosts, or both together."""

    @examples.settings(700)
    @hypothesis.given(oracle.cases() | oracle.shared_cases())
    def test_what_is_found_can_be_assigned(self, case):
        answer = _alone(case)
        if isinstance(answer, plans.Refusal):
            self.assertFalse(_whole(case) and answer.cause.proved)
            return
        self.assertTrue(oracle.exists(
            case, [len(row) for row in answer.granted]))
        self.assertEqual([], checker.wrong(case, answer.timeline))

    @examples.settings(250)
    @hypothesis.given(oracle.crowds() | oracle.shared_cases(
        hosts=5, most=14, demands=3))
    def test_what_is_found_in_a_crowd_has_room(self, case):
        answer = _alone(case)
        hypothesis.assume(isinstance(answer, plans.Plan))
        self.assertEqual([], checker.wrong(case, answer.timeline))

    @examples.settings(200)
    @hypothesis.given(oracle.cases() | oracle.shared_cases())
    def test_one_snapshot_has_one_plan(self, case):
        self.assertEqual(_alone(case), _alone(case))


class TestWholeHosts(testtools.TestCase):


    @examples.settings(100)
    @hypothesis.given(oracle.cases(demands=1))
    def test_draft_is_left_alone_where_nothing_is_found(self, case):
        draft = timeline.Draft.of(case.timeline)
        for steps in (0, 3, 30, 300):
            if ejection.eject(draft, placement_units.unit(
                    [case.demands[0].booking(0, -1)], draft), NONE_PINNED,
                    budget.Budget(steps)):
                break
            self.assertEqual(case.timeline, draft.timeline())

    def test_hidden_packings_are_found(self):
        """All nodes are full and different, and one more booking must fit."""
        for seed in range(20):
            nodes, there, wanted = _packing(seed)
            now = timeline.Timeline.of([None] * nodes, there)
            answer = planning.plan(now, [wanted], dataclasses.replace(
                ALONE, eject=100_000))
            self.assertIsInstance(answer, plans.Plan, seed)
            self.assertEqual([], checker.faults(
                there, [wanted], answer.timeline.promised(),
                [None] * nodes))

    def test_exchanges_place_what_ejections_alone_do_not(self):
        """In a packing of 30 nodes that is drawn first: each refusal is wrong.
        """
        case, refused = feasible.nodes(30, 0.98, 2), []
        for tried in (0, 10):
            outcome = feasible.Outcome()
            with mock.patch.object(ejection, '_EXCHANGES', tried):
                feasible.play(case, outcome, dataclasses.replace(
                    planning.LIMITS, search=0, eject=60_000))
            refused.append(len(outcome.refused))
        self.assertLess(refused[1], refused[0])

    def test_booking_stays_on_a_node_that_would_not_do_any_more(self):
        """Its own requirement has changed; the other booking must move."""
        there = (bookings.Booking('unfit', 0, 9, 0, 0b010),
                 bookings.Booking('fixed', 0, 9, 1, 0b010, movable=False),
                 bookings.Booking('moves', 0, 9, 2, 0b111))
        answer = planning.plan(timeline.Timeline.of([None] * 4, there), [
            bookings.Demand('new', 0, 9, 1, 1, 0b101)],
            dataclasses.replace(ALONE, search=0))
        self.assertEqual(plans.Cause.SEARCH_LIMIT, answer.cause)
        there = (*there[:2], dataclasses.replace(there[2], eligible=0b1111))
        answer = planning.plan(timeline.Timeline.of([None] * 4, there), [
            bookings.Demand('new', 0, 9, 1, 1, 0b101)], ALONE)
        self.assertEqual([('moves', 3)], [
            (move.booking.id, move.node) for move in answer.moves])

    def test_nobody_leaves_for_what_has_no_node(self):
        answer = planning.plan(timeline.Timeline.of([None] * 2), [
            bookings.Demand('new', 0, 9, 1, 1, 0)], ALONE)
        self.assertEqual(plans.Cause.SEARCH_LIMIT, answer.cause)

    def test_one_request_has_one_budget(self):
        """The budget is the same for any number of nodes."""
        there = [bookings.Booking(str(node), 0, 9, node, 0b11)
                 for node in range(2)]
        spent = []

        class Counted(budget.Budget):
            def spend(self, steps=1):
                spent.append(steps)
                super().spend(steps)

        steps = Counted(500)
        draft = timeline.Draft.of(timeline.Timeline.of([None] * 2, there))
        for count in range(3):
            wanted = bookings.Booking(f'new/{count}', 0, 9, -1, 0b11)
            self.assertFalse(
                ejection.eject(draft, placement_units.unit([wanted], draft),
                               NONE_PINNED, steps))
        self.assertLess(sum(spent), 600)


def _packing(seed):
    """Return full nodes of several kinds, and the one booking left out."""
    chance = random.Random(seed)
    nodes = 8
    masks = [host_sets.mask(node for node in range(nodes)
                        if node == own or chance.random() < 0.5)
             for own in range(nodes)]
    packed = []
    for node in range(nodes):
        cuts = [0, *sorted(chance.sample(range(1, 20), 4)), 20]
        packed.extend((start, end, masks[node])
                      for start, end in itertools.pairwise(cuts))
    chance.shuffle(packed)
    now = timeline.Timeline.of([None] * nodes)
    for number, (start, end, eligible) in enumerate(packed):
        wanted = bookings.Demand(str(number), start, end, 1, 1, eligible)
        answer = planning.plan(now, [wanted], dataclasses.replace(
            planning.LIMITS, eject=0))
        fits = isinstance(answer, plans.Plan) and not answer.moves
        if not fits and number > nodes:
            break
        if isinstance(answer, plans.Plan):
            now = answer.timeline
    return nodes, list(now.promised()), wanted


class TestSharedHosts(testtools.TestCase):


    @examples.settings(200)
    @hypothesis.given(oracle.shared_cases(hosts=3, most=8, demands=1))
    def test_row_has_room_where_the_pool_has_it(self, case):
        """Without the bookings in the way, there is room."""
        draft = timeline.Draft.of(case.timeline)
        part = [case.demands[0].booking(0, -1)]
        unit = placement_units.unit(part, draft)
        piece = ejection._piece(draft, unit, True)
        for node in host_sets.members(unit.eligible):
            row = ejection.row(draft, node, NONE_PINNED)
            cost = row.cost(piece)
            self.assertEqual(placement_units.takes(draft, node, unit), cost
                             <= 0)
            # For some calls the row is new, for others its cost is known.
            for most in (cost - 1, cost, cost + 1, -1.0, 0.0, 1.0):
                for there in (ejection.row(draft, node, NONE_PINNED), row):
                    self.assertTrue(
                        there.cost(piece, most) == cost
                        or most <= there.cost(piece, most) <= cost,
                        (most, cost))
                    self.assertEqual(cost, there.cost(piece))
            if math.isinf(cost):
                continue
            leaving = list(row.blockers(piece))
            self.assertEqual(cost > 0, bool(leaving))
            rest = placement_units.without(draft,
                                           [each.unit for each in leaving])
            self.assertTrue(placement_units.takes(rest, node, unit))
            for each in leaving:
                self.assertTrue(all(one.movable for one in each.unit.parts))
                row.take(each)
            self.assertLessEqual(row.cost(piece), 0)
            row.put(piece)
            row.take(piece)
            for each in leaving:
                row.put(each)
            self.assertEqual(cost, row.cost(piece))

    @examples.settings(100)
    @hypothesis.given(oracle.shared_cases(hosts=3, most=8, demands=1))
    def test_host_is_given_up_only_where_what_stays_is_in_the_way(self, case):
        draft = timeline.Draft.of(case.timeline)
        unit = placement_units.unit([case.demands[0].booking(0, -1)], draft)
        piece = ejection._piece(draft, unit, True)
        for node in host_sets.members(unit.eligible):
            rest = draft.copy()
            rest.draw(node, [each for each in draft.rows[node]
                             if not each.movable])
            self.assertEqual(
                placement_units.takes(rest, node, unit),
                ejection.row(draft, node, NONE_PINNED).cost(piece) < math.inf)

    def test_hidden_packing_of_shares_is_found(self):
        """In a packing of 4 hosts that is drawn first: each refusal is wrong.

        18 were refused when each examined host took its full time and shares
        weighed the root of their amounts.
        """
        outcome = feasible.Outcome()
        feasible.play(feasible.compute_hosts(4, 0.95, 0), outcome,
                      dataclasses.replace(planning.LIMITS, search=0,
                                          eject=60_000))
        self.assertLess(len(outcome.refused), 12)
        self.assertFalse([each for each in outcome.refused
                          if each.cause.proved])

    def test_row_is_examined_again_only_once_it_has_changed(self):
        """Each arriving or leaving booking is taken into account."""
        draft = timeline.Draft.of(timeline.Timeline.of([{'VCPU': 4}], ()))
        first, second = (places.Piece(placement_units.unit([bookings.Booking(
            name, 0, 5, -1, 1, amounts=(('VCPU', 3),))], draft),
            1) for name in 'ab')
        row = ejection.row(draft, 0, NONE_PINNED)
        costs, efforts = [], []
        for change in (None, row.put, None, row.take):
            if change is not None:
                change(first)
            costs.append(row.cost(second))
            efforts.append(row.effort)
        self.assertEqual([True, False, False, True],
                         [cost <= 0 for cost in costs])
        self.assertEqual(costs[1], first.weight)
        self.assertEqual([efforts[0]] * 2, [efforts[1], efforts[3]])
        self.assertLess(efforts[2], efforts[0])

    def test_host_without_a_class_has_room_for_none_of_it(self):
        """Such a host has lost the class from its inventory since."""
        row = shared_row.Row({'VCPU': 4})
        piece = places.Piece(placement_units.unit([bookings.Booking(
            'a', 0, 5, -1, 1, amounts=(('CUSTOM_GPU', 1),))],
            timeline.Draft.of(timeline.Timeline.of([{'VCPU': 4}], ()))), 1)
        self.assertEqual(math.inf, row.cost(piece))

    def test_thousands_of_sets_of_hosts(self):
        """The hosts of a booking are not listed before it has to move.

        A search took minutes when each booking had a set of hosts of its own.
        """
        nodes = 1500
        every = host_sets.everything(nodes)
        there = timeline.Timeline.of([None] * nodes, [
            bookings.Booking(f'there/{number}', 0, 9, number,
                             every & ~(1 << (number + 1) % nodes))
            for number in range(nodes)])
        host_sets.members.cache_clear()
        outcome = planning.plan(
            there, [bookings.Demand('wanted', 3, 5, 1, 1, every)],
            dataclasses.replace(planning.LIMITS, proof=0, swap=0, search=0),
            explained=False)
        self.assertIsInstance(outcome, plans.Refusal)
        self.assertLess(host_sets.members.cache_info().misses, nodes)
