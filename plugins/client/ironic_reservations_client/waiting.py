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


"""Waits for a free node, or for another change in the service."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import math
import random
import time
from typing import TypeVar

from ironic_reservations_client import refusal

_T = TypeVar('_T')

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 10.0


def polls(timeout: float, pauses: Iterable[float]) -> Iterator[None]:
    """Yield at once and after each pause, until the time is up.

    :param timeout: in seconds; 0 waits for ever, like ``--wait`` in the other
        commands for bare metal.
    """
    deadline = time.monotonic() + timeout if timeout else math.inf
    for pause in pauses:
        yield
        left = deadline - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(pause, left))


def until_free(attempt: Callable[[], _T], timeout: float) -> _T:
    """Try to reserve until a node is free or the time is up.

    :param attempt: makes one request.
    :param timeout: as for :func:`polls`.
    :raises: the exception of the last attempt; it is raised at once unless no
        node is free.
    """
    for _ in polls(timeout, _longer_and_longer()):
        try:
            return attempt()
        except refusal.Refused as error:
            if error.code != refusal.NO_NODE_AVAILABLE:
                raise
            refused = error
    raise refused


def _longer_and_longer() -> Iterator[float]:
    pause = FIRST_PAUSE
    while True:
        # Jitter, since the callers that wait for the same node were often
        # started by the same script at the same second.
        yield pause * random.uniform(0.75, 1.25)
        pause = min(pause * 1.5, LONGEST_PAUSE)
