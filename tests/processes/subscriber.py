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


"""Who gets the notices, and does not always take them."""

from __future__ import annotations

from collections.abc import Callable
import random
import threading
import time
from typing import Any

from tests.real import receivers

#: How many notices are refused, are taken without an answer, or are answered
#: late: one after another, up to so many of all.
_REFUSED = 0.1
_NO_ANSWER = 0.2
_LATE = 0.3
#: How late, in seconds, at most: longer than anybody waits.
_LATEST = 4.0


class Subscriber(receivers.Receiver):
    """A webhook.

    :param noticed: called with the id of each notice that it takes.
    """

    def __init__(self, choice: random.Random,
                 noticed: Callable[[str], None]) -> None:
        super().__init__()
        self._choice = choice
        self._noticed = noticed
        self._lock = threading.Lock()
        self.act = self._answer

    def _answer(self, handler: Any) -> None:
        with self._lock:
            what, late = self._choice.random(), self._choice.random()
        if what < _REFUSED:
            handler.answer(503)
            return
        self._noticed(handler.headers['webhook-id'])
        if what < _NO_ANSWER:
            handler.close_connection = True
            return
        if what < _LATE:
            time.sleep(late * _LATEST)
        handler.answer(204)
