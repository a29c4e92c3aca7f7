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

"""Never two owners, from many processes at once, some of them killed."""

from __future__ import annotations

import os
import pathlib
import random
import signal
import threading
import time

import fixtures
from testtools import content

from ironic_reservations import clock
from ironic_reservations.engine import sweep
from tests import forks
from tests import world
from tests.inprocess.timeline import ledger
from tests.processes.timeline import traffic
from tests.real import migrated

NODES = 50
PROCESSES = 8
REQUESTS = 120
MANY = 1000000
KILLS = 16
#: How much has been written of one that is killed, at least.
LINES = 50
#: What takes so long hangs, also on a machine that has other things to do.
LONGEST = 300
#: A child imports the engine once for all of its brethren.


class _Races:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        url = self.useFixture(migrated.Database(self.kind)).url
        self.world = self.useFixture(world.World(
            url, ironic__confirm='mirror'))
        self.nodes = self.world.enrol(NODES)
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        self.journals = 0
        self.journal_of = {}

    def start(self, requests=REQUESTS):
        self.journals += 1
        journal = self.folder / f'{self.journals}.journal'
        started = forks.CONTEXT.Process(target=traffic.work, args=(
            self.world.url, self.nodes, str(journal), self.journals,
            requests))
        started.start()
        self.addCleanup(started.join)
        self.addCleanup(started.kill)
        self.journal_of[started] = journal
        return started

    def lines(self, process):
        """Count the lines that a process has written."""
        journal = self.journal_of[process]
        return journal.read_bytes().count(b'\n') if journal.exists() else 0

    def requests(self):
        """Count the lines of all journals."""
        return sum(journal.read_bytes().count(b'\n')
                   for journal in self.folder.glob('*.journal'))

    def check(self, finished):
        at = time.time()
        read = ledger.Ledger(sorted(self.folder.glob('*.journal')))
        self.addDetail('events', content.text_content(str(read.events)))
        self.assertEqual([], read.failures)
        self.assertEqual(finished, read.finished)
        self.assertEqual([], read.overlaps())
        rows = self.world.reservations()
        for uuid, hold in read.host_state(at + 1).items():
            self.assertIn(uuid, rows, hold)
            self.assertEqual(hold.node, rows[uuid]['node_uuid'])
        self.assertEqual(set(), set(rows) - read.asked)
        live = [row['node_uuid'] for row in rows.values()
                if row['state'] != 'reserved'
                or row['expires_at'].timestamp() > at]
        self.assertEqual(len(live), len(set(live)))
        for event in ('given', 'renewed', 'releasing', 'proven', 'used',
                      'losing', 'refused'):
            self.assertGreater(read.events.get(event, 0), 10, read.events)
        return read

    def test_processes_never_share_a_node(self):
        started = [self.start() for _ in range(PROCESSES)]
        for process in started:
            process.join(LONGEST)
        self.assertEqual([0] * PROCESSES,
                         [process.exitcode for process in started])
        self.check(finished=PROCESSES)
        self.assertEqual([], self.world.in_flight())

    def test_processes_killed_at_random_leave_no_node_to_two(self):
        chance = random.Random(4)
        running = [self.start(MANY) for _ in range(PROCESSES)]
        while self.journals < PROCESSES + KILLS or self.requests() < 1500:
            time.sleep(chance.uniform(0, 0.6))
            victim = running.pop(chance.randrange(len(running)))
            # NOTE: in the middle of its work, also on a busy machine: those
            # who are killed before they do anything keep nodes, and no more.
            until = time.monotonic() + LONGEST
            while self.lines(victim) < LINES and time.monotonic() < until:
                time.sleep(0.01)
            os.kill(victim.pid, signal.SIGKILL)
            victim.join()
            running.append(self.start(MANY))
        for process in running:
            process.kill()
            process.join()
        self.check(finished=0)
        # What the dead left behind is found out about.
        self.world.clock.now = clock.utc_now()
        self.world.find_out()
        sweep.sweep(self.world.engine)
        self.assertEqual([], self.world.in_flight())
        self.assertEqual(
            [], [row for row in self.world.reservations().values()
                 if row['state'] == 'reserved'
                 and row['expires_at'] <= self.world.clock.now])


class TestRacesOnMysql(_Races, world.TestCase):
    kind = 'mysql'


class TestRacesOnPostgresql(_Races, world.TestCase):
    kind = 'postgresql'


class TestRacesOnSqlite(_Races, world.TestCase):
    kind = 'sqlite'

    def test_threads_never_share_a_node(self):
        working = [threading.Thread(target=traffic.work, args=(
            self.world.url, self.nodes, str(self.folder / f'{n}.journal'), n,
            2 * REQUESTS)) for n in range(4)]
        for thread in working:
            thread.start()
        for thread in working:
            thread.join(LONGEST)
        self.check(finished=4)
