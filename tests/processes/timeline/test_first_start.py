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

"""The tables of SQLite are made by whoever starts first, whatever happens."""

from __future__ import annotations

import contextlib
import itertools
import os
import time

import sqlalchemy as sa

from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from tests import forks
from tests import world
from tests.inprocess.db import migrating


def _start(url, barrier, left_over):
    database = connection.Database(world.configured(url))
    barrier.wait()
    try:
        migrate.ensure_sqlite(database)
        left_over.put((os.getpid(), migrate.version(database)))
    except BaseException as exc:
        left_over.put((os.getpid(), repr(exc)))
        raise


def _start_alone(url, ready):
    database = connection.Database(world.configured(url))
    ready.set()
    migrate.ensure_sqlite(database)


class TestFirstStart(migrating.MigrationTestCase):

    def test_processes_that_start_at_once_make_the_tables_once(self):
        barrier, left_over = forks.CONTEXT.Barrier(4), forks.CONTEXT.Queue()
        started = [forks.CONTEXT.Process(target=_start,
                                         args=(self.url, barrier, left_over))
                   for _ in range(4)]
        for process in started:
            process.start()
        outcomes = [left_over.get(timeout=240)[1] for _ in started]
        for process in started:
            process.join()
        self.assertEqual([migrate.head()] * 4, outcomes)
        self.a_promise()

    def test_process_killed_in_the_middle_does_no_harm(self):
        """However far it came, the next start finishes the tables."""
        for delay in (0.002, 0.01, 0.03):
            url = self.empty_database()
            ready = forks.CONTEXT.Event()
            process = forks.CONTEXT.Process(target=_start_alone,
                                            args=(url, ready))
            process.start()
            ready.wait(240)
            time.sleep(delay)
            process.kill()
            process.join()
            database = connection.Database(world.configured(url))
            migrate.ensure_sqlite(database)
            self.assertEqual(migrate.head(),
                             migrate.version(database))
            database.close()

    def test_crash_after_any_statement_does_no_harm(self):
        # NOTE: SQLite takes all of it back, wherever it was; some will do.
        for statements in itertools.count(1, 60):
            database = connection.Database(
                world.configured(self.empty_database()))
            died = True
            with self._dying_after(statements), (
                    contextlib.suppress(_Died, Exception)):
                migrate.upgrade(database)
                died = False
            database.close()
            if not died:
                break
            again = connection.Database(world.configured(database.url))
            migrate.ensure_sqlite(again)
            self.assertEqual(migrate.head(), migrate.version(again))
            again.close()
        self.assertGreater(statements, 30)

    @contextlib.contextmanager
    def _dying_after(self, statements):
        left = [statements]

        def count(*args):
            left[0] -= 1
            if left[0] < 0:
                raise _Died
        # NOTE: of all engines: migrations have one of their own.
        sa.event.listen(sa.Engine, 'before_cursor_execute', count)
        try:
            yield
        finally:
            sa.event.remove(sa.Engine, 'before_cursor_execute', count)


class _Died(BaseException):
    """The process is gone."""
