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

"""Counter-offers: accepted as they are, and nothing nearer would be."""

import dataclasses

import hypothesis
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline
from tests.judges import oracle

LIMITS = budget.Limits(offers=1000)
EARLIEST, LATEST = 1, 30


def _shifted(case, shift):
    return dataclasses.replace(case, demands=tuple(
        dataclasses.replace(demand, start=demand.start + shift,
                            end=demand.end + shift)
        for demand in case.demands))


def _cut(case, end):
    return dataclasses.replace(case, demands=tuple(
        dataclasses.replace(demand, end=min(end, demand.end))
        for demand in case.demands))


def _possible(case):
    return oracle.exists(case, [demand.least for demand in case.demands])


class TestOffers(testtools.TestCase):

    @hypothesis.settings(max_examples=120, deadline=None)
    @hypothesis.given(oracle.cases())
    def test_offers_are_accepted_and_the_nearest(self, case):
        hypothesis.assume(isinstance(
            planning.plan(case.timeline, case.demands), plans.Refusal))
        made = {offer.kind: offer for offer in offers.offers(
            case.timeline, case.demands, EARLIEST, LATEST, LIMITS)}
        for offer in made.values():
            self.assertTrue(offer.nearest)
            self.assertIsInstance(
                planning.plan(case.timeline, offer.demands), plans.Plan)
        self._check_later(case, made.get(offers.Kind.LATER))
        self._check_earlier(case, made.get(offers.Kind.EARLIER))
        self._check_shorter(case, made.get(offers.Kind.SHORTER))
        self._check_fewer(case, made.get(offers.Kind.FEWER))

    def _check_later(self, case, offer):
        room = LATEST - max(demand.end for demand in case.demands)
        expected = next((_shifted(case, shift).demands
                         for shift in range(1, room + 1)
                         if _possible(_shifted(case, shift))), None)
        self.assertEqual(expected, offer and offer.demands)

    def _check_earlier(self, case, offer):
        room = min(demand.start for demand in case.demands) - EARLIEST
        expected = next((_shifted(case, -shift).demands
                         for shift in range(1, room + 1)
                         if _possible(_shifted(case, -shift))), None)
        self.assertEqual(expected, offer and offer.demands)

    def _check_shorter(self, case, offer):
        begin = max(demand.start for demand in case.demands)
        end = max(demand.end for demand in case.demands)
        expected = next((_cut(case, cut).demands
                         for cut in range(end - 1, begin, -1)
                         if _possible(_cut(case, cut))), None)
        self.assertEqual(expected, offer and offer.demands)

    def _check_fewer(self, case, offer):
        modest = dataclasses.replace(case, demands=tuple(
            dataclasses.replace(demand, least=1, most=demand.least)
            for demand in case.demands))
        counts = oracle.best(modest)
        self.assertEqual(counts, offer and [
            demand.least for demand in offer.demands])

    @hypothesis.settings(max_examples=60, deadline=None)
    @hypothesis.given(oracle.cases())
    def test_soonest_start_is_the_first_that_is_possible(self, case):
        offer = offers.soonest(case.timeline, case.demands, LATEST, LIMITS)
        room = LATEST - max(demand.end for demand in case.demands)
        expected = next((_shifted(case, shift).demands
                         for shift in range(room + 1)
                         if _possible(_shifted(case, shift))), None)
        self.assertEqual(expected, offer and offer.demands)

    def test_only_what_is_asked_for_is_offered(self):
        there = (bookings.Booking('there', 5, 9, 0, 1),)
        made = offers.offers(
            timeline.Timeline.of(1, there),
            [bookings.Demand('demand', 6, 8, 1, 1, 1)], 0, 30,
            kinds=(offers.Kind.EARLIER,))
        self.assertEqual([(3, 5)], [(demand.start, demand.end)
                                    for offer in made
                                    for demand in offer.demands])

    def test_earlier_window_where_one_demand_makes_room_for_the_other(self):
        """What stands where only the other demand could be matters too."""
        there = (bookings.Booking('there', 1, 2, 1, 3),)
        made = offers.offers(
            timeline.Timeline.of(2, there),
            [bookings.Demand('one', 1, 2, 1, 1, 1),
             bookings.Demand('other', 1, 3, 1, 1, 3)], 0, 30,
            kinds=(offers.Kind.EARLIER,))
        self.assertEqual([[(0, 1), (0, 2)]], [
            [(demand.start, demand.end) for demand in offer.demands]
            for offer in made])
