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

"""Demands with open dates: each possible start is found, and kept."""

import dataclasses
import itertools

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.features.open_dates import planning as slides
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from tests import examples
from tests.judges import oracle

LIMITS = budget.Limits(search=200_000, swap=2_000_000)
MANY = 20_000
STEPS = 2_000_000_000


@st.composite
def _cases(draw):
    """Return a case whose last demands are flexible, with their ranges."""
    case = draw(oracle.cases(demands=3) | oracle.shared_cases(
        most=3, demands=3))
    count = draw(st.integers(1, min(2, len(case.demands))))
    return case, [(draw(st.integers(0, 4)), draw(st.booleans()))
                  for _ in range(count)]


def _split(case, room):
    """Return the fixed and the flexible demands."""
    firm = case.demands[:len(case.demands) - len(room)]
    return firm, [
        slides.Sliding((demand,), demand.start, demand.start + far,
                       demand.start + far if there else None)
        for demand, (far, there) in zip(case.demands[len(firm):], room,
                                        strict=True)]


def _possible(case, firm, sliding):
    """Return whether any combination of starts is possible."""
    return any(oracle.exists(
        dataclasses.replace(case, demands=(*firm, *(
            demand for each, start in zip(sliding, starts, strict=True)
            for demand in each.at(start)))),
        [each.least for each in case.demands])
        for starts in itertools.product(*(
            range(each.earliest, each.latest + 1) for each in sliding)))


class TestSlides(testtools.TestCase):
    """The cases have nodes of Ironic, compute hosts, or both together."""

    @examples.settings(300)
    @hypothesis.given(_cases(), st.sampled_from((1, 2, 3)))
    def test_what_can_be_had_is_found(self, drawn, grain):
        case, room = drawn
        firm, sliding = _split(case, room)
        found = slides.slide(case.timeline, firm, sliding, grain, LIMITS,
                             MANY, STEPS)
        possible = _possible(case, firm, sliding)
        if isinstance(found, slides.Slid):
            self.assertTrue(possible)
            for start, each in zip(found.starts, sliding, strict=True):
                self.assertTrue(each.earliest <= start <= each.latest)
            demands = [*firm, *(
                demand for start, each in zip(found.starts, sliding,
                                              strict=True)
                for demand in each.at(start))]
            for demand, granted in zip(demands, found.plan.granted,
                                       strict=True):
                self.assertLessEqual(demand.least, len(granted))
                self.assertEqual(
                    {(demand.start, demand.end)},
                    {(each.start, each.end) for each in granted})
            kept = {each.id: each for each in
                    found.plan.timeline.promised()}
            for each in case.there:
                self.assertEqual((each.start, each.end),
                                 (kept[each.id].start, kept[each.id].end))
            self.assertTrue(oracle.sound(
                case.capacities, tuple(found.plan.timeline.promised())))
        else:
            self.assertFalse(possible)
            self.assertTrue(found, 'not proved, although all was tried')

    def _one_node(self, *windows):
        return oracle.Case((None,), tuple(
            bookings.Booking(f'there {number}', *window, 0, 1)
            for number, window in enumerate(windows)), ())

    def _slid(self, *window, there=(), grain=1, **more):
        """Plan a flexible demand for two units of time on one node."""
        return slides.slide(
            self._one_node(*there).timeline, (), [slides.Sliding(
                (bookings.Demand('a', 0, 2, 1, 1, 1),), *window)], grain,
            **more)

    def test_it_stays_where_it_is(self):
        """It stays even if an earlier start is possible."""
        self.assertEqual((5,), self._slid(0, 9, 5).starts)

    def test_it_begins_as_early_as_it_can(self):
        self.assertEqual((7,), self._slid(
            0, 9, there=[(1, 3), (4, 7)]).starts)

    def test_even_starts_come_first(self):
        for latest, start in ((9, 7), (10, 10)):
            self.assertEqual((start,), self._slid(
                0, latest, there=[(0, 7)], grain=5).starts)

    def test_one_that_makes_room_goes_where_another_one_made_room(self):
        """The fixed demand moves one, which moves the next one."""
        found = slides.slide(
            self._one_node().timeline,
            (bookings.Demand('firm', 0, 3, 1, 1, 1),),
            [slides.Sliding((bookings.Demand('a', 0, 3, 1, 1, 1),), 0, 6, 0),
             slides.Sliding((bookings.Demand('b', 3, 6, 1, 1, 1),), 0, 6, 3)])
        self.assertEqual({3, 6}, set(found.starts))

    def test_what_is_not_permitted_is_not_tried(self):
        self.assertIs(True, self._slid(0, 0, permits=lambda starts: False))

    def test_what_is_not_permitted_proves_nothing_of_other_starts(self):
        """Another start may be permitted where no booking must give way."""
        self.assertIs(False, self._slid(
            0, 9, permits=lambda starts: starts == {0: 3}))

    def test_all_are_permitted_together(self):
        found = slides.slide(
            oracle.Case((None, None), (), ()).timeline, (), [
                slides.Sliding((bookings.Demand(name, 0, 2, 1, 1, 3),), 0, 9)
                for name in 'ab'],
            permits=lambda starts: len(set(starts.values())) == len(starts))
        self.assertEqual({0, 2}, set(found.starts))

    def _hard(self, **more):
        """Plan a request that is refused only after a long search."""
        return self._slid(0, 6, there=[(0, 4), (5, 9)], **more)

    def test_it_is_given_up_after_so_many_steps(self):
        """The steps of all plans count together."""
        self.assertIs(True, self._hard())
        self.assertIs(False, self._hard(units=0))
        self.assertIs(False, self._hard(units=2))

    def test_it_is_given_up_when_it_is_late(self):
        looks = []

        def late():
            looks.append(True)
            return len(looks) > 2
        self.assertIs(False, self._hard(late=late))

    def test_it_is_given_up_after_so_many_plans(self):
        """This proves nothing."""
        self.assertIs(False, self._hard(tries=1))

    def test_plan_that_was_given_up_proves_nothing(self):
        """This holds even though no other limit was reached."""
        there = tuple(
            bookings.Booking(str(node), 0, 5, node, 0b11,
                             amounts=(('VCPU', 3),), group=str(node))
            for node in range(2))
        case = oracle.Case(({'VCPU': 4},) * 2, there, ())
        one = slides.Sliding((bookings.Demand(
            'a', 0, 5, 1, 1, 0b11, amounts=(('VCPU', 2),)),), 0, 0)
        self.assertIs(True, slides.slide(case.timeline, (), [one]))
        self.assertIs(False, slides.slide(
            case.timeline, (), [one], limits=budget.Limits(search=0,
                                                           eject=0)))
