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

"""Leases of instances start and end on compute hosts."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

from ironic_reservations.clouds import placement
from ironic_reservations.db import holds as db_holds
from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.engine.placement import compute_mirror
from ironic_reservations.engine.placement import consumers
from ironic_reservations.engine.placement import hold_release
from ironic_reservations.engine.placement import holds as hold_cases
from ironic_reservations.engine.placement import sync as placement_sync
from ironic_reservations.model import leases
from ironic_reservations.reconciler import loops
from tests import leasing
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import instance_leases
from tests.inprocess.placement import reserved
from tests.inprocess.placement import shared

STATUS = leases.LeaseStatus
PLANNED, BOUND, ENDING = leasing.PLANNED, leasing.BOUND, leasing.ENDING
times = shared.times


class TestStart(shared.TestCase):

    def test_each_instance_is_held_by_a_consumer_of_its_own(self) -> None:
        host, other = self.host(), self.host()
        lease = self.lease({host: 3, other: 1})
        self.work(0.9)
        self.assertEqual(({}, {}), (self.usage(host), self.usage(other)))
        self.work(1)
        self.assertIs(STATUS.ACTIVE, self.status(lease))
        self.assertEqual((times(3), times(1)),
                         (self.usage(host), self.usage(other)))
        self.assertEqual((3, 1), (self.holding(host), self.holding(other)))
        for row in self.rows():
            there = self.client.consumer(row.consumer_uuid)
            self.assertEqual(
                (leasing.PROJECT, 'me', consumers.TYPE,
                 {row.node_uuid: shared.AMOUNTS}),
                (there.project_id, there.user_id, there.consumer_type,
                 there.allocations))
        self.assert_active(self.had(lease, {host: 3, other: 1}))
        self.assert_clean()

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
        self.assertIs(in_memory.placement.Outcome.FULL, refused.outcome)

    def test_two_leases_share_a_host(self) -> None:
        host = self.host(vcpus=8)
        one, two = self.lease({host: 1}), self.lease({host: 3})
        self.work(1)
        self.assertEqual([STATUS.ACTIVE] * 2,
                         [self.status(each) for each in (one, two)])
        self.assert_active(self.had(one, {host: 1}),
                           self.had(two, {host: 3}))
        self.assertEqual(times(4), self.usage(host))
        self.assert_clean()

    def test_nodes_of_ironic_and_compute_hosts_serve_one_lease(self) -> None:
        node = super(shared.TestCase, self).host()
        host = self.host()
        lease = self.given({host: 2, node: 1})
        self.assertIn(('write_lessee', node), self.ironic.changed)
        self.assert_active(self.had(lease, {host: 2, node: 1}))
        self.assert_clean()
        self.work(4)
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.assert_nothing()
        self.assert_clean()

    def test_room_that_others_took_is_told_and_waited_for(self) -> None:
        host = self.host(vcpus=8)
        lease = self.lease({host: 2})
        theirs = self.nodes.serve(host, VCPU=7)
        self.work(1)
        self.assertIsNot(STATUS.ACTIVE, self.status(lease))
        self.assertIn('too little left in Placement', self.waiting(lease))
        self.assertIn(theirs, self.waiting(lease))
        self.assertEqual({'VCPU': 7}, self.usage(host))
        self.assertEqual({}, self.offers())
        there = dict(hosts.find(self.engine, host).node.inventories or ())
        self.assertEqual(7, there['VCPU'].used)
        self.client.delete_allocations(theirs)
        self.soon()
        self.assertIs(STATUS.ACTIVE, self.status(lease))
        self.assert_clean()

    def test_other_hosts_are_taken_where_one_has_no_room(self) -> None:
        """Only for those instances that found none."""
        host, other = self.host(vcpus=8), self.host(vcpus=8)
        lease = self.lease({host: 3})
        self.nodes.serve(host, VCPU=6)
        self.work(1)
        self.assertIs(STATUS.ACTIVE, self.status(lease), self.waiting(lease))
        placement_sync.recover(self.engine)
        self.assertEqual((8, 4), (self.usage(host)['VCPU'],
                                  self.usage(other)['VCPU']))
        self.assert_active(self.had(lease, {host: 1, other: 2}))
        self.assert_clean()

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

    def test_placement_that_is_down_is_waited_for(self) -> None:
        host = self.host()
        lease = self.lease({host: 2})
        self.network.down = True
        self.work(1)
        self.assertIn('Placement', self.waiting(lease))
        self.assertEqual([PLANNED] * 2, self.states(lease))
        self.network.down = False
        self.soon()
        self.recover()
        self.assert_active(self.had(lease, {host: 2}))
        self.assertEqual(times(2), self.usage(host))
        self.assert_clean()

    def test_each_fault_of_placement_comes_right(self) -> None:
        host = self.host()
        for number, fault in enumerate(faults.Fault):
            lease = self.lease({host: 3})
            self.world.clock.now = leasing.at(1)
            self.network.faults = [None] * (number % 3) + [fault]
            self.work()
            for _ in range(3):
                self.wait()
                self.soon()
                self.network.deliver()
                placement_sync.recover(self.engine)
            self.assertIs(STATUS.ACTIVE, self.status(lease), fault)
            self.assert_active(self.had(lease, {host: 3}))
            self.assertEqual(times(3), self.usage(host), fault)
            self.assert_clean()
            self.leasing.end(lease)
            self.soon()
            placement_sync.recover(self.engine)
            self.assertEqual({}, self.usage(host), fault)
            self.world.clock.now = world.NOON
        self.assertEqual(len(faults.Fault), self.network.suffered)

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
            self.assertTrue(db_holds.db_instances.update(
                opened, dataclasses.replace(asked, vcpus=4)))
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
        self.assertEqual(({}, times(1)),
                         (self.usage(host), self.usage(other)))
        placement_sync.audit(self.engine, repair=True)
        self.assert_active(self.had(lease, {other: 1}))
        self.assert_clean()


class TestTogether(shared.TestCase):
    """Shares are held with one write, and one by one where that fails."""

    def test_one_write_is_enough(self) -> None:
        host, other = self.host(), self.host()
        promises = self.promised({host: 3, other: 2})
        self.network.calls.clear()
        results = hold_cases.hold_all(self.engine, promises)
        self.assertEqual(['POST /allocations'], self.network.calls)
        self.assertEqual({promise.owner for promise in promises},
                         results.keys())
        self.assertEqual({hold_cases.Verdict.HELD},
                         {each.verdict for each in results.values()})
        self.assertEqual((times(3), times(2)),
                         (self.usage(host), self.usage(other)))
        again = hold_cases.hold_all(self.engine, promises)
        self.assertEqual(results.keys(), again.keys())
        self.assertEqual(1, len(self.network.calls))
        self.assert_clean()

    def test_one_that_has_no_room_keeps_no_other_from_its_own(self) -> None:
        host, other = self.host(vcpus=4), self.host()
        promises = self.promised({host: 3, other: 2})
        results = hold_cases.hold_all(self.engine, promises)
        self.assertEqual(collections.Counter(
            {hold_cases.Verdict.HELD: 4, hold_cases.Verdict.CLOSED: 1}),
            collections.Counter(each.verdict for each in results.values()))
        self.assertEqual((times(2), times(2)),
                         (self.usage(host), self.usage(other)))
        self.assertEqual(4, len(self.rows()))

    def test_whatever_fails_comes_right(self) -> None:
        suffered = 0
        for before in (0, 1, 2):
            for fault in faults.Fault:
                host = self.host(vcpus=4 if before else 8)
                promises = self.promised({host: 3})
                self.network.faults = [None] * before + [fault]
                try:
                    hold_cases.hold_all(self.engine, promises)
                except hold_cases.errors.PlacementUnavailable:
                    suffered += 1
                self.network.deliver()
                for _ in range(2):
                    self.wait()
                    placement_sync.recover(self.engine)
                hold_cases.hold_all(self.engine, promises)
                self.assertEqual(2 if before else 3, self.holding(host),
                                 (before, fault))
                self.assertEqual(times(2 if before else 3),
                                 self.usage(host), (before, fault))
                self.assertEqual(2 if before else 3, len(
                    [row for row in self.rows() if row.node_uuid == host]))
        self.assertEqual(3 * len(faults.Fault), self.network.suffered)
        self.assertLess(suffered, self.network.suffered)

    def test_placement_that_refuses_leaves_nothing_to_wait_for(self) -> None:
        host = self.host()
        promises = self.promised({host: 3})
        self.engine.placement._headers['X-Auth-Token'] = 'nobody'
        self.assertRaises(hold_cases.errors.PlacementUnavailable,
                          hold_cases.hold_all, self.engine, promises)
        self.assertEqual([], self.rows())


class TestReleasedTogether(shared.TestCase):
    """Shares are let go with one write, and one by one where that fails."""

    def held(self, counts: dict[str, int]) -> list[str]:
        """Hold what a lease needs, and give the owners."""
        promises = self.promised(counts)
        hold_cases.hold_all(self.engine, promises)
        self.network.calls.clear()
        return [promise.owner for promise in promises]

    def test_one_write_is_enough(self) -> None:
        host, other = self.host(), self.host()
        owners = self.held({host: 3, other: 2})
        self.assertTrue(hold_release.release(self.engine, owners))
        self.assertEqual(['POST /allocations'], self.network.calls)
        self.assertEqual(({}, {}), (self.usage(host), self.usage(other)))
        self.assertEqual([], self.rows())

    def test_one_write_does_not_take_more_than_it_can(self) -> None:
        host = self.host(vcpus=512, memory_mb=65536, disk_gb=1000)
        owners = self.held({host: 51})
        self.assertTrue(hold_release.release(self.engine, owners))
        self.assertEqual(['POST', 'DELETE'], [
            call.partition(' ')[0] for call in self.network.calls])
        self.assertEqual({}, self.usage(host))

    def test_one_that_is_gone_or_has_changed_keeps_none_of_the_others(
            self) -> None:
        host = self.host()
        for change in (self.client.delete_allocations, self._write_again):
            owners = self.held({host: 3})
            change(self.rows()[1].consumer_uuid)
            self.assertTrue(hold_release.release(self.engine, owners))
            self.assertEqual({}, self.usage(host))
            self.assertEqual([], self.rows())

    def _write_again(self, consumer: str) -> None:
        there = self.client.consumer(consumer)
        self.assertTrue(self.client.put_allocations(
            consumer, placement.Wanted(
                there.allocations, there.project_id, there.user_id,
                there.generation, there.consumer_type)).done)

    def test_whatever_fails_comes_right(self) -> None:
        host = self.host()
        for fault in faults.Fault:
            owners = self.held({host: 3})
            self.network.faults = [fault]
            hold_release.release(self.engine, owners)
            self.assertLessEqual(len(self.network.calls), 2 * len(owners),
                                 fault)
            self.network.deliver()
            for _ in range(2):
                self.wait()
                placement_sync.recover(self.engine)
            self.assertEqual({}, self.usage(host), fault)
            self.assertEqual([], self.rows(), fault)
        self.assertEqual(len(faults.Fault), self.network.suffered)

    def test_placement_that_does_not_answer_is_asked_once(self) -> None:
        host = self.host()
        owners = self.held({host: 3})
        self.network.down = True
        self.assertFalse(hold_release.release(self.engine, owners))
        self.assertEqual(1, len(self.network.calls))
        self.network.down = False
        self.wait()
        placement_sync.recover(self.engine)
        self.assertEqual({}, self.usage(host))
        self.assertEqual([], self.rows())


class TestEnd(shared.TestCase):

    def test_all_is_taken_back_at_the_end(self) -> None:
        host, other = self.host(), self.host()
        lease = self.given({host: 3, other: 2})
        running = self.boot(self.had(lease), host)
        self.work(4)
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.assertNotIn(running, self.nova.servers)
        self.assertEqual(({}, {}), (self.usage(host), self.usage(other)))
        self.assert_nothing()
        self.assert_clean()

    def test_share_is_held_until_the_servers_are_gone(self) -> None:
        host = self.host()
        lease = self.given({host: 2})
        running = self.boot(self.had(lease), host)
        self.nova.deleting = True
        self.work(4)
        self.assertIn('1 server of the reservation', self.waiting(lease))
        self.assertEqual({**times(2), in_memory.LEASE_SLOT: 1},
                         self.usage(host))
        self.nova.go(running)
        self.soon()
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.assertEqual({}, self.usage(host))

    def test_servers_that_are_left_keep_their_share(self) -> None:
        """With end_action = leave nothing else says what they have."""
        self.world.conf.set_override('end_action', 'leave', 'leases')
        host = self.host()
        lease = self.given({host: 2})
        running = self.boot(self.had(lease), host)
        self.work(4)
        self.assertIn('1 server of the reservation', self.waiting(lease))
        self.assertIn(running, self.nova.servers)
        self.assertEqual({**times(2), in_memory.LEASE_SLOT: 1},
                         self.usage(host))
        self.assertFalse(self.try_boot(self.had(lease), host,
                                       world.new_uuid()).done)
        self.nova.go(running)
        self.soon()
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.assertEqual({}, self.usage(host))
        self.assert_nothing()

    def test_end_comes_where_the_provider_has_vanished(self) -> None:
        host = self.host()
        lease = self.given({host: 2})
        for row in self.rows():
            self.client.delete_allocations(row.consumer_uuid)
        child = reserved.lease_provider_calls.child_of(host)
        self.nodes.offer(child, {})
        for provider in (child, host):
            self.assertTrue(self.client.delete_provider(provider).done)
        compute_mirror.ComputeMirror(self.engine).refresh()
        self.work(4)
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        placement_sync.recover(self.engine)
        self.assertEqual([], self.rows())
        self.assert_nothing()
        hosts.remove(self.engine, hosts.find(self.engine, host).id)
        self.assert_clean()

    def test_placement_that_is_down_is_waited_for(self) -> None:
        host = self.host()
        lease = self.given({host: 2})
        self.network.down = True
        self.work(4)
        self.assertEqual([ENDING] * 2, self.states(lease))
        self.assertIn('Placement', self.waiting(lease))
        self.network.down = False
        self.soon()
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.recover()
        self.assertEqual({}, self.usage(host))
        self.assert_clean()

    def test_next_lease_starts_when_the_one_before_has_ended(self) -> None:
        host = self.host(vcpus=4)
        self.given({host: 2})
        after = self.lease({host: 2}, 4, 6)
        self.work(4)
        self.soon()
        self.assertIs(STATUS.ACTIVE, self.status(after))
        self.assertEqual(times(2), self.usage(host))
        self.assert_active(self.had(after, {host: 2}))
        self.assert_clean()

    def shrunk(self, lease: leases.Lease, count: int) -> None:
        """Have a lease give back some of its instances."""
        given_back = self.leasing.reload(lease).bookings[:count]
        with self.engine.database.write() as opened:
            hosts.db_bookings.end(opened, given_back, self.world.clock())
            opened.execute(hosts.sa.update(
                hosts.db_hosts.tables.leases).values(
                    due_at=self.world.clock()))

    def test_what_is_given_back_is_let_go_alone(self) -> None:
        host, other = self.host(), self.host()
        lease = self.given({host: 3, other: 1})
        self.shrunk(lease, 2)
        self.soon()
        self.assertEqual([BOUND] * 2, self.states(lease))
        self.assertEqual((times(1), times(1)),
                         (self.usage(host), self.usage(other)))
        self.assert_active(self.had(lease, {host: 1, other: 1}))
        self.assert_clean()

    def test_share_that_a_server_has_is_not_given_back_under_it(
            self) -> None:
        for kept in (0, 1):
            host = self.host()
            lease = self.given({host: 2})
            first, _ = [self.boot(self.had(lease, {host: 2}), host)
                        for _ in range(2)]
            self.shrunk(lease, 2 - kept)
            self.soon()
            self.assertIn(f'{2 - kept} server', self.waiting(lease))
            self.assertEqual(2, self.usage(host)[in_memory.LEASE_SLOT])
            self.assertEqual(4, self.usage(host)['VCPU'])
            self.nova.go(first)
            if not kept:
                self.nova.go(_)
            self.soon()
            self.assertEqual([BOUND] * kept, self.states(lease))
            self.assertEqual(2 * kept, self.usage(host).get('VCPU', 0))
            self.leasing.end(lease)
            self.soon()
            self.world.clock.now = world.NOON


class TestPlanned(shared.TestCase):
    """What is planned is what is held and offered."""

    def spread(self, lease: leases.Lease) -> list[int]:
        """Give how many instances the hosts of a lease have."""
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
            self.assertIs(STATUS.ACTIVE, self.status(lease),
                          self.waiting(lease))
            self.assertEqual(spread, self.spread(lease))
            had = self.had(lease)
            self.assertEqual(amount, sum(had.counts.values()))
            self.assert_active(had)
            self.assertEqual(
                {host: times(count) for host, count in had.counts.items()},
                {host: self.usage(host) for host in had.counts})
            self.assert_clean()
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


class TestDeaths(instance_leases.DeathCase, shared.TestCase):
    """A worker is killed between each two steps."""

    def test_start(self) -> None:
        host = self.host()
        for last in range(100):
            self.world.clock.now = world.NOON
            lease = self.lease({host: 2}, end=9)
            died = self.die(last, 1)
            self.others()
            self.assertIs(STATUS.ACTIVE, self.status(lease), last)
            self.assert_active(self.had(lease, {host: 2}))
            self.assertEqual(times(2), self.usage(host))
            self.assert_clean()
            self.leasing.end(lease)
            self.soon()
            placement_sync.recover(self.engine)
            self.assertEqual({}, self.usage(host))
            if not died:
                break
        self.assertFalse(died)
        self.assertGreater(last, 30)

    def test_end(self) -> None:
        host = self.host()
        for last in range(100):
            self.world.clock.now = world.NOON
            lease = self.given({host: 2})
            self.boot(self.had(lease), host)
            died = self.die(last, 4)
            self.others()
            self.assertIs(STATUS.TERMINATED, self.status(lease), last)
            self.assert_nothing()
            self.assertEqual({}, self.usage(host))
            self.assert_clean()
            if not died:
                break
        self.assertFalse(died)
        self.assertGreater(last, 30)


class TestMirror(shared.TestCase):
    """What is known of compute hosts follows Placement."""

    def setUp(self) -> None:
        super().setUp()
        self.mirror = compute_mirror.ComputeMirror(self.engine)

    def known(self, host: str) -> Any:
        """Read a compute host from its row."""
        return hosts.find(self.engine, host).node

    def used(self, host: str) -> int:
        """Read how many VCPUs others use, as its row says."""
        return dict(self.known(host).inventories)['VCPU'].used

    def test_what_others_use_is_followed_also_where_they_leave(self) -> None:
        """A DELETE leaves the generation of a provider as it was."""
        host, full = self.host(), self.host(vcpus=2, memory_mb=1024,
                                            disk_gb=10)
        for amount in (1, 8):
            server = self.nodes.serve(host, VCPU=amount)
            self.mirror.refresh()
            self.assertEqual(amount, self.used(host))
            self.client.delete_allocations(server)
            self.mirror.refresh()
            self.assertEqual(0, self.used(host))
        server = self.nodes.serve(full, VCPU=2, MEMORY_MB=1024, DISK_GB=10)
        self.mirror.refresh()
        self.assertEqual(2, self.used(full))
        self.client.delete_allocations(server)
        self.mirror.refresh()
        self.assertEqual(0, self.used(full))

    def test_what_is_held_is_not_used_by_others(self) -> None:
        host = self.host()
        self.nodes.serve(host, VCPU=1)
        lease = self.given({host: 2})
        self.boot(self.had(lease), host)
        self.mirror.refresh()
        self.assertEqual(1, self.used(host))

    def test_inventories_traits_and_the_name_are_followed(self) -> None:
        host = self.host()
        self.mirror.refresh()
        self.nodes.offer(host, {'VCPU': {
            **in_memory.ONE, 'total': 4, 'max_unit': 4, 'reserved': 1,
            'allocation_ratio': 1.5}})
        self.there.trait(host, 'COMPUTE_STATUS_DISABLED')
        self.mirror.refresh()
        known = self.known(host)
        self.assertEqual(
            ({'VCPU': 4}, True, {'COMPUTE_STATUS_DISABLED'}),
            ({name: there.capacity for name, there in known.inventories},
             known.maintenance, known.traits))
        self.there.trait(host)
        self.mirror.refresh()
        self.assertFalse(self.known(host).maintenance)
        self.assertEqual({}, self.leasing.stale())

    def test_host_that_is_gone_is_marked_until_it_is_back(self) -> None:
        host, other = self.host(name='compute-1'), self.host()
        self.mirror.refresh()
        before = self.known(host)
        self.client.delete_provider(host)
        self.mirror.refresh()
        self.assertEqual('gone', self.known(host).provision_state)
        self.assertIsNone(self.known(other).provision_state)
        self.client.create_provider(host, 'compute-1')
        self.nodes.offer(host, {name: {
            **in_memory.ONE, 'total': there.total, 'max_unit': there.total}
            for name, there in before.inventories})
        self.mirror.refresh()
        self.assertEqual(before, self.known(host))

    def test_what_another_clock_kept_from_being_written_comes_later(
            self) -> None:
        """A process that is ahead of the others has written last."""
        host = self.host()
        self.mirror.refresh()
        self.world.clock.advance(30)
        self.nodes.serve(host, VCPU=1)
        compute_mirror.refresh(self.engine, [host])
        self.world.clock.advance(-20)
        self.nodes.serve(host, VCPU=2)
        self.mirror.refresh()
        self.assertEqual(1, self.used(host))
        self.world.clock.advance(60)
        self.mirror.refresh()
        self.assertEqual(3, self.used(host))

    def test_placement_that_shows_nothing_takes_nothing_away(self) -> None:
        host = self.host()
        self.client.delete_provider(host)
        self.mirror.refresh()
        self.assertIsNone(self.known(host).provision_state)

    def test_hosts_that_have_not_changed_cost_a_constant_number_of_calls(
            self) -> None:
        costs = []
        for more in (1, 4):
            for _ in range(more):
                host = self.host()
                self.lease({host: 2}, 0, 9)
            full = self.host(vcpus=2)
            self.nodes.serve(full, VCPU=2)
            self.work(0)
            self.mirror.refresh()
            before = self.world.mirrored()
            self.network.calls.clear()
            self.mirror.refresh()
            costs.append(len(self.network.calls))
            self.assertEqual(before, self.world.mirrored())
        self.assertEqual([3, 3], costs)

    def test_without_compute_hosts_nothing_is_asked(self) -> None:
        super(shared.TestCase, self).host()
        self.network.calls.clear()
        self.mirror.refresh()
        self.assertEqual([], self.network.calls)

    def test_ironic_neither_marks_nor_forgets_a_compute_host(self) -> None:
        host = self.host()
        node, other = self.world.enrol(2)
        before = self.world.mirrored()
        self.ironic.remove(node)
        mirror.refresh_all(self.engine)
        mirror.refresh_changed(self.engine)
        mirror.refresh_node(self.engine, host)
        del before[node]
        self.assertEqual(before, self.world.mirrored())

    def test_lease_that_waits_is_looked_at_when_its_host_changes(
            self) -> None:
        host = self.host(vcpus=4)
        server = self.nodes.serve(host, VCPU=4)
        lease = self.lease({host: 1})
        self.work(1)
        self.client.delete_allocations(server)
        self.world.clock.advance(0.1)
        self.mirror.refresh()
        self.crew.one_pass()
        self.assertIs(STATUS.ACTIVE, self.status(lease))

    def test_keeper_reads_them(self) -> None:
        host = self.host()
        keeper = loops.placement(self.engine)
        self.nodes.serve(host, VCPU=3)
        keeper.one_pass()
        self.assertEqual(3, self.used(host))


class TestReservations(shared.TestCase):

    def test_compute_host_is_no_node_to_reserve(self) -> None:
        """Neither by its uuid, nor where anything would do."""
        host = self.host()
        for confirm in ('always', 'mirror'):
            self.world.conf.set_override('confirm', confirm, 'ironic')
            refused = self.assertRaises(
                world.errors.NoNodeAvailable, self.world.reserve, host)
            self.assertEqual(['node_not_found'], [
                reason['code'] for reason in refused.details['reasons']])
            refused = self.assertRaises(
                world.errors.NoNodeAvailable, self.world.reserve,
                traits=frozenset())
            self.assertEqual(collections.Counter(), collections.Counter(
                reason['code'] for reason in refused.details['reasons']))
