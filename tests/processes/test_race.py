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

from ironic_reservations import clock
from ironic_reservations.engine.leases import find as lease_find
from tests import forks
from tests import leasing
from tests import world
from tests.processes import racing
from tests.real import migrated

NODES = 16
#: Compute hosts of 8 vcpus.
SHARED = 2
PROCESSES = 2
#: Of each; they share what it knows of the timeline.
THREADS = 2
REQUESTS = 100


class TestRace(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.useFixture(world.World(
            self.useFixture(migrated.Database('sqlite')).url,
            **racing.OPTIONS))
        self.world.clock.now = clock.utc_now()
        self.leasing = leasing.Leasing(self.world)
        self.nodes = self.leasing.hosts(NODES, resource_class='gold',
                                        properties=leasing.sizes(4))
        self.shared = self.leasing.compute_hosts(SHARED)

    def test_processes_never_promise_a_node_twice(self):
        """Nor two instances one node, nor more of a host than it has.

        Blazar: two creates at once double-book.

        esi-leap: so do two API hosts.
        """
        failures = forks.CONTEXT.SimpleQueue()
        started = [forks.CONTEXT.Process(target=racing.work, args=(
            self.world.url, self.nodes,
            [THREADS * number + thread for thread in range(THREADS)],
            REQUESTS, failures)) for number in range(PROCESSES)]
        for process in started:
            process.start()
            self.addCleanup(process.join)
            self.addCleanup(process.kill)
        for process in started:
            process.join()
        self.assertEqual([0] * PROCESSES,
                         [process.exitcode for process in started])
        self.assertEqual([''] * THREADS * PROCESSES, [
            failures.get() for _ in range(THREADS * PROCESSES)])
        self.world.clock.now = clock.utc_now()
        self.assertEqual([], self.leasing.overlaps())
        self.assertEqual([], self.leasing.overfull())
        self.assertEqual({}, self.leasing.stale())
        self.assertEqual([], self.world.in_flight())
        for lease in lease_find.page(self.world.engine):
            self.check(lease)

    def check(self, lease):
        """Check that a lease has what it was promised, when it was."""
        if lease.between is not None:
            self.assertLessEqual(lease.between.earliest, lease.start)
            self.assertLessEqual(lease.end, lease.between.latest)
        for each in lease.reservations:
            there = [booking for booking in each.bookings
                     if booking.state is not leasing.ENDING]
            if lease.start > self.world.clock():
                self.assertLessEqual({(row.starts_at, row.ends_at)
                                      for row in there},
                                     {(lease.start, lease.end)})
            nodes = [booking.node_uuid for booking in there]
            whole = [node for node in nodes if node not in self.shared]
            self.assertEqual(len(whole), len(set(whole)))
            affinity = each.instances and each.instances.affinity
            if affinity is not None and nodes:
                self.assertEqual(1 if affinity else len(nodes),
                                 len(set(nodes)))
            if not lease.status.over:
                self.assertLessEqual(each.least, len(nodes))
