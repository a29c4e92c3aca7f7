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

"""Changing leases: when they are, and that it is all or nothing."""


from ironic_reservations import errors
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines


class TestWindow(timelines.TestCase):

    opened = 1

    def test_extension_of_a_lease_to_come(self):
        """Its bookings, its events and the lease itself end later."""
        self.leasing.hosts()
        lease = self.leasing.create(1, 3, leasing.wish(2))
        answered = self.leasing.change(lease, end=5)
        read = self.leasing.reload(lease)
        self.assertEqual((leasing.at(1), leasing.at(5), leasing.at(4)),
                         (read.start, read.end, read.before_end))
        self.assertEqual(read.end, answered.end)
        self.assertEqual({(leasing.at(1), leasing.at(5))}, self.windows(lease))
        self.assertEqual([leasing.at(hour) for hour in (1, 4, 5)],
                         [event.time for event in read.events])

    def test_extension_moves_other_leases(self):
        """Those that have not started make room."""
        self.leasing.hosts()
        first = self.leasing.create(0, 2)
        second = self.leasing.create(3, 5)
        self.assertEqual(self.leasing.nodes(first), self.leasing.nodes(second))
        self.leasing.change(first, end=4)
        self.assertNotEqual(self.leasing.nodes(first),
                            self.leasing.nodes(second))

    def test_extension_of_an_active_lease_whose_host_is_booked_later(self):
        """The later one moves; the host that is in use stays.

        Blazar: refuses where a held host has a later booking, even with other
        hosts free.
        """
        self.leasing.hosts()
        active = self.leasing.create(0, 2)
        later = self.leasing.started(2, 5)
        there = self.leasing.nodes(active)
        self.assertEqual(there, self.leasing.nodes(later))
        self.leasing.change(active, end=4)
        self.assertEqual(there, self.leasing.nodes(active))
        self.assertNotEqual(there, self.leasing.nodes(later))
        self.assertEqual({(leasing.at(0), leasing.at(4))},
                         self.windows(active))

    def test_extension_that_nobody_can_make_room_for_is_refused(self):
        """The lease stays as it is, and the reason is told."""
        self.leasing.hosts()
        active = self.leasing.create(0, 2)
        self.leasing.started(2, 5, leasing.wish(2), project_id='theirs')
        refusal = self.assert_refused(errors.LeaseRefused, active, end=3)
        reason, = refusal.details['reasons']
        self.assertEqual(('shortage', 1), (reason['code'],
                                           reason['hosts_short']))
        self.assertEqual([False], [blocker['own'] for blocker
                                   in reason['blockers']])

    def test_extension_never_takes_the_host_of_a_started_lease(self):
        """Another lease that has started does not move."""
        first = self.leasing.create(0, 1)
        self.leasing.create(1, 3)
        self.leasing.clock_passes(0.5)
        self.assert_refused(errors.LeaseRefused, first, end=2)

    def test_shortened_lease_leaves_its_host_to_others(self):
        """What is given up can be had."""
        lease = self.leasing.create(0, 4)
        self.leasing.refused(2, 4)
        self.leasing.bind()
        self.leasing.change(lease, end=2)
        self.leasing.create(2, 4)

    def test_active_lease_that_ends_now_ends_now(self):
        """A client that says "now" in whole minutes is not too late."""
        lease = self.leasing.started(0, 4)
        self.world.clock.now = leasing.at(1)
        self.world.clock.advance(30)
        self.leasing.change(lease, end=1)
        read = self.leasing.reload(lease)
        self.assertLess(read.end, leasing.at(1.02))
        self.assertEqual({read.end}, {end for _, end in self.windows(lease)})

    def test_start_of_a_lease_to_come_moves_both_ways(self):
        """Earlier and later, as long as there is room."""
        self.leasing.create(0, 1)
        lease = self.leasing.create(3, 5)
        for start in (2, 4, 1):
            self.leasing.change(lease, start=start)
            self.assertEqual({(leasing.at(start), leasing.at(5))},
                             self.windows(lease))
        self.assert_refused(errors.LeaseRefused, lease, start=0.5)

    def test_start_is_frozen_once_it_has_come(self):
        """Bound or not, the lease has started with the clock."""
        lease = self.leasing.create(1, 3)
        self.world.clock.now = leasing.at(1)
        self.assert_refused(errors.LeaseFrozen, lease, start=2)
        self.leasing.bind()
        self.assert_refused(errors.LeaseFrozen, lease, start=2)

    def test_lease_that_is_over_cannot_be_changed(self):
        """Nothing of the past is; it has a name until its node is back."""
        lease = self.leasing.create(0, 1)
        self.leasing.clock_passes(2)
        wish = leases.LeaseReservationChange(lease.reservations[0].id, most=2)
        for changes in ({'end': 3}, {'reservations': (wish,)}, {'heal': True},
                        {'before_end': leasing.at(0.5)},
                        {'name': 'renamed'}):
            self.assert_refused(errors.LeaseFrozen, lease, **changes)

    def test_windows_that_make_no_sense_are_refused(self):
        """As for a new lease."""
        lease = self.leasing.create(1, 3)
        for changes in ({'end': 1}, {'end': 0.5}, {'end': 0}, {'start': 3},
                        {'start': -1}, {'before_end': leasing.at(0.5)}):
            self.assert_refused(errors.InvalidValue, lease, **changes)
        naive = leasing.at(4).replace(tzinfo=None)
        for key in ('start', 'end', 'before_end'):
            self.assertRaises(
                (TypeError, ValueError), lease_change.change, self.engine,
                lease.id, leases.LeaseChange(**{key: naive}))
        self.assertEqual({(leasing.at(1), leasing.at(3))}, self.windows(lease))

    def test_end_that_was_told_to_be_near_is_told_again(self):
        """An extension makes the end far once more."""
        lease = self.leasing.started(0, 2)
        self.leasing.change(lease, end=4)
        event = self.leasing.reload(lease).events[1]
        self.assertEqual(
            (leases.EventType.BEFORE_END, leasing.at(3),
             leases.EventStatus.UNDONE),
            (event.type, event.time, event.status))

    def test_warning_keeps_its_distance_from_the_end(self):
        """Unless it is said to be at another time."""
        lease = self.leasing.create(0, 4, before_end=leasing.at(2))
        self.leasing.change(lease, end=5)
        self.assertEqual(leasing.at(3), self.leasing.reload(lease).before_end)
        self.leasing.change(lease, end=6, before_end=leasing.at(5.5))
        self.assertEqual(leasing.at(5.5),
                         self.leasing.reload(lease).before_end)

    def test_time_for_cleaning_is_kept_after_an_extension(self):
        """The next lease begins on a clean host, or the answer is no."""
        self.begin(leases__cleaning_time=1800)
        lease = self.leasing.create(0, 1)
        self.leasing.started(2, 3)
        self.leasing.change(lease, end=1.5)
        self.assert_refused(errors.LeaseRefused, lease, end=1.75)

    def test_extension_on_a_broken_host_pushes_no_other_lease_aside(self):
        """A promise on a host in maintenance is a promise still."""
        active = self.leasing.create(0, 2)
        later = self.leasing.started(2, 4)
        (host,) = self.leasing.nodes(active)
        self.leasing.break_node(host)
        self.assert_refused(errors.LeaseRefused, active, end=3)
        self.leasing.hosts(1)
        self.leasing.change(active, end=3)
        self.assertEqual({host}, self.leasing.nodes(active))
        self.assertNotEqual({host}, self.leasing.nodes(later))
        self.leasing.mend_node(host)

    def test_no_end_is_offered_where_others_have_to_move(self):
        """On a broken host, an end was offered that was refused then."""
        (broken,) = self.opened_hosts
        active = self.leasing.create(0, 10)
        self.leasing.create(15, 25)
        self.leasing.hosts(1)
        self.leasing.clock_passes(0.5)
        self.leasing.create(18, 30)
        self.leasing.break_node(broken)
        refusal = self.assert_refused(errors.LeaseRefused, active, end=20)
        self.assertEqual([], refusal.details['offers'])
        self.assertNotIn('extended until', str(refusal))
        self.assert_refused(errors.LeaseRefused, active, end=18)
        self.leasing.change(active, end=15)


class TestLease(timelines.TestCase):

    opened = 1

    def test_rename_leaves_everything_else(self):
        """No booking is even looked at."""
        lease = self.leasing.create(1, 2)
        before = self.leasing.rows()
        self.leasing.change(lease, name='renamed')
        self.assertEqual('renamed', self.leasing.reload(lease).name)
        self.assertEqual(before, self.leasing.rows())

    def test_no_change_changes_nothing(self):
        """Not even when it was changed."""
        lease = self.leasing.create(1, 2)
        before = leasing.tables_as_text(self.world)
        for changes in ({}, {'end': 2}, {'start': 1}, {'name': lease.name}):
            self.leasing.change(lease, **changes)
            self.assertEqual(before, leasing.tables_as_text(self.world))

    def test_unknown_lease_does_not_exist(self):
        self.assertRaises(errors.LeaseNotFound, lease_change.change,
                          self.engine, world.new_uuid(),
                          leases.LeaseChange(name='theirs'))

    def test_dry_run_writes_nothing(self):
        """It answers as if, and leaves every row as it was."""
        self.leasing.hosts()
        lease = self.leasing.create(0, 2)
        self.leasing.create(3, 5)
        before = leasing.tables_as_text(self.world)
        answer = lease_change.rehearse(
            self.engine, lease.id, leases.LeaseChange(end=leasing.at(4)))
        self.assertEqual(leasing.at(4), answer.lease.end)
        self.assertEqual(before, leasing.tables_as_text(self.world))
