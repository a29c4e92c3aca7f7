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

"""What happens when a process stands still between two of its statements.

While it does, others go on: whatever they do happens right before one of the
statements, counted from one, of a call.  Where a transaction has written
already there is no cut: others would wait for its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fixtures
import sqlalchemy as sa

from ironic_reservations import engine as engine_module


class Cuts(fixtures.Fixture):
    """Cuts what one process does.

    :param engine: of the process; whoever comes in between has another one.
    :ivar count: of the cuts that there have been.
    """

    def __init__(self, engine: engine_module.Engine) -> None:
        super().__init__()
        self._engine = engine.database.engine
        self._actions: dict[int, Callable[[], None]] = {}
        self.count = 0

    def _setUp(self) -> None:
        for name, listener in (('before_cursor_execute', self._before),
                               ('begin', self._begin)):
            sa.event.listen(self._engine, name, listener)
            self.addCleanup(sa.event.remove, self._engine, name, listener)

    def at(self, actions: dict[int, Callable[[], None]]) -> None:
        """Count anew, and have something happen at some cuts."""
        self._actions, self.count = dict(actions), 0

    def _begin(self, connection: sa.Connection) -> None:
        connection.info['written'] = False

    def _before(self, connection: sa.Connection, cursor: Any, statement: str,
                *rest: Any) -> None:
        if connection.info.get('written'):
            return
        connection.info['written'] = statement.split()[0] in (
            'INSERT', 'UPDATE', 'DELETE') or statement == 'BEGIN IMMEDIATE'
        self.count += 1
        action = self._actions.pop(self.count, None)
        if action is not None:
            action()


def everywhere(attempt: Callable[[int], bool], most: int = 200) -> int:
    """Try something with each cut in turn, until there are no more.

    :param attempt: tries it with the cut of a number; tells whether there
        was one.
    :returns: how many there were.
    """
    for number in range(1, most):
        if not attempt(number):
            return number - 1
    raise AssertionError(f'there are more than {most} cuts')
