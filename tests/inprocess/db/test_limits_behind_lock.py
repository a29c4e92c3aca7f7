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

"""Limits are read behind the lock of a project, and not before it."""

from concurrent import futures
import threading
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.db import claims as db_claims
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.features.limits import configured
from ironic_reservations.planner import pick
from tests import leasing
from tests import world
from tests.inprocess.db import base


class _Behind:
    """One has looked at its limit, and has not written; another one comes.

    The other one is let go on as far as it can while the first waits: to
    where it stands behind the lock.
    """

    def setUp(self):
        super().setUp()
        self.world = self.useFixture(world.World(
            self.url, ironic__confirm='mirror', leases__project_limits=True,
            leases__max_hosts_per_project=1, reservations__max_per_project=1))
        self.engines = [self.world.engine, self.world.another_engine()]
        self.leasing = leasing.Leasing(self.world)
        # NOTE: of two that write such a row first, the database refuses one.
        with self.world.engine.database.write() as connection:
            for kind in ('leases', 'reservations'):
                db_claims.lock_projects(connection, kind, (leasing.PROJECT,),
                                        self.world.clock())

    def meet(self, module, ask):
        """Have the second ask right before the first writes.

        :param module: what the first writes is inserted by.
        :param ask: called with an engine and a number.
        :returns: which of the two were served.
        """
        stands, lock_projects = threading.Event(), db_claims._lock_projects
        insert, second = module.insert, []

        def queued(*arguments):
            if second:
                stands.set()
            lock_projects(*arguments)

        def written(*arguments):
            if not second:
                second.append(pool.submit(self.served, ask, 1))
                second[0].add_done_callback(lambda _: stands.set())
                stands.wait()
            return insert(*arguments)
        with futures.ThreadPoolExecutor(1) as pool, (
                mock.patch.object(db_claims, '_lock_projects', queued)), (
                mock.patch.object(module, 'insert', written)):
            return [self.served(ask, 0), second[0].result()]

    def served(self, ask, number):
        try:
            ask(self.engines[number], number)
        except (errors.LeaseLimit, errors.ReservationLimit):
            return False
        return True

    def test_second_lease_is_refused(self):
        for number in range(2):
            self.leasing.hosts(1, resource_class=f'class{number}')

        def ask(engine, number):
            leasing.Leasing(self.world, engine).create(1, 2, leasing.wish(
                properties=leasing.of_class(f'class{number}')))
        self.assertEqual([True, False], self.meet(db_leases, ask))
        self.assertEqual(1, len(self.leasing.all()))

    def test_second_reservation_is_refused(self):
        nodes = self.world.enrol(2)

        def ask(engine, number):
            reserve.reserve(engine, pick.NodeRequest(
                instance_uuid=world.new_uuid(), node_uuids=(nodes[number],),
                project_id=leasing.PROJECT), world.ALL_NODES, None,
                configured.of(engine.conf, 'reservations'))
        self.assertEqual([True, False], self.meet(db_reservations, ask))
        self.assertEqual(1, len(self.world.reservations()))


# NOTE: on SQLite nobody looks at anything while another one writes.
class TestMariaDB(_Behind, base.DatabaseTestCase):
    kind = 'mysql'


class TestPostgreSQL(_Behind, base.DatabaseTestCase):
    kind = 'postgresql'
