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

"""Limits how long a PostgreSQL driver waits for an answer.

A server that has been stopped, or a proxy that drops everything, still
acknowledges on TCP, and libpq waits for an answer without a limit. A thread
therefore watches each wait, and shuts the connection down once the wait
exceeds the limit: libpq then finds it closed and raises an error.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import socket
import threading
import time
from typing import Any

#: The interval, in seconds, at which waits are compared with their limit.
_TICK = 0.5


class _Watch:
    """Shuts down connections whose answer is overdue."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[int, tuple[float, Any]] = {}
        self._number = 0
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def within(self, connection: Any, seconds: float) -> Iterator[None]:
        """Shut a connection down unless the block ends in time."""
        with self._changed:
            self._number += 1
            number = self._number
            self._waiting[number] = time.monotonic() + seconds, connection
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name='database-answers', daemon=True)
                self._thread.start()
            elif len(self._waiting) == 1:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                del self._waiting[number]

    def _run(self) -> None:
        with self._changed:
            while True:
                if not self._waiting:
                    self._changed.wait()
                now = time.monotonic()
                for deadline, connection in self._waiting.values():
                    if now > deadline:
                        shut_down(connection)
                # This releases the lock while it waits.
                self._changed.wait(_TICK)


def shut_down(connection: Any) -> None:
    """Shut a connection down, if its driver has the descriptor.

    :param connection: the driver's.
    """
    with contextlib.suppress(Exception):
        # A duplicate, since libpq closes the descriptor itself.
        with socket.socket(fileno=os.dup(connection.fileno())) as way:
            way.shutdown(socket.SHUT_RDWR)


_watch = _Watch()


def _begin_anew() -> None:
    """Discard the waits and the thread of the parent process."""
    global _watch
    _watch = _Watch()


os.register_at_fork(after_in_child=_begin_anew)


def within(connection: Any,
           seconds: float) -> contextlib.AbstractContextManager[None]:
    """Shut a connection down unless a block ends in time.

    :param connection: the driver's; the block waits for its answer.
    """
    return _watch.within(connection, seconds)
