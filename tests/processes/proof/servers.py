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

"""Processes of the API that share one port, as an operator starts them.

They are forked from one that has read the code: a storm starts dozens.
"""

from __future__ import annotations

from multiprocessing import process as mp_process
import os
import pathlib
import socket
import sys
import time
from typing import Self

from ironic_reservations.cmd import api
from tests import forks

#: What takes so long hangs, also on a machine that has other things to do.
_WITHIN = 600
_SERVES = 'ironic-reservations-api serves http://'


def _serve(log: pathlib.Path, arguments: list[str]) -> None:
    """Be ``ironic-reservations-api``, with a log of its own."""
    with log.open('wb') as output:
        for number in (1, 2):
            os.dup2(output.fileno(), number)
    sys.exit(api.main(arguments))


class Servers:
    """Some ``ironic-reservations-api`` processes behind one port.

    The kernel spreads the connections over those that listen.

    :param config_file: of all of them, with ``reuse_port``.
    :param count: how many.
    :ivar port: where they are.
    """

    def __init__(self, config_file: pathlib.Path, count: int) -> None:
        # NOTE: bound, not listening: the port is ours even while none of them
        # lives, and no connection ends up here.
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._place.bind(('127.0.0.1', 0))
        self.port = int(self._place.getsockname()[1])
        self._config_file = config_file
        self._processes: list[mp_process.BaseProcess | None] = [None] * count
        self._logs: dict[int, pathlib.Path] = {}
        self._starts = 0

    def __enter__(self) -> Self:
        try:
            self.restart()
            self.wait()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        self._end()

    def __len__(self) -> int:
        return len(self._processes)

    def kill(self, number: int) -> None:
        """Kill one where it stands (SIGKILL)."""
        process = self._processes[number]
        if process is not None:
            process.kill()
            process.join()
            self._processes[number] = None

    def restart(self) -> None:
        """Start those that do not run."""
        for number, process in enumerate(self._processes):
            if process is None:
                self._start(number)

    def serving(self) -> list[int]:
        """Return the numbers of those that serve.

        :raises RuntimeError: one has ended by itself.
        """
        serving = []
        for number, process in enumerate(self._processes):
            if process is None:
                continue
            said = self._logs[number].read_text(errors='replace')
            if not process.is_alive():
                raise RuntimeError(
                    f'ironic-reservations-api has ended: {said[-3000:]}')
            if _SERVES in said:
                serving.append(number)
        return serving

    def wait(self) -> None:
        """Wait until all of them serve."""
        deadline = time.monotonic() + _WITHIN
        while len(self.serving()) < len(self):
            if time.monotonic() > deadline:
                raise RuntimeError('ironic-reservations-api does not serve: '
                                   + self.log()[-3000:])
            time.sleep(0.1)

    def log(self) -> str:
        """Return what all of them have logged."""
        return ''.join(path.read_text(errors='replace') for path in sorted(
            self._config_file.parent.glob('api-*.log')))

    def _start(self, number: int) -> None:
        self._starts += 1
        log = self._config_file.with_name(f'api-{self._starts:03}.log')
        log.touch()
        process = forks.CONTEXT.Process(target=_serve, args=(log, [
            '--port', str(self.port),
            '--config-file', str(self._config_file)]))
        process.start()
        self._processes[number] = process
        self._logs[number] = log

    def _end(self) -> None:
        for process in self._processes:
            if process is not None:
                process.terminate()
        for process in self._processes:
            if process is not None:
                process.join(15)
                process.kill()
                process.join()
        self._place.close()
