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

"""What an audit finds of nodes, what it costs, and what is mended."""

from collections.abc import Callable
from typing import Any

import fixtures
from placement import context as placement_context
from placement.objects import consumer as placement_consumer
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.db import connection
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import hosts
from ironic_reservations.engine import mirror
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import repairs
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import recovery
from ironic_reservations.features.placement.holds import releasing
from tests import leasing
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import ground
from tests.inprocess.placement import in_memory

GOLD = in_memory.GOLD
Kind = differences.Kind
#: The calls besides those for each class: all providers, all classes.
CONSTANT = 2


class _TestCase(ground.TestCase):

    def audit(self, everything: bool = False) -> auditing.Report:
        """As the reconciler does it, cheaply."""
        return auditing.audit(self.engine, everything)

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
        self.execute(sa.update(db_nodes.tables.nodes).values(
            resource_class='iron'))
        # NOTE: Nova can change the inventory only now.
        self.assert_mended(Kind.HOLD_DIFFERS, node, done=False)
        self.assertEqual([], self.consumers(node))

    def test_promise_that_is_not_held_is(self) -> None:
        node, in_its_way = self.enrol(), self.enrol()
        owners = {self.promise(node), self.promise(in_its_way)}
        self.orphan(in_its_way)
        self.assertEqual({(Kind.UNHELD, node), (Kind.UNHELD, in_its_way),
                          (Kind.ORPHAN, in_its_way)}, {*self.found()})
        self.assertEqual({Kind.UNHELD: True, Kind.ORPHAN: True}, self.repair())
        self.assertEqual(owners, {row.owner for row in self.rows()})
        self.assert_clean()

    def test_node_that_is_promised_twice_is_held_once(self) -> None:
        """To a lease, and to a reservation within it."""
        node = self.enrol()
        lease = leasing.Leasing(self.world)
        hosts.add(self.engine, node, {})
        made = lease.create(0, 2, leasing.wish())
        self.world.reserve(node, lease_reservation_ids=frozenset((
            made.reservations[0].id,)))
        self.assert_mended(Kind.UNHELD, node)
        self.assertEqual(1, len(self.rows()))
        self.assert_clean()

    def test_hold_that_nobody_was_promised_is_not_made_again(self) -> None:
        node = self.enrol()
        self.client.delete_allocations(self.held(node).consumer_uuid)
        self.assert_mended(Kind.HOLD_MISSING, node)
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
        self.assert_mended(Kind.GHOST, node, done=False)
        # As "placement-manage db online_data_migrations" does.
        conf = self.there.conf
        placement_consumer.create_incomplete_consumers(
            placement_context.RequestContext(config=conf), 10)
        self.assert_mended(Kind.ORPHAN, node)
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
        repairs.repair(self.engine, self.audit().differences)
        self.assertEqual([(Kind.PROVIDER_LEFTOVER, used)], self.found())
        self.assertIsNone(self.client.provider(node))
        self.assertEqual([theirs], self.consumers(used))
        self.client.delete_allocations(theirs)
        self.assertEqual({Kind.PROVIDER_LEFTOVER: True}, self.repair())

    def test_what_ironic_does_not_confirm_leaves_the_rest_repaired(
            self) -> None:
        gone, node = self.enrol(), self.enrol()
        self.promise(node)
        self.world.ironic.remove(gone)
        mirror.refresh_all(self.engine)
        self.world.ironic.down = True
        self.assertEqual({Kind.PROVIDER_LEFTOVER: False, Kind.UNHELD: True},
                         self.repair())
        self.world.ironic.down = False
        self.assert_mended(Kind.PROVIDER_LEFTOVER, gone)

    def test_repair_that_others_delay_leaves_the_rest_repaired(self) -> None:
        for _ in range(2):
            self.promise(self.enrol())
        for failed in (connection.Conflict('A commit was first.'),
                       errors.Contention('Others were first.'),
                       errors.OutcomeUnknown()):
            report = self.audit()
            with fixtures.MockPatchObject(
                    holding, 'hold_node',
                    self.after(failed, holding.hold_node)):
                said = repairs.repair(self.engine, report.differences)
            self.assertEqual([True, False], [bool(why)
                                             for why in said.values()])
            for row in self.rows():
                releasing.release(self.engine, [row.owner])

    @staticmethod
    def after(failed: Exception, act: Callable[..., Any]
              ) -> Callable[..., Any]:
        """Return what fails once, and acts from then on."""
        left = [failed]

        def acting(*args: Any) -> Any:
            if left:
                raise left.pop()
            return act(*args)
        return acting

    def test_provider_of_a_node_that_no_audit_had_seen(self) -> None:
        """One that is always free is none of the nodes to look at."""
        node, other = self.enrol(), self.enrol()
        self.assertEqual((), auditing.audit(self.engine).differences)
        self.world.ironic.remove(node)
        mirror.refresh_all(self.engine)
        self.assert_mended(Kind.PROVIDER_LEFTOVER, node)
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
        self.assertEqual([''], [*repairs.repair(
            self.engine, report.differences).values()])
        node = self.enrol()
        self.client.delete_allocations(self.held(node, 'me').consumer_uuid)
        report = self.audit()
        releasing.release(self.engine, ['me'])
        self.network.calls.clear()
        repairs.repair(self.engine, report.differences)
        self.assertEqual([], self.network.writes())


class TestCost(_TestCase):

    def calls(self) -> int:
        self.network.calls.clear()
        self.assertEqual((), self.audit().differences)
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
        releasing.release(self.engine, [nodes[0]])
        self.assertEqual(CONSTANT + 1, self.calls())
        self.nodes.offer(nodes[1], {GOLD: {**in_memory.ONE, 'reserved': 1}})
        self.assertEqual(1, self.audit().looked_at)
        releasing.release(self.engine, [nodes[2]])
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
            written, _ = [holding.intend(
                self.engine, opened, ground.promise(node, 'me'))
                for node in nodes[:2]]
        self.client.put_allocations(
            written.consumer_uuid,
            placement.AllocationRequest({nodes[0]: {GOLD: 1}}, 'project',
                                        'user', None, consumers.TYPE))
        self.assertEqual({recovery.Recovered.CONFIRMED: 1,
                          recovery.Recovered.DROPPED: 1}, self.recover())
        self.assertEqual([], self.found())
