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

"""Classes for old instances while others race, over real databases.

Placement runs with its defaults, in several processes.
"""

from __future__ import annotations

import collections
import os
import pathlib
import random
import signal
import time

import fixtures
from testtools import content

from ironic_reservations.clouds import placement
from tests import forks
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import of_old_sizes
from tests.inprocess.placement import served
from tests.inprocess.placement import traffic
from tests.processes.placement import healing
from tests.real import migrated

NODES = 10
RIVALS = 2
KILLS = 3
LONGEST = 240


class _Processes:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        self.endpoint = self.useFixture(served.Served(self.kind)).endpoint
        self.url = self.useFixture(migrated.Database(self.kind)).url
        self.client = placement.Placement.over_http(
            traffic.configured(self.url, self.endpoint))
        self.client.ensure_class(in_memory.GOLD)
        there = in_memory.Nodes(self.client)
        self.used = {}
        for number in range(NODES):
            node, instance = world.new_uuid(), world.new_uuid()
            self.client.create_provider(node, node)
            there.offer(node, of_old_sizes.sizes())
            if number % 2:
                there.offer(node, {in_memory.GOLD: {**in_memory.ONE,
                                                    'reserved': 1}})
            else:
                self.assertTrue(self.client.put_allocations(
                    instance, in_memory.wanted(
                        {node: of_old_sizes.OLD}, None, 'INSTANCE')).done)
            self.used[node] = instance
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def start(self, work, name, *arguments):
        started = forks.CONTEXT.Process(target=work, args=(
            self.endpoint, self.used, str(self.folder / name), *arguments))
        started.start()
        self.addCleanup(started.join)
        self.addCleanup(started.kill)
        return started

    def told(self, kind):
        return [line for journal in self.folder.glob(f'{kind}-*')
                for line in journal.read_text().splitlines()]

    def test_killed_again_and_again_it_ends_and_nobody_gets_in(self):
        chance = random.Random(5)
        rivals = [self.start(healing.rival, f'rival-{number}',
                             str(self.folder / 'stop'))
                  for number in range(RIVALS)]
        for number in range(KILLS):
            victim = self.start(healing.heal, f'heal-{number}', self.url)
            seen = len(self.told('heal'))
            until = time.monotonic() + LONGEST
            while len(self.told('heal')) == seen and (
                    time.monotonic() < until and victim.is_alive()):
                time.sleep(0.02)
            time.sleep(chance.uniform(0, 0.3))
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
        last = self.start(healing.heal, 'heal-last', self.url)
        last.join(LONGEST)
        (self.folder / 'stop').touch()
        for each in rivals:
            each.join(LONGEST)
        counted = collections.Counter(self.told('heal'))
        self.addDetail('told', content.text_content(
            f'{counted}, {len(self.told("rival"))} tries of rivals'))
        self.assertEqual([0] * (1 + RIVALS), [
            each.exitcode for each in (last, *rivals)])
        self.assertGreater(len(self.told('rival')), 20)
        self.assertEqual({'-'}, {*self.told('rival')})
        for node, instance in self.used.items():
            self.assertEqual({instance: {in_memory.GOLD: 1}},
                             self.client.consumers_on(node))
            self.assertEqual({in_memory.GOLD: 1}, self.client.usages(node))
            offered = self.client.inventories(node)
            self.assertEqual({in_memory.GOLD}, {*offered.by_class})
            self.assertEqual(1, offered.by_class[in_memory.GOLD]['total'])


class TestProcessesOnMysql(_Processes, world.TestCase):
    kind = 'mysql'


class TestProcessesOnPostgresql(_Processes, world.TestCase):
    kind = 'postgresql'
