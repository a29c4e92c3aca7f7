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

"""Processes with a log, like :mod:`tools.child`, which need not read code.

They are forked from one that has read it: to read Ironic's takes longer than
most of what a test has it do.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from multiprocessing import connection
from multiprocessing import process as mp_process
import os
from pathlib import Path
import subprocess
import sys
import warnings

from tests import forks
from tools import child


def _be(code: str, arguments: Sequence[str], folder: Path, log_file: Path,
        environment: Mapping[str, str], follow: connection.Connection,
        begun: connection.Connection) -> None:
    """Be a Python that was started with this code."""
    os.setsid()
    os.chdir(folder)
    os.dup2(follow.fileno(), 0)
    follow.close()
    with log_file.open('ab') as log:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
    os.environ.clear()
    os.environ.update(environment)
    begun.send_bytes(b'1')
    begun.close()
    warnings.simplefilter('ignore')
    sys.argv = ['-c', *arguments]
    # NOTE: it is no child of multiprocessing's, and may have some itself.
    mp_process.current_process()._config['daemon'] = False
    exec(compile(code, '<string>', 'exec'), {'__name__': '__main__'})


class _Running:
    """What :class:`subprocess.Popen` has of such a process."""

    def __init__(self, process: mp_process.BaseProcess,
                 stdin: connection.Connection) -> None:
        self._process = process
        self.stdin = stdin
        assert process.pid is not None
        self.pid = process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended, as far as that is known."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return how it ended, or ``None``."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return how."""
        self._process.join(timeout)
        status = self._process.exitcode
        if status is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end (SIGTERM)."""
        self._process.terminate()

    def kill(self) -> None:
        """End it on the spot (SIGKILL)."""
        self._process.kill()


class ForkedChild(child.Child):
    """A process with a log: see :meth:`tools.child.Child.python`.

    Its code finds those modules read that :mod:`tests.forks` names.
    """

    def __init__(self, name: str, code: str, arguments: Sequence[str],
                 folder: Path, log_file: Path,
                 environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log_file = log_file
        log_file.touch()
        follow, stdin = forks.CONTEXT.Pipe(duplex=False)
        ready, begun = forks.CONTEXT.Pipe(duplex=False)
        process = forks.CONTEXT.Process(
            name=name, daemon=True, target=_be, args=(
                child.FOLLOW + code, tuple(arguments), folder, log_file,
                {**os.environ, **(environment or {})}, follow, begun))
        process.start()
        for end in (follow, begun):
            end.close()
        with ready:
            # NOTE: from here on its group is its own, and can be killed.
            ready.recv_bytes()
        self.process = _Running(process, stdin)
