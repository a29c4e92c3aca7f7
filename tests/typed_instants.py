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

"""Instants that are bound without the type of our columns.

``UTCDateTime`` takes the zone off.  Where SQLAlchemy does not see it, as for a
plain value in a CASE, the driver gets an aware datetime: PyMySQL ignores the
zone, mysqlclient writes one that MariaDB refuses, and PostgreSQL converts it
to the time zone of the session.
"""

from __future__ import annotations

import datetime
import functools
from typing import Any

import sqlalchemy as sa


@functools.cache
def check() -> None:
    """Refuse such instants in each statement of this process."""
    @sa.event.listens_for(sa.Engine, 'before_cursor_execute')
    def refuse(connection: sa.Connection, cursor: Any, statement: str,
               parameters: Any, *_: Any) -> None:
        value = _aware(parameters)
        if value is not None:
            raise AssertionError(
                f'{value} is bound without UTCDateTime: {statement}')


def _aware(values: Any) -> datetime.datetime | None:
    """Return an instant with a zone, of a statement's values or rows."""
    # NOTE: it sees each value of each test, and asks for no abstract class.
    for each in values.values() if isinstance(values, dict) else values:
        if isinstance(each, datetime.datetime):
            if each.tzinfo is not None:
                return each
        elif isinstance(each, tuple | list | dict):
            found = _aware(each)
            if found is not None:
                return found
    return None
