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

"""A timeline with a real Placement beside it."""

import dataclasses
from typing import Any

import sqlalchemy as sa

from ironic_reservations.clouds import placement
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import repairs
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import recovery
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import in_memory


def promise(node: str, owner: str | None = None,
            instance_uuid: str | None = None) -> values.Promise:
    """Return the promise of a node of the class gold."""
    return values.Promise(
        owner or world.new_uuid(), node, instance_uuid, 'project', 'user'
    ).of_class(in_memory.GOLD)


class TestCase(world.TestCase):
    """With a Placement in memory, and a network that can fail.

    :cvar newest: the newest version of the API that it offers.
    """

    newest: str | None = None

    def setUp(self) -> None:
        super().setUp()
        self.world = self.new_world()
        self.there = self.useFixture(in_memory.InMemory(self.newest))
        self.network = faults.Network(self.there.sender())
        through = placement.Placement(self.network, placement.ADMIN)
        self.engine = dataclasses.replace(self.world.engine, placement=through)
        # NOTE: it is known from here on which version is offered.
        through.providers()
        self.network.calls.clear()
        #: Placement as others see it, without faults.
        self.client = self.there.client
        self.nodes = in_memory.Nodes(self.client)

    def enrol(self, **inventory: Any) -> str:
        """Add a node to Ironic, the mirror and Placement."""
        uuid, = self.world.enrol(resource_class='gold')
        return self.nodes.add(uuid, **inventory)

    def hold(self, node: str, owner: str | None = None, **more: Any
             ) -> holding.Result:
        """Hold a node of the class gold."""
        return holding.hold(more.pop('engine', self.engine),
                            promise(node, owner, **more))

    def held(self, node: str, owner: str | None = None) -> values.Hold:
        """Hold a node, which has to work."""
        result = self.hold(node, owner)
        self.assertIs(holding.Verdict.HELD, result.verdict, result)
        assert result.hold is not None
        return result.hold

    def intended(self, node: str, owner: str = 'me', promising: bool = False
                 ) -> values.Hold:
        """Write that a node is to be held, and leave it at that."""
        with self.engine.database.write() as opened:
            return holding.intend(self.engine, opened,
                                  promise(node, owner), promising=promising)

    def rows(self) -> list[values.Hold]:
        """Read the rows of all holds."""
        with self.world.engine.database.read() as opened:
            return db_holds.read_all(opened)

    def execute(self, *statements: sa.Executable) -> None:
        """Change rows behind everybody's back."""
        self.world.derived.stop()
        with self.world.engine.database.write() as opened:
            for statement in statements:
                opened.execute(statement)

    def taken(self, count: int) -> list[str]:
        """Return new nodes that somebody else has in Placement."""
        nodes = [self.enrol() for _ in range(count)]
        for node in nodes:
            self.nodes.claim(node)
        return nodes

    def consumers(self, node: str) -> list[str]:
        """Read who has a node."""
        there = self.client.consumers_on(node)
        assert there is not None
        return sorted(there)

    def wait(self) -> None:
        """Let the deadlines pass."""
        conf = self.world.conf.placement
        self.world.clock.advance(2 * conf.timeout + conf.grace)

    def recover(self) -> dict[recovery.Recovered, int]:
        """Let the deadlines pass, and recover, and return what there was."""
        self.wait()
        recovered = recovery.recover(self.engine)
        return {end: count for end, count in recovered.items() if count}

    def audit(self) -> auditing.Report:
        """Look at everything."""
        return auditing.audit(self.engine, everything=True)

    def is_told(self, difference: differences.Difference) -> bool:
        """Tell whether a difference is one that the test is about."""
        return True

    def found(self) -> list[tuple[differences.Kind, str]]:
        """Audit twice, cheaply and thoroughly: both find the same."""
        cheaply, found = (
            auditing.audit(self.engine, everything).differences
            for everything in (False, True))
        self.assertEqual(cheaply, found)
        return [(one.kind, one.node_uuid) for one in found
                if self.is_told(one)]

    def repair(self) -> dict[differences.Kind, bool]:
        """Audit and repair, and return what was mended."""
        said = repairs.repair(self.engine, self.audit().differences)
        return {difference.kind: not why for difference, why in said.items()
                if self.is_told(difference)}

    def assert_mended(self, kind: differences.Kind, *nodes: str,
                      done: bool = True) -> None:
        """Check what an audit finds, and whether it is mended."""
        self.assertEqual([(kind, node) for node in sorted(nodes)],
                         self.found())
        self.assertEqual({kind: done}, self.repair())

    def assert_clean(self) -> None:
        """Rows and Placement agree, also for who does not trust the audit.
        """
        report = self.audit()
        self.assertEqual((), report.differences)
        self.assertEqual(0, report.in_work)
        written = {}
        handed = {row.consumer_uuid for row in self.rows() if row.handed}
        for provider in self.client.providers():
            there = self.client.consumers_on(provider.uuid) or {}
            self.assertEqual(sum(sum(each.values())
                                 for each in there.values()),
                             sum((self.client.usages(provider.uuid)
                                  or {}).values()))
            written.update({consumer: provider.uuid for consumer in there
                            if consumers.is_ours(consumer)
                            or consumer in handed})
        self.assertEqual(written, {
            row.consumer_uuid: row.node_uuid for row in self.rows()})
        self.assertEqual({values.HoldState.ACTIVE} if written else set(),
                         {row.state for row in self.rows()})
