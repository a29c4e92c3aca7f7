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

"""The checker of the pool: a sound plan passes, and no spoilt one does."""

import dataclasses

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner.pool import instances
from ironic_reservations.planner.pool import planning as pool_planning
from ironic_reservations.planner.pool import plans as pool_plans
from tests.judges import pool_checker
from tests.judges import pool_oracle

TWO = (('VCPU', 2),)
CAPACITIES = ({'VCPU': 4}, {'VCPU': 4}, None)


def _there(name, node, start=0, end=5, **more):
    return instances.Instance(f'{name}/0', start, end, node, 0b111, TWO,
                              name, **more)


THERE = (_there('moves', 0), _there('stays', 0, movable=False),
         bookings.Booking('whole', 0, 5, 2, 0b111))
DEMANDS = (instances.InstanceDemand('new', 2, 4, 2, 0b011, TWO, False),
           bookings.Demand('host', 5, 9, 1, 2, 0b110))
NEW = (*(instances.Instance(f'new/{count}', 2, 4, count, 0b011, TWO, 'new',
                            False) for count in range(2)),
       bookings.Booking('host/0', 5, 9, 1, 0b110))
SOUND = (dataclasses.replace(THERE[0], node=1), *THERE[1:], *NEW)


def _changed(number, **changes):
    plan = list(SOUND)
    plan[number] = dataclasses.replace(plan[number], **changes)
    return plan


class TestPoolChecker(testtools.TestCase):

    def test_sound_plan_passes(self):
        self.assertEqual([], pool_checker.faults(THERE, DEMANDS, SOUND,
                                                 CAPACITIES))

    def test_each_way_to_spoil_it_is_seen(self):
        group = [dataclasses.replace(_there('t', node), affinity=True)
                 for node in (0, 1)]
        for what, plan in {
                'host too full': _changed(0, node=0),
                'two on a node of Ironic': _changed(0, node=2),
                'whole host that is shared': _changed(2, node=1),
                'fixed one moved': _changed(1, node=1),
                'not eligible': _changed(5, node=0),
                'no such host': _changed(0, node=3),
                'instance lost': SOUND[1:],
                'instance twice': [*SOUND, SOUND[0]],
                'demand not served': [*SOUND[:3], SOUND[3], SOUND[5]],
                'instance of nobody': [*SOUND, _there('x', 0, 8, 9)],
                'window shortened': _changed(0, end=4),
                'smaller than promised': _changed(0, amounts=(('VCPU', 1),)),
                'smaller than demanded': _changed(3, amounts=(('VCPU', 1),)),
                'other window than demanded': _changed(3, end=3),
                'other group than demanded': _changed(3, group='other'),
                'made fixed': _changed(0, movable=False),
                'affinity dropped': _changed(0, affinity=False),
                'group torn apart': [*SOUND[:3], *group, *NEW],
                'on one host though apart': [
                    *THERE, NEW[2], *(dataclasses.replace(each, node=1)
                                      for each in NEW[:2])]}.items():
            self.assertNotEqual([], pool_checker.faults(
                THERE, DEMANDS, plan, CAPACITIES), what)

    def test_peaks_at_different_times_do_not_count_together(self):
        plan = [_there(str(start), 0, start, start + 5)
                for start in (0, 0, 5, 5)]
        plan = [dataclasses.replace(each, id=str(number))
                for number, each in enumerate(plan)]
        self.assertEqual([], pool_checker.faults(plan, (), plan, CAPACITIES))
        more = [*plan, dataclasses.replace(plan[0], id='more', start=4)]
        self.assertNotEqual([], pool_checker.faults(more, (), more,
                                                    CAPACITIES))

    def test_what_has_started_may_have_more_than_is_left(self):
        begun = [dataclasses.replace(_there(str(number), 0), movable=False)
                 for number in range(3)]
        self.assertEqual([], pool_checker.faults(begun, (), begun,
                                                 CAPACITIES))
        plan = [*begun, _there('moves', 0)]
        self.assertNotEqual([], pool_checker.faults(
            [*begun, _there('moves', 1)], (), plan, CAPACITIES))

    @hypothesis.settings(max_examples=80, deadline=None)
    @hypothesis.given(pool_oracle.cases(), st.data())
    def test_moving_one_promise_of_a_plan_is_seen_if_it_breaks_it(
            self, case, data):
        answer = pool_planning.plan(case.pool, case.demands)
        hypothesis.assume(isinstance(answer, pool_plans.PoolPlan))
        plan = list(answer.pool.promised())
        number = data.draw(st.integers(0, len(plan) - 1))
        victim = plan[number]
        node = data.draw(st.integers(0, len(case.capacities) - 1))
        plan[number] = dataclasses.replace(victim, node=node)
        origin = {each.id: each.node for each in case.there}
        breaks = (not victim.eligible >> node & 1
                  and origin.get(victim.id) != node) or (
            not victim.movable and node != victim.node
        ) or not pool_oracle.sound(case.capacities, plan)
        self.assertEqual(breaks, bool(pool_checker.faults(
            case.there, case.demands, plan, case.capacities)))
