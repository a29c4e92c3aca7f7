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

"""Rows of ``claims``: which process does what one must do for all.

Those of :mod:`.lease_requests` tell by whom something was done once for all.
"""

from __future__ import annotations

from collections.abc import Collection
import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.db import waiting

_c = tables.claims.c


def take(connection: sa.Connection, name: str, owner: str,
         now: datetime.datetime, expires_at: datetime.datetime) -> bool:
    """Claim a piece of work, or keep it; tells whether it is ours.

    :raises oslo_db.exception.DBDuplicateEntry: another one claimed it for
        the first time just now.
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


def queue_up(connection: sa.Connection, name: str,
             now: datetime.datetime) -> None:
    """Wait for all who have queued up before, until this transaction ends.

    For what is counted before it is written: no row is there to be raced
    for.

    :raises oslo_db.exception.DBDuplicateEntry: another one queued up for
        the first time just now.
    """
    # UPDATE claims SET expires_at = ? WHERE name = ?
    with waiting.turn((name,)):
        there = connection.execute(
            sa.update(tables.claims).where(_c.name == name)
            .values(expires_at=now)).rowcount
    if not there:
        connection.execute(sa.insert(tables.claims).values(
            name=name, owner='', expires_at=now))


def drop(connection: sa.Connection, name: str, owner: str) -> None:
    """Give a piece of work back."""
    connection.execute(sa.delete(tables.claims).where(
        _c.name == name, _c.owner == owner))


def read_over(connection: sa.Connection, prefix: str,
              now: datetime.datetime, limit: int) -> list[str]:
    """Read the names of some claims that are over.

    :param prefix: how the names begin.
    """
    # SELECT name FROM claims WHERE name LIKE 'prefix%' AND expires_at <= ?
    #   LIMIT ?
    # NOTE: no range of names, which is another one for each collation.
    return list(connection.execute(
        sa.select(_c.name)
        .where(_c.name.startswith(prefix, autoescape=True),
               _c.expires_at <= now).limit(limit)).scalars())


def delete_over(connection: sa.Connection, names: Collection[str],
                now: datetime.datetime) -> None:
    """Delete claims that are over; those taken again since stay."""
    # DELETE FROM claims WHERE name IN (...) AND expires_at <= ?
    connection.execute(sa.delete(tables.claims).where(
        _c.name.in_(sorted(names)), _c.expires_at <= now))
