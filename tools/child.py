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


"""A process that ends with the one that started it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

#: How long one may take to end by itself, in seconds, before it is killed.
STOP_TIMEOUT = 15

#: What its code begins with.
# NOTE: its standard input is a pipe that nothing is ever written to. It is at
# its end once we are gone, however that happened, and the child, which leads
# a group of its own, goes with us and takes its own children along.
FOLLOW = """
import os, signal, sys, threading
def follow():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)
threading.Thread(target=follow, daemon=True).start()
"""


class NotStarted(RuntimeError):
    """A service did not come up; the text ends with the tail of its log."""


class Child:
    """A process with a log.

    :param name: for people.
    :param command: what is run; a Python of ours begins with FOLLOW.
    :param folder: where it runs.
    :param log_file: where what it prints is added to.
    :param environment: beside that of this process.
    """

    def __init__(self, name: str, command: Sequence[str], folder: Path,
                 log_file: Path,
                 environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log_file = log_file
        with log_file.open('ab') as log:
            self.process = subprocess.Popen(
                list(command), cwd=folder, stdin=subprocess.PIPE, stdout=log,
                stderr=log, start_new_session=True,
                env={**os.environ, **(environment or {})})

    @classmethod
    def python(cls, name: str, code: str, arguments: Sequence[str],
               folder: Path, log_file: Path,
               environment: Mapping[str, str] | None = None) -> Child:
        """Run code in a Python like this one."""
        return cls(name, [sys.executable, '-W', 'ignore', '-c', FOLLOW + code,
                          *arguments], folder, log_file, environment)

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Wait until it serves.

        :param ready: asks it; ``False`` where it does not answer yet.
        :raises NotStarted: it ended, or was not ready in time.
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            status = self.process.poll()
            if status is not None:
                raise NotStarted(f'{self.name} ended with {status} before it '
                                 f'answered:\n{self.log_tail()}')
            if ready():
                return
            time.sleep(0.1)
        raise NotStarted(f'{self.name} did not answer within {timeout:.0f} '
                         f's:\n{self.log_tail()}')

    def stop(self) -> None:
        """End it as an operator would, else kill it."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_TIMEOUT)
        self.kill()

    def kill(self) -> None:
        """Kill it and its children on the spot (SIGKILL)."""
        assert self.process.stdin is not None
        with contextlib.suppress(ProcessLookupError):
            # The group is its own: see start_new_session.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()

    def log_tail(self, lines: int = 40) -> str:
        """The last lines that it logged."""
        return tail(self.log_file, lines)


def tail(log_file: Path, lines: int = 40) -> str:
    """The last lines of a log."""
    try:
        text = log_file.read_text(errors='replace')
    except FileNotFoundError:
        return '(no log yet)'
    return '\n'.join(text.splitlines()[-lines:])
