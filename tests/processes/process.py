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


"""A process of the storm: started, stopped, continued, killed."""

from __future__ import annotations

from concurrent import futures
import contextlib
import os
import pathlib
import signal
import socket
import sys
import threading
import time

import requests

from tests.processes import recorder
from tests.processes import wall_clock
from tools import child

_ROOT = pathlib.Path(__file__).parents[2]
#: Names a file: a process reads its code, and waits for that.
GO_VARIABLE = 'STORM_GO'
#: The thread that all processes are started by: each of them is killed once
#: the thread that has started it ends, see :func:`.served.end_with_us`.
NURSERY = futures.ThreadPoolExecutor(1, 'nursery')


class Process:
    """A program that is started again whenever it has been killed.

    :param role: as :mod:`.served` knows it.
    :param name: for people, and of its log.
    :param folder: of the storm.
    :param arguments: of the program.
    :param url: where it answers once it serves; ``None`` where it does not.
    :param path: where it looks for packages first.
    :param listens: where it takes connections, if it does not answer there.
    :param alone: whether nobody stands in for it: the next one waits with all
        its code read, as under a supervisor that keeps one ready.
    """

    def __init__(self, role: str, name: str, folder: pathlib.Path,
                 arguments: tuple[str, ...], url: str | None = None,
                 environment: dict[str, str] | None = None,
                 path: tuple[pathlib.Path, ...] = (),
                 listens: tuple[str, int] | None = None,
                 alone: bool = False) -> None:
        self.role = role
        self.name = name
        self.url = url
        self.stopped = False
        self._paused_at = 0.0
        self._went_on_at = 0.0
        self.off = 0.0
        self._folder = folder
        self._arguments = arguments
        self._environment = dict(environment or {})
        self._listens = listens
        self._always = (folder / 'site', _ROOT)
        self._path = (*path, *self._always)
        self._child: child.Child | None = None
        self._alone = alone
        self._next: child.Child | None = None
        self._number = 0
        self._over = False
        # NOTE: one is not killed while it is being started.
        self._lock = threading.RLock()

    @property
    def log_file(self) -> pathlib.Path:
        """Where it logs."""
        return self._folder / f'{self.name}.log'

    @property
    def _clock(self) -> pathlib.Path:
        return self._folder / f'{self.name}.clock'

    @property
    def running(self) -> bool:
        """Whether it is there, be it stopped."""
        return (self._child is not None
                and self._child.process.poll() is None)

    @property
    def stopped_for(self) -> float:
        """For how long it has been stopped, in seconds."""
        return time.monotonic() - self._paused_at if self.stopped else 0.0

    @property
    def undisturbed_for(self) -> float:
        """How long ago it was started, or went on, in seconds."""
        return time.monotonic() - self._went_on_at

    @property
    def serves(self) -> bool:
        """Whether it takes requests now."""
        if not self.running or self.stopped:
            return False
        if self.url is None:
            return True
        port = int(self.url.rsplit(':', 1)[1].strip('/'))
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(('127.0.0.1', port)) == 0

    def start(self, off: float = 0.0) -> None:
        """Start it, unless it runs.

        :param off: of its wall clock, in seconds.
        """
        with self._lock:
            if self.running or self._over:
                return
            self.set_clock(off)
            self.stopped = False
            self._went_on_at = time.monotonic()
            self._child = self._next or self._make()
            self._go.touch()
            if self._alone:
                self._number += 1
                self._next = self._make()

    @property
    def _go(self) -> pathlib.Path:
        """A file that is there once the next one may begin."""
        return self._folder / f'{self.name}.go-{self._number}'

    def _make(self) -> child.Child:
        return NURSERY.submit(
            child.Child, self.name,
            [sys.executable, '-W', 'ignore', '-m',
             'tests.processes.served', self.role, *self._arguments],
            self._folder, self.log_file, {
                **self._environment,
                'PYTHONPATH': os.pathsep.join(map(str, self._path)),
                GO_VARIABLE: str(self._go),
                recorder.VARIABLE: str(
                    self._folder / f'done-{self.name}.jsonl'),
                wall_clock.VARIABLE: str(self._clock)}).result()

    def set_clock(self, off: float) -> None:
        """Set its wall clock, also while it runs.

        :param off: by how many seconds it is off then.
        """
        wall_clock.put(self._clock, off)
        self.off = off

    def wait(self, timeout: float = 240) -> None:
        """Wait until it answers, or takes connections.

        :raises NotStarted: it ended, or did not answer in time.
        """
        process = self._child
        if process is not None and self._listens is not None:
            process.wait_until(self._takes, timeout)
        elif process is not None and self.url is not None:
            with requests.Session() as session:
                session.trust_env = False
                process.wait_until(lambda: self._answers(session), timeout)

    def _takes(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(self._listens) == 0

    def _answers(self, session: requests.Session) -> bool:
        try:
            # NOTE: any answer will do.
            return session.get(self.url or '', timeout=5).status_code < 600
        except requests.RequestException:
            return False

    def pause(self) -> bool:
        """Stop it where it stands (SIGSTOP)."""
        with self._lock:
            if self.running and not self.stopped:
                self._signal(signal.SIGSTOP)
                self._paused_at = time.monotonic()
                self.stopped = True
                return True
        return False

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        with self._lock:
            if self.running and self.stopped:
                self._signal(signal.SIGCONT)
                self._went_on_at = time.monotonic()
            self.stopped = False

    def kill(self) -> None:
        """Kill it where it stands (SIGKILL)."""
        with self._lock:
            if self._child is not None:
                self._child.kill()
                self._child = None
            self.stopped = False

    def replace(self, path: tuple[pathlib.Path, ...]) -> None:
        """Kill it, and start what is somewhere else in its place.

        :param path: where it looks for packages first, from now on.
        """
        with self._lock:
            self.kill()
            if self._next is not None:
                self._next.kill()
                self._next = None
            self._path = (*path, *self._always)
            self.start(self.off)

    def end(self) -> None:
        """Kill it, and never start it again."""
        with self._lock:
            self.kill()
            self._over = True
            if self._next is not None:
                self._next.kill()
                self._next = None

    def _signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.process.pid, number)

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines that it logged."""
        return child.tail(self.log_file, lines)
