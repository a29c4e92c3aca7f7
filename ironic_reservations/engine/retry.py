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

"""Planning again when another process has committed first."""

from __future__ import annotations

from collections.abc import Callable
import random
import time
from typing import TypeVar

from ironic_reservations import errors
from ironic_reservations.db import connection

_T = TypeVar('_T')

_ATTEMPTS = 40
_PAUSE = 0.002


def until_committed(attempt: Callable[[], _T]) -> _T:
    """Run a plan and its commit until nobody is in the way.

    Each conflict means that somebody else got through, so that this ends;
    the bound is for what nobody thought of.

    :param attempt: takes a new snapshot, plans and commits.
    :raises Contention: it was outrun every time.
    """
    for count in range(_ATTEMPTS):
        try:
            return attempt()
        except connection.Conflict:
            time.sleep(random.uniform(0, _PAUSE * min(count + 1, 10)))
    raise errors.Contention(
        'Other requests changed the same nodes again and again while this '
        'one was being planned. Nothing was changed; try again.')
