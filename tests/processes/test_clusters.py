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
import testscenarios
import testtools
from testtools import content

from tests.processes import storm
from tests.processes.database_servers import kinds
from tests.real import databases

#: How many faults each of them has.
_FAULTS = 500
_SECONDS = os.environ.get(storm.SECONDS_VARIABLE)


if _SECONDS:
    class ClustersTestCase(testscenarios.WithScenarios, testtools.TestCase):
        """What each kind is: see "The storm" in the documentation."""

        kind: str
        scenarios = [(kind, {'kind': kind}) for kind in kinds.CLUSTERS]

        def test_nothing_is_found(self) -> None:
            """Commits are lost where its servers may lose some, only."""
            databases.need(kinds.CLUSTERS[self.kind].check_installed)
            folder = self.useFixture(fixtures.TempDir()).path
            report = storm.run(storm.Options(
                self.kind, float(_SECONDS or 0),
                os.environ.get(storm.SEED_VARIABLE) or '1', placement=True,
                faults=_FAULTS), pathlib.Path(folder))
            lines = report.lines()
            self.addDetail('storm', content.text_content('\n'.join(lines)))
            self.assertEqual([], report.found, lines[-1])
            self.assertEqual(kinds.CLUSTERS[self.kind].loses,
                             report.histories > 0, lines[-1])
