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

"""Processes of ours and of Nova's race for nodes, over real databases.

Placement runs with its defaults, with which it gives one node to two (F1).
"""

from __future__ import annotations

import collections
import datetime
import multiprocessing
import os
import random
import signal
import time

import fixtures
from testtools import content

from ironic_reservations import clock
from ironic_reservations import engine as engine_module
from ironic_reservations.db import connection
from ironic_reservations.db import holds as db_holds
from ironic_reservations.db import migrate
from ironic_reservations.engine import consumers
from ironic_reservations.engine import placement_audit
from ironic_reservations.engine import placement_keep
from ironic_reservations.planner import hold_audit
from ironic_reservations.planner import holds
from tests import world
from tests.functional.placement import in_memory
from tests.functional.placement import served
from tests.functional.placement import traffic
from tests.real import databases

NODES = 6
PROCESSES = 4
KILLS = 8
MANY = 1000000
LONGEST = 240
_SPAWN = multiprocessing.get_context('forkserver')
_SPAWN.set_forkserver_preload(['tests.functional.placement.traffic'])


class _Processes:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        there = self.useFixture(served.Served(self.kind))
        url = self.useFixture(databases.Database(self.kind)).url
        database = connection.Database(world.configured(url))
        migrate.upgrade(database)
        database.close()
        self.url, self.endpoint = url, there.endpoint
        self.world = self.useFixture(world.World(url))
        self.engine = engine_module.build(
            traffic.configured(url, self.endpoint), self.world.ironic)
        self.addCleanup(self.engine.database.close)
        self.client = self.engine.placement
        self.there = in_memory.Nodes(self.client)
        self.nodes = self.world.enrol(NODES, resource_class='gold')
        for node in self.nodes:
            self.there.add(node)
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.journals = 0

    def start(self, work, *arguments, steps=MANY):
        self.journals += 1
        started = _SPAWN.Process(target=work, args=(
            *arguments, self.endpoint, self.nodes,
            f'{self.folder}/{self.journals}', self.journals, steps))
        started.start()
        self.addCleanup(started.join)
        self.addCleanup(started.kill)
        return started

    def rows(self):
        with self.engine.database.read() as opened:
            return db_holds.read_all(opened)

    def count(self):
        """Count what was said; nothing of it is a failure of a process."""
        told = traffic.told(self.folder)
        self.assertEqual([], [line for line in told
                              if line.startswith('!')])
        return collections.Counter(told)

    def assert_agrees(self):
        """All that is promised is held once, and nothing else is."""
        report = placement_audit.audit(self.engine, everything=True)
        self.assertEqual(((), 0), (report.differences, report.in_work))
        rows = self.rows()
        self.assertLessEqual({row.state for row in rows},
                             {holds.HoldState.ACTIVE})
        self.assertEqual(
            {(row.consumer_uuid, row.node_uuid) for row in rows},
            {(consumer, node) for node in self.nodes
             for consumer in self.client.consumers_on(node)})
        with self.engine.database.read() as opened:
            promised = db_holds.read_promises(opened, clock.utc_now())
        self.assertEqual(
            sorted((row.owner, row.node_uuid) for row in rows),
            sorted((one.owner, one.node_uuid) for one in promised))

    def test_killed_at_random_everything_agrees_in_the_end(self):
        chance = random.Random(7)
        rival = self.start(traffic.rival, steps=150)
        running = [self.start(traffic.work, self.url)
                   for _ in range(PROCESSES)]
        until = time.monotonic() + LONGEST
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.2, 1.2))
            victim = running.pop(chance.randrange(len(running)))
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
            running.append(self.start(traffic.work, self.url))
        while (self.count()['R'] < 40 or self.count()['n'] < 5) and (
                time.monotonic() < until):
            time.sleep(0.2)
        rival.join(LONGEST)
        self.assertEqual(0, rival.exitcode)
        for process in running:
            process.kill()
            process.join()
        self.addDetail('told', content.text_content(str(self.count())))
        self.assertGreaterEqual(self.count()['R'], 40)
        # NOTE: what expires meanwhile would be no difference yet.
        time.sleep(1.1)
        self.pass_by()
        self.assert_agrees()

    def pass_by(self):
        """Have the deadlines pass, and the reconciler come by."""
        conf = self.engine.conf.placement
        later = world.Clock()
        later.now = clock.utc_now()
        passing = engine_module.dataclasses.replace(
            self.engine, clock=later)
        for _ in range(2):
            placement_keep.settle(passing)
            later.now += datetime.timedelta(
                seconds=2 * conf.timeout + conf.grace)
        placement_keep.settle(passing)
        placement_keep.audit(self.engine, repair=True, everything=True)
        placement_keep.settle(passing)

    def test_node_that_placement_gave_to_two_has_one_owner(self):
        """F1: the audit says so, and our hold stays where it is."""
        ours = [self.start(traffic.work, self.url, steps=25)
                for _ in range(2)]
        rivals = [self.start(traffic.rival, steps=40) for _ in range(2)]
        for process in (*ours, *rivals):
            process.join(LONGEST)
            self.assertEqual(0, process.exitcode)
        node, other = self.nodes[:2]
        for each in (node, other):
            self.there.offer(each, {in_memory.GOLD: {
                **in_memory.ONE, 'total': 2}})
        self.pass_by()
        held = {row.node_uuid: row.consumer_uuid for row in self.rows()}
        theirs = {each: self.there.claim(each)
                  for each in (node, other)}
        for each in (node, other):
            self.there.offer(each, {in_memory.GOLD: in_memory.ONE})
        found = placement_keep.audit(self.engine, repair=True,
                                     everything=True).remaining
        self.assertEqual(
            {each for each in (node, other) if each in held},
            {one.node_uuid for one in found
             if one.kind is hold_audit.Kind.OVERALLOCATED})
        for each, consumer in theirs.items():
            there = self.client.consumers_on(each)
            self.assertIn(consumer, there)
            self.assertEqual([held[each]] if each in held else [], [
                one for one in there if consumers.is_ours(one)])
            self.client.delete_allocations(consumer)
        self.pass_by()
        self.assert_agrees()


class TestProcessesOnMysql(_Processes, world.TestCase):
    kind = 'mysql'


class TestProcessesOnPostgresql(_Processes, world.TestCase):
    kind = 'postgresql'
