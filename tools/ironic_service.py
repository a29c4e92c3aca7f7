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


"""Ironic's service in one process, without two faults that it has there."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import sys
from typing import Any

from cheroot import wsgi
import sqlalchemy


@contextlib.contextmanager
def _write(begin: Callable[[], contextlib.AbstractContextManager[Any]]
           ) -> Iterator[Any]:
    with begin() as session:
        if session.get_bind().dialect.name == 'sqlite':
            session.execute(sqlalchemy.text(
                'UPDATE nodes SET id = id WHERE 1 = 0'))
        yield session


def main() -> None:
    """Serve, with the arguments of the process."""
    # First, since it chooses how all services of the process run.
    from ironic.command import singleprocess
    from ironic.db.sqlalchemy import api
    # NOTE: Ironic lets five connections wait, for which it has no option; of
    # more that come at once the kernel resets some.
    wsgi.Server.__init__ = functools.partialmethod(
        wsgi.Server.__init__, request_queue_size=128)
    # NOTE: Ironic reads before it writes. On SQLite it answers 500 "database
    # is locked" if another has written in between, and a node whose change is
    # answered so is held until its outcome is known, a minute later.
    api._session_for_write = functools.partial(_write, api._session_for_write)
    sys.argv[0] = 'ironic'
    singleprocess.main()
