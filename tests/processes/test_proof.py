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

"""The whole proof, with sizes too small to mean anything."""

from __future__ import annotations

import json
import pathlib

import fixtures
import testtools

from benchmarks.proof import command
from benchmarks.proof import headlines
from benchmarks.proof import page
from benchmarks.proof import rows
from benchmarks.proof import sections
from tests.real import databases

#: A job of two nodes that overlaps one of one node.
_LOG = """\
  1    0   10  100    4 -1 -1 -1 -1 -1 -1 1
  2    0   60   80    8 -1 -1 -1 -1 -1 -1 1
  3   20  100   60    3 -1 -1 -1 -1 -1 -1 2
"""


class QuickTest(testtools.TestCase):
    """Beside a real Ironic, and a real Blazar, which is installed for it."""

    def test_each_section_ends_and_breaks_no_promise(self) -> None:
        """All of them, each in a process of its own."""
        server = self.useFixture(
            databases.Database('mysql')).url.rpartition('/')[0]
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        log = folder / 'a.swf'
        log.write_text(_LOG)
        self.assertEqual(0, command.main([
            '--quick', '--patience', '10', '--server', server,
            '--output', str(folder), '--log', f'{log},cpus-per-node=4']))
        run = rows.run_of_json(json.loads((folder / 'proof.json').read_text()))
        self.assertEqual(list(sections.BY_NAME),
                         [each.name for each in run.sections])
        self.assertEqual(page.write(run), (folder / 'proof.rst').read_text())
        self.assertEqual(
            [], [note for each in run.sections for note in each.notes])
        labels = {each.label for each in headlines.headlines(run)}
        for label in ('claims-ironic', 'claims-ours', 'lease-blazar-largest',
                      'lease-ours-largest', 'races-blazar', 'races-ironic',
                      'races-ours-lease', 'races-ours-node', 'replay-late',
                      'replay-pinned', 'storm'):
            self.assertIn(label, labels)
        judged = [row for row in run.rows('packings')
                  if isinstance(row, rows.Packed)]
        # Pinned hosts refuse what has a place, and CP-SAT finds it.
        self.assertLess(0, sum(row.place for row in judged))
        self.assertEqual(0, sum(row.no_place for row in judged))
