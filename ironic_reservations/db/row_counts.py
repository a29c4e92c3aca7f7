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

"""Checks that a statement wrote the expected number of rows."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import connection


def check(result: sa.CursorResult[Any], count: int, what: str) -> None:
    """Check that a statement found every row unchanged since it was read.

    :param count: the number of rows that had to be written.
    :param what: the name of such a row, for the error message.
    :raises Conflict: one of the rows has changed since it was read.
    """
    if result.rowcount != count:
        raise connection.Conflict(f'{what} has changed since it was read')
