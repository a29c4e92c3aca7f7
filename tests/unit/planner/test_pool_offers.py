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

"""Counter-offers in the pool: accepted as they are, and the nearest."""

import dataclasses

import hypothesis
import testtools

from ironic_reservations.planner import budget
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import offers as pool_offers
from ironic_reservations.planner.pool import planning as pool_planning
from ironic_reservations.planner.pool import plans as pool_plans
from tests.judges import pool_oracle

LIMITS = budget.Limits(offers=1000, search=200_000, swap=2_000_000)
EARLIEST, LATEST = 0, 14
Kind = pool_offers.Kind


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
    return pool_oracle.exists(case, [pool_oracle.least(demand)
                                     for demand in case.demands])


def _first(cases):
    return next((case.demands for case in cases if _possible(case)), None)


class TestOffers(testtools.TestCase):

    @hypothesis.settings(max_examples=50, deadline=None)
    @hypothesis.given(pool_oracle.cases(most=3))
    def test_offers_are_accepted_and_the_nearest(self, case):
        hypothesis.assume(isinstance(
            pool_planning.plan(case.pool, case.demands),
            pool_plans.PoolRefusal))
        made = {offer.kind: offer.demands for offer in pool_offers.offers(
            case.pool, case.demands, EARLIEST, LATEST, LIMITS)
            if offer.nearest}
        for demands in made.values():
            self.assertIsInstance(
                pool_planning.plan(case.pool, demands), pool_plans.PoolPlan)
        begin = max(demand.start for demand in case.demands)
        end = max(demand.end for demand in case.demands)
        self.assertEqual(
            _first(_shifted(case, shift)
                   for shift in range(1, LATEST - end + 1)),
            made.get(Kind.LATER))
        self.assertEqual(
            _first(_shifted(case, -shift) for shift in range(
                1, min(demand.start for demand in case.demands) + 1)),
            made.get(Kind.EARLIER))
        self.assertEqual(
            _first(_cut(case, cut) for cut in range(end - 1, begin, -1)),
            made.get(Kind.SHORTER))
        self.assertEqual(_fewer(case), made.get(Kind.FEWER) and [
            pool_oracle.least(demand) for demand in made[Kind.FEWER]])

    @hypothesis.settings(max_examples=40, deadline=None)
    @hypothesis.given(pool_oracle.cases(most=3))
    def test_soonest_start_is_the_first_that_is_possible(self, case):
        offer = pool_offers.soonest(case.pool, case.demands, LATEST, LIMITS)
        end = max(demand.end for demand in case.demands)
        self.assertEqual(
            _first(_shifted(case, shift)
                   for shift in range(LATEST - end + 1)),
            offer and offer.demands)


def _fewer(case):
    """Give the counts that can be had, the first demand's before others'.

    Of instances first, since a lease for whole hosts takes what is left.
    """
    counts = [1 for _ in case.demands]
    if not pool_oracle.exists(case, counts):
        return None
    for whole in (False, True):
        for number, demand in enumerate(case.demands):
            if isinstance(demand, instances.InstanceDemand) is whole:
                continue
            while counts[number] < pool_oracle.least(demand):
                counts[number] += 1
                if not pool_oracle.exists(case, counts):
                    counts[number] -= 1
                    break
    return counts
