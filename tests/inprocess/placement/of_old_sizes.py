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

"""Nodes whose resource classes come from the time before custom ones."""

import dataclasses
from typing import Any

from ironic_reservations import engine as engine_module
from ironic_reservations.features.placement.class_heal import (
    heal as class_heal,
)
from tests import world
from tests.inprocess.placement import ground
from tests.inprocess.placement import in_memory

GOLD = in_memory.GOLD
OLD = {'VCPU': 8, 'MEMORY_MB': 16384, 'DISK_GB': 500}
Outcome = class_heal.Outcome


def sizes(**differently: Any) -> dict[str, dict[str, Any]]:
    """Return the inventory of a node before it had a class."""
    return {name: {**in_memory.ONE, 'total': total, 'max_unit': total,
                   **differently} for name, total in OLD.items()}


class TestCase(ground.TestCase):

    def setUp(self) -> None:
        super().setUp()
        for name in (GOLD, 'CUSTOM_SILVER', 'CUSTOM_SLOT'):
            self.client.ensure_class(name)

    def old_node(self, instance: str | None = None,
                 state: str = 'active') -> tuple[str, str]:
        """Add a node whose instance has its sizes, and return both."""
        instance = instance or world.new_uuid()
        node = self.bare_node(instance, state)
        self.give(instance, {node: OLD})
        return node, instance

    def bare_node(self, instance: str | None, state: str = 'active') -> str:
        """Add a node with its sizes, of which nobody has anything."""
        node, = self.world.enrol(
            resource_class='gold', provision_state=state,
            instance_uuid=instance)
        self.client.create_provider(node, node)
        self.nodes.offer(node, sizes())
        return node

    def used_node_without_allocation(self) -> tuple[str, str]:
        """Add a node in use, as Nova publishes it; its instance has none."""
        instance = world.new_uuid()
        node, = self.world.enrol(
            resource_class='gold', provision_state='active',
            instance_uuid=instance)
        return self.nodes.add(node, reserved=1), instance

    def give(self, consumer: str, allocations: dict[str, Any]) -> None:
        there = self.client.consumer(consumer)
        answer = self.client.put_allocations(consumer, dataclasses.replace(
            in_memory.wanted(allocations, there.generation, 'INSTANCE'),
            project_id='project', user_id='user'))
        self.assertTrue(answer.done, answer)

    def heal(self, *only: str, apply: bool = True,
             engine: engine_module.Engine | None = None,
             **more: Any) -> dict[str, tuple[Outcome, str]]:
        """Heal, and return what became of each node, and why."""
        engine = engine or self.engine
        there = [node for node in class_heal.nodes(engine)
                 if not only or node.uuid in only]
        return {each.node.uuid: (each.outcome, each.reason) for each
                in class_heal.heal(engine, there, apply, **more)}

    def has(self, consumer: str) -> dict[str, dict[str, int]]:
        return {provider: dict(resources) for provider, resources
                in self.client.consumer(consumer).allocations.items()}

    def offers(self, node: str) -> dict[str, dict[str, Any]]:
        there = self.client.inventories(node)
        assert there is not None
        return {name: dict(offer) for name, offer in there.by_class.items()}

    def rivals_get_in(self, node: str) -> list[str]:
        """Try to get a node by its class and by its sizes."""
        got_in = []
        for name in (GOLD, 'VCPU'):
            rival = world.new_uuid()
            if self.nodes.try_claim(node, rival, name).done:
                got_in.append(name)
                self.client.delete_allocations(rival)
        return got_in

    def assert_healed(self, node: str, instance: str) -> None:
        self.assertEqual({node: {GOLD: 1}}, self.has(instance))
        self.assertEqual({GOLD: dict(in_memory.ONE)}, self.offers(node))
        self.assertEqual([instance], self.consumers(node))
        self.assertEqual({GOLD: 1}, self.client.usages(node))
        self.assertEqual([], self.rivals_get_in(node))

    def assert_heals(self, node: str, instance: str) -> None:
        """Heal, and check that a node is in order."""
        self.assertEqual((Outcome.HEALED, 'in order'), self.heal()[node])
        self.assert_healed(node, instance)
