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

"""What an audit finds, what it costs, and what is mended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import mock

from placement import context as placement_context
from placement.objects import consumer as placement_consumer
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import tables
from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.engine.placement import audit as placement_audit
from ironic_reservations.engine.placement import consumers
from ironic_reservations.engine.placement import hold_recovery
from ironic_reservations.engine.placement import hold_release
from ironic_reservations.engine.placement import holds as hold_cases
from ironic_reservations.engine.placement import lease_provider_calls
from ironic_reservations.engine.placement import repair as placement_repair
from ironic_reservations.engine.placement import sync as placement_sync
from ironic_reservations.lifecycle.placement import hold_audit
from ironic_reservations.lifecycle.placement import holds
from tests import leasing
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import ground
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import shared

GOLD = in_memory.GOLD
Kind = hold_audit.Kind
times = shared.times
#: The calls besides those for each class: all providers, all classes.
CONSTANT = 2


class _TestCase(ground.TestCase):

    def audit(self, everything: bool = False) -> placement_audit.Report:
        """As the reconciler does it, cheaply."""
        return placement_audit.audit(self.engine, everything)

    def found(self) -> list[tuple[Kind, str]]:
        """Audit twice, cheaply and thoroughly: both find the same."""
        found = self.audit().differences
        self.assertEqual(found, self.audit(everything=True).differences)
        return [(one.kind, one.node_uuid) for one in found]

    def repair(self) -> dict[Kind, bool]:
        """Audit and repair; gives what was mended."""
        return {repair.difference.kind: repair.done for repair in
                placement_repair.repair(self.engine, self.audit())}

    def orphan(self, node: str) -> str:
        """Leave a hold that no row knows of."""
        return self.nodes.claim(node, consumers.fresh())

    def promise(self, node: str) -> str:
        """Promise a node, without holding it."""
        return self.world.reserve(node).uuid


class TestNodes(_TestCase):

    def test_what_agrees_is_clean(self) -> None:
        free, held, theirs, closed = (self.enrol() for _ in range(4))
        self.held(held)
        self.nodes.claim(theirs)
        self.nodes.offer(closed, {GOLD: {**in_memory.ONE, 'reserved': 1}})
        self.nodes.add()
        self.assertEqual([], self.found())
        self.assert_clean()

    def test_hold_of_a_class_that_the_node_has_no_more(self) -> None:
        node = self.enrol()
        self.held(node, self.promise(node))
        with self.engine.database.write() as opened:
            opened.execute(sa.update(db_nodes.tables.nodes).values(
                resource_class='iron'))
        self.assertEqual([(Kind.HOLD_DIFFERS, node)], self.found())
        # NOTE: Nova can change the inventory only now.
        self.assertEqual({Kind.HOLD_DIFFERS: False}, self.repair())
        self.assertEqual([], self.consumers(node))

    def test_promise_that_is_not_held_is(self) -> None:
        node, in_its_way = self.enrol(), self.enrol()
        owners = {self.promise(node), self.promise(in_its_way)}
        self.orphan(in_its_way)
        self.assertEqual({(Kind.UNHELD, node), (Kind.UNHELD, in_its_way),
                          (Kind.ORPHAN, in_its_way)}, {*self.found()})
        self.assertEqual({Kind.UNHELD: True, Kind.ORPHAN: True},
                         self.repair())
        self.assertEqual(owners, {row.owner for row in self.rows()})
        self.assert_clean()

    def test_node_that_is_promised_twice_is_held_once(self) -> None:
        """To a lease, and to a reservation within it."""
        node = self.enrol()
        lease = leasing.Leasing(self.world)
        hosts.add(self.engine, node, {})
        made = lease.create(0, 2, leasing.wish())
        self.world.reserve(node, lease_reservation_id=(
            made.reservations[0].id))
        self.assertEqual([(Kind.UNHELD, node)], self.found())
        self.assertEqual({Kind.UNHELD: True}, self.repair())
        self.assertEqual(1, len(self.rows()))
        self.assert_clean()

    def test_hold_that_nobody_was_promised_is_not_made_again(self) -> None:
        node = self.enrol()
        self.client.delete_allocations(self.held(node).consumer_uuid)
        self.assertEqual([(Kind.HOLD_MISSING, node)], self.found())
        self.assertEqual({Kind.HOLD_MISSING: True}, self.repair())
        self.assertEqual(([], []), (self.rows(), self.consumers(node)))
        self.assert_clean()

    def test_promise_whose_instance_has_the_node_is_kept(self) -> None:
        node, instance = self.enrol(), world.new_uuid()
        self.nodes.claim(node, instance)
        self.world.reserve(node, instance_uuid=instance)
        self.assertEqual([], self.found())
        self.client.delete_allocations(instance)
        self.assertEqual([(Kind.UNHELD, node)], self.found())

    def test_more_used_than_there_is(self) -> None:
        """F1: whoever else got in, the hold stays."""
        node = self.enrol(total=2)
        held = self.held(node)
        theirs = self.nodes.claim(node)
        self.nodes.offer(node, {GOLD: in_memory.ONE})
        self.assertEqual([(Kind.OVERALLOCATED, node)], self.found())
        difference, = self.audit().differences
        self.assertIn(theirs, difference.detail)
        self.assertEqual({Kind.OVERALLOCATED: False}, self.repair())
        self.assertEqual(sorted((held.consumer_uuid, theirs)),
                         self.consumers(node))

    def test_usage_that_nobody_owns(self) -> None:
        """F2: it is told, and mended once Placement has a consumer for it."""
        node = self.enrol()
        ghost = self.orphan(node)
        self.there.orphan(ghost)
        self.assertEqual([(Kind.GHOST, node)], self.found())
        self.assertEqual({Kind.GHOST: False}, self.repair())
        # As "placement-manage db online_data_migrations" does.
        conf = self.there.placement.conf_fixture.conf
        placement_consumer.create_incomplete_consumers(
            placement_context.RequestContext(config=conf), 10)
        self.assertEqual([(Kind.ORPHAN, node)], self.found())
        self.assertEqual({Kind.ORPHAN: True}, self.repair())
        self.assert_clean()

    def test_node_that_placement_does_not_know(self) -> None:
        node, = self.world.enrol(resource_class='gold')
        self.world.enrol(resource_class='gold', provision_state='enroll')
        self.world.enrol(resource_class=None)
        self.assertEqual([(Kind.PROVIDER_MISSING, node)], self.found())

    def test_provider_of_a_node_that_is_no_more(self) -> None:
        """Nova cannot delete it while we hold it, and forgets it."""
        node, used = self.enrol(), self.enrol()
        self.held(node)
        theirs = self.nodes.claim(used)
        self.assertEqual([], self.found())
        for uuid in (node, used):
            with self.engine.database.write() as opened:
                generations = db_nodes.read_generations(opened, [uuid])
                db_nodes.delete_node(opened, uuid, generations[uuid])
        # NOTE: the mirror may be wrong, so Ironic is asked.
        self.assertEqual({Kind.PROVIDER_LEFTOVER: False}, self.repair())
        self.world.ironic.remove(node)
        self.world.ironic.remove(used)
        placement_repair.repair(self.engine, self.audit())
        self.assertEqual([(Kind.PROVIDER_LEFTOVER, used)], self.found())
        self.assertIsNone(self.client.provider(node))
        self.assertEqual([theirs], self.consumers(used))
        self.client.delete_allocations(theirs)
        self.assertEqual({Kind.PROVIDER_LEFTOVER: True}, self.repair())

    def test_provider_of_a_node_that_no_audit_had_seen(self) -> None:
        """One that is always free is none of the nodes to look at."""
        node, other = self.enrol(), self.enrol()
        self.assertTrue(placement_audit.audit(self.engine).clean)
        self.world.ironic.remove(node)
        mirror.refresh_all(self.engine)
        self.assertEqual([(Kind.PROVIDER_LEFTOVER, node)], self.found())
        self.assertEqual({Kind.PROVIDER_LEFTOVER: True}, self.repair())
        self.assertIsNone(self.client.provider(node))
        self.assertIsNotNone(self.client.provider(other))
        self.assertEqual([], self.found())
        self.assertEqual([], self.found())

    def test_what_is_being_written_is_no_difference(self) -> None:
        node = self.enrol()
        self.network.faults = [faults.Fault.LATE, faults.Fault.LATE]
        self.assertRaises(errors.PlacementUnavailable, self.hold, node)
        self.network.deliver()
        self.assertEqual([], self.found())
        self.assertEqual(1, self.audit().in_work)
        self.recover()
        self.assertEqual(([], 0), (self.found(), self.audit().in_work))

    def test_repair_looks_again_before_it_mends(self) -> None:
        node = self.enrol()
        orphan = self.orphan(node)
        report = self.audit()
        self.client.delete_allocations(orphan)
        self.assertEqual([True], [
            one.done for one in placement_repair.repair(self.engine, report)])
        node = self.enrol()
        self.client.delete_allocations(self.held(node, 'me').consumer_uuid)
        report = self.audit()
        hold_release.release(self.engine, ['me'])
        self.network.calls.clear()
        placement_repair.repair(self.engine, report)
        self.assertEqual([], self.network.writes())


class TestCost(_TestCase):

    def calls(self) -> int:
        self.network.calls.clear()
        self.assertTrue(self.audit().clean)
        return len(self.network.calls)

    def test_clean_nodes_cost_nothing(self) -> None:
        """Whatever their number, once they have been looked at."""
        for _ in range(2):
            for _ in range(3):
                self.enrol()
                self.held(self.enrol())
                self.nodes.claim(self.enrol())
            self.assertGreater(self.calls(), CONSTANT + 1)
            self.assertEqual(CONSTANT + 1, self.calls())

    def test_what_has_changed_is_looked_at_and_nothing_else(self) -> None:
        nodes = [self.enrol() for _ in range(4)]
        held = [self.held(node, node) for node in nodes]
        self.calls()
        hold_release.release(self.engine, [nodes[0]])
        self.assertEqual(CONSTANT + 1, self.calls())
        self.nodes.offer(nodes[1], {GOLD: {**in_memory.ONE, 'reserved': 1}})
        self.assertEqual(1, self.audit().looked_at)
        hold_release.release(self.engine, [nodes[2]])
        self.held(nodes[2])
        self.assertEqual(1, self.audit().looked_at)
        self.client.delete_allocations(held[3].consumer_uuid)
        self.assertEqual([(Kind.HOLD_MISSING, nodes[3])], [
            (one.kind, one.node_uuid) for one in self.audit().differences])

    def test_each_class_costs_one_call(self) -> None:
        self.enrol()
        self.assertEqual(CONSTANT + 1, self.calls())
        for resource_class in ('iron', 'Iron', 'tin'):
            uuid, = self.world.enrol(resource_class=resource_class)
            self.nodes.add(uuid, f'CUSTOM_{resource_class.upper()}')
        self.assertEqual(CONSTANT + 3, self.calls())


class TestLeftOver(_TestCase):

    def test_pass_after_a_crash_finds_nothing(self) -> None:
        """What is recovered is in order; an audit has nothing to add."""
        nodes = [self.enrol() for _ in range(3)]
        with self.engine.database.write() as opened:
            written, _ = [hold_cases.intend(
                self.engine, opened, ground.promise(node, 'me'))
                for node in nodes[:2]]
        self.client.put_allocations(written.consumer_uuid, placement.Wanted(
            {nodes[0]: {GOLD: 1}}, 'project', 'user', None, consumers.TYPE))
        self.assertEqual({hold_recovery.Recovered.CONFIRMED: 1,
                          hold_recovery.Recovered.DROPPED: 1}, self.recover())
        self.assertEqual([], self.found())


class _Leased(shared.TestCase):
    """With leases of both kinds of hosts."""

    def found(self) -> list[tuple[Kind, str]]:
        """Audit twice, cheaply and thoroughly: both find the same."""
        found = placement_audit.audit(self.engine).differences
        self.assertEqual(found, self.audit().differences)
        return [(one.kind, one.node_uuid) for one in found]

    def repair(self) -> dict[Kind, bool]:
        """Audit and repair; gives what was mended."""
        kept = placement_sync.audit(self.engine, repair=True)
        return {each.difference.kind: each.done
                for each in kept.repairs or ()}

    def update(self, table: sa.Table, **values: Any) -> None:
        """Change all rows of a table."""
        with self.engine.database.write() as opened:
            opened.execute(sa.update(table).values(**values))


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

    def test_what_is_as_promised_is_clean(self) -> None:
        """Whoever has the others."""
        host, theirs, _ = self.of_kind(), self.of_kind(), self.of_kind()
        self.given({host: 1})
        self.take(theirs)
        self.assertEqual([], self.found())
        self.assert_clean()

    def test_hold_that_somebody_deleted_is_held_again(self) -> None:
        """By another consumer, and for the same promise."""
        host = self.of_kind()
        self.given({host: 1})
        self.assertEqual([], self.found())
        before, = self.rows()
        self.client.delete_allocations(before.consumer_uuid)
        self.assertEqual([(Kind.HOLD_MISSING, host)], self.found())
        self.assertEqual({Kind.HOLD_MISSING: True}, self.repair())
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
        self.assertEqual([(Kind.HOLD_MISSING, host)], self.found())
        self.assertEqual({Kind.HOLD_MISSING: False}, self.repair())
        for _ in range(2):
            self.assertEqual([(Kind.UNHELD, host)], self.found())
            self.assertEqual({Kind.UNHELD: False}, self.repair())
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
        with self.engine.database.write() as opened:
            opened.execute(sa.delete(tables.holds))
        self.assertEqual([(Kind.UNHELD, host) for host in sorted(hosts_)],
                         self.found())
        self.assertEqual({Kind.UNHELD: True}, self.repair())
        self.assertEqual([self.one] * 2, [*map(self.usage, hosts_)])
        self.assert_clean()

    def test_orphans_are_removed_and_the_claims_of_others_are_not(
            self) -> None:
        ours, theirs = self.of_kind(), self.of_kind()
        self.assertTrue(self.client.put_allocations(
            consumers.fresh(), in_memory.wanted({ours: self.one})).done)
        claim = self.take(theirs)
        self.assertEqual([(Kind.ORPHAN, ours)], self.found())
        self.assertEqual({Kind.ORPHAN: True}, self.repair())
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
        view = placement_audit.look(self.engine, host, self.exclusive)
        self.assertEqual([], hold_audit.compare(view))
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
            placement_audit.audit(self.engine)
            self.network.calls.clear()
            report = placement_audit.audit(self.engine)
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
            self.assertEqual([(Kind.HOLD_MISSING, host)], self.found())
            self.assertEqual({Kind.HOLD_MISSING: True}, self.repair())
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
        self.assertEqual([(Kind.HOLD_DIFFERS, host)], self.found())
        self.assertEqual({Kind.HOLD_DIFFERS: True}, self.repair())
        self.assertEqual(times(2), self.usage(host))
        self.assert_clean()

    def test_hold_that_is_not_as_was_promised_is_exchanged(self) -> None:
        """By the rows alone; in Placement all is as it was."""
        host = self.host()
        self.given({host: 1})
        self.assertEqual([], self.found())
        self.update(tables.instance_reservations, vcpus=3)
        self.assertEqual([(Kind.HOLD_DIFFERS, host)], self.found())
        self.assertEqual({Kind.HOLD_DIFFERS: True}, self.repair())
        self.assertEqual({**times(1), 'VCPU': 3}, self.usage(host))
        self.assert_clean()

    def test_share_that_is_resized_meanwhile_is_held_as_it_is_now(
            self) -> None:
        host = self.host()
        self.given({host: 1})
        held, = self.rows()
        self.client.delete_allocations(held.consumer_uuid)
        real = hold_release.give_up

        def resized(*given: Any) -> bool:
            self.update(tables.instance_reservations, vcpus=3)
            return real(*given)
        with mock.patch.object(hold_release, 'give_up', resized):
            self.assertEqual({Kind.HOLD_MISSING: True}, self.repair())
        self.assertEqual({**times(1), 'VCPU': 3}, self.usage(host))
        self.assert_clean()

    def test_more_that_is_used_than_there_is_is_told(self) -> None:
        """F1, or an operator who has taken some away."""
        host = self.host(vcpus=8)
        self.given({host: 2})
        server = self.nodes.serve(host, VCPU=4)
        there = self.client.inventories(host)
        assert there is not None
        self.nodes.offer(host, {**there.by_class, 'VCPU': {
            **in_memory.ONE, 'total': 8, 'reserved': 3, 'max_unit': 8,
            'allocation_ratio': 1.5}})
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
        self.assertEqual([(Kind.PROVIDER_MISSING, host)], self.found())
        self.assertEqual({Kind.PROVIDER_MISSING: False}, self.repair())

    def test_what_is_in_work_is_left_alone_and_nothing_else(self) -> None:
        host = self.host()
        self.given({host: 2})
        one, two = self.rows()
        for row in (one, two):
            self.client.delete_allocations(row.consumer_uuid)
        with self.engine.database.write() as opened:
            opened.execute(sa.update(tables.holds).where(
                tables.holds.c.id == one.id).values(
                    state=holds.HoldState.RESERVING.value))
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
            {host, lease_provider_calls.child_of(host)},
            {each.uuid for each in self.client.providers()})
        self.assertNotIn(self.had(lease, {}).class_name, self.classes())

    def test_stray_on_a_host_that_was_taken_back_is_found(self) -> None:
        """A write that came late; the host is remembered."""
        host = self.host()
        self.assertEqual([], self.found())
        hosts.remove(self.engine, hosts.find(self.engine, host).id)
        self.client.put_allocations(consumers.fresh(), in_memory.wanted(
            {host: times(1)}))
        self.assertEqual([(Kind.ORPHAN, host)], self.found())
        self.assertEqual({Kind.ORPHAN: True}, self.repair())

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
        placement_audit.audit(self.engine)
        self.network.calls.clear()
        placement_audit.audit(self.engine)
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
        child = lease_provider_calls.child_of(host)
        there = self.client.inventories(child)
        assert there is not None
        name = self.had(one).class_name
        self.nodes.offer(child, {**there.by_class, name: {
            **in_memory.ONE, 'total': 4}})
        self.assertEqual([(Kind.RESERVATION_DIFFERS, host)], self.found())
        self.assertEqual({Kind.RESERVATION_DIFFERS: True}, self.repair())
        self.assert_active(self.had(one, {host: 3, other: 1}),
                           self.had(two, {host: 1, other: 2}))
