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

"""What is known of compute hosts follows Placement."""

import collections
from typing import Any

from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.features.placement import compute_mirror
from ironic_reservations.features.placement import feature
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import shared

STATUS = leases.LeaseStatus


class TestMirror(shared.TestCase):
    """What is known of compute hosts follows Placement."""

    def setUp(self) -> None:
        super().setUp()
        self.mirror = compute_mirror.ComputeMirror(self.engine)

    def known(self, host: str) -> Any:
        """Read a compute host from its row."""
        return hosts.find(self.engine, host).node

    def used(self, host: str) -> int:
        """Return how many VCPUs others use, as its row says after a pass."""
        self.mirror.refresh()
        return dict(self.known(host).inventories)['VCPU'].used

    def test_what_others_use_is_followed_also_where_they_leave(self) -> None:
        """A DELETE leaves the generation of a provider as it was."""
        host = self.host()
        full = self.host(vcpus=2, memory_mb=1024, disk_gb=10)
        for each, amounts in (
                (host, {'VCPU': 1}), (host, {'VCPU': 8}),
                (full, {'VCPU': 2, 'MEMORY_MB': 1024, 'DISK_GB': 10})):
            server = self.nodes.serve(each, **amounts)
            self.assertEqual(amounts['VCPU'], self.used(each))
            self.client.delete_allocations(server)
            self.assertEqual(0, self.used(each))

    def test_what_is_held_is_not_used_by_others(self) -> None:
        host = self.host()
        self.nodes.serve(host, VCPU=1)
        lease = self.given({host: 2})
        self.boot(self.had(lease), host)
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
        self.assertEqual(1, self.used(host))
        self.world.clock.advance(60)
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
        self.nodes.serve(host, VCPU=3)
        (holds,) = feature.Placement().loops(self.engine)
        holds.one_pass()
        self.assertEqual(3, dict(self.known(host).inventories)['VCPU'].used)


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


class TestDown(shared.TestCase):
    """Compute hosts whose nova-compute is down, and not disabled."""

    def setUp(self) -> None:
        super().setUp()
        self.mirror = compute_mirror.ComputeMirror(self.engine)
        self.dead, self.other = self.host(), self.host()
        for each in (self.dead, self.other):
            self.nova.hypervisors[each] = ('up', 'enabled')
        self.mirror.refresh()

    def goes_down(self, state: str = 'down', status: str = 'enabled') -> None:
        """Have a nova-compute be away, and the mirror look twice."""
        self.nova.hypervisors[self.dead] = (state, status)
        self.mirror.refresh()
        self.mirror.refresh()

    def planned(self) -> set[str]:
        """Return the hosts that a lease gets that wants all it can get."""
        lease = self.leasing.create(1, 4, leasing.instances(4, 2, 512, 5))
        return {booking.node_uuid for booking in lease.bookings}

    def test_lease_is_not_planned_on_it(self) -> None:
        """All of it was put on the dead host, though another had room."""
        self.goes_down()
        self.assertEqual({self.other}, self.planned())

    def test_lease_on_it_is_flagged_and_told_why(self) -> None:
        lease = self.given({self.dead: 2})
        self.goes_down()
        lease_health.check(self.engine)
        lease = self.leasing.reload(lease)
        self.assertTrue(lease.degraded)
        self.assertIn('is down or disabled in Nova', lease_health.reasons(
            self.engine, [lease])[lease.id])
        self.goes_down('up')
        lease_health.check(self.engine)
        self.assertFalse(self.leasing.reload(lease).degraded)

    def test_while_nova_does_not_answer_nothing_changes(self) -> None:
        self.nova.answer = 503
        self.mirror.refresh()
        self.assertFalse(hosts.find(self.engine, self.dead).node.maintenance)
        self.nova.answer = None
        self.goes_down()
        self.nova.answer = 503
        self.mirror.refresh()
        self.assertTrue(hosts.find(self.engine, self.dead).node.maintenance)

    def test_host_is_looked_at_once_more_at_the_start(self) -> None:
        """Five instances were bound to one that Nova had just disabled."""
        for state, status in (('down', 'enabled'), ('up', 'disabled')):
            self.goes_down('up')
            lease = self.lease({self.dead: 2})
            self.nova.hypervisors[self.dead] = (state, status)
            self.work(1)
            lease = self.leasing.reload(lease)
            self.assertEqual((STATUS.ACTIVE, False, {self.other}), (
                lease.status, lease.degraded,
                {booking.node_uuid for booking in lease.bookings}))
            self.leasing.end(lease)
            self.work(1)

class TestOutage(shared.TestCase):
    """Services that are all down at once, as while RabbitMQ restarts."""

    def setUp(self) -> None:
        super().setUp()
        self.mirror = compute_mirror.ComputeMirror(self.engine)
        self.all = [self.host() for _ in range(4)]
        self.are_down(0)
        self.mirror.refresh()

    def are_down(self, count: int) -> None:
        """Have the services of the first hosts be down, and no others."""
        self.nova.hypervisors = {
            host: ('down' if number < count else 'up', 'enabled')
            for number, host in enumerate(self.all)}

    def down(self) -> list[int]:
        """Return the numbers of the hosts that are down, after a pass."""
        self.world.clock.advance(60)
        self.mirror.refresh()
        return [number for number, host in enumerate(self.all)
                if hosts.find(self.engine, host).node.maintenance]

    def test_outage_of_all_flags_and_moves_no_lease(self) -> None:
        running = self.given({self.all[0]: 2})
        coming = self.lease({self.all[1]: 2}, 2)
        self.are_down(4)
        for _ in range(4):
            self.assertEqual([], self.down())
            lease_health.check(self.engine)
        for lease in (running, coming):
            self.assertEqual(lease, self.leasing.reload(lease))

    def test_services_stop_and_come_back_one_after_the_other(self) -> None:
        """Some are seen down before and after all are."""
        for count in (2, 4, 2, 0, 2, 3, 1, 0):
            self.are_down(count)
            self.assertEqual([], self.down(), count)

    def test_host_that_stays_down_alone_is_down(self) -> None:
        for count, expected in ((4, []), (1, []), (1, [0])):
            self.are_down(count)
            self.assertEqual(expected, self.down())

    def test_host_that_was_down_before_is_down_in_an_outage(self) -> None:
        for count, expected in ((1, []), (1, [0]), (4, [0]), (4, [0]),
                                (1, [0]), (0, [])):
            self.are_down(count)
            self.assertEqual(expected, self.down())

    def test_disabled_host_is_disabled_in_an_outage(self) -> None:
        self.are_down(4)
        self.nova.hypervisors[self.all[2]] = ('down', 'disabled')
        self.assertEqual([2], self.down())

    def test_outage_that_lasts_is_believed(self) -> None:
        self.engine.conf.set_override('outage_grace', 150, 'nova')
        self.are_down(4)
        for _ in range(3):
            self.assertEqual([], self.down())
        self.down()
        self.assertEqual([0, 1, 2, 3], self.down())

    def test_without_a_ratio_each_is_believed(self) -> None:
        self.engine.conf.set_override('min_up_ratio', 0, 'nova')
        self.are_down(4)
        self.down()
        self.assertEqual([0, 1, 2, 3], self.down())

    def test_only_host_of_a_cloud_is_believed(self) -> None:
        for host in self.all[1:]:
            self.nova.hypervisors.pop(host)
        self.nova.hypervisors[self.all[0]] = ('down', 'enabled')
        self.down()
        self.assertEqual([0], self.down())

    def test_lease_that_starts_in_an_outage_keeps_its_hosts(self) -> None:
        lease = self.lease({self.all[0]: 2})
        self.are_down(4)
        self.work(1)
        lease = self.leasing.reload(lease)
        self.assertEqual((STATUS.ACTIVE, False, {self.all[0]}), (
            lease.status, lease.degraded,
            {booking.node_uuid for booking in lease.bookings}))
