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

"""Tells when a transaction is about to wait for rows that another has."""

from __future__ import annotations

import threading
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import connection


def begun(database: connection.Database) -> threading.Event:
    """Return what is set when the next lock on rows is asked for.

    That is a statement's on a server, and a transaction's on SQLite.
    """
    asked = threading.Event()

    def note(_connection: Any, _cursor: Any, statement: str,
             *_rest: Any) -> None:
        if statement == 'BEGIN IMMEDIATE' or 'FOR UPDATE' in statement:
            asked.set()
    sa.event.listen(database.engine, 'before_cursor_execute', note)
    return asked
