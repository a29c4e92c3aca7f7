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

"""What a snapshot shows, and what it leaves behind, on each database."""

import contextlib
import threading
from unittest import mock

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.engine import seen
from ironic_reservations.engine.snapshots import cache
from ironic_reservations.engine.snapshots import node_versions
from tests import servers
from tests.inprocess.engine import timelines


@servers.also
class TestSnapshots(timelines.TestCase):
    kind = 'sqlite'

    def setUp(self):
        super().setUp()
        self.database = self.engine.database

    def count(self, opened):
        return opened.execute(sa.select(sa.func.count()).select_from(
            tables.nodes)).scalar_one()

    def test_queries_of_a_snapshot_see_one_moment(self):
        with self.database.snapshot() as opened:
            before = self.count(opened)
            other = threading.Thread(target=self.world.enrol)
            other.start()
            other.join()
            self.assertEqual(before, self.count(opened))
        with self.database.snapshot() as opened:
            self.assertEqual(before + 1, self.count(opened))

    def test_isolation_of_a_snapshot_does_not_leak_into_writes(self):
        self.world.enrol()
        with self.database.snapshot() as opened:
            self.count(opened)
        with self.database.write() as opened:
            before = self.count(opened)
            if self.kind == 'sqlite':
                # There, nobody else writes meanwhile.
                return
            other = threading.Thread(target=self.world.enrol)
            other.start()
            other.join()
            self.assertEqual(before + 1, self.count(opened))


    def numbers(self):
        with self.database.read() as opened:
            return opened.scalars(sa.select(tables.changes.c.seq).order_by(
                tables.changes.c.seq)).all()

    def test_change_that_is_committed_late_is_seen(self):
        """Numbers are given before commits, and become visible out of order.
        """
        self.leasing.hosts(3)
        kept = self.engine.snapshots
        database = self.database

        def generations(compared):
            found = kept.snapshot(database, self.world.clock(),
                                  compared=compared)
            return dict(found.generation(number) for number in range(3))
        with mock.patch.object(cache, '_COMPARED', 3600):
            before = generations(True)
            first, second, third = before
            known = self.numbers()
            with contextlib.ExitStack() as early:
                late = early.enter_context(database.write())
                here = seen.Seen({first: before[first]})
                seen.advance(late, here, self.world.clock())
                if self.kind == 'sqlite':
                    # NOTE: there, nobody else writes meanwhile.
                    early.close()
                there = seen.Seen({second: before[second]})
                with database.write() as opened:
                    seen.advance(opened, there, self.world.clock())
                if self.kind != 'sqlite':
                    # NOTE: one number was left out, and is not the last.
                    self.assertEqual(1, len(self.numbers()) - len(known))
                    self.assertGreater(self.numbers()[-1], known[-1] + 1)
                    self.assertEqual({**before, **there.raised()},
                                     generations(False))
            self.assertEqual(2, len(self.numbers()) - len(known))
            now = {**before, **here.raised(), **there.raised()}
            self.assertEqual(now, generations(False))
            with mock.patch.object(node_versions, '_OPEN', 0), (
                    contextlib.ExitStack()) as early:
                # NOTE: one that was open for longer than is remembered.
                late = early.enter_context(database.write())
                here = seen.Seen({first: now[first]})
                seen.advance(late, here, self.world.clock())
                if self.kind == 'sqlite':
                    early.close()
                there = seen.Seen({third: now[third]})
                with database.write() as opened:
                    seen.advance(opened, there, self.world.clock())
                generations(False)
                early.close()
                generations(False)
                self.assertEqual({**now, **here.raised(), **there.raised()},
                                 generations(True))
