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

"""A cluster that has lost its primary component gets one again.

Seen under load: a node was killed, and the others gave each other up for a
moment. Neither they nor the node could be used any more.
"""

from __future__ import annotations

import sqlalchemy as sa
import testtools

from tests import waiting
from tests.real import databases
from tools import own_cluster


class TestWithoutPrimary(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        databases.need(own_cluster.check_installed)
        self.cluster = self.useFixture(own_cluster.OwnCluster(3))
        self.execute(0, 'CREATE DATABASE kept')
        self.execute(0, 'CREATE TABLE kept.numbers (number INT PRIMARY KEY)')
        self.cluster.wait()

    def execute(self, node: int, statement: str) -> list[int]:
        engine = sa.create_engine(self.cluster.url(node),
                                  poolclass=sa.NullPool)
        with engine.begin() as connection:
            done = connection.exec_driver_sql(statement)
            return [*done.scalars()] if done.returns_rows else []

    def lose_primary(self) -> None:
        """Kill a node while the others do not reach each other."""
        for number in (1, 2):
            self.cluster.isolate(number, True)
        self.cluster.kill(0)
        waiting.until(lambda: not self.cluster.has_primary())
        for number in (1, 2):
            self.cluster.isolate(number, False)

    def assert_kept(self, *numbers: int) -> None:
        """Check what all nodes have."""
        self.cluster.wait()
        self.assertEqual([[*numbers]] * 3, [self.execute(
            node, 'SET STATEMENT wsrep_sync_wait = 1 FOR '
            'SELECT number FROM kept.numbers ORDER BY 1')
            for node in range(3)])

    def test_node_that_starts_joins_the_others(self) -> None:
        self.execute(1, 'INSERT INTO kept.numbers VALUES (1)')
        self.lose_primary()
        self.cluster.start(0)
        self.assert_kept(1)

    def test_dead_node_that_has_most_is_the_first(self) -> None:
        """What it alone has was acknowledged."""
        for number in (1, 2):
            self.cluster.isolate(number, True)
        waiting.until(lambda: not self.cluster.has_primary())
        # As an operator does who believes that this one is all there is.
        self.cluster.bootstrap(0)
        self.execute(0, 'INSERT INTO kept.numbers VALUES (1)')
        self.cluster.kill(0)
        for number in (1, 2):
            self.cluster.isolate(number, False)
        self.cluster.start(0)
        self.assert_kept(1)
