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

"""Counter-offers: each is accepted as it is, and no nearer one would be."""

import types
from unittest import mock

import hypothesis
import testtools

from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import offers
from ironic_reservations.planner import openings
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline
from tests import examples
from tests.judges import nearest
from tests.judges import oracle

LIMITS = budget.Limits(offers=1000, search=200_000, swap=2_000_000)
EARLIEST, LATEST = 0, 18
Kind = offers.Kind




def _fewer(case):
    """Return the possible counts, with the first demand served first.

    Of shares first, since a lease for whole hosts takes what is left.
    """
    counts = [1 for _ in case.demands]
    if not oracle.exists(case, counts):
        return None
    for number, demand in sorted(enumerate(case.demands), key=lambda each: (
            each[1].amounts is None)):
        while counts[number] < demand.least:
            counts[number] += 1
            if not oracle.exists(case, counts):
                counts[number] -= 1
                break
    return counts


def _possible(case):
    return oracle.exists(case, [demand.least for demand in case.demands])



class TestOffers(testtools.TestCase):
    """The cases have nodes of Ironic, compute hosts, or both together."""

    @examples.settings(150)
    @hypothesis.given(oracle.cases() | oracle.shared_cases(most=3))
    def test_offers_are_accepted_and_the_nearest(self, case):
        hypothesis.assume(isinstance(
            planning.plan(case.timeline, case.demands), plans.Refusal))
        found = offers.offers(case.timeline, case.demands, EARLIEST, LATEST,
                              LIMITS)
        for offer in found:
            self.assertIsInstance(
                planning.plan(case.timeline, offer.demands), plans.Plan)
        made = {offer.kind: offer.demands for offer in found if offer.nearest}
        self.assertEqual((
            nearest.later(case, LATEST, _possible),
            nearest.earlier(case, EARLIEST, _possible),
            nearest.shorter(case, _possible)), tuple(map(made.get, (
                Kind.LATER, Kind.EARLIER, Kind.SHORTER))))
        self.assertEqual(_fewer(case), made.get(Kind.FEWER) and [
            demand.least for demand in made[Kind.FEWER]])

    @examples.settings(80)
    @hypothesis.given(oracle.cases() | oracle.shared_cases(most=3))
    def test_soonest_start_is_the_first_that_is_possible(self, case):
        offer = offers.soonest(case.timeline, case.demands, LATEST, LIMITS)
        self.assertEqual(nearest.later(case, LATEST, _possible, 0),
                         offer and offer.demands)

    @examples.settings(120)
    @hypothesis.given(oracle.cases() | oracle.shared_cases(most=3))
    def test_offered_starts_are_whole_ones_where_that_can_be(self, case):
        offer = offers.soonest(case.timeline, case.demands, LATEST, LIMITS, 3)
        self.assertEqual(nearest.later(case, LATEST, _possible, 0, 3),
                         offer and offer.demands)
        if _possible(case):
            return
        made = {each.kind: each.demands for each in offers.offers(
            case.timeline, case.demands, EARLIEST, LATEST, LIMITS, grain=3)}
        self.assertEqual(nearest.later(case, LATEST, _possible, 1, 3),
                         made.get(Kind.LATER))
        self.assertEqual(nearest.earlier(case, EARLIEST, _possible, 3),
                         made.get(Kind.EARLIER))

    def test_what_fits_at_once_needs_no_look_at_all_that_is_promised(self):
        there = (bookings.Booking('there', 6, 9, 0, 1),)
        with mock.patch.object(offers, '_OfferSearch',
                               side_effect=AssertionError):
            offer = offers.soonest(
                timeline.Timeline.of([None], there),
                [bookings.Demand('demand', 3, 6, 1, 1, 1)], 30)
        self.assertEqual((3, 6), (offer.demands[0].start,
                                  offer.demands[0].end))

    def test_no_more_starts_are_tried_than_the_limits_say(self):
        now = timeline.Timeline.of([None] * 9, [bookings.Booking(
            str(node), 0, 10 + node, node, 1 << node) for node in range(9)])
        demand = bookings.Demand('demand', 9, 12, 1, 1, 0b111111111)
        refused = types.SimpleNamespace(cause=plans.Cause.NO_ASSIGNMENT)
        for most in (1, 2, 3):
            with (mock.patch.object(planning, 'plan',
                                    return_value=refused) as tried,
                  mock.patch.object(openings, 'first_start',
                                    return_value=None)):
                offers.starts(now, [demand], 40, most, 1,
                              limits=budget.Limits(offers=2))
            self.assertEqual(2 + most, tried.call_count)

    def test_forbidden_starts_are_tried_while_there_is_work_left(self):
        now = timeline.Timeline.of([None] * 9, [bookings.Booking(
            str(node), 0, 10 + node, node, 1 << node) for node in range(9)])
        demand = bookings.Demand('demand', 9, 12, 1, 1, 0b111111111)
        for together, count in ((200_000, 9), (600, 3)):
            tried = []
            offers.starts(now, [demand], 40, 1, 1, tried.append,
                          budget.Limits(offers=2, together=together))
            # NOTE: and the start that is known to succeed.
            self.assertEqual(1 + count, len(tried), together)

    def test_only_what_is_asked_for_is_offered(self):
        there = (bookings.Booking('there', 5, 9, 0, 1),)
        made = offers.offers(
            timeline.Timeline.of([None], there),
            [bookings.Demand('demand', 6, 8, 1, 1, 1)], 0, 30,
            kinds=(offers.Kind.EARLIER,))
        self.assertEqual([(3, 5)], [(demand.start, demand.end)
                                    for offer in made
                                    for demand in offer.demands])

    def test_earlier_window_where_one_demand_makes_room_for_the_other(self):
        """Bookings where only the other demand could be placed matter as well.
        """
        there = (bookings.Booking('there', 1, 2, 1, 3),)
        made = offers.offers(
            timeline.Timeline.of([None] * 2, there),
            [bookings.Demand('one', 1, 2, 1, 1, 1),
             bookings.Demand('other', 1, 3, 1, 1, 3)], 0, 30,
            kinds=(offers.Kind.EARLIER,))
        self.assertEqual([[(0, 1), (0, 2)]], [
            [(demand.start, demand.end) for demand in offer.demands]
            for offer in made])

    def test_fewer_together_does_not_take_from_those_before(self):
        """An affinity group is served in its turn."""
        one = (('VCPU', 1),)
        offer, = offers.offers(
            timeline.Timeline.of([{'VCPU': 4}]),
            [bookings.Demand('first', 0, 9, 3, 3, 1, amounts=one),
             bookings.Demand('together', 0, 9, 2, 2, 1, amounts=one,
                             affinity=True)], 0, 9, kinds=(Kind.FEWER,))
        self.assertEqual([3, 1], [demand.least for demand in offer.demands])

    def test_instances_together_are_offered_no_hosts_apart(self):
        """A node of Ironic has room for one, at any time."""
        made = offers.offers(
            timeline.Timeline.of([None] * 2),
            [bookings.Demand('together', 6, 8, 2, 2, 3,
                             amounts=(('VCPU', 1),), affinity=True)], 0, 30)
        self.assertEqual([(Kind.FEWER, 1)], [
            (offer.kind, offer.demands[0].least) for offer in made])

    def test_later_window_is_offered_where_no_search_is_left(self):
        """It begins where hosts are free as they are."""
        there = [bookings.Booking(f'{node}', 0, 10 + node, node, 1 << node)
                 for node in range(4)]
        offer, = offers.offers(
            timeline.Timeline.of([None] * 4, there),
            [bookings.Demand('demand', 5, 8, 3, 3, 15)], 0, 40,
            budget.Limits(request=budget.Work(0)), kinds=(Kind.LATER,))
        self.assertEqual(12, offer.demands[0].start)

    def test_fewer_are_offered_where_the_search_for_as_many_is_cut_short(self):
        """There is room for some; so a number below the found one is tried.
        """
        hosts = range(100)
        everything = (1 << len(hosts)) - 1
        there = [bookings.Booking(
            f'{name}{node}.{start}', start, start + 10, node, everything,
            amounts=(('VCPU', size),), group=f'{name}{node}.{start}')
            for node in hosts for start in range(0, 50, 10)
            for name, size in (('a', 3), ('b', 2))]
        now = timeline.Timeline.of([{'VCPU': 8}] * len(hosts), there)
        asked = bookings.Demand('demand', 10, 20, 90, 90, everything,
                                amounts=(('VCPU', 4),))
        self.assertIsInstance(planning.plan(now, [asked]), plans.Refusal)
        offer, = offers.offers(now, [asked], 0, 60, kinds=(Kind.FEWER,))
        self.assertGreater(offer.demands[0].least, 1)
        self.assertIsInstance(planning.plan(now, offer.demands), plans.Plan)
