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


"""Who is told of leases, and does not always take what is sent."""

from __future__ import annotations

from collections.abc import Callable
import json
import random
import threading
import time
from typing import Any

from tests.real import receivers

#: How many messages are refused, find nobody there for a while, are taken
#: without an answer, or are answered late: one after another, up to so many
#: of all.
_REFUSED = 0.1
_AWAY = 0.15
_NO_ANSWER = 0.25
_LATE = 0.35
#: How late, in seconds, at most: longer than anybody waits.
_LATEST = 4.0
#: For how long nobody is there, in seconds, at most.
_LONGEST_AWAY = 3.0


class _Moody(receivers.Receiver):
    """One who refuses, dies, and answers late or not at all.

    :param took: called with each message that it takes.
    """

    def __init__(self, choice: random.Random,
                 took: Callable[[Any], None]) -> None:
        super().__init__()
        self._choice = choice
        self._took = took
        self._lock = threading.Lock()
        self._back_at = 0.0
        self.act = self._answer

    def _answer(self, handler: Any) -> None:
        with self._lock:
            what, late = self._choice.random(), self._choice.random()
            if _REFUSED <= what < _AWAY:
                self._back_at = time.monotonic() + late * _LONGEST_AWAY
            away = time.monotonic() < self._back_at
        if away:
            handler.close_connection = True
            return
        if what < _REFUSED:
            handler.answer(503)
            return
        self._took(self._message(handler))
        if what < _NO_ANSWER:
            handler.close_connection = True
            return
        if what < _LATE:
            time.sleep(late * _LATEST)
        handler.answer(204)

    def _message(self, handler: Any) -> Any:
        """Return what is told of a message that is taken."""
        return handler.headers['webhook-id']


class Subscriber(_Moody):
    """A webhook; the ids of notices are told."""


class Charger(_Moody, receivers.Service):
    """An enforcement service; the entries are told."""

    def __init__(self, choice: random.Random,
                 took: Callable[[Any], None]) -> None:
        super().__init__(choice, took)
        # NOTE: each message has a thread of its own.
        self._now = threading.local()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        """Keep an entry."""
        super().take(path, headers, body)
        self._now.entry = json.loads(body)

    def _message(self, handler: Any) -> Any:
        return self._now.entry
