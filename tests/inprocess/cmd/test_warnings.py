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

"""The output of the operator's commands is theirs alone."""

from __future__ import annotations

import configparser
import os
import pathlib
import subprocess
import sys

import testtools

_ROOT = pathlib.Path(__file__).parents[3]


def scripts() -> dict[str, str]:
    """Return the console scripts, each with the module of its function."""
    parser = configparser.ConfigParser()
    parser.read(_ROOT / 'setup.cfg')
    return {name.strip(): target.strip().removesuffix(':main')
            for name, _, target in (
                line.partition('=') for line in parser.get(
                    'entry_points', 'console_scripts').split('\n') if line)}


class WarningsTest(testtools.TestCase):
    """Each command in a process of its own, with Python's own filters."""

    def started(self, module: str) -> subprocess.CompletedProcess[str]:
        """Have a command print its help."""
        environment = {name: value for name, value in os.environ.items()
                       if name != 'PYTHONWARNINGS'}
        return subprocess.run(
            [sys.executable, '-c',
             'import importlib, sys; sys.argv = ["command", "--help"]; '
             f'importlib.import_module("{module}").main()'],
            cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=240)

    def test_no_command_shows_warnings_of_other_packages(self):
        """Nothing of eventlet, which none of them uses."""
        self.assertEqual(5, len(scripts()))
        for name, module in scripts().items():
            done = self.started(module)
            self.assertEqual((0, ''), (done.returncode, done.stderr), name)
            self.assertIn('usage:', done.stdout)

    def test_threads_are_what_oslo_service_takes(self):
        """Not eventlet, whose green threads nobody here has asked for."""
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c',
             'import ironic_reservations.cmd.manage\n'
             'from oslo_service import backend\n'
             'print(backend.get_backend_type().value)'],
            cwd=_ROOT, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=240)
        self.assertEqual('threading\n', done.stdout, done.stderr)
