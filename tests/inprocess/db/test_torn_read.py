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

"""Somebody reads what another one is changing.

Seen: GET of a lease that was being deleted showed a lease without a
reservation: four queries, and not of one moment.
"""

import contextlib
import dataclasses

import sqlalchemy as sa

from ironic_reservations.engine import hosts
from ironic_reservations.engine.leases import find
from tests import leasing
from tests import world
from tests.inprocess.db import base


class _TornRead:
    """To be run on each database."""

    def setUp(self):
        super().setUp()
        self.world = self.useFixture(world.World(self.url))
        self.engine = self.world.engine
        self.leasing = leasing.Leasing(self.world)
        (self.node,) = self.leasing.hosts()
        self.lease = self.leasing.reload(self.leasing.create(1, 2))
        self.other = leasing.Leasing(self.world, self.world.another_engine())

    @contextlib.contextmanager
    def ended_after(self, table):
        """Have the lease be deleted between two queries of somebody else."""
        done = []

        def seen(connection, cursor, statement, *rest):
            if f'FROM {table}' in statement and not done:
                done.append(statement)
                self.other.end(self.lease)
        sa.event.listen(self.engine.database.engine, 'after_cursor_execute',
                        seen)
        yield
        self.assertTrue(done)

    def assert_whole(self, found):
        # NOTE: its events are in no order.
        self.assertEqual({*self.lease.events}, {*found.events})
        self.assertEqual(
            dataclasses.replace(self.lease, events=()),
            dataclasses.replace(found, events=()))

    def test_lease_that_is_being_deleted(self):
        with self.ended_after('leases'):
            self.assert_whole(find.get(self.engine, self.lease.id))
        self.assertEqual([], self.leasing.all())

    def test_list_of_leases(self):
        with self.ended_after('leases'):
            (found,) = find.page(self.engine)
        self.assert_whole(found)

    def test_allocations_of_hosts(self):
        """What a host is promised to is there with the host, or not at all.
        """
        with self.ended_after('hosts'):
            ((host, promised),) = hosts.allocations(self.engine)
        self.assertEqual(self.node, host.node.uuid)
        self.assertEqual([self.lease.id], [each[1] for each in promised])


class TestSQLite(_TornRead, base.DatabaseTestCase):
    """On SQLite."""

    kind = 'sqlite'


class TestMariaDB(_TornRead, base.DatabaseTestCase):
    """On MariaDB."""

    kind = 'mysql'


class TestPostgreSQL(_TornRead, base.DatabaseTestCase):
    """On PostgreSQL."""

    kind = 'postgresql'
