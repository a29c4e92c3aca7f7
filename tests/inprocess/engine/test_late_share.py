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

"""A share that is late, and what is planned to start before it is back.

The lease before had ended, and its share was not back yet.  It counts for a
minute or two more, so that what was planned to start in that time and had no
room beside it was left out of the timeline, whole, and its place was given
to whoever asked: 20 of 16 VCPUs were promised, for hours.
"""

import sqlalchemy as sa

from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import tables
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.leases import heal as lease_heal
from tests import leasing
from tests.inprocess.engine import timelines

MINUTE = 1 / 60


class TestLateShare(timelines.TestCase):

    def late(self, vcpus=4):
        """Have a lease over whose share is not back."""
        return self.leasing.started(0, 1, leasing.instances(vcpus=vcpus))

    def over(self, lease):
        self.world.clock.now = leasing.at(1 + MINUTE / 6)
        self.leasing.take_back(lease)

    def test_place_of_what_is_planned_is_not_given_away(self):
        self.leasing.compute_hosts(1, vcpus=16)
        late = self.late()
        planned = self.leasing.create(1 + MINUTE, 5,
                                      leasing.instances(vcpus=16))
        self.over(late)
        self.leasing.refused(2, 3, leasing.instances(vcpus=4))
        self.leasing.refused(None, 2, leasing.instances(vcpus=4))
        self.leasing.create(5, 6, leasing.instances(vcpus=16))
        self.leasing.clean_up()
        self.assertEqual([], self.leasing.overfull())
        self.leasing.refused(2, 3, leasing.instances(vcpus=4))
        self.assertEqual({}, self.leasing.stale())
        self.assertEqual(1, len(self.leasing.nodes(planned)))

    def test_nobody_is_moved_because_another_is_late(self):
        """What is late is back soon; at its start each looks for itself."""
        self.leasing.compute_hosts(2, vcpus=16)
        late = self.late()
        planned = self.leasing.create(1 + MINUTE, 5,
                                      leasing.instances(vcpus=16))
        there = self.leasing.nodes(planned)
        self.over(late)
        self.assertEqual(0, lease_heal.heal(self.engine))
        self.assertEqual(there, self.leasing.nodes(planned))
        (reservation,) = self.leasing.reload(planned).reservations
        self.assertFalse(reservation.missing_resources)

    def test_what_starts_beside_what_is_late_finds_another_host(self):
        one, other = self.leasing.compute_hosts(2, vcpus=16)
        late = self.late()
        (crowded,) = self.leasing.nodes(late)
        planned = self.leasing.create(1 + MINUTE, 5, leasing.instances(
            vcpus=16, properties=f'["==", "$node_uuid", "{crowded}"]'))
        easy = self.leasing.create(6, 7, leasing.instances(vcpus=16))
        self.over(late)
        (booking,) = self.leasing.reload(planned).bookings
        self.assertEqual(0, lease_heal.replace(
            self.engine, planned.id, [booking.id], {crowded}))
        self.assertEqual({crowded}, self.leasing.nodes(planned))
        self.leasing.clean_up()
        self.assertEqual([], self.leasing.overfull())
        self.assertEqual(1, len(self.leasing.nodes(easy)))

    def test_lease_that_is_given_back_late_is_no_fault_of_the_program(self):
        """Made smaller shortly before its end, beside a neighbour: 500."""
        self.leasing.compute_hosts(1, vcpus=16)
        ending = self.leasing.started(0, 1, leasing.instances(4, vcpus=4))
        self.leasing.create(1, 5, leasing.instances(vcpus=16))
        self.world.clock.now = leasing.at(1 - MINUTE / 2)
        self.leasing.resize_instances(ending, 3)
        self.assertEqual({}, self.leasing.stale())
        self.leasing.refused(2, 3, leasing.instances(vcpus=1))

    def test_others_still_find_room_where_there_is_some(self):
        """Only the place itself is taken."""
        self.leasing.compute_hosts(1, vcpus=16)
        late = self.late(8)
        self.leasing.create(1 + MINUTE, 5, leasing.instances(vcpus=12))
        self.over(late)
        self.leasing.refused(2, 3, leasing.instances(vcpus=5))
        self.leasing.create(2, 3, leasing.instances(vcpus=4))
        self.leasing.clean_up()


class _Excess(timelines.TestCase):

    def assert_sound(self, there):
        """Assert that nothing is outdated; more is promised than there is."""
        self.assertEqual({}, there.stale())


class TestShrunken(_Excess):
    """An inventory may get smaller below what was promised."""

    def test_excess_is_flagged_and_does_not_grow(self):
        (host,) = self.leasing.compute_hosts(1, vcpus=16)
        one = self.leasing.create(1, 3, leasing.instances(vcpus=8))
        other = self.leasing.create(2, 4, leasing.instances(vcpus=8))
        self.leasing.resize_host(host, 12)
        lease_health.check(self.engine)
        flags = [self.leasing.reload(each).reservations[0].missing_resources
                 for each in (one, other)]
        self.assertEqual([False, True], flags)
        self.leasing.refused(3, 4, leasing.instances(vcpus=5))
        self.leasing.create(3, 4, leasing.instances(vcpus=4))

    def test_what_has_no_room_is_planned_where_there_is_some(self):
        (host,) = self.leasing.compute_hosts(1, vcpus=16)
        one = self.leasing.create(1, 3, leasing.instances(vcpus=8))
        other = self.leasing.create(2, 4, leasing.instances(vcpus=8))
        (new,) = self.leasing.compute_hosts(1, vcpus=8)
        self.leasing.resize_host(host, 12)
        self.assertEqual(1, lease_heal.heal(self.engine))
        self.assertEqual(({host}, {new}), (self.leasing.nodes(one),
                                           self.leasing.nodes(other)))
        self.assertEqual([], self.leasing.overfull())
        self.assertEqual(0, lease_heal.heal(self.engine))

    def test_another_moves_where_the_one_without_room_cannot(self):
        (host,) = self.leasing.compute_hosts(1, vcpus=16)
        easy = self.leasing.create(1, 3, leasing.instances(vcpus=8))
        bound = self.leasing.create(2, 4, leasing.instances(
            vcpus=8, properties=f'["==", "$node_uuid", "{host}"]'))
        (new,) = self.leasing.compute_hosts(1, vcpus=8)
        self.leasing.resize_host(host, 12)
        lease_heal.heal(self.engine)
        self.assertEqual(({new}, {host}), (self.leasing.nodes(easy),
                                           self.leasing.nodes(bound)))
        self.assertEqual([], self.leasing.overfull())
        self.assertEqual(0, lease_heal.heal(self.engine))
        for each in (easy, bound):
            self.assertFalse(self.leasing.reload(each).reservations[0]
                             .missing_resources)

    def test_lease_on_a_host_that_is_too_small_can_be_made_smaller(self):
        """It asks for no more than it has."""
        (host,) = self.leasing.compute_hosts(1, vcpus=16)
        lease = self.leasing.started(0, 4, leasing.instances(4, vcpus=4))
        self.leasing.resize_host(host, 4)
        self.leasing.resize_instances(lease, 2)
        self.leasing.change(lease, end=3)
        self.refuse(lease, end=6)


class TestUnfit(_Excess):
    """Hosts that can serve nothing new, for a while."""

    def test_started_lease_is_not_extended_over_what_is_planned(self):
        """Also on a host that nobody can be promised for the moment."""
        (host,) = self.leasing.compute_hosts(1, vcpus=16)
        lease = self.leasing.started(0, 2, leasing.instances(vcpus=12))
        planned = self.leasing.create(3, 5, leasing.instances(vcpus=8))
        self.leasing.change_host(host, maintenance=True)
        lease_heal.heal(self.engine)
        self.refuse(lease, end=4)
        self.leasing.change(lease, end=3)
        (new,) = self.leasing.compute_hosts(1, vcpus=8)
        self.leasing.change(lease, end=4)
        self.assertEqual({new}, self.leasing.nodes(planned))
        self.leasing.change_host(host, maintenance=False)
        self.assertEqual([], self.leasing.overfull())

    def test_maintenance_gives_no_place_away(self):
        """Whole nodes: on, off, and each still has its own."""
        (host,) = self.leasing.hosts(1)
        planned = self.leasing.create(2, 4)
        for _ in range(2):
            self.leasing.break_node(host)
            lease_heal.heal(self.engine)
            self.leasing.refused(5, 6)
            self.leasing.refused(2, 3)
            self.leasing.mend_node(host)
            lease_heal.heal(self.engine)
            self.leasing.refused(2, 3)
        self.leasing.create(5, 6)
        self.assertEqual({host}, self.leasing.nodes(planned))
        self.assertEqual([], self.leasing.overlaps())

    def test_place_of_what_a_reservation_reaches_into_is_kept(self):
        """What the reservation does not cover is nobody else's."""
        (host,) = self.leasing.hosts(1)
        self.world.reserve(host, ttl=3600)
        planned = self.leasing.create(2, 6)
        # NOTE: as if a renewal had not looked at the leases.
        with self.engine.database.write() as connection:
            connection.execute(sa.update(tables.reservations).where(
                tables.reservations.c.immediate == 1).values(
                    expires_at=leasing.at(3)))
            assert db_nodes.advance_all(
                connection, db_nodes.read_generations(connection, (host,)), 1)
        lease_heal.heal(self.engine)
        self.assertEqual({host}, self.leasing.nodes(planned))
        self.leasing.refused(4, 5)
        self.leasing.create(7, 8)
