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

"""Forks the workers of stestr from a process that has imported all tests.

To import them takes each worker seconds otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
import json
import os
import pathlib
import random
import select
import signal
import socket
import subprocess
import sys

#: Asks for a worker.
CLIENT = pathlib.Path(__file__).with_name('forked_worker.py')
_POLL = 0.05
_LONGEST = 65536


class WorkerForks:
    """Forks a worker for each request of :data:`CLIENT`.

    :param folder: in which the socket is; clients find its name in the
        environment (:data:`tools.worker.FOLDER_VARIABLE`).
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / 'socket'))
        self._listener.listen()
        self._at_work: dict[int, socket.socket] = {}

    def serve(self, runner: subprocess.Popen[bytes]) -> Sequence[str] | None:
        """Fork workers until the process that asks for them has ended.

        :param runner: of which the clients are children.
        :returns: the arguments of a worker, in each worker; nothing here.
        """
        try:
            while runner.poll() is None:
                if select.select([self._listener], [], [], _POLL)[0]:
                    arguments = self._fork()
                    if arguments is not None:
                        # NOTE: the others are not this one's children.
                        self._at_work.clear()
                        return arguments
                self._reap()
        finally:
            for pid in self._at_work:
                os.kill(pid, signal.SIGKILL)
            if self._at_work:
                runner.kill()
        return None

    def _fork(self) -> Sequence[str] | None:
        asking = self._listener.accept()[0]
        words, streams, _flags, _address = socket.recv_fds(
            asking, _LONGEST, 3)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            self._at_work[pid] = asking
        else:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            for each in (self._listener, asking, *self._at_work.values()):
                each.close()
            random.seed()
        for stream in streams:
            os.close(stream)
        return None if pid else json.loads(words)

    def _reap(self) -> None:
        for pid in tuple(self._at_work):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with self._at_work.pop(pid) as asking:
                    asking.sendall(
                        b'%d' % (os.waitstatus_to_exitcode(status) % 256))
