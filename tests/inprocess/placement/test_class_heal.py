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

"""Instances from before the classes of nodes get them, while others work."""

from collections.abc import Callable
import functools
import itertools
from typing import Any

from ironic_reservations import errors
from ironic_reservations.features.placement.class_heal import (
    heal as class_heal,
)
from ironic_reservations.features.placement.holds import consumers
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import of_old_sizes

GOLD = of_old_sizes.GOLD
OLD = of_old_sizes.OLD
Outcome = of_old_sizes.Outcome


class TestHealing(of_old_sizes.TestCase):

    def test_instance_gets_the_class_for_its_sizes(self) -> None:
        node, instance = self.old_node()
        before = self.client.consumer(instance)
        self.assertEqual({node: (Outcome.HEALED, 'in order')}, self.heal())
        self.assert_healed(node, instance)
        after = self.client.consumer(instance)
        self.assertEqual(
            (before.project_id, before.user_id, before.consumer_type),
            (after.project_id, after.user_id, after.consumer_type))

    def test_what_is_healed_is_not_touched_again(self) -> None:
        self.old_node()
        self.heal()
        self.network.calls.clear()
        self.assertEqual([(Outcome.FINE, 'in order')], [*self.heal().values()])
        self.assertEqual([], self.network.writes())

    def test_dry_run_tells_and_changes_nothing(self) -> None:
        node, instance = self.old_node()
        self.network.calls.clear()
        self.assertEqual({node: (Outcome.TO_HEAL, 'reshape')},
                         self.heal(apply=False))
        self.assertEqual([], self.network.writes())
        self.assertEqual({node: OLD}, self.has(instance))

    def test_instance_that_has_nothing_gets_the_class(self) -> None:
        instance = world.new_uuid()
        node = self.bare_node(instance)
        self.assertEqual({node: (Outcome.LEFT, 'unallocated')},
                         self.heal(skip_unallocated=True))
        self.assertEqual({node: (Outcome.HEALED, 'in order')}, self.heal())
        self.assert_healed(node, instance)
        self.assertEqual('INSTANCE',
                         self.client.consumer(instance).consumer_type)

    def test_what_nova_has_reserved_stays_reserved(self) -> None:
        """It publishes a node in use with reserved=1."""
        node, instance = self.used_node_without_allocation()
        self.assertEqual((Outcome.HEALED, 'in order'), self.heal()[node])
        self.assertEqual({node: {GOLD: 1}}, self.has(instance))
        self.assertEqual({GOLD: {**in_memory.ONE, 'reserved': 1}},
                         self.offers(node))

    def test_class_beside_the_sizes_leaves_the_class(self) -> None:
        """What a flavor without zeros has allocated."""
        instance = world.new_uuid()
        node = self.bare_node(instance)
        self.nodes.offer(node, {**of_old_sizes.sizes(), GOLD: in_memory.ONE})
        self.give(instance, {node: {**OLD, GOLD: 1}})
        self.assert_heals(node, instance)

    def test_what_else_the_instance_has_is_kept(self) -> None:
        instance, disk = world.new_uuid(), world.new_uuid()
        node = self.bare_node(instance)
        self.nodes.add(disk, 'CUSTOM_SHARE')
        self.nodes.offer(node, {**of_old_sizes.sizes(),
                                'CUSTOM_SLOT': in_memory.ONE})
        self.give(instance, {node: {**OLD, 'CUSTOM_SLOT': 1},
                             disk: {'CUSTOM_SHARE': 1}})
        self.assertEqual((Outcome.HEALED, 'in order'), self.heal()[node])
        self.assertEqual({node: {GOLD: 1, 'CUSTOM_SLOT': 1},
                          disk: {'CUSTOM_SHARE': 1}}, self.has(instance))
        self.assertEqual({GOLD, 'CUSTOM_SLOT'}, {*self.offers(node)})

    def test_consumer_that_a_failed_write_has_left_empty(self) -> None:
        """F3: such a one is at generation 0, and shown to nobody."""
        instance = world.new_uuid()
        node = self.bare_node(instance)
        self.assertFalse(self.nodes.try_claim(node, instance, 'VGPU').done)
        self.client.post_allocations({instance: in_memory.wanted({}, None)})
        self.assert_heals(node, instance)

    def test_old_placement_that_cannot_reshape_is_told_of(self) -> None:
        node, instance = self.old_node()
        self.engine.placement.version = (1, 29)
        self.engine.placement._old_until = float('inf')
        refused = self.assertRaises(errors.PlacementUnavailable, self.heal)
        self.assertIn('needs version 1.30', str(refused))
        self.assertEqual({node: OLD}, self.has(instance))
        self.engine.placement._old_until = 0.0
        self.assertEqual((Outcome.HEALED, 'in order'), self.heal()[node])


class TestLeft(of_old_sizes.TestCase):

    def left(self, node: str, reason: str) -> None:
        """It is left for that reason, and nothing is written."""
        before = (self.offers(node), self.client.consumers_on(node))
        self.network.calls.clear()
        self.assertEqual((Outcome.LEFT, reason), self.heal(node)[node])
        self.assertEqual([], self.network.writes())
        self.assertEqual(before, (self.offers(node),
                                  self.client.consumers_on(node)))

    def used_by(self, consumer: str, what: dict[str, int]) -> str:
        """Return a node with its sizes, and the class, that somebody has."""
        node = self.bare_node(world.new_uuid())
        if what is not OLD:
            self.nodes.offer(node, {**of_old_sizes.sizes(),
                                    GOLD: in_memory.ONE})
        self.give(consumer, {node: what})
        return node

    def test_claims_of_others_are_never_taken_over(self) -> None:
        for what in (OLD, {GOLD: 1}):
            self.left(self.used_by(world.new_uuid(), what), 'taken')

    def test_node_that_we_hold(self) -> None:
        self.left(self.used_by(consumers.fresh(), {GOLD: 1}), 'held')

    def test_instance_that_is_coming_or_going(self) -> None:
        for state in ('available', 'deploying', 'wait call-back', 'deleting',
                      'cleaning', 'deploy failed'):
            node, _ = self.old_node(state=state)
            self.left(node, 'in work')

    def test_instance_that_is_somewhere_else(self) -> None:
        instance = world.new_uuid()
        node, other = self.bare_node(instance), self.nodes.add()
        self.give(instance, {other: {GOLD: 1}})
        self.left(node, 'elsewhere')

    def test_instance_with_another_class(self) -> None:
        instance = world.new_uuid()
        node = self.bare_node(instance)
        self.nodes.offer(node, {'CUSTOM_SILVER': in_memory.ONE})
        self.give(instance, {node: {'CUSTOM_SILVER': 1}})
        self.left(node, 'other class')

    def test_provider_that_is_no_node(self) -> None:
        node, _ = self.old_node()
        self.nodes.offer(node, {**of_old_sizes.sizes(), GOLD: {**in_memory.ONE,
                                                  'total': 4}})
        self.left(node, 'odd')

    def test_nodes_that_placement_cannot_know(self) -> None:
        node, = self.world.enrol(resource_class='gold', instance_uuid='i',
                                 provision_state='active')
        nameless, = self.world.enrol(instance_uuid='j',
                                     provision_state='active')
        self.assertEqual({node: (Outcome.LEFT, 'no provider'),
                          nameless: (Outcome.LEFT, 'no class')}, self.heal())

    def test_nodes_that_nobody_has_are_fine(self) -> None:
        node = self.bare_node(None, 'available')
        self.world.enrol(resource_class='gold')
        self.world.enrol()
        self.assertEqual({(Outcome.FINE, 'free')}, {*self.heal().values()})
        self.assertEqual({*OLD}, {*self.offers(node)})

    def test_only_one_process_heals(self) -> None:
        first, _ = self.old_node()
        self.old_node()
        healing = class_heal.heal(self.engine,
                                  class_heal.nodes(self.engine), True)
        next(healing)
        self.assertRaises(class_heal.UnderWay, self.heal)
        healing.close()
        self.assertEqual(2, len(self.heal()))

    def test_credentials_that_are_not_right_end_it(self) -> None:
        self.old_node()
        self.network.down = True
        self.assertRaises(errors.PlacementUnavailable, self.heal)
        self.network.down = False
        self.assertEqual([Outcome.HEALED],
                         [each for each, _ in self.heal().values()])


class TestWhileTheCloudRuns(of_old_sizes.TestCase):

    def before_each_request(self, action: Callable[[], object]) -> None:
        """Have something happen before and after each of our requests."""
        plain = self.network.request

        def request(url: str, method: str, **kwargs: Any) -> Any:
            action()
            answer = plain(url, method, **kwargs)
            action()
            return answer
        self.network.request = request

    def before_write(self, number: int,
                     action: Callable[[], object]) -> None:
        """Have something happen right before the nth write, once more."""
        earlier, left = self.network.before, itertools.count(1)

        def before(method: str, url: str) -> None:
            if method != 'GET' and next(left) == number:
                action()
            earlier(method, url)
        self.network.before = before

    def test_nobody_gets_in_between_two_steps(self) -> None:
        node, instance = self.old_node()
        got_in: list[str] = []
        self.before_each_request(
            lambda: got_in.extend(self.rivals_get_in(node)))
        self.assertEqual((Outcome.HEALED, 'in order'), self.heal()[node])
        self.assertEqual([], got_in)
        self.assert_healed(node, instance)

    def test_killed_at_any_step_it_goes_on_from_there(self) -> None:
        """And the node is closed to others while nobody heals it."""
        killed = 0
        for start in (self.old_node, self.used_node_without_allocation,
                      self.reserved_node):
            for steps in faults.each_death():
                node, instance = start()
                with steps:
                    self.heal(node, engine=faults.mortal(
                        self.engine, self.network, steps))
                self.assertEqual([], self.rivals_get_in(node))
                self.wait()
                self.assertEqual('in order', self.heal(node)[node][1])
                self.assert_has_class(node, instance)
                # NOTE: one before and one after each change.
                killed += 2 * steps.died
        self.assertGreater(killed, 30)

    def assert_has_class(self, node: str, instance: str) -> None:
        """Check that an instance has its node by the class, and no other."""
        self.assertEqual({node: {GOLD: 1}}, self.has(instance))
        self.assertEqual({GOLD: 1}, self.client.usages(node))
        self.assertEqual({GOLD}, {*self.offers(node)})
        self.assertEqual([], self.rivals_get_in(node))

    def test_writes_that_fail_in_every_way(self) -> None:
        """The class is made, given, and reserved as it was."""
        for start, writes in ((self.old_node, 2), (self.reserved_node, 3)):
            for fault, position in itertools.product(faults.Fault, range(6)):
                node, instance = start()
                self.network.suffered = 0
                self.network.faults = [None] * position + [fault]
                self.assertEqual((Outcome.HEALED, 'in order'),
                                 self.heal(node)[node])
                self.network.deliver()
                self.assert_has_class(node, instance)
                self.assertEqual(position < writes,
                                 bool(self.network.suffered))
                self.network.faults = []

    def reserved_node(self) -> tuple[str, str]:
        """Add a node in use whose class Nova publishes beside the sizes."""
        node, instance = self.old_node()
        self.nodes.offer(node, {**of_old_sizes.sizes(), GOLD: {
            **in_memory.ONE, 'reserved': 1}})
        return node, instance

    def test_first_write_whose_fate_is_not_known_is_waited_for(self) -> None:
        instance = world.new_uuid()
        node = self.bare_node(instance)
        self.network.faults = [None, faults.Fault.LATE]
        self.assertEqual((Outcome.LEFT, 'in work'), self.heal()[node])
        self.assertRaises(class_heal.UnderWay, self.heal)
        self.network.deliver()
        self.wait()
        self.assertEqual((Outcome.FINE, 'in order'), self.heal()[node])
        self.assert_healed(node, instance)

    def test_ticks_of_nova_in_between_do_no_harm(self) -> None:
        """It replaces the inventory, which works once no size is used."""
        instances = [world.new_uuid(), world.new_uuid()]
        nodes = [self.old_node(instances[0])[0], self.bare_node(instances[1])]

        def tick() -> None:
            for node in nodes:
                there = self.client.inventories(node)
                assert there is not None
                self.client.put_inventories(node, there.generation, {
                    GOLD: {**in_memory.ONE, 'reserved': 1}})
        for write in range(1, 12):
            self.before_write(write, tick)
        self.assertEqual({(Outcome.HEALED, 'in order')},
                         {*self.heal().values()})
        for node, instance in zip(nodes, instances, strict=True):
            self.assertEqual({node: {GOLD: 1}}, self.has(instance))
            self.assertEqual([], self.rivals_get_in(node))

    def test_instance_that_goes_meanwhile_is_left_with_nothing(self) -> None:
        """Before any of the writes, and whether it had something or not."""
        nothing = self.network.before
        for start, writes in ((self.old_node, 2),
                              (self.unallocated_node, 2),
                              (self.used_node_without_allocation, 3)):
            for write in range(1, 1 + writes):
                node, instance = start()
                self.before_write(write, functools.partial(
                    self.go, node, instance))
                self.heal(node)
                self.network.before = nothing
                self.assertEqual({}, self.has(instance), write)
                self.assertEqual((Outcome.FINE, 'free'), self.heal(node)[node])
                self.assertEqual({}, self.has(instance), write)
                self.assertEqual({}, self.client.consumers_on(node))

    def unallocated_node(self) -> tuple[str, str]:
        instance = world.new_uuid()
        return self.bare_node(instance), instance

    def go(self, node: str, instance: str) -> None:
        """Take an instance away, as Nova does."""
        self.world.ironic.change(node, instance_uuid=None,
                                 provision_state='available')
        self.client.delete_allocations(instance)

    def test_somebody_who_was_quicker_keeps_the_node(self) -> None:
        instance, rival = world.new_uuid(), world.new_uuid()
        node = self.bare_node(instance)
        self.before_write(2, lambda: self.give(rival, {node: OLD}))
        self.assertEqual((Outcome.LEFT, 'taken'), self.heal()[node])
        self.assertEqual({node: OLD}, self.has(rival))
        self.assertEqual({*OLD}, {*self.offers(node)})

    def test_old_classes_that_somebody_else_has_are_told_of(self) -> None:
        node, instance = self.used_node_without_allocation()
        self.assertEqual((Outcome.HEALED, 'in order'), self.heal()[node])
        self.nodes.offer(node, {**self.offers(node), **of_old_sizes.sizes()})
        for mine in ({GOLD: 1}, {GOLD: 1, 'VCPU': 1}):
            self.give(instance, {node: mine})
            rival = world.new_uuid()
            self.give(rival, {node: {'VCPU': 1}})
            self.assertEqual((Outcome.LEFT, 'taken'), self.heal()[node])
            self.assertEqual({node: mine}, self.has(instance))
            self.client.delete_allocations(rival)

    def test_instance_that_comes_again_keeps_what_nova_has_claimed(
            self) -> None:
        """Shelved and unshelved, right before it is taken from it."""
        node, instance = self.used_node_without_allocation()
        self.heal(node)
        self.world.ironic.change(node, instance_uuid=None,
                                 provision_state='available')

        def come_again() -> None:
            self.client.delete_allocations(instance)
            self.nodes.offer(node, {GOLD: in_memory.ONE})
            self.give(instance, {node: {GOLD: 1}})
        self.before_write(1, come_again)
        self.heal(node)
        self.assertEqual({node: {GOLD: 1}}, self.has(instance))

    def test_node_that_two_have_is_told_of(self) -> None:
        node, instance = self.used_node_without_allocation()
        self.nodes.offer(node, {GOLD: {**in_memory.ONE, 'total': 2}})
        for each in (instance, world.new_uuid()):
            self.give(each, {node: {GOLD: 1}})
        self.nodes.offer(node, {GOLD: in_memory.ONE})
        self.assertEqual((Outcome.LEFT, 'taken'), self.heal()[node])
