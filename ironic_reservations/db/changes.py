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

"""Rows of ``changes``: which nodes have changed, in the order of ``seq``.

One of the rows that a request writes contains the id of the request. After a
COMMIT without an answer, this row shows whether it was done.

A row is written in the transaction that changes the node, so that both become
visible together. The number is assigned before the commit, so that a row that
becomes visible later may have a lower number: see
:mod:`~ironic_reservations.engine.snapshots.node_versions`.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import tables

_c = tables.changes.c
_INSERT = sa.insert(tables.changes)
# SELECT MIN(seq), MAX(seq) FROM changes
_ENDS = sa.select(sa.func.min(_c.seq), sa.func.max(_c.seq))
# SELECT seq, node_uuid, generation FROM changes ORDER BY seq
_NEWER = sa.select(_c.seq, _c.node_uuid, _c.generation).order_by(_c.seq)
_SINCE = _NEWER.where(_c.seq > sa.bindparam('since'))
_SINCE_AND = _NEWER.where(sa.or_(
    _c.seq > sa.bindparam('since'),
    _c.seq.in_(sa.bindparam('missing', expanding=True))))

#: A number that is higher than the number of any change.
_ENDLESS = 1 << 62
#: How many numbers may be assigned and become visible while one transaction
#: is open.
_MEANWHILE = 1000


@dataclasses.dataclass(frozen=True)
class Landmark:
    """A change that exists as long as the database has the same history.

    :ivar first: the lowest number that it may have.
    :ivar last: the highest number that it may have.
    :ivar known: the landmark is not purged before the changes up to this
        number are.
    """

    first: int
    last: int
    node_uuid: str
    generation: int
    known: int

    @classmethod
    def read(cls, seq: int, node_uuid: str, generation: int) -> Landmark:
        """Return a row as a landmark."""
        return cls(seq, seq, node_uuid, generation, seq)

    @classmethod
    def written(cls, node_uuid: str, generation: int,
                last: int) -> Landmark:
        """Return a landmark for a change that this process has committed.

        :param last: the highest number that was seen before.
        """
        return cls(max(last - _MEANWHILE, 0), _ENDLESS, node_uuid,
                   generation, last)


def insert(connection: sa.Connection,
           generations: Mapping[str, int | None],
           change_id: str | None = None) -> None:
    """Write that nodes have changed, and the id of the request.

    :param generations: the new generation by node uuid; ``None`` if
        the bookings of the node have not changed, but other data of it.
    :param change_id: the id of the request; ``None``: it needs none.
    :raises oslo_db.exception.DBDuplicateEntry: an earlier attempt of the
        request has been committed.
    """
    rows: list[dict[str, Any]] = [
        {'node_uuid': uuid, 'generation': generation, 'change_id': None}
        for uuid, generation in generations.items()]
    if change_id is not None and not rows:
        rows.append({'node_uuid': None, 'generation': None})
    if rows:
        # INSERT INTO changes (node_uuid, generation, change_id)
        #   VALUES (?, ?, ?), ...
        rows[0]['change_id'] = change_id
        connection.execute(_INSERT, rows)


def has(connection: sa.Connection, change_id: str) -> bool:
    """Return whether a request has been committed.

    :param change_id: the id of the request.
    """
    # SELECT seq FROM changes WHERE change_id = ?
    return connection.execute(
        sa.select(_c.seq).where(_c.change_id == change_id)).first() is not None


def read_since(connection: sa.Connection, since: int,
               missing: Collection[int]
               ) -> list[tuple[int, str | None, int | None]]:
    """Return changes: number, node uuid and generation of each.

    The row of a request that changed no node has neither uuid nor generation.

    :param since: return rows with a higher number,
    :param missing: and rows with these numbers.
    """
    # SELECT seq, node_uuid, generation FROM changes
    #   WHERE seq > ? OR seq IN (...) ORDER BY seq
    rows = (connection.execute(_SINCE_AND, {'since': since,
                                            'missing': list(missing)})
            if missing else connection.execute(_SINCE, {'since': since}))
    return [(seq, node_uuid, generation)
            for seq, node_uuid, generation in rows]


def read_old(connection: sa.Connection, kept: int,
             most: int) -> int | None:
    """Return the highest number of the rows to purge.

    :param kept: the number of latest numbers to keep.
    :param most: the maximum number of numbers to purge at once.
    :returns: ``None`` if there is nothing to purge.
    """
    # SELECT MIN(seq), MAX(seq) FROM changes
    first, last = connection.execute(_ENDS).one()
    if first is None or last - kept < first:
        return None
    return int(min(last - kept, first + most - 1))


def delete_until(connection: sa.Connection, last: int) -> None:
    """Delete rows up to and including a number."""
    # DELETE FROM changes WHERE seq <= ?
    connection.execute(sa.delete(tables.changes).where(_c.seq <= last))
