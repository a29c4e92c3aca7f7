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

"""A rival stands still in Placement while the class of its node is healed.

Placement grants what is beyond the capacity where that is no more than was
used before.  On PostgreSQL, what was used before may be older than the check;
and its second attempt, in the same transaction, counts its own first row.
"""

from concurrent import futures
import dataclasses
import pathlib
import time

import fixtures

from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import placement
from ironic_reservations.features.placement.class_heal import (
    heal as class_heal,
)
from ironic_reservations.model import mirrored_node
from tests import world
from tests.inprocess.placement import beside
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import of_old_sizes
from tests.inprocess.placement import served

GOLD = in_memory.GOLD
#: In so many seconds a rival has read what is used, at most.
_READS_WITHIN = 60


class _Between:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.endpoint = self.useFixture(served.Served(
            self.kind, application=(
                'tests.inprocess.placement.standing_still:application'),
            environment={'STANDS_STILL': str(self.folder)})).endpoint
        self.client = placement.Placement.over_http(
            beside.configured('sqlite://', self.endpoint, timeout=60))
        self.nodes = in_memory.Nodes(self.client)
        self.client.ensure_class(GOLD)
        self.node, self.instance = world.new_uuid(), world.new_uuid()
        self.client.create_provider(self.node, self.node)
        self.nodes.offer(self.node, of_old_sizes.sizes())
        self.assertTrue(self.client.put_allocations(
            self.instance, in_memory.wanted(
                {self.node: of_old_sizes.OLD}, None, 'INSTANCE')).done)

    def rival_gets_in(self, name, change):
        """Have something change while a rival stands still."""
        continues = self.folder / 'continues'
        with futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self.nodes.try_claim, self.node,
                                world.new_uuid(), name)
            try:
                until = time.monotonic() + _READS_WITHIN
                while not (self.folder / 'stands').exists():
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.01)
                change()
            finally:
                continues.touch()
            return asked.result().done

    def heal(self):
        around = self.new_world()
        ironic = world.StandInIronic()
        ironic.put(mirrored_node.Node(
            self.node, resource_class='gold', provision_state='active',
            instance_uuid=self.instance))
        engine: engine_module.Engine = dataclasses.replace(
            around.engine, ironic=ironic, placement=self.client)

        def act():
            result, = class_heal.heal(engine, class_heal.nodes(engine), True)
            self.assertIs(class_heal.Outcome.HEALED, result.outcome)
        return act

    def test_rival_by_a_size(self):
        self.assertFalse(self.rival_gets_in('VCPU', self.heal()))
        self.assert_healed()

    def test_rival_by_the_class(self):
        self.assertFalse(self.rival_gets_in(GOLD, self.heal()))
        self.assert_healed()

    def assert_healed(self):
        self.assertEqual({self.instance: {GOLD: 1}},
                         self.client.consumers_on(self.node))
        self.assertEqual({GOLD: 1}, self.client.usages(self.node))


class TestBetweenOnMysql(_Between, world.TestCase):
    kind = 'mysql'


class TestBetweenOnPostgresql(_Between, world.TestCase):
    kind = 'postgresql'

    def test_rival_gets_in_where_it_takes_more_than_one_write(self):
        """Which is why it takes only one; a test of the test."""
        def change():
            self.nodes.offer(self.node, {
                name: {**offer, 'reserved': offer['total']}
                for name, offer in of_old_sizes.sizes().items()})
            self.client.delete_allocations(self.instance)
        self.assertTrue(self.rival_gets_in('VCPU', change))
