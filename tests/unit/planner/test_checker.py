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

"""The checker accepts each correct plan, and no incorrect one."""

import dataclasses
import functools

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from tests import examples
from tests.judges import checker
from tests.judges import oracle

THERE = (bookings.Booking('moves', 0, 5, 0, 0b111),
         bookings.Booking('stays', 0, 5, 1, 0b111, movable=False))
DEMANDS = (bookings.Demand('demand', 2, 4, 1, 1, 0b101),)
SOUND = (*THERE, bookings.Booking('demand/0', 2, 4, 2, 0b101))


def _changed(number, sound=SOUND, **changes):
    plan = list(sound)
    plan[number] = dataclasses.replace(plan[number], **changes)
    return plan


class TestChecker(testtools.TestCase):

    def test_sound_plan_passes(self):
        self.assertEqual([], checker.faults(THERE, DEMANDS, SOUND, [None] * 3))

    def test_each_way_to_spoil_it_is_seen(self):
        for what, plan in {
                'overlap': _changed(2, node=0),
                'fixed one moved': [
                    THERE[0], dataclasses.replace(THERE[1], node=2),
                    dataclasses.replace(SOUND[2], node=0)],
                'not eligible': [
                    dataclasses.replace(THERE[0], node=2), THERE[1],
                    dataclasses.replace(SOUND[2], node=1)],
                'no such node': _changed(0, node=3),
                'booking lost': SOUND[1:],
                'booking twice': [*SOUND, SOUND[0]],
                'demand not served': SOUND[:2],
                'demand served too well': [
                    *SOUND, bookings.Booking('demand/1', 2, 4, 0, 0b101)],
                'booking of nobody': [
                    *SOUND, bookings.Booking('x/0', 8, 9, 0, 0b101)],
                'window shortened': _changed(0, end=4),
                'margin lost': _changed(0, margin=-1),
                'made fixed': _changed(0, movable=False),
                'other window than demanded': _changed(2, end=3)}.items():
            self.assertNotEqual(
                [], checker.faults(THERE, DEMANDS, plan, [None] * 3), what)

    def test_margin_counts(self):
        plan = (bookings.Booking('1', 0, 4, 0, 1, margin=2),
                bookings.Booking('2', 5, 6, 0, 1))
        self.assertNotEqual([], checker.faults(plan, (), plan, [None]))



TWO = (('VCPU', 2),)
CAPACITIES = ({'VCPU': 4}, {'VCPU': 4}, None)


def _there(name, node, start=0, end=5, **more):
    return bookings.Booking(f'{name}/0', start, end, node, 0b111,
                            amounts=TWO, group=name, **more)


HELD = (_there('moves', 0), _there('stays', 0, movable=False),
        bookings.Booking('whole', 0, 5, 2, 0b111))
ASKED = (bookings.Demand('new', 2, 4, 2, 2, 0b011, amounts=TWO,
                         affinity=False),
         bookings.Demand('host', 5, 9, 1, 2, 0b110))
NEW = (*(bookings.Booking(f'new/{count}', 2, 4, count, 0b011, amounts=TWO,
                          group='new', affinity=False)
         for count in range(2)),
       bookings.Booking('host/0', 5, 9, 1, 0b110))
PLAN = (dataclasses.replace(HELD[0], node=1), *HELD[1:], *NEW)


_spoilt = functools.partial(_changed, sound=PLAN)


class TestSharedHosts(testtools.TestCase):

    def test_sound_plan_passes(self):
        self.assertEqual([], checker.faults(HELD, ASKED, PLAN,
                                            CAPACITIES))

    def test_each_way_to_spoil_it_is_seen(self):
        group = [dataclasses.replace(_there('t', node), affinity=True)
                 for node in (0, 1)]
        for what, plan in {
                'host too full': _spoilt(0, node=0),
                'two on a node of Ironic': _spoilt(0, node=2),
                'whole host that is shared': _spoilt(2, node=1),
                'fixed one moved': _spoilt(1, node=1),
                'not eligible': _spoilt(5, node=0),
                'no such host': _spoilt(0, node=3),
                'instance lost': PLAN[1:],
                'instance twice': [*PLAN, PLAN[0]],
                'demand not served': [*PLAN[:3], PLAN[3], PLAN[5]],
                'instance of nobody': [*PLAN, _there('x', 0, 8, 9)],
                'window shortened': _spoilt(0, end=4),
                'smaller than promised': _spoilt(0, amounts=(('VCPU', 1),)),
                'smaller than demanded': _spoilt(3, amounts=(('VCPU', 1),)),
                'other window than demanded': _spoilt(3, end=3),
                'other group than demanded': _spoilt(3, group='other'),
                'made fixed': _spoilt(0, movable=False),
                'affinity dropped': _spoilt(0, affinity=False),
                'group torn apart': [*PLAN[:3], *group, *NEW],
                'on one host though apart': [
                    *HELD, NEW[2], *(dataclasses.replace(each, node=1)
                                     for each in NEW[:2])]}.items():
            self.assertNotEqual([], checker.faults(
                HELD, ASKED, plan, CAPACITIES), what)

    def test_peaks_at_different_times_do_not_count_together(self):
        plan = [_there(str(start), 0, start, start + 5)
                for start in (0, 0, 5, 5)]
        plan = [dataclasses.replace(each, id=str(number))
                for number, each in enumerate(plan)]
        self.assertEqual([], checker.faults(plan, (), plan, CAPACITIES))
        more = [*plan, dataclasses.replace(plan[0], id='more', start=4)]
        self.assertNotEqual([], checker.faults(more, (), more,
                                               CAPACITIES))

    def test_what_has_started_may_have_more_than_is_left(self):
        begun = [dataclasses.replace(_there(str(number), 0), movable=False)
                 for number in range(3)]
        self.assertEqual([], checker.faults(begun, (), begun,
                                            CAPACITIES))
        plan = [*begun, _there('moves', 0)]
        self.assertNotEqual([], checker.faults(
            [*begun, _there('moves', 1)], (), plan, CAPACITIES))

    @examples.settings(230)
    @hypothesis.given(oracle.cases() | oracle.shared_cases(), st.data())
    def test_moving_one_promise_of_a_plan_is_seen_if_it_breaks_it(
            self, case, data):
        answer = planning.plan(case.timeline, case.demands)
        hypothesis.assume(isinstance(answer, plans.Plan))
        plan = list(answer.timeline.promised())
        number = data.draw(st.integers(0, len(plan) - 1))
        victim = plan[number]
        node = data.draw(st.integers(0, len(case.capacities) - 1))
        plan[number] = dataclasses.replace(victim, node=node)
        origin = {each.id: each.node for each in case.there}
        breaks = (not victim.eligible >> node & 1
                  and origin.get(victim.id) != node) or (
            not victim.movable and node != victim.node
        ) or not oracle.sound(case.capacities, plan)
        self.assertEqual(breaks, bool(checker.faults(
            case.there, case.demands, plan, case.capacities)))
