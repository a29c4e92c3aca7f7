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

"""The files for systemd and logrotate, as these programs read them."""

import pathlib
import subprocess

import fixtures
import testtools

from ironic_reservations import cmd

_ROOT = pathlib.Path(__file__).parents[3]
_UNITS = sorted((_ROOT / 'contrib' / 'systemd').glob('*.service'))
#: The exposure in tenths, of ten at most, that is allowed.
_EXPOSED = '20'


class UnitFilesTest(testtools.TestCase):

    def run_tool(self, *command: str) -> str:
        """Run a program, which must find no fault."""
        done = subprocess.run(command, text=True, capture_output=True)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_units_are_valid(self) -> None:
        self.assertEqual('', self.run_tool(
            'systemd-analyze', 'verify', *map(str, _UNITS)))

    def test_units_are_hardened(self) -> None:
        for unit in _UNITS:
            self.run_tool('systemd-analyze', 'security', '--offline=true',
                          f'--threshold={_EXPOSED}', str(unit))

    def test_units_start_commands_of_the_package(self) -> None:
        scripts = (_ROOT / 'setup.cfg').read_text()
        self.assertEqual(2, len(_UNITS))
        for unit in _UNITS:
            self.assertIn(f'ExecStart=/usr/bin/env {unit.stem}\n',
                          unit.read_text())
            self.assertIn(f'    {unit.stem} = {cmd.__name__}.', scripts)

    def test_logs_are_rotated(self) -> None:
        state = self.useFixture(fixtures.TempDir()).path
        text = (_ROOT / 'contrib' / 'logrotate' / 'ironic-reservations'
                ).read_text()
        # The user of the service is not on the host of the tests.
        file = pathlib.Path(state, 'logrotate.conf')
        file.write_text(text.replace(
            'su ironic-reservations ironic-reservations', 'su root root'))
        file.chmod(0o644)
        self.assertNotIn('error', self.run_tool(
            'logrotate', '--debug', '--state', f'{state}/state', str(file)))
