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


"""Upgrades on two nodes of a Galera cluster at once.

Seen in 6 of 6 tries: one of the two ended with raw errors.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

import fixtures
import sqlalchemy as sa
import testtools

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import migrate
from ironic_reservations.db import migration_lock
from ironic_reservations.db import migration_turn
from tests import forks
from tests import world
from tests.processes.schema import at_once
from tests.real import databases
from tools import own_cluster

_LONG = 300


def _hold(url: str, holds: Any) -> None:
    with migration_lock.alone(
            db_connection.Database(world.configured(url)), _LONG):
        holds.set()
        time.sleep(_LONG)


class TestOnTwoNodes(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        databases.need(own_cluster.check_installed)
        # NOTE: a dead one is followed sooner, while a living one beats often
        # enough.
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_reservations.db.migration_turn.PACE',
            migration_turn.Pace(pause=0.1, reads=50)))
        self.cluster = self.useFixture(own_cluster.OwnCluster(2))

    def urls(self, name: str) -> list[str]:
        engine = sa.create_engine(self.cluster.url(0), poolclass=sa.NullPool)
        with engine.connect() as connection:
            connection.exec_driver_sql(f'CREATE DATABASE {name}')
        return [self.cluster.url(number, name) for number in range(2)]

    def test_both_succeed_and_a_killed_one_is_followed(self) -> None:
        """Each begins where the other one has ended."""
        urls = self.urls('at_once')
        self.assertEqual([migrate.head()] * 2,
                         at_once.versions(migrate.upgrade, urls))
        holds = forks.CONTEXT.Event()
        holder = forks.CONTEXT.Process(target=_hold, args=(urls[0], holds))
        holder.start()
        self.assertTrue(holds.wait(_LONG))
        with contextlib.closing(db_connection.Database(
                world.configured(urls[1]))) as database:
            self.assertRaises(migration_lock.AnotherMigrates, migrate.upgrade,
                              database, wait=1)
            os.kill(holder.pid or 0, signal.SIGKILL)
            holder.join()
            migrate.upgrade(database)
