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
from collections.abc import Iterator
import contextlib
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


class Cut:
    """One cut of one call.

    :ivar number: which it is, counted from one.
    :ivar key: one that no other cut has, for the request.
    :ivar reached: whether the call has so many.
    """

    def __init__(self, number: int, engine: engine_module.Engine | None
                 ) -> None:
        self.number, self.key, self.reached = number, f'k{number}', False
        self._engine = engine

    @contextlib.contextmanager
    def by(self, come_first: Callable[[], None],
           engine: engine_module.Engine | None = None) -> Iterator[None]:
        """Have something happen at the cut of what is done meanwhile."""
        engine = engine or self._engine
        assert engine is not None
        with Cuts(engine) as cuts:
            cuts.at({self.number: come_first})
            yield
            self.reached = cuts.count >= self.number


def everywhere(attempt: Callable[[Cut], None], more_than: int,
               engine: engine_module.Engine | None = None,
               most: int = 200) -> None:
    """Try something with each cut in turn, until there are no more.

    :param attempt: tries it with a cut, by which it has others come first.
    :param more_than: there are more cuts than these.
    :param engine: of the process that is cut; where each attempt has one of
        its own, it says so.
    """
    for number in range(1, most):
        cut = Cut(number, engine)
        attempt(cut)
        if not cut.reached:
            assert number - 1 > more_than, f'only {number - 1} cuts'
            return
    raise AssertionError(f'there are more than {most} cuts')
