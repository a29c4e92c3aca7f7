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

"""Limits the total time of an exchange with another service.

The time-outs of sockets apply to each operation: a peer that sends a byte now
and then could block an exchange for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
import contextlib
import socket
import threading
from typing import TypeVar

_T = TypeVar('_T')

#: The maximum length of an error message.
_SAID = 200


class TooLate(OSError):
    """The exchange has not ended in time."""


#: Exchanges that were aborted and have not ended yet, by receiver.
_left: dict[str, threading.Thread] = {}


def one_line(exc: BaseException) -> str:
    """Return an error as one short printable line.

    The message may come from the peer.
    """
    said = ''.join(each if each.isprintable() else ' ' for each in str(exc))
    return f'{type(exc).__name__}: {said[:_SAID]}'


class Cut:
    """Aborts the connection of an exchange.

    The exchange registers each connection that it opens. A connection that is
    registered after the time limit is aborted at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: socket.socket | None = None
        self._over = False

    def watch(self, connection: socket.socket) -> None:
        """Register a connection.

        :raises TooLate: the time is up.
        """
        with self._lock:
            self._open = connection
            if self._over:
                raise TooLate('the time is up')

    def now(self) -> None:
        """Abort the connection, and any that is registered later."""
        with self._lock:
            self._over = True
            if self._open is not None:
                with contextlib.suppress(OSError):
                    self._open.shutdown(socket.SHUT_RDWR)


def _run(act: Callable[[Cut], _T], cut: Cut,
         result: futures.Future[_T]) -> None:
    """Run an exchange, and store its result or error."""
    try:
        result.set_result(act(cut))
    except BaseException as exc:
        result.set_exception(exc)


def within(seconds: float, receiver: str, act: Callable[[Cut], _T]) -> _T:
    """Return the result of an exchange, or abort it.

    The exchange runs on another thread, since the lookup of a name cannot be
    aborted. If the thread does not end, it sends nothing any more, and until
    it ends, no other exchange with the same receiver is begun.

    :param seconds: the limit.
    :param receiver: the name of the receiver.
    :param act: the exchange; its argument is the object with which it
        registers connections.
    :raises TooLate: the exchange has not ended in time.
    """
    before = _left.get(receiver)
    if before is not None and before.is_alive():
        raise TooLate('an exchange that was cut off has not ended yet')
    cut, result = Cut(), futures.Future[_T]()
    exchange = threading.Thread(target=_run, args=(act, cut, result),
                                name='ironic-reservations-exchange',
                                daemon=True)
    exchange.start()
    exchange.join(seconds)
    if exchange.is_alive():
        _left[receiver] = exchange
        cut.now()
        raise TooLate(f'there was no answer within {seconds:g} s')
    return result.result()
