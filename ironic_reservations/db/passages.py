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

"""Rows of ``passages``: guarded requests on their way to Ironic."""

from __future__ import annotations

from collections.abc import Collection
import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables

_p = tables.passages.c
# SELECT node_uuid, MAX(expires_at) FROM passages
#   WHERE expires_at > ? AND node_uuid IN (...) GROUP BY node_uuid
_BUSY = sa.select(
    _p.node_uuid, sa.func.max(_p.expires_at, type_=tables.UTCDateTime)
).where(_p.expires_at > sa.bindparam('now')).group_by(_p.node_uuid)
_BUSY_OF = _BUSY.where(
    _p.node_uuid.in_(sa.bindparam('uuids', expanding=True)))


def read_busy(connection: sa.Connection, now: datetime.datetime,
              node_uuids: Collection[str] | None = None
              ) -> dict[str, datetime.datetime]:
    """Read until when nodes may be changed by requests under way."""
    rows = (connection.execute(_BUSY, {'now': now}) if node_uuids is None
            else connection.execute(_BUSY_OF, {'now': now,
                                               'uuids': list(node_uuids)}))
    return {uuid: until for uuid, until in rows}


def insert(connection: sa.Connection, node_uuid: str,
           reservation_uuid: str | None, instance_uuid: str | None,
           expires_at: datetime.datetime) -> int:
    """Write that a request is let through; gives the row's id."""
    result = connection.execute(sa.insert(tables.passages).values(
        node_uuid=node_uuid, reservation_uuid=reservation_uuid,
        instance_uuid=instance_uuid, expires_at=expires_at))
    assert result.inserted_primary_key is not None
    return int(result.inserted_primary_key[0])


def delete(connection: sa.Connection, passage_id: int) -> None:
    """Write that a request has been answered."""
    connection.execute(sa.delete(tables.passages).where(_p.id == passage_id))


def shown_elsewhere(connection: sa.Connection, reservation_uuid: str,
                    now: datetime.datetime) -> bool:
    """Tell whether another request shows the same proof right now."""
    return connection.execute(
        sa.select(_p.id).where(_p.reservation_uuid == reservation_uuid,
                               _p.expires_at > now).limit(1)
    ).one_or_none() is not None


def delete_settled(connection: sa.Connection,
                   instances: Collection[str]) -> None:
    """Delete the passages of allocations whose nodes carry them by now."""
    if instances:
        connection.execute(sa.delete(tables.passages).where(
            _p.instance_uuid.in_(instances)))


def read_instances(connection: sa.Connection) -> frozenset[str]:
    """Read for which instances allocations are under way."""
    return frozenset(connection.execute(
        sa.select(_p.instance_uuid).where(_p.instance_uuid.is_not(None))
    ).scalars())


def delete_expired(connection: sa.Connection,
                   now: datetime.datetime) -> None:
    """Delete what was left by processes that died on the way."""
    connection.execute(sa.delete(tables.passages).where(
        _p.expires_at <= now))
