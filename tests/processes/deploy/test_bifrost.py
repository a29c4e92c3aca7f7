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

"""The files for Bifrost, as far as Ironic reads them."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import fixtures
import testtools
import yaml

_PLAYBOOK = (pathlib.Path(__file__).parents[3] / 'contrib' / 'deploy'
             / 'bifrost' / 'playbook.yml')
_ASK = """
import sys
from ironic.common import config
from ironic.conf import CONF
config.parse_args(['ironic', '--config-file', sys.argv[1]])
print(CONF.api.port, CONF.api.middleware)
"""


class BifrostTest(testtools.TestCase):

    def test_ironic_reads_the_guard_beside_the_file_that_is_named(
            self) -> None:
        home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        named = home / 'ironic.conf'
        named.write_text('[api]\nport = 7\n')
        # In a home, Ironic looks in .ironic as it does in /etc/ironic.
        for play in yaml.safe_load(_PLAYBOOK.read_text()):
            for task in play['tasks']:
                copied = task.get('ansible.builtin.copy', {})
                if 'content' in copied:
                    file = home / '.ironic' / pathlib.Path(
                        copied['dest']).relative_to('/etc/ironic')
                    file.parent.mkdir(parents=True)
                    file.write_text(copied['content'])
        done = subprocess.run(
            [sys.executable, '-c', _ASK, str(named)], text=True, check=True,
            capture_output=True, env={**os.environ, 'HOME': str(home)})
        self.assertEqual("7 ['reservations']", done.stdout.strip())
