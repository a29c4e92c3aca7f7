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

"""Waiting until something has happened, however busy the machine is."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

#: What takes so long hangs, also on a machine that has other things to do.
LONGEST = 240.0


def until(look: Callable[[], Any], told: Callable[[], object] = str, *,
          within: float = LONGEST, pause: float = 0.05) -> Any:
    """Look until there is something to see, and return it.

    :param told: returns what the failure says.
    :param within: for how long, in seconds.
    """
    deadline = time.monotonic() + within
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(
                f'It did not happen within {within} s: {told()}')
        time.sleep(pause)
    return seen
