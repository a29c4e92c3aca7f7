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

"""Leases of instances end on compute hosts."""

from ironic_reservations.clouds import placement
from ironic_reservations.engine import hosts
from ironic_reservations.features.placement import compute_mirror
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import releasing
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import reserved
from tests.inprocess.placement import shared

STATUS = leases.LeaseStatus
PLANNED, BOUND, ENDING = leasing.PLANNED, leasing.BOUND, leasing.ENDING
times = shared.times


class TestReleasedTogether(shared.TestCase):
    """Shares are let go with one write, and one by one where that fails."""

    def held(self, counts: dict[str, int]) -> list[str]:
        """Hold what a lease needs, and give the owners."""
        promises = self.promised(counts)
        list(holding.hold_all(self.engine, promises))
        self.network.calls.clear()
        return [promise.owner for promise in promises]

    def assert_let_go(self, message: object = '') -> None:
        """Check that nothing is held, and nothing on record."""
        self.assertEqual([{}, []], [
            *map(self.usage, self.world.mirrored()), self.rows()], message)

    def test_one_write_is_enough(self) -> None:
        host, other = self.host(), self.host()
        owners = self.held({host: 3, other: 2})
        self.assertTrue(releasing.release(self.engine, owners))
        self.assertEqual(['POST /allocations'], self.network.calls)
        self.assertEqual(({}, {}), (self.usage(host), self.usage(other)))
        self.assertEqual([], self.rows())

    def test_one_write_does_not_take_more_than_it_can(self) -> None:
        host = self.host(vcpus=512, memory_mb=65536, disk_gb=1000)
        owners = self.held({host: 51})
        self.assertTrue(releasing.release(self.engine, owners))
        self.assertEqual(['POST', 'DELETE'], [
            call.partition(' ')[0] for call in self.network.calls])
        self.assertEqual({}, self.usage(host))

    def test_one_that_is_gone_or_has_changed_keeps_none_of_the_others(
            self) -> None:
        host = self.host()
        for change in (self.client.delete_allocations, self._write_again):
            owners = self.held({host: 3})
            change(self.rows()[1].consumer_uuid)
            self.assertTrue(releasing.release(self.engine, owners))
            self.assert_let_go()

    def _write_again(self, consumer: str) -> None:
        there = self.client.consumer(consumer)
        self.assertTrue(self.client.put_allocations(
            consumer, placement.AllocationRequest(
                there.allocations, there.project_id, there.user_id,
                there.generation, there.consumer_type)).done)

    def test_whatever_fails_comes_right(self) -> None:
        host = self.host()
        for fault in faults.Fault:
            owners = self.held({host: 3})
            self.network.faults = [fault]
            releasing.release(self.engine, owners)
            self.assertLessEqual(len(self.network.calls), 2 * len(owners),
                                 fault)
            self.network.deliver()
            for _ in range(2):
                self.wait()
                placement_sync.recover(self.engine)
            self.assert_let_go(fault)
        self.assertEqual(len(faults.Fault), self.network.suffered)

    def test_placement_that_does_not_answer_is_asked_once(self) -> None:
        host = self.host()
        owners = self.held({host: 3})
        self.network.down = True
        self.assertFalse(releasing.release(self.engine, owners))
        self.assertEqual(1, len(self.network.calls))
        self.network.down = False
        self.wait()
        placement_sync.recover(self.engine)
        self.assert_let_go()


class TestEnd(shared.TestCase):

    def test_share_is_held_until_the_servers_are_gone(self) -> None:
        """With end_action = leave nothing else says what they have."""
        for action in ('undeploy', 'leave'):
            self.world.clock.now = world.NOON
            self.nova.deleting = action == 'undeploy'
            self.world.conf.set_override('end_action', action, 'leases')
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
            self.assertEqual({}, self.usage(host))
            self.assert_over(lease)

    def test_end_comes_where_the_provider_has_vanished(self) -> None:
        host = self.host()
        lease = self.given({host: 2})
        for row in self.rows():
            self.client.delete_allocations(row.consumer_uuid)
        child = reserved.names.child_of(host)
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

    def test_end_comes_within_seconds_of_a_long_outage(self) -> None:
        """After 123 seconds without Placement it took 114 more."""
        host = self.host()
        lease = self.given({host: 2})
        self.boot(self.had(lease), host)
        self.nova.deleted = self.client.delete_allocations
        self.network.down = True
        self.work(4)
        for _ in range(123):
            self.world.clock.advance(1)
            self.crew.one_pass()
        self.assertIs(STATUS.TERMINATING, self.status(lease))
        self.network.down = False
        for _ in range(5):
            self.world.clock.advance(1)
            self.crew.one_pass()
        self.assertIs(STATUS.TERMINATED, self.status(lease))

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
