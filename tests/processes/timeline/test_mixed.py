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

"""Leases, reservations and deploys race for the same nodes."""

from __future__ import annotations

import collections
import pathlib
import threading

import fixtures
from testtools import content

from ironic_reservations import clock
from ironic_reservations.engine.leases import find as lease_find
from tests import forks
from tests import leasing
from tests import world
from tests.processes.timeline import mixed_traffic
from tests.real import migrated

NODES = 16
#: Compute hosts of 8 vcpus.
SHARED = 2
CLIENTS = 4
REQUESTS = 60
LONGEST = 120


class _Mixed:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        url = self.useFixture(migrated.Database(self.kind)).url
        self.world = self.useFixture(world.World(
            url, ironic__confirm='mirror', reservations__min_ttl=1,
            reservations__max_ttl=86400))
        self.world.clock.now = clock.utc_now()
        self.leasing = leasing.Leasing(self.world)
        self.nodes = self.leasing.hosts(NODES, resource_class='gold',
                                        properties=leasing.sizes(4))
        self.shared = self.leasing.compute_hosts(SHARED)
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)

    def check(self):
        done = collections.Counter()
        for journal in self.folder.glob('*.journal'):
            told, _, failed = journal.read_text().partition('\n\n')
            self.assertEqual('', failed)
            for line in told.splitlines():
                name, count = line.split()
                done[name] += int(count)
        self.addDetail('done', content.text_content(str(done)))
        self.world.clock.now = clock.utc_now()
        self.assertEqual([], self.leasing.overlaps())
        self.assertEqual([], self.leasing.overfull())
        self.assertEqual({}, self.leasing.stale())
        self.assertEqual([], self.world.in_flight())
        for lease in lease_find.page(self.world.engine):
            for each in lease.reservations:
                nodes = [booking.node_uuid for booking in each.bookings
                         if booking.state is not leasing.ENDING]
                whole = [node for node in nodes if node not in self.shared]
                self.assertEqual(len(whole), len(set(whole)))
                affinity = each.instances and each.instances.affinity
                if affinity is not None and nodes:
                    self.assertEqual(1 if affinity else len(nodes),
                                     len(set(nodes)))
                if not lease.status.over:
                    self.assertLessEqual(each.least, len(nodes))
        for event in ('_lease', '_end', '_reserve', '_renew', '_deploy',
                      '_deploy_leased', '_allocate', 'shared',
                      'NoNodeAvailable'):
            self.assertGreater(done[event], 2, done)

    def run_all(self, started):
        for each in started:
            each.start()
        for each in started:
            each.join(LONGEST)
        self.check()

    def journal(self, number):
        return str(self.folder / f'{number}.journal')

    def test_processes_never_promise_a_node_twice(self):
        """Nor two instances one node, nor more of a host than it has.

        Blazar: two creates at once double-book.

        esi-leap: so do two API hosts.
        """
        self.run_all([forks.CONTEXT.Process(target=mixed_traffic.work, args=(
            self.world.url, self.nodes, self.journal(number), number,
            REQUESTS)) for number in range(CLIENTS)])

    def test_threads_never_promise_a_node_twice(self):
        """They share what the process knows of the timeline."""
        engine = self.world.another_engine(clock.utc_now)
        self.run_all([threading.Thread(target=mixed_traffic.act, args=(
            engine, self.nodes, self.journal(number), number, REQUESTS))
            for number in range(CLIENTS)])


class TestMixedOnMysql(_Mixed, world.TestCase):
    kind = 'mysql'


class TestMixedOnPostgresql(_Mixed, world.TestCase):
    kind = 'postgresql'


class TestMixedOnSqlite(_Mixed, world.TestCase):
    kind = 'sqlite'
