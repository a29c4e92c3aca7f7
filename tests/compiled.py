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


"""Statements that are compiled once in a process, not once in a database.

SQLAlchemy keeps what it has compiled with the engine, and nearly each test has
an engine of its own: a third of what such a test costs was to compile the same
statements again.
"""

from __future__ import annotations

import functools
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import server_identity

#: More than all tests of a process have; what is left then is begun again.
_MOST = 5000


class _Compiled(dict[Any, Any]):
    """Finds what another engine of the same kind has compiled."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_of_any_engine(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        if len(self) >= _MOST:
            self.clear()
        super().__setitem__(_of_any_engine(key), compiled)


def _of_any_engine(key: Any) -> Any:
    # NOTE: a key begins with the dialect, which is another one in each engine;
    # its output depends on its kind, on the server's version, and on whether
    # the server tells its identity.
    dialect, *rest = key
    return (type(dialect), dialect.server_version_info,
            server_identity.is_refused(dialect), *rest)


@functools.cache
def share() -> None:
    """Share what is compiled among all engines of this process."""
    compiled = _Compiled()

    @sa.event.listens_for(sa.Engine, 'engine_connect')
    def use(connection: sa.Connection) -> None:
        connection.execution_options(compiled_cache=compiled)
