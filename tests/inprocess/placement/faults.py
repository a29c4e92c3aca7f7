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

"""What can go wrong with a call to Placement, and with who makes it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import enum
from typing import Any

from keystoneauth1 import exceptions as ksa_exc
import requests
import sqlalchemy as sa

from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import nova
from ironic_reservations.clouds import placement
from ironic_reservations.clouds import sending
from ironic_reservations.db import connection


class Fault(enum.Enum):
    """How a write fails."""

    #: It never arrives.
    LOST = 'lost'
    #: It is done; the answer never comes.
    UNANSWERED = 'unanswered'
    #: It arrives after the client has given up.
    LATE = 'late'
    #: The server fails before it has done anything.
    ERROR = 'error'
    #: The server does it, and fails to say so.
    ERROR_DONE = 'error, done'


class Died(BaseException):
    """The process is gone."""


class Network:
    """Between a client and Placement.

    :param sender: to the real one.
    :ivar calls: the method and path of each request that was made.
    :ivar faults: what happens to the next writes, in their order; ``None``
        is nothing.
    :ivar down: whether nothing gets through at all.
    :ivar late: requests that have not arrived yet.
    :ivar before: happens before each request, which it is told.
    :ivar suffered: how many faults there were.
    """

    def __init__(self, sender: sending.Sender) -> None:
        self._sender = sender
        self.calls: list[str] = []
        self.faults: list[Fault | None] = []
        self.down = False
        self.late: list[Callable[[], Any]] = []
        self.before: Callable[[str, str], Any] = lambda method, url: None
        self.suffered = 0

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        self.before(method, url)
        self.calls.append(f'{method} {url}')
        if self.down:
            self.suffered += 1
            raise ksa_exc.ConnectFailure('down')
        fault = (self.faults.pop(0) if self.faults and method != 'GET'
                 else None)
        if fault is None:
            return self._sender.request(url, method, **kwargs)
        self.suffered += 1
        if fault is Fault.LATE:
            self.late.append(
                lambda: self._sender.request(url, method, **kwargs))
        if fault in (Fault.UNANSWERED, Fault.ERROR_DONE):
            self._sender.request(url, method, **kwargs)
        if fault in (Fault.ERROR, Fault.ERROR_DONE):
            failed = requests.Response()
            failed.status_code = 500
            return failed
        raise ksa_exc.ConnectTimeout('no answer')

    def writes(self) -> list[str]:
        """Return the methods of the writes that were made."""
        return [call.partition(' ')[0] for call in self.calls
                if not call.startswith('GET')]

    def once_before(self, method: str, end: str,
                    action: Callable[[], Any]) -> None:
        """Have something happen before the next such request.

        :param end: of its path.
        """
        def before(*sent: str) -> None:
            if sent[0] == method and sent[1].endswith(end):
                self.before = lambda *_: None
                action()
        self.before = before

    def deliver(self) -> None:
        """Have arrive what is late."""
        while self.late:
            self.late.pop(0)()


class Steps:
    """Counts the steps of a process, and ends it at one of them.

    A step is before or after a transaction that writes, or a request.  What
    is done ``with`` it ends with the process, and the test goes on.

    :param last: the number of the step that it dies at.
    :ivar taken: how many it has taken.
    :ivar died: whether it came to that.
    """

    def __init__(self, last: int) -> None:
        self._last = last
        self.taken = 0
        self.died = False

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self.died |= kind is Died
        return kind is Died

    def take(self) -> None:
        if self.is_last():
            raise Died
        self.taken += 1

    def is_last(self) -> bool:
        return self.taken >= self._last

    def begin(self, engine: engine_module.Engine) -> None:
        """Know whose process it is."""

    def change(self) -> None:
        """Know that something may be changed from here on."""


class Changes(Steps):
    """Ends a process at its first step after so many changes.

    All that it leaves is what it has changed, so to die at any of the steps
    up to the next change is to die at the first of them.

    :param last: after how many changes it dies.
    """

    def __init__(self, last: int) -> None:
        super().__init__(last)
        self._changed = 0

    def is_last(self) -> bool:
        return self._changed + self._in_ironic() - self._before >= self._last

    def begin(self, engine: engine_module.Engine) -> None:
        self._ironic: Any = engine.ironic
        self._before = self._in_ironic()

    def change(self) -> None:
        self._changed += 1

    def _in_ironic(self) -> int:
        return (len(self._ironic.changed)
                + self._ironic.asked.count('delete_allocation'))


def each_death(most: int = 100) -> Iterator[Changes]:
    """Give the steps of a process that dies after each of its changes.

    :raises AssertionError: with so many changes it never got through.
    """
    for last in range(most):
        steps = Changes(last)
        yield steps
        if not steps.died:
            return
    raise AssertionError('It never got through.')


class MortalDatabase(connection.Database):
    """The database of a process that dies at a step."""

    def __init__(self, mortal: connection.Database, steps: Steps) -> None:
        self._mortal, self._steps = mortal, steps
        self.url, self._limits = mortal.url, mortal._limits

    @property
    def engine(self) -> sa.Engine:
        return self._mortal.engine

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        self._steps.take()
        self._steps.change()
        with self._mortal.write() as opened:
            yield opened
        self._steps.take()


class _MortalSender:

    def __init__(self, sender: sending.Sender, steps: Steps) -> None:
        self._sender, self._steps = sender, steps

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        self._steps.take()
        if method != 'GET':
            self._steps.change()
        answer = self._sender.request(url, method, **kwargs)
        self._steps.take()
        return answer


def mortal(engine: engine_module.Engine, sender: sending.Sender,
           steps: Steps, to_nova: sending.Sender | None = None
           ) -> engine_module.Engine:
    """Return an engine as a process has it that dies at a step.

    :param to_nova: sends requests to Nova, where there is one.
    """
    steps.begin(engine)
    return dataclasses.replace(
        engine, database=MortalDatabase(engine.database, steps),
        placement=placement.Placement(_MortalSender(sender, steps),
                                      placement.ADMIN),
        nova=None if to_nova is None else nova.Nova(
            _MortalSender(to_nova, steps), authenticated=False))
