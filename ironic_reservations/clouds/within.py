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

"""A limit for the whole of an exchange with another service.

The time-outs of sockets are for each answer of the operating system: who
sends a byte now and then holds up for ever whoever relies on them.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import socket
import threading
from typing import Generic
from typing import TypeVar

_T = TypeVar('_T')

#: How many characters of an error are told.
_SAID = 200


class TooLate(OSError):
    """The exchange has not come to its end in time."""


#: Exchanges that were cut off and have not ended yet, by receiver.
_left: dict[str, threading.Thread] = {}


def one_line(exc: BaseException) -> str:
    """Return what went wrong, in one short line that can be written anywhere.

    NOTE: the other side may have chosen the words.
    """
    said = ''.join(each if each.isprintable() else ' ' for each in str(exc))
    return f'{type(exc).__name__}: {said[:_SAID]}'


class Cut:
    """Cuts off the connection of an exchange.

    An exchange hands over its connection as soon as it has one, and what it
    hands over when the time is up is cut off at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: socket.socket | None = None
        self._over = False

    def watch(self, connection: socket.socket) -> None:
        """Take a connection that is to be cut off when the time is up.

        :raises TooLate: it is up.
        """
        with self._lock:
            self._open = connection
            if self._over:
                raise TooLate('the time is up')

    def now(self) -> None:
        """Cut off the connection, and any that is handed over later."""
        with self._lock:
            self._over = True
            if self._open is not None:
                with contextlib.suppress(OSError):
                    self._open.shutdown(socket.SHUT_RDWR)


class _Exchange(threading.Thread, Generic[_T]):
    """An exchange, and what came of it."""

    def __init__(self, act: Callable[[Cut], _T]) -> None:
        super().__init__(name='ironic-reservations-exchange', daemon=True)
        self._act = act
        self.cut = Cut()
        self.answers: list[_T] = []
        self.failures: list[BaseException] = []

    def run(self) -> None:
        """Speak, and keep the answer or the failure."""
        try:
            self.answers.append(self._act(self.cut))
        except BaseException as exc:
            self.failures.append(exc)


def within(seconds: float, receiver: str, act: Callable[[Cut], _T]) -> _T:
    """Return what an exchange returns, or cut it off.

    NOTE: on a thread of its own, since looking up a name cannot be cut off;
    one that is left there sends nothing any more, and while it is there no
    other one to the same receiver begins.

    :param receiver: its name.
    :param act: gets what it has to hand its connection over to.
    :raises TooLate: it has not come to its end in time.
    """
    before = _left.get(receiver)
    if before is not None and before.is_alive():
        raise TooLate('an exchange that was cut off has not ended yet')
    exchange = _Exchange(act)
    exchange.start()
    exchange.join(seconds)
    if exchange.is_alive():
        _left[receiver] = exchange
        exchange.cut.now()
        raise TooLate(f'there was no answer within {seconds:g} s')
    if exchange.failures:
        raise exchange.failures[0]
    return exchange.answers[0]
