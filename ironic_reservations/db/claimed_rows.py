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

"""Releases claims on rows of any table.

Each such table has ``id``, ``claimed_by`` and ``claimed_until``.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

#: The id of a row, and the token of its claim.
Held = tuple[str, str]


def held_by(table: sa.Table,
            held: Collection[Held]) -> sa.ColumnElement[bool]:
    """Return the condition that rows are still claimed with these tokens."""
    # NOTE: the first condition is for the index, which MariaDB does not use
    # for pairs.
    return sa.and_(
        table.c.id.in_([row_id for row_id, _ in held]),
        sa.tuple_(table.c.id, table.c.claimed_by).in_(list(held)))


def drop(connection: sa.Connection, table: sa.Table,
         held: Collection[Held]) -> None:
    """Release claims on rows.

    A row that another process has claimed since stays claimed.
    """
    if not held:
        return
    # SELECT id FROM ... WHERE id IN (...) ORDER BY id FOR UPDATE
    # NOTE: the process that claimed them may have lost its connection during a
    # COMMIT that is still running. This waits for it; without that, a row
    # whose claim is not visible yet would be missed below.
    connection.execute(
        sa.select(table.c.id)
        .where(table.c.id.in_([row_id for row_id, _ in held]))
        .order_by(table.c.id).with_for_update())
    # UPDATE ... SET claimed_by = NULL, claimed_until = NULL
    #   WHERE id IN (...) AND (id, claimed_by) IN ((?, ?), ...)
    connection.execute(
        sa.update(table).where(held_by(table, held))
        .values(claimed_by=None, claimed_until=None))
