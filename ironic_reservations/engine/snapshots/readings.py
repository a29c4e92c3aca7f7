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

"""Readings of the database that several requests share."""

from __future__ import annotations

from collections.abc import Callable
import threading

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection

#: How long, in seconds, a reading is waited for.
_PATIENCE = 10


class Reading:
    """A reading of the database that several callers wait for."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._error: BaseException | None = None

    def finish(self, error: BaseException | None) -> None:
        """Wake all callers that wait."""
        self._error = error
        self._done.set()

    def wait(self) -> None:
        """Wait until it is finished, however it ends.

        :raises Contention: the reading takes too long.
        """
        if not self._done.wait(_PATIENCE):
            raise errors.Contention(
                'Too many requests wait for the timeline to be read, which '
                'takes the database long. Nothing was changed; try again.')

    def join(self) -> None:
        """Wait until it is finished, and share its result.

        :raises Conflict: the reading failed for any other reason.
        :raises DatabaseUnavailable: the database did not answer.
        :raises Contention: the reading takes too long.
        """
        self.wait()
        if isinstance(self._error, errors.DatabaseUnavailable
                      | errors.Contention):
            raise type(self._error)(str(self._error))
        if self._error is not None:
            raise db_connection.Conflict('another request failed to read')


class Readings:
    """Readings of which one caller leads each, for all that join it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Reading | None = None
        self._next: Reading | None = None

    @property
    def is_running(self) -> bool:
        """Whether a reading has begun and not ended."""
        return self._running is not None

    def share(self, read: Callable[[], None]) -> None:
        """Read, or join a reading that has not begun yet.

        :param read: reads for all callers that wait when the reading begins.
        :raises: as :meth:`Reading.join`, or as ``read``.
        """
        with self._lock:
            reading, before = self._next, self._running
            leads = reading is None
            if reading is None:
                reading = self._next = Reading()
        if leads:
            self._lead(reading, before, read)
        else:
            reading.join()

    def _lead(self, reading: Reading, before: Reading | None,
              read: Callable[[], None]) -> None:
        error: BaseException | None = None
        try:
            if before is not None:
                before.wait()
            with self._lock:
                # From now on no caller joins it.
                self._running, self._next = reading, None
            read()
        except BaseException as exc:
            error = exc
            raise
        finally:
            with self._lock:
                if self._next is reading:
                    self._next = None
                if self._running is reading:
                    self._running = None
            reading.finish(error)
