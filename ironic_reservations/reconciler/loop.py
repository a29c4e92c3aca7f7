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

"""Loops: threads that repeat tasks.

:mod:`.loops` lists all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import threading
import time

from oslo_log import log

from ironic_reservations import errors
from ironic_reservations import log_repeats
from ironic_reservations.db import connection as db_connection
from ironic_reservations.reconciler import claim as claim_module

LOG = log.getLogger(__name__)

#: Seconds between two passes, and after a failure.
_TICK = 1.0
_AFTER_FAILURE = 5.0

#: Long tasks call this to learn whether they should continue.
ShouldContinue = Callable[[], bool]


@dataclasses.dataclass
class Task:
    """A task of a loop.

    :ivar act: the work.
    :ivar every: the interval in seconds; 0: in each pass of the loop.
    :ivar claimed: whether only the process with the claim of the loop runs it.
    :ivar again: whether a failed task is repeated in the next pass; otherwise
        it waits for its interval.
    :ivar due_at: the time at which the task is due, by the clock of the loop.
    """

    act: Callable[[ShouldContinue], object]
    every: float = 0
    claimed: bool = True
    again: bool = True
    due_at: float = 0.0


class Loop:
    """Runs its tasks in order, each when it is due.

    :param name: the name for threads and the log.
    :param claim: the claim to the work of the loop; ``None``: each process
        does it.
    """

    def __init__(self, name: str, tasks: Sequence[Task],
                 claim: claim_module.Claim | None = None) -> None:
        self.name = name
        self.tasks = tuple(tasks)
        self.claim = claim
        self._stopping = threading.Event()
        self._news = threading.Event()
        self._thread: threading.Thread | None = None
        self._repeats = log_repeats.Repeats()

    @property
    def alive(self) -> bool:
        """Whether the thread of the loop runs in this process."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Run the loop on a thread of this process."""
        self._thread = threading.Thread(
            target=self.run, name=f'ironic-reservations-{self.name}',
            daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Begin the next pass at once."""
        self._news.set()

    def end(self) -> None:
        """Make the loop end after the running task."""
        self._stopping.set()
        self._news.set()

    def stop(self, timeout: float = 10) -> None:
        """End the loop, and wait for its thread.

        :param timeout: the limit in seconds.
        """
        self.end()
        if self._thread is not None:
            self._thread.join(timeout)

    def run(self) -> None:
        """Run passes until :meth:`end`; then drop the claim."""
        while not self._stopping.is_set():
            self._news.wait(self._run_pass())
            self._news.clear()
        if self.claim is not None:
            self.claim.drop()

    def _run_pass(self) -> float:
        """Run the due tasks; return the seconds until the next pass."""
        failed: Exception | None = None
        try:
            self.one_pass()
        except Exception as exc:
            # A bug in one pass must not end all later ones.
            failed = exc
        return _TICK if failed is None else self._log(failed)

    def _log(self, exc: Exception) -> float:
        """Log a failure; return the seconds until the next pass.

        It is logged when no exception is being handled: oslo.log would write
        the text of the exception a second time.
        """
        match exc:
            case db_connection.Conflict() | errors.Contention():
                LOG.debug('Another process was quicker; trying again')
                return _TICK
            case _ if not self._repeats.are_due(repr(exc)):
                pass
            case (errors.DatabaseUnavailable() | errors.IronicUnavailable()
                  | errors.PlacementUnavailable()):
                LOG.warning('The reconciler waits (%s): %s', self.name, exc)
            case _:
                LOG.error('A pass of the reconciler failed (%s)', self.name,
                          exc_info=exc)
        return _AFTER_FAILURE

    def one_pass(self) -> None:
        """Run the due tasks for which this process has the claim.

        :raises PlacementUnavailable: Placement does not answer.
        :raises Conflict: another process wrote first.
        """
        mine = True
        failed: list[Exception] = []
        for task in self.tasks:
            if self._stopping.is_set():
                break
            # The claim is checked before each task, since the previous one may
            # have taken longer than the claim lasts; and also if the task is
            # not due, so that the claim is renewed.
            if task.claimed and self.claim is not None:
                mine = mine and self.claim.holds()
            if mine or not task.claimed:
                try:
                    self._do(task)
                except errors.DatabaseUnavailable as exc:
                    failed.append(exc)
                    break
                except Exception as exc:
                    # A task that fails each time must not block the tasks
                    # after it.
                    failed.append(exc)
        for each in failed[:-1]:
            self._log(each)
        if failed:
            raise failed[-1]

    def _do(self, task: Task) -> None:
        now = time.monotonic()
        if now < task.due_at:
            return
        if not task.again:
            task.due_at = now + task.every
        task.act(self._should_continue)
        task.due_at = now + task.every

    def _should_continue(self) -> bool:
        return not self._stopping.is_set() and (
            self.claim is None or self.claim.holds())
