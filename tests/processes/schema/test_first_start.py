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

import itertools
import os
import signal

import sqlalchemy as sa

from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from tests import forks
from tests import world
from tests.inprocess.db import migrating
from tests.processes.schema import at_once


def _start_and_die(url, statements):
    left = itertools.count(statements, -1)

    def count(*_):
        if not next(left):
            os.kill(os.getpid(), signal.SIGKILL)
    # NOTE: of all engines: migrations have one of their own.
    sa.event.listen(sa.Engine, 'before_cursor_execute', count)
    migrate.at_start(connection.Database(world.configured(url)))


class TestFirstStart(migrating.MigrationTestCase):

    def test_processes_that_start_at_once_make_the_tables_once(self):
        self.assertEqual([migrate.head()] * 4, at_once.versions(
            migrate.at_start, [self.url] * 4))
        self.a_promise()

    def test_process_killed_after_any_statement_does_no_harm(self):
        """However far it came, the next start finishes the tables."""
        # NOTE: SQLite takes all of it back, wherever it was; some will do.
        exits = []
        for statements in itertools.count(1, 50):
            url = self.empty_database()
            process = forks.CONTEXT.Process(target=_start_and_die,
                                            args=(url, statements))
            process.start()
            process.join()
            database = connection.Database(world.configured(url))
            self.addCleanup(database.close)
            migrate.at_start(database)
            self.assertEqual(migrate.head(), migrate.version(database))
            exits.append(process.exitcode)
            if process.exitcode != -signal.SIGKILL:
                break
        # NOTE: the last one had nothing left to be killed at.
        self.assertEqual((-signal.SIGKILL, 0), (exits[0], exits[-1]))
