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

"""Leases whose dates are open: where they go, and for whom."""

import datetime

from ironic_reservations import errors
from ironic_reservations.features.open_dates import fix as lease_fix
from ironic_reservations.features.open_dates import rows as db_open_dates
from ironic_reservations.features.open_dates import slides as lease_slides
from ironic_reservations.model import leases
from ironic_reservations.model import limits
from tests import leasing
from tests import servers
from tests.inprocess.engine import open_dates

HOUR = open_dates.HOUR


@servers.also
class TestPlanned(open_dates.TestCase):

    opened = 1

    def test_at_the_earliest(self):
        self.leasing.create(0, 5)
        lease = self.flexible(3, 20, 4)
        self.assertEqual((5, 9), self.hours(lease))
        self.assertEqual(
            leases.Between(leasing.at(3), leasing.at(20), 3600,
                           leasing.at(4)), lease.between)
        self.assertEqual(lease.between, self.leasing.reload(lease).between)

    def test_now_where_that_can_be(self):
        """Also in a window that has begun."""
        for first in (None, -5):
            lease = self.flexible(first, 20, 4)
            self.assertEqual((0, 4), self.hours(lease), first)
            self.assertIsNone(self.leasing.reload(lease).between.fix_at)
            self.leasing.end(lease)

    def test_to_the_end_of_the_window(self):
        self.leasing.create(0, 6)
        self.assertEqual((6, 10), self.hours(self.flexible(1, 10, 4)))
        refused = self.assertRaises(errors.LeaseRefused, self.flexible, 1, 10,
                                    4)
        self.assertTrue(refused.details['reasons'][0]['proved'])
        self.assertIn('No start from', str(refused))

    def test_what_is_offered_is_accepted(self):
        self.leasing.create(0, 8)
        refused = self.assertRaises(errors.LeaseRefused, self.flexible, 1, 9,
                                    4)
        for offer in refused.details['offers']:
            self.leasing.post(offer, dry_run=True)
        self.assertEqual({'later', 'shorter'} & {
            offer['kind'] for offer in refused.details['offers']},
            {'later'})

    def test_a_window_that_is_too_short(self):
        self.assertRaises(errors.InvalidValue, self.flexible, 1, 4, 4)

    def test_asked_twice_with_one_key(self):
        self.leasing.hosts()
        one = self.flexible(None, 20, 4, key='mine')
        self.world.clock.now += datetime.timedelta(minutes=1)
        self.assertEqual(one.id, self.flexible(None, 20, 4, key='mine').id)

    def test_what_the_project_may_have_counts_at_the_start(self):
        self.leasing.hosts(2)
        self.limit(2)
        self.leasing.create(0, 5, leasing.wish(1))
        self.assertEqual((5, 9), self.hours(
            self.flexible(1, 20, 4, leasing.wish(2))))
        self.assertRaises(errors.LeaseLimit, self.flexible, 1, 8, 4,
                          leasing.wish(2))

    def test_it_starts_where_its_project_may_have_more(self):
        """It was refused: its own lease is elsewhere, or too far away."""
        gold, silver = self.gold_and_silver()
        self.leasing.hosts(2, resource_class='gold')
        self.limit(1)
        self.leasing.create(1, 100, silver)
        for others in range(2):
            for hour in range(60 * others):
                self.leasing.create(hour + 1, hour + 1.5, gold,
                                    project_id='theirs')
            self.assertEqual(leasing.at(100), self.flexible(
                1, 200, 2, gold, dry_run=True).start)

    def test_it_begins_within_a_minute_where_it_cannot_at_a_whole_one(self):
        """It was refused, although there was room."""
        odd = 30 / 3600
        self.leasing.create(0, 8 + odd)
        self.leasing.create(10 + odd, 20)
        self.assertEqual((8 + odd, 10 + odd),
                         self.hours(self.flexible(2, 15, 2)))


@servers.also
class TestSlides(open_dates.TestCase):

    opened = 1

    def test_later_for_a_lease_that_came_later(self):
        loose = self.flexible(4, 20, 4)
        lease = self.leasing.create(5, 7)
        self.assertEqual((7, 11), self.hours(loose))
        self.assertEqual((5, 7), self.hours(lease))
        self.assertEqual(leasing.at(6),
                         self.leasing.reload(loose).between.fix_at)
        self.assertIn((loose.id, 'slid'), self.told)

    def test_earlier_where_that_makes_room(self):
        first = self.leasing.create(3, 5)
        loose = self.flexible(2, 10, 4)
        self.assertEqual((5, 9), self.hours(loose))
        self.leasing.end(first)
        self.leasing.create(7, 30)
        self.assertEqual((2, 6), self.hours(loose))

    def test_a_dry_run_slides_nobody(self):
        loose = self.flexible(4, 20, 4)
        with self.unchanged():
            self.leasing.create(5, 7, dry_run=True)
        self.assertEqual((4, 8), self.hours(loose))

    def test_not_out_of_its_window(self):
        loose = self.flexible(4, 10, 4)
        refused = self.leasing.refused(5, 7)
        self.assertTrue(refused.details['reasons'][0]['proved'])
        self.assertEqual((4, 8), self.hours(loose))

    def test_not_once_it_is_fixed(self):
        """Nor when it is due to be, whether or not that has been done."""
        loose = self.flexible(4, 20, 4)
        self.world.clock.now = leasing.at(3)
        self.leasing.refused(5, 7)
        self.assertEqual((4, 8), self.hours(loose))
        self.assertEqual(1, lease_fix.fix(self.engine))
        self.assertEqual(0, lease_fix.fix(self.engine))
        self.assertIsNone(self.leasing.reload(loose).between.fix_at)
        self.assertIn((loose.id, 'fixed'), self.told)
        self.leasing.refused(5, 7)
        self.assertEqual((4, 8), self.hours(loose))

    def test_never_to_where_its_owner_would_not_be_told(self):
        """Earlier, but later than it would be fixed at once."""
        first = self.leasing.create(0, 5)
        loose = self.flexible(0, 10, 4, fix_before=2 * HOUR)
        self.leasing.end(first)
        self.leasing.refused(5, 30)
        self.assertEqual((5, 9), self.hours(loose))
        self.leasing.create(7, 30)
        self.assertEqual(leasing.at(2) + datetime.timedelta(minutes=1),
                         self.leasing.reload(loose).start)

    def test_refusal_by_counting_is_proved_beside_many_open_dates(self):
        """Even without them there is no host."""
        self.leasing.create(5, 7)
        for _ in range(6):
            self.flexible(4, 30, 1)
        (reason,) = self.leasing.refused(4, 8).details['reasons']
        self.assertEqual(('shortage', True),
                         (reason['code'], reason['proved']))

    def test_several_for_one(self):
        self.leasing.hosts()
        loose = [self.flexible(4, 20, 4) for _ in range(2)]
        self.leasing.create(4, 6, leasing.wish(2))
        self.assertEqual([(6, 10)] * 2, [self.hours(each) for each in loose])

    def test_for_one_whose_dates_are_open_too(self):
        loose = self.flexible(2, 20, 4)
        self.leasing.create(10, 30)
        lease = self.flexible(2, 6, 3)
        self.assert_hours((lease, 2, 5), (loose, 5, 9))

    def test_with_its_project_and_its_instances(self):
        self.leasing.compute_hosts(1)
        loose = self.flexible(4, 20, 4, leasing.instances(4, 2))
        self.leasing.create(4, 6, leasing.instances(1, 1))
        self.assertEqual((6, 10), self.hours(loose))
        self.assertEqual({leasing.PROJECT}, {
            row.project_id for row in self.leasing.reload(loose).bookings})

    def test_not_beyond_what_its_project_may_have(self):
        gold, silver = self.gold_and_silver()
        self.limit(1)
        loose = self.flexible(4, 12, 4, gold, project_id='theirs')
        self.leasing.create(8, 30, silver, project_id='theirs')
        self.leasing.refused(5, 7, gold)
        self.assertEqual((4, 8), self.hours(loose))
        self.limit(2)
        self.leasing.create(5, 7, gold)
        self.assertEqual((7, 11), self.hours(loose))

    def test_its_own_dates_are_set_too(self):
        """And then it stays, though they are those that it had."""
        gold = leasing.wish_of('gold')
        for dates, hours in (({'start': 4, 'end': 8}, (4, 8)),
                             ({'start': 4}, (4, 8)), ({'end': 8}, (4, 8)),
                             ({'end': 9}, (4, 9))):
            self.leasing.hosts(1, resource_class='gold')
            loose = self.flexible(4, 20, 4, gold)
            self.leasing.change(loose, **dates)
            self.assertIsNone(self.leasing.reload(loose).between)
            self.assertEqual(hours, self.hours(loose))
            self.leasing.refused(5, 7, gold)
            self.assert_sound()

    def test_another_name_sets_no_dates(self):
        loose = self.flexible(4, 20, 4)
        self.leasing.change(loose, name='other')
        self.assertEqual(loose.between, self.leasing.reload(loose).between)

    def test_nobody_is_told_once_it_has_started(self):
        loose = self.flexible(4, 20, 4)
        self.world.clock.now = leasing.at(4.1)
        self.leasing.bind()
        self.assertEqual(1, lease_fix.fix(self.engine))
        self.assertIsNone(self.leasing.reload(loose).between.fix_at)
        self.assertNotIn((loose.id, 'fixed'), self.told)
        self.assertEqual(0, lease_fix.fix(self.engine))

    def test_changed_meanwhile(self):
        """Somebody ends it between its reading and the commit."""
        loose = self.flexible(4, 20, 4)
        self.end_while_read(loose)
        lease = self.leasing.create(5, 7)
        self.assertEqual((5, 7), self.hours(lease))
        self.assertEqual([lease.id], [each.id for each in self.leasing.all()])


@servers.also
class TestStalls(open_dates.TestCase):
    """A process stands still between a plan and its commit."""

    opened = 1

    def test_nobody_slides_into_the_past(self):
        first = self.leasing.create(0.5, 6)
        loose = self.flexible(0, 12, 2)
        self.leasing.end(first)
        self.stall(5)
        self.leasing.refused(6, 30)
        self.assertEqual((6, 8), self.hours(loose))

    def test_nobody_slides_to_where_they_would_not_be_told(self):
        """The start is ahead yet, but nearer than was agreed on."""
        first = self.leasing.create(0.5, 6)
        loose = self.flexible(0, 12, 2)
        self.leasing.end(first)
        self.stall(0.5)
        self.leasing.create(6, 30)
        self.assertLess(leasing.at(1.5), self.leasing.reload(loose).start)

    def test_nobody_slides_who_is_to_be_fixed_meanwhile(self):
        loose = self.flexible(4, 20, 4)
        self.stall(3.5)
        self.leasing.refused(5, 7)
        self.assertEqual((4, 8), self.hours(loose))

    def test_nobody_that_waits_is_pulled_into_the_past(self):
        first = self.leasing.create(1, 6)
        waits = self.leasing.create(2, 4, queue=True)
        self.assertEqual((6, 8), self.hours(waits))
        self.leasing.end(first)
        self.stall(3)
        self.assertEqual(1, leasing.pull(self.engine))
        self.assertEqual((3, 5), self.hours(waits))

    def test_what_would_have_begun_is_planned_anew(self):
        self.stall(5)
        lease = self.flexible(0, 20, 2)
        self.assertEqual((5, 7), self.hours(lease))

    def test_what_was_moved_and_would_have_begun_is_refused(self):
        lease = self.leasing.create(8, 10)
        self.stall(5)
        self.assertRaises(errors.InvalidValue, self.leasing.change, lease,
                          start=2)
        self.assertEqual((8, 10), self.hours(lease))


@servers.also
class TestLimits(open_dates.TestCase):
    """What all projects have together counts, where leases slide."""

    def most(self, project_id):
        """Return how many hosts a project has at one instant at most."""
        rows = [row for lease in self.leasing.all()
                if lease.project_id == project_id for row in lease.bookings]
        return max(sum(one.starts_at <= row.starts_at < one.ends_at
                       for one in rows) for row in rows)

    def test_two_of_one_project_slide(self):
        gold, silver = self.gold_and_silver(2)
        self.limit(2)
        loose = [self.flexible(4, 12, 4, gold, project_id='theirs')
                 for _ in range(2)]
        self.leasing.create(8, 30, silver, project_id='theirs')
        refused = self.leasing.refused(5, 8, leasing.wish_of('gold', 2))
        self.assertFalse(refused.details['reasons'][0]['proved'])
        self.assertEqual([(4, 8)] * 2, [self.hours(each) for each in loose])
        self.assertEqual(2, self.most('theirs'))

    def test_window_with_a_single_start(self):
        """It counts as a lease with that start."""
        self.gold_and_silver(2)
        self.limit(1)
        refused = self.assertRaises(
            errors.LeaseLimit, self.flexible, 1, 3, 2,
            leasing.wish_of('gold', 2))
        self.assertEqual('max_hosts_per_project', refused.details['limit'])
        self.assertEqual([], self.leasing.all())

    def test_its_project_gets_another_meanwhile(self):
        gold, silver = self.gold_and_silver()
        self.limit(1)
        loose = self.flexible(4, 20, 4, gold, project_id='theirs')
        self.world.before_next_write(lambda: self.leasing.create(
            8, 11, silver, project_id='theirs'))
        self.assertRaises(errors.LeaseRefused, self.leasing.create, 5, 8,
                          gold, project_id='others')
        self.assertEqual((4, 8), self.hours(loose))
        self.assertEqual(1, self.most('theirs'))

    def test_for_one_who_may_exceed_limits(self):
        """Others may not, and do not slide to where they would."""
        gold, silver = self.gold_and_silver()
        self.limit(1)
        loose = self.flexible(4, 12, 4, gold, project_id='theirs')
        self.leasing.create(8, 30, silver, project_id='theirs')
        self.leasing.refused(5, 7, gold, allowed=limits.NONE)
        self.assertEqual((4, 8), self.hours(loose))

    def test_what_a_limit_keeps_from_being_tried_is_not_proved(self):
        """At half past three it could begin, were the other one elsewhere."""
        gold, silver = self.gold_and_silver()
        self.limit(1)
        self.flexible(2, 9, 3, gold, project_id='others')
        self.leasing.create(1, 3.5, silver, project_id='theirs')
        refused = self.assertRaises(
            errors.LeaseRefused, self.flexible, 1, 5.5, 2, gold,
            project_id='theirs')
        self.assertFalse(refused.details['reasons'][0]['proved'])


@servers.also
class TestProofs(open_dates.TestCase):
    """What is said to be proved holds however leases slide."""

    def proved(self, action, *args, **more):
        refused = self.assertRaises(errors.LeaseRefused, action, *args, **more)
        return refused.details['reasons'][0]['proved']

    def test_not_where_the_search_was_given_up(self):
        """Because it took too long; a dry run is no other."""
        self.leasing.hosts(1)
        lease = self.leasing.create(1, 3)
        self.flexible(4, 10, 4)
        self.assertTrue(self.proved(self.leasing.create, 5, 7))
        self.patch(lease_slides, '_LONGEST', -1)
        for dry in (False, True):
            self.assertFalse(self.proved(self.leasing.create, 5, 7,
                                         dry_run=dry))
        self.assertFalse(self.proved(self.leasing.change, lease, end=7))

    def test_a_change_far_from_all_that_could_slide(self):
        """They are on other hosts, or fixed."""
        gold, silver = self.gold_and_silver()
        lease = self.leasing.create(5, 7, gold)
        self.flexible(8, 40, 4, silver)
        loose = self.flexible(7, 20, 4, gold)
        self.leasing.change(loose, end=11)
        self.assertTrue(self.proved(self.leasing.change, lease, end=9))

    def test_many_far_away_do_not_hide_one_that_is_near(self):
        gold, silver = self.gold_and_silver()
        self.leasing.hosts(3, resource_class='silver')
        self.patch(lease_slides, '_MOST_READ', 3)
        loose = self.flexible(4, 20, 4, gold)
        for _ in range(4):
            self.flexible(1000, 2000, 1, silver, project_id='others')
        self.leasing.create(5, 7, gold)
        self.assertEqual((7, 11), self.hours(loose))
        # NOTE: others were not looked at, so that nothing is proved.
        self.assertFalse(self.proved(self.leasing.create, 5, 6, gold))

    def test_the_nearest_are_looked_at_first(self):
        self.leasing.hosts(5)
        there = [self.flexible(first, 90, 4) for first in (60, 3, 30, 6, 10)]
        order = []
        for most in range(1, 6):
            with self.engine.database.read() as connection:
                found, is_all = db_open_dates.read_loose(
                    connection, self.world.clock(), leasing.at(9),
                    leasing.at(20), most)
            self.assertEqual(most == 5, is_all)
            order.extend({each.id for each in found} - set(order))
        self.assertEqual([there[place].id for place in (3, 4, 2, 0, 1)], order)
