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

"""Servers of a storm that fail keep what was committed, or say what not."""

from __future__ import annotations

import pathlib
import random
import time
from typing import Any

import fixtures
import sqlalchemy as sa
import testscenarios
import testtools

from tests.processes import journal
from tests.processes.database_servers import kinds
from tests.real import databases

_FAULTS = 3
#: How long a commit may take until a replica has it, in seconds.
_LAG = 1.0


class TestDatabaseServers(testscenarios.WithScenarios, testtools.TestCase):

    kind: str
    scenarios = [(kind, {'kind': kind}) for kind in kinds.CLUSTERS]

    def setUp(self) -> None:
        super().setUp()
        databases.need(kinds.CLUSTERS[self.kind].check_installed)
        made = kinds.servers(self.kind, pathlib.Path(
            self.useFixture(fixtures.TempDir()).path), False)
        assert made is not None
        self.servers = self.useFixture(made)
        self.servers.create_database()
        self.execute('CREATE TABLE numbers (number INTEGER PRIMARY KEY)')

    def execute(self, statement: str) -> list[Any]:
        """Execute a statement as a process of the storm would."""
        host, port = self.servers.addresses(0)[0]
        engine = sa.create_engine(sa.make_url(self.servers.url()).set(
            host=host, port=port), poolclass=sa.NullPool)
        with engine.begin() as connection:
            found = connection.execute(sa.text(statement))
            return list(found.scalars()) if found.returns_rows else []

    def test_what_was_committed_is_there(self) -> None:
        told: list[dict[str, Any]] = []
        written: dict[int, float] = {}
        choice = random.Random(self.kind)
        for number in range(_FAULTS):
            self.execute(f'INSERT INTO numbers VALUES ({number})')
            written[number] = journal.now()
            time.sleep(_LAG)
            self.servers.disturb(choice, lambda fault, **more: told.append(
                {'fault': fault, **more}))
        self.assertEqual(_FAULTS, len(told))
        lost = [fault for fault in told if 'since' in fault]
        self.assertTrue(self.servers.loses or not lost, lost)
        kept = {number for number, at in written.items() if not any(
            fault['since'] - _LAG < at <= fault['until'] for fault in lost)}
        there = set(self.execute('SELECT number FROM numbers'))
        self.assertEqual(set(), kept - there, (told, written))
