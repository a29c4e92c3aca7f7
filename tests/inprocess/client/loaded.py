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


"""Console scripts for tests that run many of them.

They are run in copies of a process that has loaded them, which is one of its
own: tests have threads, which must not be copied.  The scripts themselves are
run by the tests of the examples, of the pages, and on a whole cloud.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import json
import os
import pathlib
import subprocess
import sys

from tools import loaded_commands

#: The scripts that there are.
NAMES = ('baremetal', 'blazar', 'openstack')
_ROOT = pathlib.Path(__file__).parents[3]


class Commands:
    """Runs scripts, as :func:`subprocess.run` does.

    Its process ends once this one has, whose pipe is at its end then.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-m', __name__], cwd=_ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, 'PYTHONPATH': str(_ROOT)})

    def run(self, args: Sequence[str], environment: Mapping[str, str],
            timeout: float, folder: str | os.PathLike[str] | None = None
            ) -> subprocess.CompletedProcess[str]:
        """Run a script until it ends.

        :param args: its name, and its arguments.
        :param timeout: in seconds.
        :param folder: where it runs; by default where the project lies.
        :raises TimeoutExpired: it took longer; it has been killed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        name, *words = args
        self._process.stdin.write(json.dumps(
            [name, words, {**environment}, timeout,
             None if folder is None else str(folder)]) + '\n')
        self._process.stdin.flush()
        done = json.loads(self._process.stdout.readline())
        if done is None:
            raise subprocess.TimeoutExpired([*args], timeout)
        return subprocess.CompletedProcess(
            [*args], done['status'], done['output'], done['errors'])


@functools.cache
def commands() -> Commands:
    """Return those of this process."""
    return Commands()


def main() -> None:
    """Run what is asked for, until nobody can ask."""
    loaded = loaded_commands.LoadedCommands(
        NAMES, loaded_commands.PLUGINS)
    for line in sys.stdin:
        name, words, environment, timeout, folder = json.loads(line)
        try:
            done = dataclasses.asdict(loaded.run(
                name, words, environment, timeout, folder=folder, apart=True))
        except TimeoutError:
            done = None
        print(json.dumps(done), flush=True)


if __name__ == '__main__':
    main()
