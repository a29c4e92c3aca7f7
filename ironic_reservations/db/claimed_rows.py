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

"""Claims on rows of any table, and their release.

Each of these tables has ``id``, ``claimed_by`` and ``claimed_until``.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

import sqlalchemy as sa


@dataclasses.dataclass(frozen=True)
class Taken:
    """A row that a process has claimed, or may have claimed.

    :ivar token: the token of the claim in the row.
    """

    id: str
    token: str


def unclaimed(table: sa.Table,
              now: datetime.datetime) -> sa.ColumnElement[bool]:
    """Return the condition that a row is not claimed."""
    return sa.or_(table.c.claimed_until.is_(None),
                  table.c.claimed_until <= now)


def take(connection: sa.Connection, table: sa.Table, ids: Collection[str],
         token: str, takeable: sa.ColumnElement[bool],
         until: datetime.datetime) -> bool:
    """Claim rows, and return whether any could be claimed.

    :param token: a token that is never used again.
    :param takeable: the condition that a row can be claimed.
    """
    # UPDATE ... SET claimed_by = ?, claimed_until = ?
    #   WHERE id IN (...) AND due_at <= ? AND (nobody's claim)
    # The database evaluates the condition again once it has the lock of
    # a row, so that only one of two processes claims it.
    return bool(connection.execute(
        sa.update(table).where(table.c.id.in_(ids), takeable)
        .values(claimed_by=token, claimed_until=until)).rowcount)


def held_by(table: sa.Table,
            held: Collection[Taken]) -> sa.ColumnElement[bool]:
    """Return the condition that rows are still claimed with these tokens."""
    # The first condition is for the index, which MariaDB does not use
    # for pairs.
    return sa.and_(
        table.c.id.in_([each.id for each in held]),
        sa.tuple_(table.c.id, table.c.claimed_by).in_(
            [(each.id, each.token) for each in held]))


def drop(connection: sa.Connection, table: sa.Table,
         held: Collection[Taken]) -> None:
    """Release claims on rows.

    A row that another process has claimed since stays claimed.
    """
    if not held:
        return
    # SELECT id FROM ... WHERE id IN (...) ORDER BY id FOR UPDATE
    # The process that claimed the rows may have lost its connection during a
    # COMMIT that is still running. This statement waits for it; otherwise
    # the next one would miss a row whose claim is not visible yet.
    connection.execute(
        sa.select(table.c.id)
        .where(table.c.id.in_([each.id for each in held]))
        .order_by(table.c.id).with_for_update())
    # UPDATE ... SET claimed_by = NULL, claimed_until = NULL
    #   WHERE id IN (...) AND (id, claimed_by) IN ((?, ?), ...)
    connection.execute(
        sa.update(table).where(held_by(table, held))
        .values(claimed_by=None, claimed_until=None))
