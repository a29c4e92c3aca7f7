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

"""What an audit finds of leases on hosts of both kinds, and what is mended."""

from collections.abc import Mapping
import logging
from typing import Any
from unittest import mock

import fixtures
import sqlalchemy as sa

from ironic_reservations.clouds import nova
from ironic_reservations.db import tables
from ironic_reservations.engine import hosts
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.features.placement.audit import compare_hosts
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import releasing
from ironic_reservations.features.placement.holds import values
from ironic_reservations.features.placement.lease_providers import names
from tests import leasing
from tests import small_nova
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import shared

GOLD = in_memory.GOLD
Kind = differences.Kind
times = shared.times


class _Leased(shared.TestCase):
    """With leases of both kinds of hosts."""

    def repair(self) -> dict[Kind, bool]:
        """Audit and repair, and return what was mended."""
        kept = placement_sync.audit(self.engine, repair=True)
        return {difference.kind: not why
                for difference, why in (kept.repairs or {}).items()}

    def enlarge(self) -> None:
        """Have all instances have more VCPUs, by the rows alone."""
        self.execute(sa.update(tables.instance_reservations).values(vcpus=3))


class _BothKinds:
    """The same is found and mended of a node as of a compute host."""

    #: What a lease has held of a host for one of its instances.
    one: Mapping[str, int]
    exclusive: bool

    def of_kind(self) -> str:
        """Return a host that has room for one."""
        raise NotImplementedError

    def take(self, host: str) -> str:
        """Have somebody else take what is left of a host."""
        return self.nodes.serve(host, **self.one)

    def test_hold_that_somebody_deleted_is_held_again(self) -> None:
        """By another consumer, and for the same promise."""
        host = self.of_kind()
        self.given({host: 1})
        self.assertEqual([], self.found())
        before, = self.rows()
        self.client.delete_allocations(before.consumer_uuid)
        self.assert_mended(Kind.HOLD_MISSING, host)
        after, = self.rows()
        self.assertEqual(before.owner, after.owner)
        self.assertNotEqual(before.consumer_uuid, after.consumer_uuid)
        self.assertEqual(self.one, self.usage(host))
        self.assert_clean()

    def test_room_that_somebody_took_meanwhile_stays_theirs(self) -> None:
        host = self.of_kind()
        self.given({host: 1})
        held, = self.rows()
        self.client.delete_allocations(held.consumer_uuid)
        theirs = self.take(host)
        self.assert_mended(Kind.HOLD_MISSING, host, done=False)
        for _ in range(2):
            self.assert_mended(Kind.UNHELD, host, done=False)
            self.assertEqual([theirs], self.consumers(host))
        self.client.delete_allocations(theirs)
        self.assertEqual({Kind.UNHELD: True}, self.repair())
        self.assertEqual(self.one, self.usage(host))
        self.assert_clean()

    def test_promise_that_is_not_held_is(self) -> None:
        hosts_ = self.of_kind(), self.of_kind()
        self.given(dict.fromkeys(hosts_, 1))
        for row in self.rows():
            self.client.delete_allocations(row.consumer_uuid)
        self.execute(sa.delete(tables.holds))
        self.assert_mended(Kind.UNHELD, *hosts_)
        self.assertEqual([self.one] * 2, [*map(self.usage, hosts_)])
        self.assert_clean()

    def test_orphans_are_removed_and_the_claims_of_others_are_not(
            self) -> None:
        ours, theirs = self.of_kind(), self.of_kind()
        self.assertTrue(self.client.put_allocations(
            consumers.fresh(), in_memory.wanted({ours: self.one})).done)
        claim = self.take(theirs)
        self.assert_mended(Kind.ORPHAN, ours)
        self.assertEqual(([], [claim]),
                         (self.consumers(ours), self.consumers(theirs)))
        self.assert_clean()

    def test_usage_that_nobody_owns_is_told(self) -> None:
        host = self.of_kind()
        self.there.orphan(self.take(host))
        self.assertEqual([(Kind.GHOST, host)] * len(self.one), self.found())
        self.assertEqual({Kind.GHOST: False}, self.repair())

    def test_what_begins_while_it_is_looked_at_is_no_difference(
            self) -> None:
        host = self.of_kind()
        lease = self.lease({host: 1})
        self.world.clock.now = leasing.at(1)
        looked: list[str] = []
        allocated = self.engine.placement.allocated

        def then(uuid: str) -> Any:
            there = allocated(uuid)
            if not looked:
                looked.append(uuid)
                self.work()
            return there
        self.engine.placement.allocated = then
        view = auditing.check_host(self.engine, host, self.exclusive)
        self.assertEqual([], compare_hosts.compare(view))
        self.assertEqual([leasing.BOUND], self.states(lease))


class TestBothAsNodes(_BothKinds, _Leased):

    one = {GOLD: 1}
    exclusive = True

    def of_kind(self) -> str:
        return super(shared.TestCase, self).host()


class TestBothAsComputeHosts(_BothKinds, _Leased):

    one = times(1)
    exclusive = False

    def of_kind(self) -> str:
        return self.host(vcpus=self.one['VCPU'])


class TestComputeHosts(_Leased):

    def test_what_is_as_promised_is_clean(self) -> None:
        host, other = self.host(), self.host()
        lease = self.given({host: 3, other: 1})
        self.given({host: 1})
        self.assertEqual([], self.found())
        self.boot(self.had(lease, {host: 3}), host)
        self.nodes.serve(other, VCPU=1)
        self.assertEqual([], self.found())

    def test_clean_hosts_cost_a_constant_number_of_calls(self) -> None:
        costs = []
        for more in (1, 4):
            for _ in range(more):
                self.given({self.host(): 2}, start=0, end=9)
            full = self.host(vcpus=2)
            self.nodes.serve(full, VCPU=2)
            auditing.audit(self.engine)
            self.network.calls.clear()
            report = auditing.audit(self.engine)
            self.assertEqual((0, ()), (report.looked_at, report.differences))
            costs.append(len(self.network.calls))
        self.assertEqual(costs[0], costs[1])

    def test_hold_that_somebody_deleted_is_held_again(self) -> None:
        """Its provider is as old as before, and of two one is left."""
        for full in (False, True):
            host = self.host(vcpus=4 if full else 8)
            self.given({host: 2}, start=0)
            self.assertEqual([], self.found())
            gone = next(row for row in self.rows() if row.node_uuid == host)
            self.client.delete_allocations(gone.consumer_uuid)
            self.assert_mended(Kind.HOLD_MISSING, host)
            self.assertEqual(times(2), self.usage(host))
            self.assertEqual([], self.found())
            self.assert_clean()

    def test_hold_of_other_amounts_is_exchanged(self) -> None:
        host = self.host()
        self.given({host: 2})
        held = self.rows()[0]
        there = self.client.consumer(held.consumer_uuid)
        self.assertTrue(self.client.put_allocations(
            held.consumer_uuid, in_memory.wanted(
                {host: {'VCPU': 1}}, there.generation, consumers.TYPE)).done)
        self.assert_mended(Kind.HOLD_DIFFERS, host)
        self.assertEqual(times(2), self.usage(host))
        self.assert_clean()

    def test_hold_that_is_not_as_was_promised_is_exchanged(self) -> None:
        """By the rows alone; in Placement all is as it was."""
        host = self.host()
        self.given({host: 1})
        self.assertEqual([], self.found())
        self.enlarge()
        self.assert_mended(Kind.HOLD_DIFFERS, host)
        self.assertEqual({**times(1), 'VCPU': 3}, self.usage(host))
        self.assert_clean()

    def test_share_that_is_resized_meanwhile_is_held_as_it_is_now(
            self) -> None:
        host = self.host()
        self.given({host: 1})
        held, = self.rows()
        self.client.delete_allocations(held.consumer_uuid)
        real = releasing.give_up

        def resized(*given: Any) -> bool:
            self.enlarge()
            return real(*given)
        with mock.patch.object(releasing, 'give_up', resized):
            self.assertEqual({Kind.HOLD_MISSING: True}, self.repair())
        self.assertEqual({**times(1), 'VCPU': 3}, self.usage(host))
        self.assert_clean()

    def test_more_that_is_used_than_there_is_is_told(self) -> None:
        """F1, or an operator who has taken some away."""
        host = self.host(vcpus=8)
        self.given({host: 2})
        server = self.nodes.serve(host, VCPU=4)
        self.nodes.offer_also(host, 'VCPU', total=8, reserved=3, max_unit=8,
                              allocation_ratio=1.5)
        found, = self.audit().differences
        self.assertEqual((Kind.OVERALLOCATED, host),
                         (found.kind, found.node_uuid))
        self.assertIn('8 of 7 VCPU are used', found.detail)
        self.assertIn(server, found.detail)
        self.assertEqual({Kind.OVERALLOCATED: False}, self.repair())
        self.client.delete_allocations(server)
        self.assertEqual([], self.found())

    def test_provider_that_is_gone_is_told(self) -> None:
        host = self.host()
        self.host()
        self.client.delete_provider(host)
        self.assert_mended(Kind.PROVIDER_MISSING, host, done=False)

    def test_what_is_in_work_is_left_alone_and_nothing_else(self) -> None:
        host = self.host()
        self.given({host: 2})
        one, two = self.rows()
        for row in (one, two):
            self.client.delete_allocations(row.consumer_uuid)
        self.execute(sa.update(tables.holds).where(
            tables.holds.c.id == one.id).values(
                state=values.HoldState.RESERVING.value))
        report = self.audit()
        self.assertEqual(
            (1, [(Kind.HOLD_MISSING, two.consumer_uuid)]),
            (report.in_work, [(each.kind, each.consumer_uuid)
                              for each in report.differences]))


class TestNeighbours(_Leased):

    def test_host_that_is_taken_back_is_left_to_nova(self) -> None:
        """Its provider is no leftover of a node, and has nothing of ours."""
        host = self.host()
        lease = self.given({host: 2})
        self.assertEqual([], self.found())
        self.work(4)
        placement_sync.recover(self.engine)
        self.assertEqual([], self.found())
        hosts.remove(self.engine, hosts.find(self.engine, host).id)
        self.assertEqual([], self.found())
        self.assertEqual({}, self.repair())
        self.assertEqual(
            {host, names.child_of(host)},
            {each.uuid for each in self.client.providers()})
        self.assertNotIn(self.had(lease, {}).class_name, self.classes())

    def test_stray_on_a_host_that_was_taken_back_is_found(self) -> None:
        """A write that came late; the host is remembered."""
        host = self.host()
        self.assertEqual([], self.found())
        hosts.remove(self.engine, hosts.find(self.engine, host).id)
        self.client.put_allocations(consumers.fresh(), in_memory.wanted(
            {host: times(1)}))
        self.assert_mended(Kind.ORPHAN, host)

    def test_nodes_of_ironic_are_compared_beside_them(self) -> None:
        node = super(shared.TestCase, self).host()
        host = self.host()
        self.given({host: 2, node: 1})
        self.assertEqual([], self.found())
        for each in (host, node):
            gone = next(row for row in self.rows() if row.node_uuid == each)
            self.client.delete_allocations(gone.consumer_uuid)
        self.assertEqual({(Kind.HOLD_MISSING, each)
                          for each in (host, node)}, {*self.found()})
        self.assertEqual({Kind.HOLD_MISSING: True}, self.repair())
        self.assert_clean()

    def test_without_compute_hosts_nothing_more_is_asked(self) -> None:
        super(shared.TestCase, self).host()
        auditing.audit(self.engine)
        self.network.calls.clear()
        auditing.audit(self.engine)
        self.assertEqual([], [call for call in self.network.calls
                              if 'candidates' in call])

    def test_classes_are_offered_as_often_as_there_are_instances(
            self) -> None:
        """Several of one reservation, and several reservations on a host."""
        host, other = self.host(), self.host()
        one = self.given({host: 3, other: 1})
        two = self.given({host: 1, other: 2})
        self.assertEqual([], self.found())
        self.assert_active(self.had(one, {host: 3, other: 1}),
                           self.had(two, {host: 1, other: 2}))
        self.nodes.offer_also(names.child_of(host), self.had(one).class_name,
                              total=4)
        self.assert_mended(Kind.RESERVATION_DIFFERS, host)
        self.assert_active(self.had(one, {host: 3, other: 1}),
                           self.had(two, {host: 1, other: 2}))


class TestServers(_Leased):
    """Servers that have more of a compute host than Placement counts."""

    def setUp(self) -> None:
        super().setUp()
        self.compute = self.host(name='compute-1')
        self.nova.flavor('plain', 'plain', 4)

    def runs(self, flavor: str, vcpus: int | None, **more: Any) -> str:
        """Have a server run on the host, with so much counted."""
        uuid = (self.nodes.serve(self.compute, **{
            'VCPU': vcpus, **more} if vcpus else more)
            if vcpus or more else world.new_uuid())
        return self.nova.boot(flavor, host='compute-1', uuid=uuid)

    def test_server_with_the_flavor_of_a_lease_that_is_over(self) -> None:
        """16 VCPUs of 10 were in use, and the audit said "clean"."""
        lease = self.given({self.compute: 2})
        wanted = self.had(lease)
        self.assertEqual([], self.found())
        server = self.boot(wanted, self.compute, known=False)
        self.nova.boot(wanted.reservation_id, host='compute-1', uuid=server)
        self.assertEqual([], self.found())
        ghost = self.nova.boot(wanted.reservation_id, host='compute-1')
        self.client.put_allocations(ghost, in_memory.wanted(
            {self.compute: {in_memory.LEASE_SLOT: 1}}))
        self.assertEqual([(Kind.UNCOUNTED, self.compute)], self.found())
        self.assertEqual({Kind.UNCOUNTED: False}, self.repair())

    def test_server_that_is_counted_is_clean(self) -> None:
        self.runs('plain', 4)
        self.assert_clean()
        self.runs('plain', 3)
        self.assertEqual([(Kind.UNCOUNTED, self.compute)], self.found())

    def test_flavor_that_requests_less_on_purpose_is_clean(self) -> None:
        self.nova.flavor('none', 'none', 4, extra_specs={
            'resources:VCPU': '0', 'resources:MEMORY_MB': '1'})
        self.runs('none', None, MEMORY_MB=1)
        self.nova.flavor('few', 'few', 4, extra_specs={'resources:VCPU': '1'})
        self.runs('few', 1)
        self.assert_clean()

    def test_server_of_another_host_or_in_a_task_is_left_out(self) -> None:
        uuid = self.runs('plain', None)
        self.assertEqual([(Kind.UNCOUNTED, self.compute)], self.found())
        self.nova.servers[uuid].task_state = 'resize_migrating'
        self.assert_clean()
        self.nova.servers[uuid].task_state = None
        self.nova.servers[uuid].host = 'compute-10'
        self.assert_clean()

    def test_migration_that_has_failed_is_told(self) -> None:
        """Its server has the flavor of a lease that is not over."""
        wanted = self.had(self.given({self.compute: 2}))
        server = self.nova.boot(wanted.reservation_id, host='compute-1')
        migration = self.nova.resize(server, wanted.reservation_id)
        self.client.put_allocations(migration, in_memory.wanted({
            self.compute: {in_memory.LEASE_SLOT: 1},
            names.child_of(self.compute): {
                wanted.class_name: 1}}))
        self.nova.migrations[migration].status = 'error'
        self.assertEqual([(Kind.FAILED_MIGRATION, self.compute)],
                         self.found())
        difference, = auditing.audit(self.engine).differences
        self.assertIn(
            f'The migration {migration} of the server {server} has failed in '
            f'Nova, and still has 1 {in_memory.LEASE_SLOT}, 1 '
            f'{wanted.class_name}. ', difference.detail)
        self.assertEqual({Kind.FAILED_MIGRATION: False}, self.repair())
        self.client.delete_allocations(migration)
        self.assertEqual([(Kind.UNCOUNTED, self.compute)], self.found())

    def test_audit_says_that_it_compares_not_all_failed_migrations(
            self) -> None:
        self.runs('plain', None)
        for _ in range(9):
            self.nova.migrations[world.new_uuid()] = small_nova.Migration(
                'server', 'plain', nova.FAILED)
        said = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        read = []
        for most, told in ((nova.MOST_FAILED, False), (4, True)):
            self.nova.asked.clear()
            with mock.patch.object(nova, 'MOST_FAILED', most):
                self.assertEqual([(Kind.UNCOUNTED, self.compute)],
                                 self.found())
            self.assertEqual(told, 'the newest 4 migrations that have failed'
                             in said.output)
            read.append(self.nova.asked.count('GET /v2.1/os-migrations'))
        # The small Nova has two on a page.
        self.assertEqual(2 * read[0], 5 * read[1])

    def test_audit_goes_on_without_nova(self) -> None:
        self.runs('plain', None)
        self.nova.answer = 503
        self.assert_clean()
