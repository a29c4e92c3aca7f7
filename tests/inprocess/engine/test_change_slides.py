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

"""A change of a lease has others slide as a new lease does."""

from unittest import mock

import testscenarios

from ironic_reservations import errors
from ironic_reservations.api import versions
from ironic_reservations.api.types import lease_body
from ironic_reservations.engine import retry
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.features.open_dates import fix as lease_fix
from ironic_reservations.model import leases
from tests import leasing
from tests import servers
from tests.inprocess.engine import open_dates

HOUR = open_dates.HOUR


@servers.also
class TestMakesRoom(testscenarios.WithScenarios, open_dates.TestCase):
    """Behind a lease that gets longer or larger, or moves, others slide."""

    scenarios = [(name, {
        'hosts': hosts, 'dates': dates, 'first': first, 'changes': changes,
        'expected': expected})
        for name, hosts, dates, first, changes, expected in (
            ('longer_before_its_start', 1, (1, 3), 3, {'end': 5},
             ((1, 5), (5, 9))),
            ('longer_after_its_start', 1, (None, 3), 3, {'end': 5},
             ((0, 5), (5, 9))),
            ('moved', 1, (1, 3), 4, {'start': 5, 'end': 7},
             ((5, 7), (7, 11))),
            ('larger_before_its_start', 2, (3, 5), 3, {}, ((3, 5), (5, 9))),
            ('larger_after_its_start', 2, (None, 5), 2, {},
             ((0, 5), (5, 9))))]

    def test_others_slide(self):
        self.leasing.hosts(self.hosts)
        lease = self.leasing.started(*self.dates)
        loose = self.flexible(self.first, 20, 4)
        if self.changes:
            self.leasing.change(lease, **self.changes)
        else:
            self.leasing.resize(lease, 2, 2)
        self.assertEqual(self.hosts, len(self.leasing.nodes(lease)))
        self.assertEqual(self.expected, (self.hours(lease), self.hours(loose)))
        self.assertIn((loose.id, 'slid'), self.told)
        moved = self.leasing.reload(loose)
        self.assertEqual(moved.start - HOUR, moved.between.fix_at)


@servers.also
class TestChangeSlides(open_dates.TestCase):

    opened = 1

    def test_they_are_told_although_the_commit_was_not_answered(self):
        """Of a change, and of a new lease."""
        lease = self.leasing.create(1, 3)
        loose = self.flexible(3, 20, 4)
        for ask, hours in ((lambda: self.leasing.change(lease, end=5), (5, 9)),
                           (lambda: self.leasing.create(5, 7), (7, 11))):
            self.told.clear()
            self.world.lose_next_write()
            with mock.patch.object(retry, '_BREATH', 0):
                ask()
            self.assertEqual(hours, self.hours(loose))
            self.assertEqual(1, self.told.count((loose.id, 'slid')))

    def test_instances_get_more(self):
        self.leasing.compute_hosts(1)
        lease = self.leasing.create(3, 5, leasing.instances(1, 2))
        loose = self.flexible(3, 20, 4, leasing.instances(3, 2))
        self.leasing.resize_instances(lease, 3)
        self.assertEqual((5, 9), self.hours(loose))

    def test_a_dry_run_slides_nobody(self):
        lease = self.leasing.create(1, 3)
        loose = self.flexible(3, 20, 4)
        with self.unchanged():
            rehearsed = lease_change.rehearse(
                self.engine, lease.id, leases.LeaseChange(end=leasing.at(5)))
        self.assertEqual([(loose.id, 2 * HOUR)], [
            (each.id, each.shift) for each in rehearsed.moved])

    def test_nobody_slides_out_of_a_window(self):
        lease = self.leasing.create(1, 3)
        loose = self.flexible(3, 8, 4)
        refused = self.refuse(lease, end=5)
        self.assertTrue(refused.details['reasons'][0]['proved'])
        self.assert_hours((lease, 1, 3), (loose, 3, 7))
        self.leasing.change(lease, end=4)
        self.assertEqual((4, 8), self.hours(loose))

    def test_nobody_slides_who_is_fixed(self):
        lease = self.leasing.create(1, 3)
        loose = self.flexible(3, 20, 4)
        self.world.clock.now = leasing.at(2)
        self.refuse(lease, end=5)
        lease_fix.fix(self.engine)
        self.refuse(lease, end=5)
        self.assertEqual((3, 7), self.hours(loose))

    def test_limits_of_who_slides_hold(self):
        gold, silver = self.gold_and_silver()
        self.limit(1)
        lease = self.leasing.create(1, 3, gold)
        loose = self.flexible(3, 12, 4, gold, project_id='theirs')
        self.leasing.create(7, 30, silver, project_id='theirs')
        self.refuse(lease, end=5)
        self.limit(2)
        self.leasing.change(lease, end=5)
        self.assertEqual((5, 9), self.hours(loose))

    def test_own_leases_that_slide_are_counted_where_they_go(self):
        """The project may have one host at once, and has never more."""
        self.limit(1)
        lease = self.leasing.create(1, 3)
        loose = self.flexible(3, 20, 4)
        self.leasing.change(lease, end=5)
        self.assert_hours((lease, 1, 5), (loose, 5, 9))

    def test_usage_of_more_than_the_least_is_counted(self):
        """Where limits count, a lease has others slide for its least."""
        self.leasing.hosts(2)
        self.limit(2)
        lease = self.leasing.create(3, 5, project_id='theirs')
        loose = [self.flexible(3, 20, 4, project_id='others')
                 for _ in range(2)]
        self.leasing.resize(lease, 2, 3)
        self.assertEqual(2, len(self.leasing.nodes(lease)))
        self.assertEqual({(3, 7), (5, 9)}, set(map(self.hours, loose)))


@servers.also
class TestOpenDates(open_dates.TestCase):
    """Its owner changes what the dates of a lease leave open."""

    opened = 1

    def open(self, lease, first=None, last=None, hours=None, seconds=None,
             **more):
        return self.leasing.change(lease, opened=leases.OpenDates(
            None if last is None else (leasing.at(first), leasing.at(last)),
            None if hours is None else hours * HOUR, seconds), **more)

    def window(self, lease):
        between = self.leasing.reload(lease).between
        return between.earliest, between.latest, between.fix_before

    def test_a_longer_window_leaves_it_where_it_is(self):
        loose = self.flexible(3, 8, 4)
        self.open(loose, 2, 30)
        self.assertEqual((3, 7), self.hours(loose))
        self.assertEqual((leasing.at(2), leasing.at(30), 3600),
                         self.window(loose))
        self.leasing.create(4, 6)
        self.assertEqual((6, 10), self.hours(loose))

    def test_a_later_window_moves_it_to_the_earliest(self):
        self.leasing.create(10, 12)
        loose = self.flexible(3, 8, 4)
        self.open(loose, 9, 30)
        self.assertEqual((12, 16), self.hours(loose))
        self.assertEqual(leasing.at(11),
                         self.leasing.reload(loose).between.fix_at)

    def test_a_window_with_a_hole_off_a_whole_minute(self):
        """A change of a window finds what a new lease does."""
        half = 1 / 120
        self.leasing.create(4, 5 + half)
        self.leasing.create(7 + half, 30)
        loose = self.flexible(1, 3, 1)
        planned = self.flexible(4, 20, 2, dry_run=True)
        self.open(loose, 4, 20, hours=2)
        self.assertEqual((5 + half, 7 + half), self.hours(loose))
        self.assertEqual(planned.start, self.leasing.reload(loose).start)

    def test_a_window_without_a_hole_that_is_long_enough(self):
        """Nobody else slides, and all starts have been tried."""
        half = 1 / 120
        self.leasing.create(4, 5 + half)
        self.leasing.create(7, 30)
        loose = self.flexible(1, 3, 1)
        refused = self.assertRaises(errors.LeaseRefused, self.open, loose,
                                    4, 20, hours=2)
        self.assertTrue(refused.details['reasons'][0]['proved'])
        self.assertEqual((1, 2), self.hours(loose))

    def test_others_slide_for_another_window(self):
        loose = self.flexible(2, 20, 4)
        lease = self.flexible(10, 14, 4)
        self.open(lease, 2, 6)
        self.assert_hours((lease, 2, 6), (loose, 6, 10))
        self.assertIn((loose.id, 'slid'), self.told)

    def test_another_duration(self):
        self.leasing.create(8, 9)
        loose = self.flexible(3, 20, 4)
        self.open(loose, hours=5)
        self.assertEqual((3, 8), self.hours(loose))
        self.open(loose, hours=6)
        self.assertEqual((9, 15), self.hours(loose))
        self.open(loose, hours=2)
        self.assertEqual((9, 11), self.hours(loose))

    def test_a_duration_beyond_the_window(self):
        loose = self.flexible(3, 8, 4)
        self.assertRaises(errors.InvalidValue, self.open, loose, hours=6)
        self.assertEqual((3, 7), self.hours(loose))

    def test_until_another_time_before_the_start(self):
        loose = self.flexible(5, 20, 4)
        self.open(loose, seconds=7200)
        between = self.leasing.reload(loose).between
        self.assertEqual((7200, leasing.at(3)),
                         (between.fix_before, between.fix_at))
        self.open(loose, seconds=100000)
        self.assertIsNone(self.leasing.reload(loose).between.fix_at)
        self.leasing.refused(6, 8)

    def test_dates_that_were_set_are_opened(self):
        lease = self.leasing.create(4, 8)
        self.leasing.refused(5, 7)
        self.open(lease, 3, 20, seconds=60)
        self.assertEqual((4, 8), self.hours(lease))
        self.leasing.create(5, 7)
        self.assertNotEqual((4, 8), self.hours(lease))

    def assert_closed(self, lease, error):
        """Assert that neither duration nor notice can be changed."""
        for change in ({'hours': 2}, {'seconds': 60}):
            self.assertRaises(error, self.open, lease, **change)

    def test_not_where_they_were_set(self):
        self.assert_closed(self.leasing.create(4, 8), errors.InvalidValue)

    def test_not_once_they_are_fixed(self):
        loose = self.flexible(4, 20, 4)
        self.world.clock.now = leasing.at(3)
        self.assert_closed(loose, errors.LeaseFrozen)
        lease_fix.fix(self.engine)
        self.assert_closed(loose, errors.LeaseFrozen)
        self.open(loose, 5, 20)
        self.assertEqual((5, 9), self.hours(loose))

    def test_not_once_it_has_started(self):
        loose = self.flexible(1, 20, 4)
        self.world.clock.now = leasing.at(1)
        self.leasing.bind()
        self.assertRaises(errors.LeaseFrozen, self.open, loose, 3, 20)

    def test_what_is_offered_is_accepted(self):
        self.leasing.create(2, 10)
        loose = self.flexible(12, 20, 4)
        refused = self.assertRaises(errors.LeaseRefused, self.open, loose,
                                    1, 13)
        self.assertTrue(refused.details['reasons'][0]['proved'])
        self.assertIn('No start from', str(refused))
        (offer,) = refused.details['offers']
        self.assertEqual('later', offer['kind'])
        changes = lease_body.lease_change(
            offer['lease'], self.world.clock(), dict, versions.MAXIMUM)
        lease_change.change(self.engine, loose.id, changes)
        self.assertEqual((10, 14), self.hours(loose))

    def test_more_hosts_at_another_time_of_its_window(self):
        self.leasing.hosts()
        self.leasing.create(4, 6)
        loose = self.flexible(3, 20, 4)
        self.leasing.resize(loose, 2, 2)
        self.assertEqual((6, 10), self.hours(loose))
        self.assertEqual(2, len(self.leasing.nodes(loose)))
        self.assertIsNotNone(self.leasing.reload(loose).between)

    def test_limits_hold_at_its_new_start(self):
        self.leasing.hosts()
        self.limit(1)
        self.leasing.create(8, 12, project_id='theirs')
        loose = self.flexible(1, 6, 4, project_id='theirs')
        self.open(loose, 7, 30)
        self.assertEqual((12, 16), self.hours(loose))
        self.assertRaises(errors.LeaseLimit, self.open, loose, 8, 14)
        self.assertEqual((12, 16), self.hours(loose))

    def test_a_dry_run_changes_nothing(self):
        loose = self.flexible(3, 20, 4)
        with self.unchanged():
            planned = lease_change.rehearse(
                self.engine, loose.id, leases.LeaseChange(
                    opened=leases.OpenDates((leasing.at(9), leasing.at(30)))))
        self.assertEqual(leasing.at(9), planned.lease.start)

    def test_not_into_the_past_of_a_process_that_stood_still(self):
        loose = self.flexible(9, 20, 4)
        self.stall(5)
        self.open(loose, 3, 8, hours=2)
        self.assertEqual((5, 7), self.hours(loose))


@servers.also
class TestChangeRaces(open_dates.TestCase):

    opened = 1

    def test_ended_meanwhile(self):
        """Somebody ends the one that slides before the commit."""
        lease = self.leasing.create(1, 3)
        loose = self.flexible(3, 20, 4)
        self.end_while_read(loose)
        self.leasing.change(lease, end=5)
        self.assertEqual((1, 5), self.hours(lease))
        self.assertEqual([lease.id], [each.id for each in self.leasing.all()])

    def test_fixed_while_the_process_stood_still(self):
        lease = self.leasing.create(1, 4)
        loose = self.flexible(4, 20, 4)
        self.stall(3.5)
        self.refuse(lease, end=6)
        self.assert_hours((lease, 1, 4), (loose, 4, 8))

    def test_another_one_has_it_slide_meanwhile(self):
        """Both are served, one after the other."""
        lease = self.leasing.create(1, 3)
        loose = self.flexible(3, 20, 4)
        self.world.before_next_write(lambda: self.leasing.create(5, 6))
        self.leasing.change(lease, end=4)
        self.assert_hours((lease, 1, 4), (loose, 6, 10))

    def test_its_project_gets_another_meanwhile(self):
        gold, silver = self.gold_and_silver()
        self.limit(1)
        lease = self.leasing.create(1, 3, gold, project_id='others')
        loose = self.flexible(3, 9, 4, gold, project_id='theirs')
        self.world.before_next_write(lambda: self.leasing.create(
            7, 9, silver, project_id='theirs'))
        self.refuse(lease, end=5)
        self.assertEqual((3, 7), self.hours(loose))
