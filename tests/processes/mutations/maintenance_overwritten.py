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

"""A window takes over, and clears, maintenance that somebody else has set."""

from __future__ import annotations

import dataclasses
from typing import Any

from ironic_reservations.engine.in_flight import permitted
from ironic_reservations.features.maintenance import sync
from ironic_reservations.model import node_window
from tests.processes import mix

BEST = mix.Best(mix.Mix(
    faults={}, lives={'look_round': 1}, acts={'maintain': 1}, booking=True,
    leisure=(5.0, 9.0), classes={'gold': 3}, rounds=(0.5, 2.0)), 'sqlite',
    seconds=90)
FOUND_AS = 'maintenance of another'
KEPT_BY = (
    'tests.inprocess.reconciler.test_maintenance.TestOperatorComesFirst.'
    'test_reason_is_not_written_over',
    'tests.inprocess.reconciler.test_maintenance.TestOperatorComesFirst.'
    'test_reason_is_not_cleared')


def apply() -> None:
    """Break this process."""
    begin = sync._Sync.__init__

    def wrong(self: Any, engine: Any, ironic: Any, there: Any) -> None:
        begin(self, engine, ironic, there)
        self._ironic = _Blind(ironic, there.window_id)
    sync._Sync.__init__ = wrong  # type: ignore[method-assign]
    assert sync._Sync._check_unchanged and permitted.check
    sync._Sync._check_unchanged = (  # type: ignore[method-assign]
        lambda *arguments: None)
    permitted.check = lambda *arguments: None


class _Blind:
    """An Ironic that shows no maintenance but that of one window."""

    def __init__(self, ironic: Any, window: str) -> None:
        self._ironic = ironic
        self._window = window

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ironic, name)

    def maintained(self, uuid: str) -> Any:
        """Return a node, as if nobody else had set anything."""
        found = self._ironic.maintained(uuid)
        if found is None or node_window.is_marked(self._window, found[1]):
            return found
        return dataclasses.replace(found[0], maintenance=False), None
