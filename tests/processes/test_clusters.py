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

"""A storm over each kind of cluster finds nothing."""

from __future__ import annotations

import os
import pathlib

import fixtures
import testtools
from testtools import content

from tests.processes import storm
from tests.processes.database_servers import kinds
from tests.real import databases

#: How many faults each of them has.
_FAULTS = 500
_SECONDS = os.environ.get(storm.SECONDS_VARIABLE)


class _Clusters(testtools.TestCase):

    def _find_nothing(self, kind: str) -> None:
        databases.need(kinds.CLUSTERS[kind].check_installed)
        folder = self.useFixture(fixtures.TempDir()).path
        report = storm.run(storm.Options(
            kind, float(_SECONDS or 0),
            os.environ.get(storm.SEED_VARIABLE) or '1', placement=True,
            faults=_FAULTS),
            pathlib.Path(folder))
        lines = report.lines()
        self.addDetail('storm', content.text_content('\n'.join(lines)))
        self.assertEqual([], report.found, lines[-1])
        self.assertEqual(kinds.CLUSTERS[kind].loses, report.histories > 0,
                         lines[-1])


if _SECONDS:
    class ClustersTestCase(_Clusters):

        def test_galera(self) -> None:
            """Three nodes, all of which are written to."""
            self._find_nothing('galera')

        def test_haproxy(self) -> None:
            """Three nodes, of which one is written to."""
            self._find_nothing('haproxy')

        def test_promoted(self) -> None:
            """A synchronous replica takes the place of its primary."""
            self._find_nothing('promoted')

        def test_promoted_async(self) -> None:
            """So does an asynchronous one, without the last commits."""
            self._find_nothing('promoted-async')

        def test_pooler(self) -> None:
            """Each transaction has another session."""
            self._find_nothing('pooler')

        def test_restored(self) -> None:
            """A dump is restored in the middle, by PostgreSQL."""
            self._find_nothing('restored')

        def test_restored_mariadb(self) -> None:
            """So it is by MariaDB."""
            self._find_nothing('restored-mariadb')
