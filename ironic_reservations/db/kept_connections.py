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

"""Connections to SQLite that are kept between transactions.

oslo.db opens one for each transaction. It takes longer than most transactions
to open the file, to read its schema, and to write its log back when the last
connection is closed.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any
import weakref

import sqlalchemy as sa
from sqlalchemy import pool

#: The key of a connection's file in the record of the connection.
_FILE = 'ironic_reservations.file'

_engines: weakref.WeakSet[sa.Engine] = weakref.WeakSet()


def keep(engine: sa.Engine, file: pathlib.Path, most: int) -> None:
    """Make an engine keep its connections to a SQLite file.

    :param most: the number of kept connections; more may be open at a time.
    """
    made = engine.pool
    # It has the listeners of the pool that it replaces, which set up each
    # connection.
    engine.pool = pool.QueuePool(
        made._creator, pool_size=most, max_overflow=-1, use_lifo=True,
        _dispatch=made.dispatch, dialect=engine.dialect)

    def opened(connection: Any, record: Any) -> None:
        record.info[_FILE] = _identity(file)

    def taken(connection: Any, record: Any, proxy: Any) -> None:
        # A backup may have replaced the file. SQLite would apply the log of
        # the old file to it.
        if record.info[_FILE] != _identity(file):
            raise sa.exc.DisconnectionError(f'{file} is another file by now')
    sa.event.listen(engine, 'connect', opened)
    sa.event.listen(engine, 'checkout', taken)
    _engines.add(engine)


def _identity(file: pathlib.Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _close_unused() -> None:
    """Close the connections that no thread uses at present.

    A process must neither use nor close a connection to SQLite that its
    parent has opened.
    """
    for engine in list(_engines):
        engine.dispose()


os.register_at_fork(before=_close_unused)
