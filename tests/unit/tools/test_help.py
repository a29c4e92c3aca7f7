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


"""The help of tools/test.sh."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile

import testtools

_SCRIPT = pathlib.Path(__file__).parents[3] / 'tools' / 'test.sh'


class HelpTest(testtools.TestCase):

    def test_it_needs_nothing(self) -> None:
        """It made .venv, imported all tests, and failed in the end."""
        with tempfile.TemporaryDirectory() as folder:
            tools = pathlib.Path(folder, 'tools')
            tools.mkdir()
            shutil.copy(_SCRIPT, tools)
            for option in ('-h', '--help'):
                done = subprocess.run(
                    [tools / _SCRIPT.name, option], check=True, text=True,
                    capture_output=True, timeout=60,
                    stdin=subprocess.DEVNULL)
                self.assertIn('Run the gate: ./tools/test.sh\n', done.stdout)
                self.assertNotIn('#', done.stdout)
                self.assertNotIn('set -', done.stdout)
