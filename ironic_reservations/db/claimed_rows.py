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

"""Letting go of rows that somebody has claimed, whatever they are.

Each such table has ``id``, ``claimed_by`` and ``claimed_until``.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

#: The id of a row, and the token by which it was claimed.
Held = tuple[str, str]


def held_by(table: sa.Table,
            held: Collection[Held]) -> sa.ColumnElement[bool]:
    """Return the condition that rows are claimed by these tokens."""
    # NOTE: the first condition is for the index, which MariaDB does not use
    # for pairs.
    return sa.and_(
        table.c.id.in_([row_id for row_id, _ in held]),
        sa.tuple_(table.c.id, table.c.claimed_by).in_(list(held)))


def drop(connection: sa.Connection, table: sa.Table,
         held: Collection[Held]) -> None:
    """Let go of rows that nobody works on.

    What another one has taken since stays with it.
    """
    if not held:
        return
    # SELECT id FROM ... WHERE id IN (...) ORDER BY id FOR UPDATE
    # NOTE: whoever took them may have lost its connection in a COMMIT that
    # is not at its end. This waits for that end; a row that does not show the
    # claim yet would be passed over below.
    connection.execute(
        sa.select(table.c.id)
        .where(table.c.id.in_([row_id for row_id, _ in held]))
        .order_by(table.c.id).with_for_update())
    # UPDATE ... SET claimed_by = NULL, claimed_until = NULL
    #   WHERE id IN (...) AND (id, claimed_by) IN ((?, ?), ...)
    connection.execute(
        sa.update(table).where(held_by(table, held))
        .values(claimed_by=None, claimed_until=None))
