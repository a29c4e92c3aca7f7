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

"""Changing leases while others write."""

import dataclasses

from ironic_reservations import errors
from ironic_reservations.engine.leases import change as lease_change
from ironic_reservations.model import leases
from tests import leasing
from tests.inprocess.engine import timelines


class TestRaces(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.other = self.another()

    def before_the_next_look(self, action):
        """Have something happen after the lease was read, before the rest.
        """
        class Interrupted:
            def snapshot(_, *args, **kwargs):
                if actions:
                    actions.pop()()
                return self.engine.snapshots.snapshot(*args, **kwargs)

            def __getattr__(_, name):
                return getattr(self.engine.snapshots, name)
        actions = [action]
        return leasing.Leasing(self.world, dataclasses.replace(
            self.engine, snapshots=Interrupted()))

    def test_host_taken_between_plan_and_commit(self):
        """Who is outrun plans again."""
        self.leasing.hosts(2)
        lease = self.leasing.started(0, 2)
        self.world.before_next_write(lambda: self.other.create(2, 4))
        self.leasing.change(lease, end=3)
        self.world.before_next_write(lambda: self.other.create(3, 4))
        self.refuse(lease, end=4)

    def test_lease_changed_between_plan_and_commit(self):
        """The second change is made to what the first one left."""
        self.leasing.hosts(2)
        lease = self.leasing.create(1, 2)
        self.world.before_next_write(
            lambda: self.other.change(lease, name='renamed', end=4))
        self.leasing.resize(lease, 2, 2)
        read = self.leasing.reload(lease)
        self.assertEqual(('renamed', leasing.at(4), 2),
                         (read.name, read.end, len(read.bookings)))
        self.assertEqual({(leasing.at(1), leasing.at(4))}, self.windows(lease))

    def test_refusal_rests_on_no_lease_that_was_extended_meanwhile(self):
        """The one who asks was allowed to, and then stood still."""
        self.leasing.hosts()
        made = self.leasing.started(0, 2)
        stale = self.leasing.reload(made)
        self.other.change(made, end=8)
        self.world.clock.now = leasing.at(5)
        self.assertEqual(leasing.at(9), lease_change.change(
            self.engine, made.id, leases.LeaseChange(end=leasing.at(9)),
            permitted=stale).end)

    def test_refusal_of_a_lease_that_is_gone_says_so(self):
        self.leasing.hosts()
        made = self.leasing.create(1, 2)
        self.other.end(made)
        self.world.clock.now = leasing.at(3)
        self.assertRaises(
            errors.LeaseNotFound, lease_change.change, self.engine, made.id,
            leases.LeaseChange(end=leasing.at(4)), permitted=made)

    def test_lease_started_between_plan_and_commit(self):
        """What has started meanwhile is not moved any more."""
        self.leasing.hosts(2)
        lease = self.leasing.create(1, 3)
        there = self.leasing.nodes(lease)

        def start():
            self.other.clock_passes(1)
        self.world.before_next_write(start)
        self.leasing.change(lease, end=4)
        self.assertEqual(there, self.leasing.nodes(lease))
        self.assertEqual([leasing.BOUND], [
            each.state for each in self.leasing.reload(lease).bookings])

    def _pushed(self):
        """Make a lease, and give what has it moved by another process."""
        for name in ('gold', 'silver'):
            self.leasing.hosts(resource_class=name)
        lease = self.leasing.create(4, 6)
        (there,) = self.leasing.nodes(lease)
        name = self.world.ironic.there[there].resource_class

        def push():
            self.other.create(3, 5, leasing.wish_of(name))
            self.assertNotEqual({there}, self.leasing.nodes(lease))
            self.assertEqual({}, self.other.stale())
        return lease, push

    def test_lease_moved_after_it_was_read(self):
        """What is planned anew is where it is now, not where it was."""
        lease, push = self._pushed()
        self.before_the_next_look(push).change(lease, end=7)
        self.assertEqual({(leasing.at(4), leasing.at(7))}, self.windows(lease))
        self.assert_sound()
        self.assertEqual({}, self.other.stale())

    def test_lease_moved_before_its_end_was_written(self):
        """No process goes on seeing a booking that is gone."""
        lease, push = self._pushed()
        self.world.before_next_write(push)
        self.leasing.end(lease)
        self.assertRaises(errors.LeaseNotFound, self.leasing.reload, lease)
        self.assert_sound()
        self.assertEqual({}, self.other.stale())

    def test_lease_ended_between_plan_and_commit(self):
        """What is gone is not found."""
        self.leasing.hosts()
        lease = self.leasing.create(1, 2)
        self.world.before_next_write(lambda: self.other.end(lease))
        self.assertRaises(errors.LeaseNotFound, self.leasing.change, lease,
                          end=4)
        self.assertEqual([], self.leasing.rows())
