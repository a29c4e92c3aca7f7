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

"""A forked process is a process like any other."""

import os
import pathlib
import signal
import subprocess
import sys

import fixtures
import testtools

from tests import forked_child
from tests import waiting
from tools import child

_SAY = ('import os, sys; print(sys.argv[1], os.environ["WORD"], os.getcwd(), '
        '"placement.deploy" in sys.modules, flush=True); ')
_STAY = _SAY + 'import time; time.sleep(600)'
#: Of a process that starts one, says which, and waits to be killed.
_WORKER = """
import pathlib, sys, time
from tests import forked_child
def main():
    folder = pathlib.Path(sys.argv[1])
    one = forked_child.ForkedChild(
        'one', 'import time; time.sleep(600)', [], folder, folder / 'log')
    print(one.process.pid, flush=True)
    time.sleep(600)
if __name__ == '__main__':
    main()
"""


class ForkedChildTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(
            fixtures.TempDir()).path).resolve()
        self.log = self.folder / 'log'

    def start(self, code):
        started = forked_child.ForkedChild(
            'Something', code, ['an-argument'], self.folder, self.log,
            {'WORD': 'a-word'})
        self.addCleanup(started.kill)
        return started

    def test_has_its_arguments_environment_folder_and_log(self):
        ended = self.start(_SAY + 'sys.exit(3)')
        self.assertEqual(3, ended.process.wait(60))
        self.assertEqual(3, ended.process.poll())
        self.assertEqual(f'an-argument a-word {self.folder} True\n',
                         self.log.read_text())
        self.assertNotIn('WORD', os.environ)

    def test_end_before_it_answers_is_told_with_its_log(self):
        started = self.start('raise ValueError("so it is")')
        failure = self.assertRaises(child.NotStarted, started.wait_until,
                                    lambda: False, 60)
        self.assertIn('Something ended with 1', str(failure))
        self.assertIn('so it is', str(failure))

    def test_is_stopped_where_it_stands_and_killed_with_its_children(self):
        started = self.start(
            'import os, subprocess, time\n'
            'print(subprocess.Popen(["sleep", "600"]).pid, flush=True)\n'
            'time.sleep(600)')
        waiting.until(lambda: self.log.read_text().strip())
        os.killpg(started.process.pid, signal.SIGSTOP)
        waiting.until(lambda: self.state(started.process.pid) == 'T')
        self.assertIsNone(started.process.poll())
        self.assertRaises(subprocess.TimeoutExpired,
                          started.process.wait, 0.01)
        started.kill()
        self.assertEqual(-signal.SIGKILL, started.process.returncode)
        self.assertRaises(ProcessLookupError, os.kill,
                          started.process.pid, 0)
        waiting.until(lambda: self.state(int(self.log.read_text()))
                      in ('Z', None))

    def test_ends_as_an_operator_would_end_it(self):
        started = self.start(_STAY)
        waiting.until(self.log.read_text)
        started.stop()
        self.assertEqual(-signal.SIGTERM, started.process.returncode)

    def test_ends_with_a_worker_that_is_killed(self):
        file = self.folder / 'worker.py'
        file.write_text(_WORKER)
        with subprocess.Popen(
                [sys.executable, '-W', 'ignore', str(file), str(self.folder)],
                env={**os.environ, 'PYTHONPATH': str(
                    pathlib.Path(__file__).parents[2])},
                stdout=subprocess.PIPE, text=True) as worker:
            pid = int(worker.stdout.readline())
            worker.kill()
        waiting.until(lambda: self.state(pid) in ('Z', None))

    def state(self, pid):
        """Return the letter of /proc for what a process does."""
        try:
            return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(
                ')')[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return None
