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

"""The end of leases, as far as requests bring it about."""

from ironic_reservations import errors
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.leases import find as lease_find
from ironic_reservations.model import leases
from tests import leasing
from tests.inprocess.engine import timelines


class TestEnd(timelines.TestCase):

    opened = 1

    def test_lease_to_come_is_gone_at_once(self):
        """Nothing of it is left, and its hosts can be had."""
        before = self.world.lease_rows()
        lease = self.leasing.create(1, 2)
        self.leasing.end(lease)
        self.assertEqual(before, self.world.lease_rows())
        self.assertEqual([], self.leasing.rows())
        self.leasing.create(1, 2)

    def test_second_end_finds_nothing(self):
        """What is gone is not found."""
        lease = self.leasing.create(1, 2)
        self.leasing.end(lease)
        self.assertRaises(errors.LeaseNotFound, self.leasing.end, lease)

    def test_delete_reaches_one_lease_only(self):
        """All others keep every row that they have.

        esi-leap: a delete by query reached every lease.
        """
        self.leasing.hosts(3)
        others = [self.leasing.create(1, 2), self.leasing.create(0, 2),
                  self.leasing.create(3, 4, project_id='theirs')]
        lease = self.leasing.started(1, 2)
        before = [self.leasing.reload(other) for other in others]
        self.leasing.end(lease)
        self.assertEqual(before, [self.leasing.reload(other)
                                  for other in others])

    def test_active_lease_is_left_to_be_taken_back(self):
        """Its hosts are nobody else's until they are back."""
        (host,) = self.opened_hosts
        lease = self.leasing.started(0, 4)
        self.world.clock.now = leasing.at(1)
        for _ in range(2):
            self.leasing.end(lease)
            read = self.leasing.reload(lease)
            self.assertEqual(
                (leases.LeaseStatus.DELETING,
                 [(host, leasing.ENDING, leasing.at(1))]),
                (read.status, [(each.node_uuid, each.state, each.ends_at)
                               for each in read.bookings]))
            self.leasing.refused(None, 2)
            self.world.clock.now = leasing.at(1.5)
        self.leasing.clean_up()
        self.assertRaises(errors.LeaseNotFound, self.leasing.reload, lease)
        self.leasing.create(None, 2)

    def test_late_end_does_not_reach_into_the_next_lease(self):
        """A lease that is over ended when it was due."""
        lease = self.leasing.create(0, 1)
        self.leasing.started(1, 3)
        self.world.clock.now = leasing.at(2)
        self.leasing.end(lease)

    def test_lease_of_another_project_does_not_exist(self):
        """Nobody ends the leases of others."""
        lease = self.leasing.create(1, 2)
        self.assertRaises(errors.LeaseNotFound, lease_end.end, self.engine,
                          lease.id, 'theirs')
        self.leasing.reload(lease)
        lease_end.end(self.engine, lease.id, leasing.PROJECT)

    def test_lease_that_starts_while_it_is_ended(self):
        """Its nodes are taken back, whoever came first."""
        lease = self.leasing.create(1, 2)
        other = self.another()
        self.world.before_next_write(lambda: other.clock_passes(1))
        self.leasing.end(lease)
        read = self.leasing.reload(lease)
        self.assertEqual(leases.LeaseStatus.DELETING, read.status)
        self.assertEqual([leasing.ENDING],
                         [each.state for each in read.bookings])

    def test_lease_that_has_changed_since_the_caller_was_permitted(self):
        """It is ended as it is, and nothing of what it was is written."""
        self.leasing.hosts()
        lease = self.leasing.create(1, 2)
        seen = lease_find.get_with_nodes(self.engine, lease.id)
        self.leasing.change(lease, end=3)
        lease_end.end(self.engine, lease.id, permitted=seen)
        self.assertEqual([], self.leasing.rows())
        self.assertRaises(errors.LeaseNotFound, self.leasing.reload, lease)

    def test_lease_that_has_started_since_the_caller_was_permitted(self):
        """Its node is taken back, and not just forgotten."""
        lease = self.leasing.create(1, 2)
        seen = lease_find.get_with_nodes(self.engine, lease.id)
        self.leasing.clock_passes(1)
        lease_end.end(self.engine, lease.id, permitted=seen)
        read = self.leasing.reload(lease)
        self.assertEqual(leases.LeaseStatus.DELETING, read.status)
        self.assertEqual([leasing.ENDING],
                         [each.state for each in read.bookings])

    def test_node_that_has_changed_since_the_caller_was_permitted(self):
        """Whoever was there first is left alone, and the lease is gone."""
        lease = self.leasing.create(1, 2)
        seen = lease_find.get_with_nodes(self.engine, lease.id)
        other = self.leasing.create(3, 4)
        lease_end.end(self.engine, lease.id, permitted=seen)
        self.leasing.reload(other)
        self.assertRaises(errors.LeaseNotFound, self.leasing.reload, lease)
