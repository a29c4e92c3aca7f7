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

"""Leases whose hosts fail: replaced before the start, on request after it."""

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.engine import hosts
from ironic_reservations.engine import seen
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.leases import heal as lease_heal
from tests import leasing
from tests.inprocess.engine import timelines


class TestHeal(timelines.TestCase):

    def _flags(self, lease):
        reservation, = self.leasing.reload(lease).reservations
        return (reservation.missing_resources, reservation.resources_changed)

    def broken(self, hosts, start=1):
        """Return a lease of one of so many hosts, and the host, broken."""
        self.leasing.hosts(hosts)
        lease = self.leasing.started(start, 4)
        node = self.home(lease)
        self.leasing.break_node(node)
        return lease, node

    def test_lease_to_come_leaves_a_host_that_breaks(self):
        """It gets another one, and it is told that it has changed."""
        lease, broken = self.broken(2)
        self.assertEqual(1, lease_heal.heal(self.engine))
        self.assertNotEqual({broken}, self.leasing.nodes(lease))
        self.assertEqual((False, True), self._flags(lease))
        self.assertEqual(0, lease_heal.heal(self.engine))

    def test_lease_to_come_leaves_a_host_that_is_closed(self):
        """An operator who closes a host gets it free, where that can be."""
        lease, closed = self.promised()
        self.leasing.set_reservable(closed, False)
        lease_heal.heal(self.engine)
        self.assertNotEqual({closed}, self.leasing.nodes(lease))
        hosts.remove(self.engine, self.leasing.host_id(closed))

    def test_others_make_room_for_a_lease_whose_host_broke(self):
        """What is replaced is planned with all that may move."""
        gold = self.leasing.hosts(2, resource_class='gold')
        self.leasing.hosts(1, resource_class='silver')
        picky = self.leasing.create(1, 4, leasing.wish_of('gold'))
        (there,) = self.leasing.nodes(picky)
        (other,) = set(gold) - {there}
        blocking = self.leasing.create(2, 3, leasing.wish_of('silver'))
        easy = self.leasing.create(2, 3)
        self.assertEqual({other}, self.leasing.nodes(easy))
        self.leasing.end(blocking)
        self.leasing.break_node(there)
        self.assertEqual(1, lease_heal.heal(self.engine))
        self.assertEqual({other}, self.leasing.nodes(picky))
        self.assertNotEqual({other}, self.leasing.nodes(easy))

    def test_new_home_of_one_may_have_to_be_that_of_another(self):
        """What found a host first makes room for who has no choice."""
        broken = self.leasing.hosts(2, resource_class='gold')
        easy = self.leasing.create(1, 3)
        picky = self.leasing.create(1, 3, leasing.wish_of('gold'))
        gold = self.leasing.hosts(1, resource_class='gold')
        for _ in range(3):
            silver = self.leasing.hosts(1, resource_class='silver')
            for node in broken:
                self.leasing.break_node(node)
            self.assertEqual(2, lease_heal.heal(self.engine))
            self.assert_sound()
            self.assertEqual(set(gold), self.leasing.nodes(picky))
            self.assertEqual(set(silver), self.leasing.nodes(easy))
            broken, gold = [*gold, *silver], self.leasing.hosts(
                1, resource_class='gold')

    def test_lease_without_another_host_is_flagged_and_stays(self):
        """Until one comes, or its own is back."""
        lease, broken = self.broken(1)
        self.assertEqual(0, lease_heal.heal(self.engine))
        lease_health.check(self.engine)
        self.assertEqual((True, False), self._flags(lease))
        self.assertEqual({broken}, self.leasing.nodes(lease))
        (new,) = self.leasing.hosts(1)
        self.assertEqual(1, lease_heal.heal(self.engine))
        self.assertEqual((False, True), self._flags(lease))
        self.assertEqual({new}, self.leasing.nodes(lease))

    def test_first_to_start_is_the_first_to_be_replaced(self):
        """Where one host is left for two."""
        first_hosts = self.leasing.hosts(2)
        late = self.leasing.create(2, 4)
        soon = self.leasing.create(1, 3)
        for node in first_hosts:
            self.leasing.break_node(node)
        (new,) = self.leasing.hosts(1)
        lease_health.check(self.engine)
        self.assertEqual({new}, self.leasing.nodes(soon))
        self.assertEqual((True, False), self._flags(late))

    def test_started_lease_is_never_moved_by_itself(self):
        """Never a silent change."""
        lease, broken = self.broken(3, start=0)
        self.assertEqual(0, lease_heal.heal(self.engine))
        self.assertEqual({broken}, self.leasing.nodes(lease))

    def test_host_that_is_being_given_to_a_lease_is_not_exchanged(self):
        """What was written to a node can be taken back from that node only.
        """
        self.leasing.hosts(2)
        lease = self.leasing.create(0, 2)
        (booking,) = self.leasing.reload(lease).bookings
        with self.engine.database.write() as connection:
            seen.advance(connection, seen.read_again(connection, [booking]),
                         self.engine.clock())
            db_bookings.update_lessees(connection, {booking: ('ours', None)})
        self.leasing.break_node(booking.node_uuid)
        self.assertEqual(0, lease_heal.heal(self.engine))
        self.assertEqual(0, lease_heal.replace(self.engine, lease.id,
                                               [booking.id]))
        self.assertEqual({booking.node_uuid}, self.leasing.nodes(lease))

    def test_place_of_one_that_finds_no_other_is_nobody_else_s(self):
        """Although it is ready again by the time that another looks."""
        nodes = self.leasing.hosts(2)
        lease = self.leasing.create(1, 3, leasing.wish(2))
        ids = [booking.id for booking in self.leasing.reload(lease).bookings]
        for broken in nodes:
            self.leasing.break_node(broken)
            self.assertEqual(0, lease_heal.replace(self.engine, lease.id, ids))
            self.assertEqual(set(nodes), self.leasing.nodes(lease))
            self.assert_sound()
            self.leasing.mend_node(broken)

    def test_started_lease_is_healed_on_request(self):
        """The broken host is taken back, and a ready one comes for it."""
        self.leasing.hosts(3)
        lease = self.leasing.started(0, 4, leasing.wish(2))
        broken, whole = sorted(self.leasing.nodes(lease))
        self.leasing.break_node(broken)
        self.world.clock.now = leasing.at(1)
        self.leasing.change(lease, heal=True)
        self.assertEqual(2, len(self.leasing.nodes(lease)))
        self.assertIn(whole, self.leasing.nodes(lease))
        self.assertNotIn(broken, self.leasing.nodes(lease))
        self.assertEqual((False, True), self._flags(lease))
        self.assertEqual(
            [(broken, leasing.at(1))],
            [(each.node_uuid, each.ends_at)
             for each in self.leasing.reload(lease).bookings
             if each.state is leasing.ENDING])

    def test_more_than_the_least_is_healed(self):
        """Who has three and needs one gets his third one back."""
        self.leasing.hosts(4)
        lease = self.leasing.started(0, 4, leasing.wish(1, 3))
        broken = min(self.leasing.nodes(lease))
        self.leasing.break_node(broken)
        self.leasing.change(lease, heal=True)
        self.assertEqual(3, len(self.leasing.nodes(lease)))
        self.assertNotIn(broken, self.leasing.nodes(lease))

    def test_lease_that_cannot_be_healed_stays_as_it_is(self):
        """A broken host is better than none."""
        lease, broken = self.broken(1, start=0)
        self.refuse(lease, heal=True)
        self.assertEqual({broken}, self.leasing.nodes(lease))

    def test_host_that_never_began_is_not_taken_back(self):
        """What stands there is not the lease's to undeploy."""
        self.leasing.hosts(2)
        lease = self.leasing.create(0, 4)
        (broken,) = self.leasing.nodes(lease)
        self.leasing.break_node(broken)
        self.leasing.change(lease, heal=True)
        self.assertEqual([leasing.PLANNED], [
            each.state for each in self.leasing.reload(lease).bookings])
        self.assertNotEqual({broken}, self.leasing.nodes(lease))

    def test_reservation_that_reaches_into_a_lease_has_it_moved(self):
        """However it got there, the lease does not wait for its end."""
        one, other = self.leasing.hosts(2)
        self.world.reserve(one, ttl=600)
        lease = self.leasing.create(1, 2)
        (there,) = self.leasing.nodes(lease)
        for row in self.leasing.rows():
            if row['immediate']:
                self._prolong(row, there)
        self.assertEqual(1, lease_heal.heal(self.engine))
        self.assertNotEqual({there}, self.leasing.nodes(lease))

    def _prolong(self, row, node_uuid):
        """Have a reservation be where and as long as it should not be."""
        with self.engine.database.write() as connection:
            connection.exec_driver_sql(
                "UPDATE reservations SET expires_at = "
                "'2026-03-01 13:30:00.000000', node_uuid = "
                f"'{node_uuid}' WHERE uuid = '{row['uuid']}'")
            connection.exec_driver_sql(
                'UPDATE nodes SET generation = generation + 1')
