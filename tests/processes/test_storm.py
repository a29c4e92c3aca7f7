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


"""A storm over each of the databases finds nothing."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import fixtures
import testtools
from testtools import content

from tests.processes import aftermath
from tests.processes import mix as mixes
from tests.processes import storm
from tests.real import databases

_LONG = os.environ.get(storm.SECONDS_VARIABLE)
_SECONDS = float(_LONG or 10)
#: A longer calm shows no more.
_CALM = 30.0 if _LONG else 5.0
#: How long it may take until there is quiet: where many tests run at once, no
#: promise, but what shows that there never will be.
_WITHIN = aftermath.WITHIN if _LONG else 240.0


class _Storm:
    """To be run on each database."""

    kind: str
    #: Whether there are a Placement, holds, and compute hosts.
    placement = False
    #: Whether our tables are on a server of the storm's own, which restarts.
    restarts = False

    def test_nothing_is_found(self) -> None:
        """Whatever dies, stands still, comes late, or is not answered."""
        self._find_nothing(_SECONDS, restart_database=self.restarts,
                           placement=self.placement)

    def test_every_answer_is_true(self) -> None:
        """In a crowd, and a calm: a reservation is given or refused."""
        self._find_nothing(min(_SECONDS, _CALM), mix=mixes.Mix.of_calm())

    def _find_nothing(self, seconds: float, **options: Any) -> None:
        # NOTE: a server that need not be there is asked for first.
        self.useFixture(databases.Database(self.kind))
        folder = self.useFixture(fixtures.TempDir()).path
        report = storm.run(storm.Options(
            self.kind, seconds, os.environ.get(storm.SEED_VARIABLE) or '1',
            **options, within=_WITHIN), pathlib.Path(folder))
        lines = report.lines()
        self.addDetail('storm', content.text_content('\n'.join(lines)))
        self.assertEqual([], report.found, lines[-1])


class SqliteTestCase(_Storm, testtools.TestCase):
    kind = 'sqlite'


if _LONG:
    class MariadbTestCase(_Storm, testtools.TestCase):
        kind = 'mysql'
        placement = True
        restarts = True

    class PostgresqlTestCase(_Storm, testtools.TestCase):
        kind = 'postgresql'
        placement = True
        restarts = True
