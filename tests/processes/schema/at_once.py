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

"""Processes that make or migrate tables at once."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ironic_reservations.db import connection
from ironic_reservations.db import migrate
from tests import forks
from tests import world

_LONG = 300


def _process(act: Callable[[connection.Database], Any], url: str,
             options: Mapping[str, Any], barrier: Any,
             outcomes: Any) -> None:
    database = connection.Database(world.configured(url, **options))
    barrier.wait()
    try:
        act(database)
        outcomes.put(migrate.version(database))
    except BaseException as exc:
        outcomes.put(repr(exc))
        raise


def versions(act: Callable[[connection.Database], Any],
             urls: Sequence[str], **options: Any) -> list[str | None]:
    """Have a process for each URL act at once.

    :param options: of their configuration, as ``group__name``.
    :returns: what version each finds then, or its error.
    """
    barrier = forks.CONTEXT.Barrier(len(urls))
    outcomes = forks.CONTEXT.Queue()
    started = [forks.CONTEXT.Process(
        target=_process, args=(act, url, options, barrier, outcomes))
               for url in urls]
    for process in started:
        process.start()
    found = [outcomes.get(timeout=_LONG) for _ in started]
    for process in started:
        process.join()
    return found
