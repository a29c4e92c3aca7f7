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
import os
import random
import signal
import time

import fixtures
from testtools import content

from ironic_reservations.engine.placement import consumers
from ironic_reservations.engine.placement import sync as placement_sync
from ironic_reservations.lifecycle.placement import hold_audit
from tests import forks
from tests import world
from tests.inprocess.placement import beside
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import traffic

NODES = 6
PROCESSES = 4
KILLS = 8
MANY = 1000000
LONGEST = 240


class _Processes(beside.Beside):
    """To be run on each database."""

    def setUp(self):
        super().setUp()
        self.nodes = self.enrol(NODES)
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.journals = 0

    def start(self, work, *arguments, steps=MANY):
        self.journals += 1
        started = forks.CONTEXT.Process(target=work, args=(
            *arguments, self.endpoint, self.nodes,
            f'{self.folder}/{self.journals}', self.journals, steps))
        started.start()
        self.addCleanup(started.join)
        self.addCleanup(started.kill)
        return started

    def count(self):
        """Count what was said; nothing of it is a failure of a process."""
        told = traffic.told(self.folder)
        self.assertEqual([], [line for line in told
                              if line.startswith('!')])
        return collections.Counter(told)

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
        found = placement_sync.audit(self.engine, repair=True,
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
