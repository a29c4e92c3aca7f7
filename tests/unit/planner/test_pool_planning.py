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

"""Whole hosts and instances in one pool: never too full, never a false no."""

import hypothesis
import testtools

from ironic_reservations.planner import pool_checker
from ironic_reservations.planner import pool_planning
from ironic_reservations.planner import pool_plans
from tests.unit.planner import pool_oracle


def _granted(answer):
    return (None if isinstance(answer, pool_plans.PoolRefusal)
            else [len(granted) for granted in answer.granted])


class TestAgainstTheOracle(testtools.TestCase):

    @hypothesis.settings(max_examples=300, deadline=None)
    @hypothesis.given(pool_oracle.cases())
    def test_admission_is_what_there_is_room_for(self, case):
        answer = pool_planning.plan(case.pool, case.demands)
        self.assertEqual(pool_oracle.best(case), _granted(answer))
        if isinstance(answer, pool_plans.PoolRefusal):
            self.assertTrue(answer.cause.proved)
        else:
            self.assertTrue(answer.most)
            self.assertEqual([], pool_checker.faults(
                case.there, case.demands, answer.pool.promised(),
                case.capacities))
