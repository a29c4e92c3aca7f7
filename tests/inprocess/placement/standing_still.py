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

"""Placement whose claims stand still before their capacity is checked.

Each has read what was used before; a reshape is not held up.
"""

from collections.abc import Callable
import os
import pathlib
import threading
import time
from typing import Any

from placement.objects import allocation
from placement.objects import reshaper

#: Where a claim says that it stands still, and is told to go on.
_FOLDER = pathlib.Path(os.environ['STANDS_STILL'])
_here = threading.local()


def _unhindered(real: Callable[..., Any]) -> Callable[..., Any]:
    def reshape(*arguments: Any) -> Any:
        _here.unhindered = True
        try:
            return real(*arguments)
        finally:
            _here.unhindered = False
    return reshape


def _held_up(real: Callable[..., Any]) -> Callable[..., Any]:
    def read(ctx: Any, provider_ids: Any, classes: list[str]) -> Any:
        found = real(ctx, provider_ids, classes)
        # NOTE: rivals ask for one class, and what a test writes has several.
        if len(classes) == 1 and not getattr(_here, 'unhindered', False):
            (_FOLDER / 'stands').touch()
            while not (_FOLDER / 'continues').exists():
                time.sleep(0.01)
        return found
    return read


reshaper.reshape = _unhindered(reshaper.reshape)
allocation._provider_usage_summary = _held_up(
    allocation._provider_usage_summary)

# NOTE: after the above, so that no request is served without it.
from placement.wsgi.api import application  # noqa: E402, F401
