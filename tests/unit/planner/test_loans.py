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

import dataclasses

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.features.open_dates import planning as slides
from ironic_reservations.model import instants
from ironic_reservations.planner import availability
from ironic_reservations.planner import bookings
from ironic_reservations.planner import budget
from ironic_reservations.planner import loans
from ironic_reservations.planner import offers
from ironic_reservations.planner import planning
from ironic_reservations.planner import plans
from ironic_reservations.planner import timeline
from tests import examples
from tests.judges import nearest
from tests.judges import oracle

LIMITS = budget.Limits(offers=1000, search=200_000, swap=2_000_000)
EARLIEST, LATEST = 0, 18
Kind = offers.Kind


@st.composite
def _lent(draw):
    """Return cases in which some hosts are loans for some of the demands."""
    case = draw(oracle.cases())
    until = draw(st.integers(2, 16))
    return dataclasses.replace(case, demands=tuple(
        dataclasses.replace(demand, lent=draw(st.integers(
            0, (1 << case.nodes) - 1)), lent_until=until)
        for demand in case.demands))


def _plain(case):
    """Return the case without hosts whose loan is too short."""
    return dataclasses.replace(case, demands=tuple(
        dataclasses.replace(
            demand, eligible=demand.eligible & ~(
                demand.lent if demand.until > demand.lent_until else 0),
            lent=0) for demand in case.demands))


def _possible(case):
    return oracle.exists(_plain(case),
                         [demand.least for demand in case.demands])






class TestPlans(testtools.TestCase):

    @examples.settings(300)
    @hypothesis.given(_lent())
    def test_admission_is_what_can_be_assigned(self, case):
        """Each refused demand is impossible, and no loan is kept too long."""
        answer = planning.plan(case.timeline, case.demands)
        best = oracle.best(_plain(case))
        if isinstance(answer, plans.Refusal):
            self.assertIsNone(best)
            self.assertTrue(answer.cause.proved)
            return
        self.assertEqual(best, [len(granted) for granted in answer.granted])
        for demand, granted in zip(case.demands, answer.granted, strict=True):
            for each in granted:
                self.assertTrue(each.until <= demand.lent_until
                                or not demand.lent >> each.node & 1)

    @examples.settings(150)
    @hypothesis.given(_lent())
    def test_offers_are_accepted_and_the_nearest(self, case):
        """This includes earlier and shorter ones that end in time for a loan.
        """
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

    @examples.settings(150)
    @hypothesis.given(_lent(), st.integers(0, 5))
    def test_what_slides_finds_a_start_where_there_is_one(self, case, far):
        """The last demand is flexible; if no start is found, none exists."""
        *firm, last = case.demands
        one = slides.Sliding((last,), last.start, last.start + far)
        possible = any(_possible(dataclasses.replace(case, demands=(
            *firm, *one.at(start)))) for start in range(
                one.earliest, one.latest + 1))
        found = slides.slide(case.timeline, firm, [one], 1, LIMITS, 20_000,
                             2_000_000_000)
        self.assertEqual(possible, isinstance(found, slides.Slid))
        self.assertTrue(possible or found is True)

    def test_refusal_tells_which_hosts_are_not_lent_for_so_long(self):
        """Unsuitable hosts are not named."""
        for eligible, lent in ((0b011, 0b001), (0b010, 0)):
            wanted = bookings.Demand('demand', 0, 5, 2, 2, eligible, 1,
                                     lent=0b101, lent_until=5)
            refused = planning.plan(
                oracle.Case((None,) * 3, (), ()).timeline, [wanted])
            self.assertEqual((0b010, lent), (refused.demand.eligible,
                                             refused.demand.lent))


class TestLoans(testtools.TestCase):

    LOANS = loans.Loans({'a': 0b0011, 'b': 0b0100}, 7)

    def test_own_hosts_are_no_loans(self):
        self.assertEqual([0b0100, 0b0011, 0b0111, 0b0111], [
            self.LOANS.to(each) for each in ('a', 'b', 'c', None)])

    def test_without_a_notice_nobody_lends(self):
        demand = bookings.Demand('demand', 0, 5, 1, 1, 1)
        for there in (loans.NONE, loans.Loans({'a': 1})):
            self.assertEqual(0, there.to('b'))
            self.assertIs(demand, there.limit(demand, 'b'))

    def test_what_was_promised_is_kept(self):
        demand = bookings.Demand('demand', 0, 9, 2, 2, 0b1111)
        self.assertEqual(0b1010, self.LOANS.limit(
            demand, 'c', 0b0010).within_loans().eligible)

    @hypothesis.given(st.integers(0, 10**10), st.integers(0, 10**10),
                      st.integers(1, 10**10))
    def test_booking_may_move_to_a_loan_from_the_instant_told(self, now, end,
                                                              notice):
        """The time is exact in both directions."""
        self.assertEqual(loans.since(end, notice) <= now,
                         end <= loans.until(now, notice))

    def test_notice_is_counted_in_whole_minutes(self):
        minute = 60 * instants.SECOND
        self.assertEqual(3 * minute, loans.until(minute + 5, 2 * minute + 7))


class TestFreeCounts(testtools.TestCase):

    @examples.settings(100)
    @hypothesis.given(oracle.cases(), st.integers(0, 15), st.integers(0, 16),
                      st.integers(0, 8), st.integers(1, 9))
    def test_loans_are_free_until_they_are_over(self, case, lent, until,
                                                start, length):
        """The counts are right at every instant; neighbouring spans differ."""
        nodes, now = (1 << case.nodes) - 1, case.timeline
        spans = availability.free_beside_loans(
            now, nodes, lent, until, start, start + length)
        self.assertEqual([*range(start, start + length)], [
            at for each in spans for at in range(each.start, each.end)])
        for each in spans:
            for at in range(each.start, each.end):
                had = nodes & ~(lent if at >= until else 0)
                self.assertEqual(availability.free_counts(
                    now, had, at, at + 1)[0].free, each.free)
        self.assertTrue(all(one.free != other.free for one, other
                            in zip(spans, spans[1:], strict=False)))

    def test_count_that_stays_when_a_loan_ends_is_one_span(self):
        """The spans after it are the same as without the loan."""
        now = timeline.Timeline.of([None] * 2, [
            bookings.Booking('on the loan', 0, 5, 1, 0b10),
            bookings.Booking('on the other', 7, 8, 0, 0b01)])
        self.assertEqual(
            [(0, 7, 1), (7, 8, 0), (8, 9, 1)],
            [(each.start, each.end, each.free) for each in
             availability.free_beside_loans(now, 0b11, 0b10, 5, 0, 9)])
