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

"""Copies of requests that several processes deliver, at once and too late."""

from __future__ import annotations

import collections
import json
import pathlib

import fixtures
from testtools import content

from ironic_reservations import errors
from ironic_reservations.engine.maintenance import find
from ironic_reservations.engine.reservations import release
from tests import forks
from tests import leasing
from tests import world
from tests.processes.timeline import copies
from tests.real import migrated

NODES = 12
REQUESTS = 40
PROCESSES = 6
TIMES = 3
#: What takes so long hangs, also on a machine that has other things to do.
LONGEST = 300


class _Copies:
    """To be run on each database."""

    kind: str

    def setUp(self):
        super().setUp()
        url = self.useFixture(migrated.Database(self.kind)).url
        self.world = self.useFixture(world.World(
            url, ironic__confirm='mirror'))
        self.engine = self.world.engine
        self.nodes = self.world.enrol(NODES)
        self.keys = [world.new_uuid() for _ in range(REQUESTS)]
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def deliver(self, what):
        """Deliver all requests, and return what each of them has made."""
        running = [forks.CONTEXT.Process(target=copies.work, args=(
            self.world.url, self.nodes, self.keys,
            str(self.folder / f'{number}.journal'), number, TIMES, what))
            for number in range(PROCESSES)]
        for process in running:
            process.start()
            self.addCleanup(process.join)
            self.addCleanup(process.kill)
        for process in running:
            process.join(LONGEST)
        self.assertEqual([0] * PROCESSES,
                         [process.exitcode for process in running])
        made, events = collections.defaultdict(set), collections.Counter()
        for journal in self.folder.glob('*.journal'):
            for line in journal.read_text().splitlines():
                read = json.loads(line)
                events[read['event']] += 1
                if read['event'] == 'made':
                    made[read['key']].add(read['uuid'])
        self.addDetail('events', content.text_content(str(events)))
        self.assertEqual(PROCESSES * TIMES * REQUESTS, sum(events.values()))
        self.assertGreater(events['ended'], REQUESTS)
        self.assertEqual({}, {key: uuids for key, uuids in made.items()
                              if len(uuids) > 1})
        self.assertGreater(len(made), REQUESTS // 2)
        return made

    def test_request_for_a_reservation_reserves_at_most_once(self):
        made = self.deliver('reservation')
        for uuid in self.world.reservations():
            release.release(self.engine, uuid)
        for key in made:
            self.assertRaises(errors.ReservationEnded, copies.reserve_for,
                              self.engine, key, self.nodes)
        self.assertEqual({}, self.world.reservations())

    def test_request_for_maintenance_books_at_most_once(self):
        made = self.deliver('maintenance')
        for window in find.page(self.engine):
            find.end(self.engine, window.id)
        windows = len(find.page(self.engine))
        self.assertEqual(len(made), windows)
        for key in made:
            self.assertRaises(errors.MaintenanceEnded, copies.book_for,
                              self.engine, key, self.nodes)
        self.assertEqual(windows, len(find.page(self.engine)))

    def test_request_for_a_lease_makes_at_most_one(self):
        there = leasing.Leasing(self.world)
        there.hosts(4)
        made = self.deliver('lease')
        for lease in there.all():
            there.end(lease)
        for key in made:
            self.assertRaises(errors.IdempotencyKeyReused, copies.lease_for,
                              self.engine, key, self.nodes)
        self.assertEqual([], there.all())


class TestCopiesOnMariaDB(_Copies, world.TestCase):
    kind = 'mysql'


class TestCopiesOnPostgreSQL(_Copies, world.TestCase):
    kind = 'postgresql'


class TestCopiesOnSQLite(_Copies, world.TestCase):
    kind = 'sqlite'
