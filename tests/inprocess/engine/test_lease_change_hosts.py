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

"""Changing leases: which hosts they have, and how many."""


from ironic_reservations import errors
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines

HOUR_LATER = leasing.at(1)


class TestHosts(timelines.TestCase):

    def assert_not_resized(self, error, *args, **changes):
        """Assert that the first reservation of a lease stays as it is."""
        with self.unchanged():
            self.assertRaises(error, self.leasing.resize, *args, **changes)

    def test_lease_to_come_grows_and_shrinks(self):
        """It keeps the hosts that it has, as far as it can."""
        self.leasing.hosts(4)
        lease = self.leasing.create(1, 2, leasing.wish(2))
        first = self.leasing.nodes(lease)
        self.leasing.resize(lease, 3, 4)
        grown = self.leasing.nodes(lease)
        self.assertEqual(4, len(grown))
        self.assertTrue(first < grown)
        self.leasing.resize(lease, 1, 1)
        self.assertEqual(1, len(self.leasing.nodes(lease) & grown))

    def test_active_lease_grows_by_hosts_that_are_ready(self):
        """What it has it keeps, and what it gets begins now."""
        self.leasing.hosts(3)
        lease = self.leasing.started(0, 4)
        there = self.leasing.nodes(lease)
        self.world.clock.now = HOUR_LATER
        self.leasing.resize(lease, 2, 3)
        read = self.leasing.reload(lease)
        self.assertEqual(3, len(self.leasing.nodes(lease)))
        self.assertTrue(there < self.leasing.nodes(lease))
        self.assertEqual(
            [(leasing.at(0), leasing.BOUND)]
            + [(leasing.at(1), leasing.PLANNED)] * 2,
            [(each.starts_at, each.state) for each in read.bookings])

    def test_active_lease_that_cannot_grow_stays_as_it_is(self):
        """All or nothing: not even its end moves."""
        self.leasing.hosts(1)
        lease = self.leasing.started(0, 4)
        self.assert_not_resized(errors.LeaseRefused, lease, 2, 2, end=5)

    def test_active_lease_shrinks_by_hosts_that_are_not_deployed(self):
        """What somebody uses stays, or is named by its owner."""
        self.leasing.hosts(3)
        lease = self.leasing.started(0, 4, leasing.wish(3))
        one, two, three = sorted(self.leasing.nodes(lease))
        for node in (one, two):
            self.world.ironic.deploy(node, world.new_uuid())
        self.leasing.refresh()
        self.leasing.resize(lease, 1, 2)
        self.assertEqual({one, two}, self.leasing.nodes(lease))
        self.assertEqual([three], [
            each.node_uuid for each in self.leasing.reload(lease).bookings
            if each.state is leasing.ENDING])
        self.assert_not_resized(errors.LeaseFrozen, lease, 1, 1)
        self.leasing.resize(lease, give_back=[one])
        self.assertEqual({two}, self.leasing.nodes(lease))

    def test_host_that_is_given_back_is_not_made_good_for(self):
        """The lease has one fewer, and wants one fewer; started or not."""
        self.leasing.hosts(4)
        for start in (0, 5):
            lease = self.leasing.started(start, start + 4, leasing.wish(3))
            gone = min(self.leasing.nodes(lease))
            self.leasing.resize(lease, give_back=[gone])
            reservation, = self.leasing.reload(lease).reservations
            self.assertEqual((2, 2), (reservation.least, reservation.most),
                             lease.name)
            self.assertEqual(2, len(self.leasing.nodes(lease)), lease.name)
            self.assertNotIn(gone, self.leasing.nodes(lease))

    def test_host_that_is_given_back_is_not_given_again_at_once(self):
        """It has to be cleaned first, whoever wants it."""
        self.leasing.hosts(2)
        lease = self.leasing.started(0, 4, leasing.wish(2))
        self.world.clock.now = HOUR_LATER
        gone = min(self.leasing.nodes(lease))
        self.assert_not_resized(errors.LeaseRefused, lease, 2, 2,
                                give_back=(gone,))
        self.leasing.resize(lease, give_back=[gone])
        self.assert_not_resized(errors.LeaseRefused, lease, 2, 2)
        self.leasing.refused(None, 4)
        (new,) = self.leasing.hosts()
        self.leasing.resize(lease, 2, 2)
        self.assertIn(new, self.leasing.nodes(lease))

    def test_host_that_is_being_taken_back_is_no_room_for_others(self):
        """Nobody is moved onto it by a later change of the same lease."""
        self.leasing.hosts(2)
        lease = self.leasing.started(0, 4, leasing.wish(2))
        self.world.clock.now = HOUR_LATER
        gone = min(self.leasing.nodes(lease))
        self.leasing.resize(lease, give_back=[gone])
        self.leasing.change(lease, end=5)
        self.assertEqual(
            [leasing.at(1)],
            [each.ends_at for each in self.leasing.reload(lease).bookings
             if each.state is leasing.ENDING])

    def test_last_host_cannot_be_given_back(self):
        """Who needs none ends the lease; none is swapped silently."""
        self.leasing.hosts(4)
        lease = self.leasing.create(0, 4, leasing.wish(2))
        for _ in range(2):
            self.assert_not_resized(errors.InvalidValue, lease,
                                    give_back=self.leasing.nodes(lease))
            self.leasing.bind()

    def test_host_that_a_lease_does_not_have_cannot_be_given_back(self):
        """Whether it has started or not."""
        hosts_there = set(self.leasing.hosts(3))
        lease = self.leasing.create(0.5, 4, leasing.wish(2))
        (other,) = hosts_there - self.leasing.nodes(lease)
        for _ in range(2):
            self.assert_not_resized(errors.InvalidValue, lease,
                                    give_back=(other,))
            self.leasing.clock_passes(1)

    def test_properties_of_a_lease_to_come_can_change(self):
        """It gets hosts that are as it asks now, or stays."""
        self.leasing.hosts(1, resource_class='gold')
        silver = self.leasing.hosts(1, resource_class='silver')
        lease = self.leasing.create(1, 2, leasing.wish_of('gold'))
        self.leasing.resize(lease, properties=leasing.of_class('silver'))
        self.assertEqual(set(silver), self.leasing.nodes(lease))
        self.assert_not_resized(errors.LeaseRefused, lease,
                                properties=leasing.of_class('bronze'))

    def test_properties_of_an_active_lease_cannot_exclude_its_hosts(self):
        """What has started stays where it is."""
        self.leasing.hosts(2, resource_class='gold')
        lease = self.leasing.started(0, 2)
        self.assert_not_resized(errors.LeaseFrozen, lease,
                                properties=leasing.of_class('silver'))
        self.leasing.resize(lease, properties=leasing.of_class('gold'))

    def test_unknown_reservation_is_refused(self):
        """Reservations are changed, and none is added."""
        self.leasing.hosts()
        lease = self.leasing.create(1, 2)
        self.assert_refused(errors.InvalidValue, lease, reservations=(
            leases.LeaseReservationChange(world.new_uuid(), most=2),))

    def test_numbers_that_make_no_sense_are_refused(self):
        """As for a new lease."""
        self.leasing.hosts(2)
        lease = self.leasing.create(1, 2)
        for least, most in ((0, 1), (2, 1), (-1, None), (3, None),
                            (None, 0)):
            self.assert_not_resized(errors.InvalidValue, lease, least, most)
