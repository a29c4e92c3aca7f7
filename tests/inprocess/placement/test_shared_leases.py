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

"""Leases of instances start on compute hosts, beside what others use."""

import collections
import dataclasses
import itertools

from ironic_reservations.clouds import placement_answers
from ironic_reservations.engine import hosts
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.features.placement import compute_mirror
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import shared

STATUS = leases.LeaseStatus
PLANNED, BOUND, ENDING = leasing.PLANNED, leasing.BOUND, leasing.ENDING
times = shared.times


class TestStart(shared.TestCase):

    def test_each_instance_is_held_by_a_consumer_of_its_own(self) -> None:
        host, other = self.host(), self.host()
        lease = self.given({host: 3, other: 1})
        self.assertEqual((3, 1), (self.holding(host), self.holding(other)))
        for row in self.rows():
            there = self.client.consumer(row.consumer_uuid)
            self.assertEqual(
                (leasing.PROJECT, 'me', consumers.TYPE,
                 {row.node_uuid: shared.AMOUNTS}),
                (there.project_id, there.user_id, there.consumer_type,
                 there.allocations))
        self.assert_active_and_held(lease, {host: 3, other: 1})

    def test_more_than_one_consumer_may_have_and_less_than_there_is(
            self) -> None:
        """Of 4 VCPUs given 4 times, an instance has 4 at most."""
        host = self.host(vcpus=4, VCPU=4.0)
        self.given({host: 8})
        self.assertEqual(16, self.usage(host)['VCPU'])

    def test_nothing_is_asked_of_ironic(self) -> None:
        host = self.host()
        self.ironic.down = True
        self.ironic.asked.clear()
        lease = self.given({host: 2})
        self.work(4)
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.assertEqual([], self.ironic.asked)

    def test_lessee_says_that_nothing_was_written(self) -> None:
        lease = self.given({self.host(): 1})
        booking, = lease.bookings
        self.assertEqual((BOUND, leasing.PROJECT, leasing.PROJECT), (
            booking.state, booking.lessee, booking.lessee_before))

    def test_servers_of_the_lease_run_on_what_is_held(self) -> None:
        """They have the slot and the class, and nothing twice."""
        host = self.host()
        lease = self.given({host: 2})
        for _ in range(2):
            self.boot(self.had(lease), host)
        self.assertFalse(self.try_boot(self.had(lease), host,
                                       world.new_uuid()).done)
        self.assertEqual({**times(2), in_memory.LEASE_SLOT: 2},
                         self.usage(host))
        self.assert_clean()

    def test_ordinary_servers_get_what_is_not_held(self) -> None:
        host = self.host(vcpus=8)
        self.given({host: 3})
        self.nodes.serve(host, VCPU=2)
        refused = self.client.put_allocations(
            world.new_uuid(), in_memory.wanted({host: {'VCPU': 1}}))
        self.assertIs(placement_answers.Outcome.FULL, refused.outcome)

    def test_two_leases_share_a_host(self) -> None:
        host = self.host(vcpus=8)
        one, two = self.lease({host: 1}), self.lease({host: 3})
        self.work(1)
        self.assertEqual([STATUS.ACTIVE] * 2,
                         [self.status(each) for each in (one, two)])
        self.assert_active(self.had(one, {host: 1}), self.had(two, {host: 3}))
        self.assertEqual(times(4), self.usage(host))
        self.assert_clean()

    def test_nodes_of_ironic_and_compute_hosts_serve_one_lease(self) -> None:
        node = super(shared.TestCase, self).host()
        lease = self.given({self.host(): 2, node: 1})
        self.assertIn(('write_lessee', node), self.ironic.changed)
        self.assert_whole(lease)
        self.work(4)
        self.assert_over(lease)

    def test_room_that_others_took_is_told_and_waited_for(self) -> None:
        host = self.host(vcpus=8)
        lease = self.lease({host: 2})
        theirs = self.nodes.serve(host, VCPU=7)
        self.work(1)
        self.assertIsNot(STATUS.ACTIVE, self.status(lease))
        self.assertIn('too little left in Placement', self.waiting(lease))
        self.assertIn(theirs, self.waiting(lease))
        self.assertEqual(({'VCPU': 7}, {}), (self.usage(host), self.offers()))
        there = dict(hosts.find(self.engine, host).node.inventories or ())
        self.assertEqual(7, there['VCPU'].used)
        self.client.delete_allocations(theirs)
        self.soon()
        self.assert_whole(lease)

    def test_other_hosts_are_taken_where_one_has_no_room(self) -> None:
        """Only for those instances that found none."""
        host, other = self.host(vcpus=8), self.host(vcpus=8)
        lease = self.lease({host: 3})
        self.nodes.serve(host, VCPU=6)
        self.work(1)
        placement_sync.recover(self.engine)
        self.assertEqual((8, 4), (self.usage(host)['VCPU'],
                                  self.usage(other)['VCPU']))
        self.assert_whole(lease)
        self.assertEqual({host: 1, other: 2}, self.had(lease).counts)

    def test_host_that_shrank_is_told(self) -> None:
        host = self.host()
        lease = self.lease({host: 1})
        self.nodes.offer(host, {'VCPU': {**in_memory.ONE, 'total': 4}})
        self.work(1)
        self.assertIn('no share to give in Placement', self.waiting(lease))
        self.assertEqual([PLANNED], self.states(lease))

    def test_host_that_is_gone_is_told(self) -> None:
        self.host(vcpus=1)
        for noticed in (False, True):
            host = self.host()
            lease = self.lease({host: 1})
            self.client.delete_provider(host)
            if noticed:
                compute_mirror.ComputeMirror(self.engine).refresh()
            self.work(1)
            self.assertIn('gone from Placement' if noticed
                          else 'no share to give in Placement',
                          self.waiting(lease))
            self.assertEqual([PLANNED], self.states(lease))
            self.leasing.end(lease)
            self.soon()
            self.world.clock.now = world.NOON
            self.assertNotIn(lease.id, self.world.lease_rows())
            placement_sync.recover(self.engine)
        self.assertEqual([], self.rows())

    def test_hold_of_another_size_is_exchanged(self) -> None:
        """Held, and then changed before anybody bound it."""
        host = self.host()
        lease = self.lease({host: 1})
        self.to_nova.down = True
        self.work(1)
        self.assertEqual((times(1), [PLANNED]),
                         (self.usage(host), self.states(lease)))
        with self.engine.database.write() as opened:
            asked = lease.reservations[0].instances
            assert asked is not None
            db_holds.db_instances.update(
                opened, asked, dataclasses.replace(asked, vcpus=4))
        self.to_nova.down = False
        self.soon()
        self.recover()
        self.assertEqual({**times(1), 'VCPU': 4}, self.usage(host))
        self.assert_clean()

    def test_hold_on_an_earlier_host_is_taken_back(self) -> None:
        """The worker died after the hold, and the booking has moved."""
        host, other = self.host(), self.host()
        lease = self.lease({host: 1})
        self.to_nova.down = True
        self.work(1)
        booking, = lease.bookings
        with self.engine.database.write() as opened:
            hosts.db_bookings.move(opened, {booking: other},
                                   self.world.clock())
        self.to_nova.down = False
        self.soon()
        placement_sync.recover(self.engine)
        self.assertEqual(({}, times(1)), (self.usage(host), self.usage(other)))
        placement_sync.audit(self.engine, repair=True)
        self.assert_active(self.had(lease, {other: 1}))
        self.assert_clean()


class TestTogether(shared.TestCase):
    """Shares are held with one write, and one by one where that fails."""

    def test_one_write_is_enough(self) -> None:
        host, other = self.host(), self.host()
        promises = self.promised({host: 3, other: 2})
        self.network.calls.clear()
        results = dict(holding.hold_all(self.engine, promises))
        self.assertEqual(['POST /allocations'], self.network.calls)
        self.assertEqual({promise.owner for promise in promises},
                         results.keys())
        self.assertEqual({holding.Verdict.HELD},
                         {each.verdict for each in results.values()})
        self.assertEqual((times(3), times(2)),
                         (self.usage(host), self.usage(other)))
        again = dict(holding.hold_all(self.engine, promises))
        self.assertEqual(results.keys(), again.keys())
        self.assertEqual(1, len(self.network.calls))
        self.assert_clean()

    def test_one_that_has_no_room_keeps_no_other_from_its_own(self) -> None:
        host, other = self.host(vcpus=4), self.host()
        promises = self.promised({host: 3, other: 2})
        results = dict(holding.hold_all(self.engine, promises))
        self.assertEqual(collections.Counter(
            {holding.Verdict.HELD: 4, holding.Verdict.CLOSED: 1}),
            collections.Counter(each.verdict for each in results.values()))
        self.assertEqual((times(2), times(2)),
                         (self.usage(host), self.usage(other)))
        self.assertEqual(4, len(self.rows()))

    def test_whatever_fails_comes_right(self) -> None:
        suffered = 0
        for before, fault in itertools.product((0, 1, 2), faults.Fault):
            count = 2 if before else 3
            host = self.host(vcpus=4 if before else 8)
            promises = self.promised({host: 3})
            self.network.faults = [None] * before + [fault]
            try:
                list(holding.hold_all(self.engine, promises))
            except holding.errors.PlacementUnavailable:
                suffered += 1
            self.network.deliver()
            for _ in range(2):
                self.wait()
                placement_sync.recover(self.engine)
            list(holding.hold_all(self.engine, promises))
            self.assertEqual((count, times(count), count), (
                self.holding(host), self.usage(host),
                sum(row.node_uuid == host for row in self.rows())),
                (before, fault))
        self.assertEqual(3 * len(faults.Fault), self.network.suffered)
        self.assertLess(suffered, self.network.suffered)

    def test_placement_that_refuses_leaves_nothing_to_wait_for(self) -> None:
        host = self.host()
        promises = self.promised({host: 3})
        self.engine.placement._headers['X-Auth-Token'] = 'nobody'
        del self.engine.placement._headers['X-Roles']
        self.assertRaises(holding.errors.PlacementUnavailable,
                          list, holding.hold_all(self.engine, promises))
        self.assertEqual([], self.rows())


class TestPlanned(shared.TestCase):
    """What is planned is what is held and offered."""

    def spread(self, lease: leases.Lease) -> list[int]:
        """Return how many instances the hosts of a lease have."""
        return sorted(collections.Counter(
            booking.node_uuid for booking
            in self.leasing.reload(lease).bookings).values())

    def test_affinity_decides_where_instances_are(self) -> None:
        for _ in range(3):
            self.host(vcpus=8)
        for affinity, amount, spread in (
                (None, 12, [4, 4, 4]), (True, 4, [4]),
                (False, 3, [1, 1, 1])):
            lease = self.leasing.create(1, 4, leasing.instances(
                amount, 2, 512, 5, affinity))
            self.work(1)
            self.assertEqual(spread, self.spread(lease))
            counts = self.had(lease).counts
            self.assertEqual(amount, sum(counts.values()))
            self.assert_active_and_held(lease, counts)
            self.leasing.end(lease)
            self.soon()
            placement_sync.recover(self.engine)
            self.assert_nothing()
            self.world.clock.now = world.NOON

    def test_lease_that_grows_and_shrinks(self) -> None:
        host, other = self.host(vcpus=4), self.host(vcpus=8)
        lease = self.leasing.create(1, 4, leasing.instances(3, 2, 512, 5))
        self.work(1)
        for amount in (5, 2, 4):
            self.leasing.resize_instances(lease, amount)
            self.soon()
            self.assertEqual([BOUND] * amount, self.states(lease))
            self.assert_active(self.had(lease))
            self.assertEqual(2 * amount, sum(
                self.usage(each).get('VCPU', 0) for each in (host, other)))
            self.assert_clean()

    def test_what_others_use_is_not_promised(self) -> None:
        host = self.host(vcpus=8)
        self.nodes.serve(host, VCPU=5)
        compute_mirror.ComputeMirror(self.engine).refresh()
        self.leasing.refused(1, 4, leasing.instances(2, 2))
        lease = self.leasing.create(1, 4, leasing.instances(1, 2))
        self.work(1)
        self.assertIs(STATUS.ACTIVE, self.status(lease))

    def test_host_that_is_disabled_gets_nothing_new(self) -> None:
        self.host(), self.host()
        lease = self.leasing.create(1, 4, leasing.instances(2, 2))
        self.there.trait(min(self.leasing.nodes(lease)),
                         compute_mirror.compute_hosts.DISABLED)
        compute_mirror.ComputeMirror(self.engine).refresh()
        lease_health.check(self.engine)
        self.work(1)
        self.assertIs(STATUS.ACTIVE, self.status(lease))
        self.assertEqual([2], self.spread(lease))
        self.assertFalse(any(
            hosts.find(self.engine, each).node.maintenance
            for each in self.leasing.nodes(lease)))
