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

"""A database that the workers of a process use one at a time.

Workers wait for Ironic most of the time, and do so in parallel. Python's lock
limits their work on rows: in parallel, this work would not be faster, and
would delay the API requests in the same process.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import threading

import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection


class SerializedDatabase(db_connection.Database):
    """A database for one thread at a time.

    :param database: the database that the rest of the process uses.
    """

    def __init__(self, database: db_connection.Database) -> None:
        self._database = database
        self._turn = threading.RLock()
        self.url = database.url

    @property
    def engine(self) -> sa.Engine:
        """The SQLAlchemy engine."""
        return self._database.engine

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a connection for queries."""
        with self._turn, self._database.read() as connection:
            yield connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Open a connection whose queries see one consistent state."""
        with self._turn, self._database.snapshot() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open a transaction that is committed at the end."""
        with self._turn, self._database.write() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections."""
        self._database.close()
