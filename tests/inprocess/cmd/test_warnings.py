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

"""The commands print no warnings of libraries."""

import configparser
import os
import pathlib
import re
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
                    'options.entry_points',
                    'console_scripts').split('\n') if line)}


#: Names of commands; the program prints their help.
_HELP = """
import importlib, sys
modules, sys.argv = sys.argv[1:], ['command', '--help']
for module in modules:
    print(module)
    try:
        importlib.import_module(module).main()
    except SystemExit as ended:
        if ended.code:
            raise
"""


class WarningsTest(testtools.TestCase):
    """Commands in a process of its own, with Python's own filters."""

    def run_code(self, *arguments: str
                 ) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items()
                       if name != 'PYTHONWARNINGS'}
        return subprocess.run(
            [sys.executable, *arguments], cwd=_ROOT, env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=240)

    def test_no_command_shows_warnings_of_other_packages(self):
        """The warnings of eventlet, which no command uses, are not shown."""
        modules = list(scripts().values())
        self.assertEqual(5, len(modules))
        done = self.run_code('-c', _HELP, *modules)
        self.assertEqual((0, ''), (done.returncode, done.stderr), done.stdout)
        self.assertEqual(modules, re.findall(r'^(\S+)\nusage:', done.stdout,
                                             re.MULTILINE))

    def test_threads_are_what_oslo_service_takes(self):
        """oslo.service uses native threads, not those of eventlet."""
        done = self.run_code(
            '-W', 'ignore', '-c', 'import ironic_reservations.cmd.manage\n'
            'from oslo_service import backend\n'
            'print(backend.get_backend_type().value)')
        self.assertEqual('threading\n', done.stdout, done.stderr)
