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

"""The cost of the hardest requests: those for which a plan may exist."""

import dataclasses
import random
from unittest import mock

import testtools

from benchmarks import feasible
from ironic_reservations.features.open_dates import planning as slides
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import host_sets
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import search
from ironic_reservations.planner import timeline

_HOSTS = 64
_HORIZON = 60
#: The units of work of a request that ends without a proof.
_LITTLE = 1_000_000
#: The hosts of a large cloud.
_ALL = (1 << 2000) - 1


def _packed():
    """Return hosts with movable bookings, and the hosts of four traits."""
    chance = random.Random('hard')
    traits = [host_sets.mask(host for host in range(_HOSTS)
                         if chance.random() < 0.4) for _ in range(4)]
    classes = [chance.randrange(3) for _ in range(_HOSTS)]
    there = []
    for host in range(_HOSTS):
        at = 0
        while at < _HORIZON:
            if chance.random() > 0.8:
                at += chance.randint(1, 2)
                continue
            end = min(_HORIZON, at + chance.randint(1, 14))
            alike = [host_sets.mask(other for other in range(_HOSTS)
                                if classes[other] == classes[host]),
                     host_sets.mask(other for other in range(_HOSTS)
                                if other // 8 == host // 8),
                     *(trait for trait in traits if trait >> host & 1)]
            there.append(bookings.Booking(
                f'{host} {at}', at, end, host, chance.choice(alike)))
            at = end
    return timeline.Timeline.of((None,) * _HOSTS, there), traits


class TestHardRequests(testtools.TestCase):
    """One lease with open dates and four reservations on 64 hosts."""

    def setUp(self):
        super().setUp()
        self.now, traits = _packed()
        self.demands = tuple(
            bookings.Demand(str(number), 0, 6, 2, 2, trait)
            for number, trait in enumerate(traits))
        self.sliding = slides.Sliding(self.demands, 0, _HORIZON - 6)

    def _cost(self, call):
        """Return the units of work of a planned request."""
        request = budget.Work()
        call(dataclasses.replace(planning.LIMITS, request=request))
        return request.spent

    def test_lease_with_open_dates_costs_no_more_than_one_hard_plan(self):
        hard = max(self._cost(lambda limits, start=start: planning.plan(
            self.now, self.sliding.at(start), limits))
            for start in range(0, 55, 6))
        cost = self._cost(lambda limits: slides.slide(
            self.now, (), [self.sliding], limits=limits))
        self.assertLess(cost, 1.5 * hard)

    def test_all_plans_of_a_request_share_its_work(self):
        """Its own dates, other dates, rescheduled leases and offers count."""
        # Neither a place nor a proof is found here.
        demands = self.sliding.at(18)
        request = budget.Work(_LITTLE)
        limits = dataclasses.replace(planning.LIMITS, request=request)
        answer = planning.plan(self.now, demands, limits)
        self.assertIs(plans.Cause.SEARCH_LIMIT, answer.cause)
        self.assertLessEqual(request.spent, _LITTLE / 2)
        for _ in range(3):
            offers.soonest(self.now, demands, _HORIZON, limits)
            slides.slide(self.now, (), [self.sliding], limits=limits)
            offers.offers(self.now, demands, 0, 2 * _HORIZON, limits)
        # A plan costs work even if none is left.
        self.assertLess(request.spent, 1.1 * _LITTLE)

    def test_work_of_a_request_suffices_for_a_proof(self):
        """The proof is the same as without a limit."""
        limits = dataclasses.replace(planning.LIMITS, request=budget.Work())
        for request in (planning.LIMITS, limits):
            self.assertIs(plans.Cause.SHORTAGE, planning.plan(
                self.now, self.demands, request, False).cause)

    def test_work_of_a_request_suffices_for_many_hosts(self):
        """Exchanges for 400 of 2000 hosts take a tenth of a second."""
        chance = random.Random('large')
        there = []
        for host in range(2000):
            at = 0
            while at < 40:
                if chance.random() > 0.35:
                    at += chance.randint(1, 4)
                    continue
                end = min(40, at + chance.randint(1, 14))
                there.append(bookings.Booking(
                    f'{host} {at}', at, end, host, _ALL))
                at = end
        limits = dataclasses.replace(planning.LIMITS, request=budget.Work())
        answer = planning.plan(
            timeline.Timeline.of((None,) * 2000, there),
            [bookings.Demand('many', 10, 20, 400, 400, _ALL)], limits)
        self.assertIsInstance(answer, plans.Plan)

    def test_refusal_by_counting_costs_hardly_more_than_a_look_at_all(self):
        """The fleet has 2000 hosts, a few of which are booked for good."""
        there = [bookings.Booking(f'{host} {at}', at, at + 9, host, _ALL)
                 for host in range(0, 2000, 10) for at in (10, 20, 30)]
        request = budget.Work()
        answer = planning.plan(
            timeline.Timeline.of((None,) * 2000, there),
            [bookings.Demand('all', 0, 100, 2000, 2000, _ALL)],
            dataclasses.replace(planning.LIMITS, request=request))
        self.assertEqual((plans.Cause.SHORTAGE, 200, 10),
                         (answer.cause, answer.short, answer.at))
        self.assertLess(request.spent, 12_000)

    def test_room_that_ejection_finds_costs_no_exact_search(self):
        """In a packing of 30 nodes, only a refusal needs an exact search."""
        outcome = feasible.Outcome()
        with mock.patch.object(search, 'search',
                               side_effect=search.search) as searched:
            feasible.play(feasible.nodes(30, 0.94, 1), outcome)
        self.assertLessEqual(searched.call_count, len(outcome.refused))

    def test_nothing_is_proved_when_no_work_is_left(self):
        limits = dataclasses.replace(planning.LIMITS, request=budget.Work(0))
        self.assertIs(plans.Cause.SEARCH_LIMIT, planning.plan(
            self.now, self.demands, limits).cause)
        self.assertIs(False, slides.slide(self.now, (), [self.sliding],
                                          limits=limits))

    def test_a_hard_request_says_so_once(self):
        said = []
        limits = dataclasses.replace(planning.LIMITS, request=budget.Work(
            becomes_hard=lambda: said.append('hard')))
        planning.plan(self.now, [dataclasses.replace(
            self.demands[0], least=1, most=1, end=1)], limits)
        self.assertEqual([], said)
        for _ in range(2):
            planning.plan(self.now, self.demands, limits)
        self.assertEqual(['hard'], said)

    def test_what_a_hard_request_raises_ends_it(self):
        """The error ends the request each time it is raised."""
        def refuse():
            raise LookupError('too many')
        limits = dataclasses.replace(planning.LIMITS, request=budget.Work(
            becomes_hard=refuse))
        for _ in range(2):
            self.assertRaises(LookupError, planning.plan, self.now,
                              self.demands, limits)

    def test_question_for_the_soonest_start_is_not_hard(self):
        """Its first plan may take no step, so it searches nothing."""
        said = []
        limits = dataclasses.replace(planning.LIMITS, request=budget.Work(
            becomes_hard=lambda: said.append('hard')))
        now = timeline.Timeline.of((None,), [
            bookings.Booking('there', 0, 10, 0, 1)])
        found = offers.soonest(
            now, [bookings.Demand('asked', 0, 5, 1, 1, 1)], 60, limits)
        self.assertEqual(10, found.demands[0].start)
        self.assertEqual([], said)

    def test_fewer_of_many_groups_cost_no_more_than_another_offer(self):
        """Each group with affinity could be raised in several plans."""
        limits = dataclasses.replace(planning.LIMITS, request=budget.Work())
        now = timeline.Timeline.of([{'VCPU': 64}] * 200)
        groups = [bookings.Demand(
            str(number), 0, 5, 20, 20, (1 << 200) - 1, amounts=(('VCPU', 10),),
            affinity=True) for number in range(50)]
        with mock.patch.object(planning, 'plan',
                               side_effect=planning.plan) as planned:
            offer, = offers.offers(now, groups, 0, 9, limits,
                                   kinds=(offers.Kind.FEWER,))
        self.assertLess(planned.call_count, 30)
        self.assertFalse(offer.nearest)
        self.assertIsInstance(planning.plan(now, offer.demands), plans.Plan)
