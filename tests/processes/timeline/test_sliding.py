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

"""Processes want the same leases to slide: for new leases and for changes."""

from __future__ import annotations

import collections
import json
import pathlib

import fixtures
from testtools import content

from ironic_reservations import clock
from ironic_reservations.engine.leases import find as lease_find
from tests import forks
from tests import leasing
from tests import world
from tests.processes.timeline import sliding_traffic
from tests.real import migrated

NODES = 3
CLIENTS = 4
REQUESTS = 30
#: What takes so long hangs, also on a machine that has other things to do.
LONGEST = 300


class _Sliding:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        url = self.useFixture(migrated.Database(self.kind)).url
        self.world = self.useFixture(world.World(
            url, ironic__confirm='mirror'))
        self.world.clock.now = clock.utc_now()
        self.leasing = leasing.Leasing(self.world)
        self.leasing.hosts(NODES)
        self.folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)

    def test_never_two_owners_nor_outside_a_window_nor_once_fixed(self):
        journals = [self.folder / f'{seed}.json' for seed in range(CLIENTS)]
        started = [forks.CONTEXT.Process(target=sliding_traffic.work, args=(
            self.world.url, str(journal), seed, REQUESTS))
            for seed, journal in enumerate(journals)]
        for process in started:
            process.start()
            self.addCleanup(process.join)
            self.addCleanup(process.kill)
        for process in started:
            process.join(LONGEST)
        done, fixed = collections.Counter(), {}
        for journal in journals:
            told = json.loads(journal.read_text())
            self.assertEqual('', told['failed'])
            done.update(told['done'])
            fixed.update(told['fixed'])
        self.addDetail('done', content.text_content(str(done)))
        self.world.clock.now = clock.utc_now()
        self.assertEqual([], self.leasing.overlaps())
        self.assertEqual({}, self.leasing.stale())
        for lease in lease_find.page(self.world.engine):
            if lease.between is not None:
                self.assertLessEqual(lease.between.earliest, lease.start)
                self.assertLessEqual(lease.end, lease.between.latest)
            for row in lease.bookings:
                self.assertEqual((lease.start, lease.end),
                                 (row.starts_at, row.ends_at))
            if lease.id in fixed:
                self.assertEqual(fixed[lease.id], [lease.start.isoformat(),
                                                   lease.end.isoformat()])
        for kind in ('slid for _ask', 'slid for _change', 'fixed',
                     'LeaseRefused'):
            self.assertGreater(done[kind], 0, done)


class TestSlidingOnMysql(_Sliding, world.TestCase):
    kind = 'mysql'


class TestSlidingOnPostgresql(_Sliding, world.TestCase):
    kind = 'postgresql'


class TestSlidingOnSqlite(_Sliding, world.TestCase):
    kind = 'sqlite'
