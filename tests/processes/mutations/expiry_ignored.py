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


"""Reservations are swept away a few seconds before they expire."""

from __future__ import annotations

import datetime
from typing import Any

from ironic_reservations.engine import sweep
from tests.processes import mix

_EARLY = datetime.timedelta(seconds=6)

BEST = mix.Best(mix.Mix(
    faults={}, lives={'reserve': 1, 'linger': 1}), 'sqlite')
FOUND_AS = 'lost'
KEPT_BY = (
    'tests.inprocess.reconciler.test_sweep.TestSweep.'
    'test_expired_rows_go_and_the_rest_stays',)


def apply() -> None:
    """Break this process."""
    right = sweep.sweep

    def wrong(engine: Any) -> None:
        early = _Early(engine)
        right(early)  # type: ignore[arg-type]
    sweep.sweep = wrong


class _Early:
    """An engine with a clock that is ahead."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def clock(self) -> datetime.datetime:
        """Return a time to come."""
        return self._engine.clock() + _EARLY  # type: ignore[no-any-return]
