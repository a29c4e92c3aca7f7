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


"""An engine of ours beside a Placement that is served."""

from collections.abc import Mapping
import datetime
from typing import Any

from oslo_config import cfg

from ironic_reservations import build
from ironic_reservations import clock
from ironic_reservations import engine as engine_module
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import served
from tests.real import migrated


def configured(url: str, endpoint: str, timeout: int = 5
               ) -> cfg.ConfigOpts:
    """Return the configuration of a process; what is cut off ends soon."""
    options: dict[str, Any] = {
        'ironic__confirm': 'mirror', 'reservations__min_ttl': 1,
        'placement__enabled': True, 'placement__timeout': timeout,
        'placement__grace': 1, 'placement__endpoint_override': endpoint}
    return world.configured(url, **options)


class Beside:
    """Of a test case: both on a database of one kind.

    :cvar kind: of the databases.
    :cvar placement_options: of :class:`served.Served`.
    :cvar timeout: of our calls to Placement, in seconds.
    """

    kind: str
    placement_options: Mapping[str, Any] = {}
    timeout = 60

    def setUp(self) -> None:
        super().setUp()
        self.placement = self.useFixture(served.Served(
            self.kind, **self.placement_options))
        url = self.useFixture(migrated.Database(self.kind)).url
        self.url, self.endpoint = url, self.placement.endpoint
        self.world = self.useFixture(world.World(url))
        self.engine = self.another_engine()
        assert self.engine.placement is not None
        self.client = self.engine.placement
        self.there = in_memory.Nodes(self.client)

    def another_engine(self) -> engine_module.Engine:
        """Return an engine as another process has it."""
        engine = build.engine(
            configured(self.url, self.endpoint, self.timeout),
            self.world.ironic)
        self.addCleanup(engine.database.close)
        # NOTE: it has a connection of its own, and nobody else gets the
        # database while that is open.
        self.addCleanup(engine.clock.close)
        return engine

    def enrol(self, count: int) -> list[str]:
        """Add nodes to Ironic, the mirror and Placement."""
        nodes = self.world.enrol(count, resource_class='gold')
        for node in nodes:
            self.there.add(node)
        return nodes

    def rows(self) -> list[values.Hold]:
        """Read the rows of all holds."""
        with self.engine.database.read() as opened:
            return db_holds.read_all(opened)

    def consumers(self, node: str) -> list[str]:
        """Read who has a node in Placement."""
        there = self.client.consumers_on(node)
        assert there is not None
        return sorted(there)

    def pass_by(self) -> None:
        """Have the deadlines pass, and the reconciler come by."""
        conf = self.engine.conf.placement
        later = world.Clock()
        later.now = clock.utc_now()
        passing = engine_module.dataclasses.replace(self.engine, clock=later)
        for _ in range(2):
            placement_sync.recover(passing)
            later.now += datetime.timedelta(
                seconds=2 * conf.timeout + conf.grace)
        placement_sync.recover(passing)
        placement_sync.audit(self.engine, repair=True, everything=True)
        placement_sync.recover(passing)

    def audit(self) -> auditing.Report:
        """Look at every node."""
        return auditing.audit(self.engine, everything=True)

    def assert_agrees(self) -> None:
        """All that is promised is held once, and nothing else is."""
        report = self.audit()
        self.assertEqual(((), 0), (report.differences, report.in_work))
        rows = self.rows()
        self.assertLessEqual({row.state for row in rows},
                             {values.HoldState.ACTIVE})
        providers = [one.uuid for one in self.client.providers()]
        self.assertEqual(
            sorted((row.consumer_uuid, row.node_uuid) for row in rows),
            sorted((consumer, node) for node in providers
                   for consumer in self.consumers(node)))
        for node in providers:
            self.assertEqual(len(self.consumers(node)), sum(
                (self.client.usages(node) or {}).values()))
        with self.engine.database.read() as opened:
            promised = db_holds.read_promises(opened, clock.utc_now())
        self.assertEqual(
            sorted((row.owner, row.node_uuid) for row in rows),
            sorted((one.owner, one.node_uuid) for one in promised))
