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

"""Rows of ``claims``: tasks that only one process at a time works on.

Rows of ``features.keys`` share the table. A row of any kind is
without effect once it has expired, and is deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
import datetime
import hashlib
import json

import sqlalchemy as sa

from ironic_reservations.db import row_queue
from ironic_reservations.db import tables

_c = tables.claims.c
#: The claim of the process that follows the nodes of Ironic.
MIRROR = 'mirror'
#: The longest name of a claim.
_NAME = 64

#: How long the name of a queue of transactions is kept: long, so that the row
#: of a busy queue is not deleted and written again and again.
_QUEUED = datetime.timedelta(hours=1)


def take(connection: sa.Connection, name: str, owner: str,
         now: datetime.datetime, expires_at: datetime.datetime) -> bool:
    """Claim a task, or extend the claim.

    :returns: whether the caller has the claim.
    :raises oslo_db.exception.DBDuplicateEntry: another process is claiming it
        for the first time.
    """
    # UPDATE claims SET owner = ?, expires_at = ?
    #   WHERE name = ? AND (owner = ? OR expires_at <= ?)
    result = connection.execute(
        sa.update(tables.claims)
        .where(_c.name == name, sa.or_(_c.owner == owner,
                                       _c.expires_at <= now))
        .values(owner=owner, expires_at=expires_at))
    if result.rowcount:
        return True
    if connection.execute(sa.select(_c.owner).where(_c.name == name)
                          ).one_or_none() is not None:
        return False
    connection.execute(sa.insert(tables.claims).values(
        name=name, owner=owner, expires_at=expires_at))
    return True


def lock_projects(connection: sa.Connection, kind: str,
                  project_ids: Iterable[str | None],
                  now: datetime.datetime) -> None:
    """Serialize transactions by project, until the end of this one.

    This is for limits that are counted before a row is written, when there is
    no row yet for the transactions to compete for.

    :param kind: the kind of the limits.
    :raises oslo_db.exception.DBDuplicateEntry: another process is the first to
        use a project.
    """
    # Always in the same order, so that there is no deadlock.
    for digest in sorted(hashlib.sha256(json.dumps(each).encode()).hexdigest()
                         for each in set(project_ids)):
        _lock_projects(connection, f'{kind} {digest}'[:_NAME], now)


def _lock_projects(connection: sa.Connection, name: str,
                   now: datetime.datetime) -> None:
    # UPDATE claims SET expires_at = ? WHERE name = ?
    with row_queue.turn((name,)):
        there = connection.execute(
            sa.update(tables.claims).where(_c.name == name)
            .values(expires_at=now + _QUEUED)).rowcount
    if not there:
        connection.execute(sa.insert(tables.claims).values(
            name=name, owner='', expires_at=now + _QUEUED))


def drop(connection: sa.Connection, name: str, owner: str) -> None:
    """Release a claim."""
    # DELETE FROM claims WHERE name = ? AND owner = ?
    connection.execute(sa.delete(tables.claims).where(
        _c.name == name, _c.owner == owner))


def is_live(connection: sa.Connection, name: str,
            now: datetime.datetime) -> bool:
    """Return whether any process has a claim."""
    # SELECT owner FROM claims WHERE name = ? AND expires_at > ?
    return connection.execute(sa.select(_c.owner).where(
        _c.name == name, _c.expires_at > now)).one_or_none() is not None


def read_over(connection: sa.Connection, now: datetime.datetime,
              limit: int) -> list[str]:
    """Return the names of the claims that expired first.

    :param limit: the maximum number of names.
    """
    # SELECT name FROM claims WHERE expires_at <= ? ORDER BY expires_at LIMIT ?
    return list(connection.execute(
        sa.select(_c.name).where(_c.expires_at <= now)
        .order_by(_c.expires_at).limit(limit)).scalars())


def delete_over(connection: sa.Connection, names: Collection[str],
                now: datetime.datetime) -> None:
    """Delete claims that have expired and have not been renewed since."""
    # DELETE FROM claims WHERE name IN (...) AND expires_at <= ?
    connection.execute(sa.delete(tables.claims).where(
        _c.name.in_(sorted(names)), _c.expires_at <= now))
