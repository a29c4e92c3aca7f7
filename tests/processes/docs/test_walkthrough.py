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

"""The user guide's walk-through does what its page shows, on a real Ironic."""

from __future__ import annotations

import re
import subprocess

from tests.inprocess.client import base

SCRIPT = base.EXAMPLES / 'walkthrough.sh'
PAGE = base.ROOT / 'doc' / 'source' / 'user' / 'walkthrough.rst'
_OUTPUT = re.compile(r'^\.\. code-block:: text\n\n((?:    .*\n|\n)+)',
                     re.MULTILINE)


class WalkthroughTest(base.ClientTestCase):
    """It is run as a reader would run it."""

    def test_reserve_deploy_and_release(self):
        """Refusals are what the page says; in the end the node is free."""
        node, _other = self.ironic.enroll(2, prefix='node')
        done = self.command(SCRIPT)
        for told in ('[reservation.no_node_available] (HTTP 409)',
                     '[reserved]\n',
                     f'Node {node.uuid} is reserved until',
                     '(HTTP 403)'):
            self.assertIn(told, done.stderr)
        self.assertEqual(2, done.stdout.count('exit status 1\n'))
        self.assertRegex(done.stdout, r'state +\| in_use')
        self.assertEqual('available', self.provision_state(node))
        # NOTE: node-0 is free again, and the list has both.
        self.assertEqual(2, len(re.findall(
            r'node-[01] .* available ', done.stdout)))
        self.check_page(done)

    def check_page(self, done: subprocess.CompletedProcess[str]) -> None:
        """Check that the page shows the output, but for times and ids."""
        shown = _OUTPUT.findall(PAGE.read_text())
        self.assertEqual(6, len(shown))
        there = [base.masked(done.stdout), base.masked(done.stderr)]
        for block in shown:
            expected = base.masked(block.replace('exit status 1\n', ''))
            self.assertTrue(any(expected in text for text in there),
                            f'{expected}\n{there}')
