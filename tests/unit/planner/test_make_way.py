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

"""Leases whose dates are open make way for others."""

import testtools

from benchmarks import feasible
from ironic_reservations.features.open_dates import make_way
from ironic_reservations.planner import bookings
from ironic_reservations.planner import planning
from ironic_reservations.planner import timeline


def _way(there, demand, windows, hosts=1, latest=None, most=5, grain=1):
    return make_way.make_way(
        timeline.Timeline.of([None] * hosts, there), [demand], latest,
        windows, most, grain, planning.LIMITS)


class TestMakeWay(testtools.TestCase):

    def test_booking_begins_later_as_early_as_it_can(self):
        there = [bookings.Booking('open', 2, 6, 0, 1),
                 bookings.Booking('firm', 9, 12, 0, 1)]
        found = _way(there, bookings.Demand('new', 2, 4, 1, 1, 1),
                     {'open': (0, 20)})
        self.assertEqual({'open': 4}, found.starts)
        self.assertEqual([('new/0', 2, 4), ('open', 4, 8), ('firm', 9, 12)], [
            (each.id, each.start, each.end)
            for each in found.plan.draft.rows[0]])
        self.assertEqual(['new/0'], [each.id for each in
                                     found.plan.granted[0]])

    def test_booking_with_another_host_keeps_its_start(self):
        there = [bookings.Booking('open', 2, 6, 0, 3)]
        found = _way(there, bookings.Demand('new', 2, 4, 1, 1, 1),
                     {'open': (0, 20)}, hosts=2)
        self.assertEqual(({}, ['open']), (found.starts, [
            each.id for each in found.plan.draft.rows[1]]))

    def test_booking_never_leaves_its_window(self):
        there = [bookings.Booking('open', 2, 6, 0, 1)]
        demand = bookings.Demand('new', 2, 4, 1, 1, 1)
        for window in ((2, 3), (2, 2)):
            self.assertIsNone(_way(there, demand, {'open': window}))

    def test_booking_that_has_started_stays(self):
        there = [bookings.Booking('open', 2, 6, 0, 1, False)]
        self.assertIsNone(_way(there, bookings.Demand(
            'new', 2, 4, 1, 1, 1), {'open': (0, 20)}))

    def test_no_more_get_another_start_than_may(self):
        there = [bookings.Booking(str(start), start, start + 2, 0, 1)
                 for start in (0, 2, 4)]
        demand = bookings.Demand('new', 0, 6, 1, 1, 1)
        windows = {each.id: (0, 20) for each in there}
        self.assertIsNone(_way(there, demand, windows, most=2))
        self.assertEqual({'0': 6, '2': 8, '4': 10}, dict(sorted(zip(
            '024', sorted(_way(there, demand, windows, most=3
                               ).starts.values()), strict=True))))

    def test_start_is_a_multiple_of_the_grain(self):
        there = [bookings.Booking('open', 20, 60, 0, 1)]
        found = _way(there, bookings.Demand('new', 20, 43, 1, 1, 1),
                     {'open': (0, 200)}, grain=10)
        self.assertEqual({'open': 50}, found.starts)

    def test_demand_with_open_dates_begins_within_its_own(self):
        there = [bookings.Booking('firm', 0, 6, 0, 1),
                 bookings.Booking('open', 6, 9, 0, 1)]
        found = _way(there, bookings.Demand('new', 0, 4, 1, 1, 1),
                     {'open': (6, 30)}, latest=7)
        self.assertEqual((6, {'open': 10}), (found.start, found.starts))

    def test_all_keep_their_promises_in_a_packing(self):
        """Whoever has no window keeps the start; all others their window."""
        case = feasible.open_nodes(12, 0.9, 1)
        asker = feasible.play(case, feasible.Outcome())
        asked = {each.id: each for each in case.requests}
        there = list(asker.now.promised())
        self.assertLess(len(asked) * 0.95, len(there))
        for each in there:
            demand = asked[each.id.partition('/')[0]]
            first, last = case.windows.get(demand.id, (demand.start,) * 2)
            self.assertTrue(first <= each.start <= last)
            self.assertEqual(demand.end - demand.start, each.end - each.start)
            self.assertTrue(demand.eligible >> each.node & 1)
