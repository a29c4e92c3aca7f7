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

"""Whatever ends a storm, nobody is left behind."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from tests import waiting

_ROOT = pathlib.Path(__file__).parents[2]
#: What takes so long hangs, also on a machine that has other things to do.
_SOON = 120.0
#: A storm of one process, which it stops; both say when they are there.
_STORM = """
import subprocess, sys, threading, time
from tests.processes import process
started = []
def begin():
    started.append(process.NURSERY.submit(subprocess.Popen, [
        sys.executable, '-W', 'ignore', '-c',
        'from tests.processes import served; import os, time; '
        'served.end_with_us(); print(os.getpid(), flush=True); '
        'time.sleep(600)'], stdin=subprocess.PIPE,
        start_new_session=True).result())
# NOTE: as faults do: from a thread that is gone at once.
thread = threading.Thread(target=begin)
thread.start()
thread.join()
time.sleep(600)
"""
#: A storm that has made something, and goes on.
_LONG = """
import contextlib, sys, time
from tests.processes import storm
def run(options, folder):
    with contextlib.ExitStack() as there:
        there.callback(print, 'gone', flush=True)
        print('there', flush=True)
        time.sleep(600)
storm.run = run
sys.exit(storm.main(['--database', 'sqlite']))
"""


class EndsTestCase(unittest.TestCase):
    """A storm that is ended from outside."""

    def _start(self, code: str) -> subprocess.Popen[str]:
        started = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', code], cwd=_ROOT,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, 'PYTHONPATH': str(_ROOT)})
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        return started

    def test_stopped_process_goes_with_its_storm(self) -> None:
        """It cannot look itself whether the storm is still there."""
        storm = self._start(_STORM)
        assert storm.stdout is not None
        child = int(storm.stdout.readline())

        def end() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self.addCleanup(end)
        os.kill(child, signal.SIGSTOP)
        storm.kill()
        storm.wait(_SOON)
        waiting.until(lambda: not _lives(child))

    def test_terminated_storm_takes_down_what_it_has_made(self) -> None:
        """As one whose time is up."""
        storm = self._start(_LONG)
        assert storm.stdout is not None
        self.assertEqual('there\n', storm.stdout.readline())
        storm.terminate()
        self.assertEqual('gone\n', storm.stdout.readline())
        self.assertEqual(128 + signal.SIGTERM, storm.wait(_SOON))


def _lives(pid: int) -> bool:
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except FileNotFoundError:
        return False
    # NOTE: whom nobody waits for is a zombie until its new parent looks.
    return stat.rpartition(')')[2].split()[0] != 'Z'
