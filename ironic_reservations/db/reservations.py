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

"""Rows of ``reservations`` that reserve a node for an instance.

Rows that promise a node to a lease are in :mod:`.bookings`.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
import datetime
import functools
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import node_reservation

_r = tables.reservations.c
#: The rows of reservations.
RESERVATION = store.Rows(
    node_reservation.Reservation, tables.reservations, 'reservation {0.uuid}',
    as_read=('id', 'uuid', 'node_uuid', 'instance_uuid', 'project_id',
             'created_at', 'expires_at', 'state', 'acted'),
    changing=('expires_at', 'state', 'acted'),
    where=(_r.immediate == 1,))
_COLUMNS = RESERVATION.columns
_n = tables.nodes.c
#: The columns that clients are shown.
# (SELECT CASE WHEN retired THEN ... END FROM nodes WHERE uuid = node_uuid)
_SHOWN = (*_COLUMNS, sa.select(conditions.suspended())
          .where(_n.uuid == _r.node_uuid)
          .correlate(tables.reservations).scalar_subquery()
          .label('unusable'))
# SELECT ... FROM reservations WHERE uuid = ? AND immediate = 1
# The statements are built once: building one takes longer than all other
# work of SQLAlchemy for it.
_BY_UUID = sa.select(*_SHOWN).where(_r.uuid == sa.bindparam('uuid'),
                                    _r.immediate == 1)
# SELECT ..., (why the node cannot be used), generation
#   FROM reservations JOIN nodes ON nodes.uuid = node_uuid
#   WHERE reservations.uuid = ? AND immediate = 1
_WITH_GENERATION = sa.select(
    *_COLUMNS, conditions.suspended().label('unusable'), _n.generation
).join_from(
        tables.reservations, tables.nodes, _r.node_uuid == _n.uuid).where(
            _r.uuid == sa.bindparam('uuid'), _r.immediate == 1)
_STATES = {state.value: state for state in node_reservation.State}
#: A reservation as it was read, and as it will be; ``None`` before: it is
#: made; ``None`` after: it is deleted.
Pair = tuple[node_reservation.Reservation | None,
             node_reservation.Reservation | None]
SORT_KEYS = ('uuid', 'node_uuid', 'instance_uuid', 'created_at', 'updated_at',
             'expires_at', 'state', 'project_id')


def read_by_uuid(connection: sa.Connection,
                 uuid: str) -> node_reservation.Reservation | None:
    """Return a reservation, live or not."""
    return RESERVATION.first(connection.execute(_BY_UUID, {'uuid': uuid}))


def read_being_made(connection: sa.Connection, uuid: str,
                    unconfirmed: Collection[conditions.Condition]) -> bool:
    """Return whether a reservation is not confirmed yet.

    :param unconfirmed: conditions; a reservation that meets any of them is not
        confirmed.
    """
    # SELECT id FROM reservations WHERE uuid = ? AND immediate = 1
    #   AND (its hold is being written)
    return connection.execute(sa.select(_r.id).where(
        _r.uuid == uuid, _r.immediate == 1,
        sa.or_(*unconfirmed))).first() is not None


def read_with_generation(connection: sa.Connection, uuid: str
                         ) -> tuple[node_reservation.Reservation, int] | None:
    """Return a reservation, live or not, with its node's generation.

    :returns: both read at one moment; ``None``: no such reservation.
    """
    rows = connection.execute(_WITH_GENERATION, {'uuid': uuid})
    made, row = RESERVATION.reader(rows), rows.one_or_none()
    return None if row is None else (made(row), row.generation)


def read_related(connection: sa.Connection, uuid: str | None,
                 instance_uuid: str,
                 node_uuids: Collection[str]
                 ) -> list[node_reservation.Reservation]:
    """Return reservations that may conflict with a new one, live or not.

    One statement returns the reservations of the nodes, of the instance and
    with the uuid.
    """
    given: dict[str, Any] = {'instance': instance_uuid}
    if node_uuids:
        given['uuids'] = list(node_uuids)
    if uuid is not None:
        given['uuid'] = uuid
    return RESERVATION.all(connection.execute(
        _related(bool(node_uuids), uuid is not None), given))


@functools.cache
def _related(of_nodes: bool, by_uuid: bool) -> sa.SelectBase:
    """Return the statement of :func:`read_related`, which is built once."""
    # SELECT ... WHERE node_uuid IN (...)
    #   UNION SELECT ... WHERE instance_uuid = ?
    #   UNION SELECT ... WHERE uuid = ?
    wanted = [_r.instance_uuid == sa.bindparam('instance')]
    if of_nodes:
        wanted.append(_r.node_uuid.in_(
            sa.bindparam('uuids', expanding=True)))
    if by_uuid:
        wanted.append(_r.uuid == sa.bindparam('uuid'))
    parts = [sa.select(*_SHOWN).where(each, _r.immediate == 1)
             for each in wanted]
    # Separate SELECTs, so that each uses its own index.
    return sa.union(*parts) if len(parts) > 1 else parts[0]


def insert(connection: sa.Connection,
           reservation: node_reservation.Reservation) -> int:
    """Write a new reservation, and return the id of its row.

    :raises oslo_db.exception.DBDuplicateEntry: the uuid, the node or the
        instance already has a reservation.
    """
    return int(RESERVATION.insert_one(connection, reservation, immediate=1))


def delete_void(connection: sa.Connection,
                void: Collection[node_reservation.Reservation],
                now: datetime.datetime) -> int:
    """Delete rows that were void when they were read and still are.

    A void row gives no right to its node, so that the generation of the node
    need not be compared.

    :returns: the number of deleted rows.
    """
    # DELETE FROM reservations WHERE uuid IN (...) AND node_uuid IN (...)
    #   AND id IN (...) AND immediate = 1 AND NOT (it is live)
    return connection.execute(sa.delete(tables.reservations).where(
        _r.uuid.in_([row.uuid for row in void]),
        _r.node_uuid.in_({row.node_uuid for row in void}),
        _r.id.in_([row.id for row in void]), _r.immediate == 1,
        sa.not_(conditions.live(now)))).rowcount


def read_expired(connection: sa.Connection, now: datetime.datetime,
                 limit: int, acted: bool
                 ) -> list[node_reservation.Reservation]:
    """Return expired unused reservations, the oldest first.

    :param acted: whether their holders have acted on the nodes, which then
        have to be put back; the rows of the others are void.
    """
    # SELECT ... WHERE state = 'reserved' AND expires_at <= ? AND acted = ?
    #   ORDER BY expires_at LIMIT ?
    return RESERVATION.all(connection.execute(
        sa.select(*_COLUMNS)
        .where(_r.state == node_reservation.State.RESERVED.value,
               _r.expires_at <= now, _r.acted == acted)
        .order_by(_r.expires_at).limit(limit)))


def delete(connection: sa.Connection,
           reservation: node_reservation.Reservation) -> None:
    """Delete a reservation.

    :param reservation: as it was read.
    :raises Conflict: the reservation has changed since.
    """
    RESERVATION.delete(connection, reservation)


def update(connection: sa.Connection, before: node_reservation.Reservation,
           after: node_reservation.Reservation,
           now: datetime.datetime) -> None:
    """Write a new end and state of a live reservation.

    :param before: as it was read.
    :raises Conflict: the reservation has changed since, or is not live any
        more.
    """
    # UPDATE reservations SET ... WHERE (it is as it was read) AND
    #   (state != 'reserved' OR expires_at > now)
    RESERVATION.update(connection, before, after, _UPDATE_LIVE,
                       now=now, updated_at=now)


def write(connection: sa.Connection, pairs: Sequence[Pair],
          now: datetime.datetime) -> dict[str, int]:
    """Write the differences between two states of reservations.

    The generations of their nodes have been raised before, except for void
    reservations, which give no right to a node.

    :returns: the ids of the inserted rows, by uuid.
    :raises Conflict: one of the reservations has changed since.
    :raises oslo_db.exception.DBDuplicateEntry: a new reservation has the uuid,
        the node or the instance of another one.
    """
    gone = [before for before, after in pairs
            if before is not None and after is None]
    void = [row for row in gone if not row.live(now)]
    if void and delete_void(connection, void, now) != len(void):
        raise db_connection.Conflict('a reservation has changed meanwhile')
    for row in gone:
        if row.live(now):
            delete(connection, row)
    ids = {}
    for before, after in pairs:
        if after is None:
            continue
        if before is None:
            ids[after.uuid] = insert(connection, after)
        else:
            update(connection, before, after, now)
    return ids


# The uuid is not enough, since clients choose it and may reuse it.
_UPDATE_LIVE = RESERVATION.updating.where(conditions.live(conditions.NOW))


def read_starting(connection: sa.Connection) -> frozenset[str]:
    """Return the nodes whose reservations are in the state ``starting``."""
    # SELECT node_uuid FROM reservations WHERE state = 'starting'
    return frozenset(connection.execute(
        sa.select(_r.node_uuid)
        .where(_r.state == node_reservation.State.STARTING.value)).scalars())


def read_live_node_uuids(connection: sa.Connection,
                         now: datetime.datetime) -> frozenset[str]:
    """Return the nodes that are reserved now, or that leases have."""
    # SELECT node_uuid WHERE it is live UNION SELECT node_uuid WHERE a lease
    #   has it
    # Separate SELECTs, so that each uses its own index.
    return frozenset(connection.execute(sa.union(
        sa.select(_r.node_uuid).where(conditions.live(now)),
        sa.select(_r.node_uuid).where(conditions.has_node(now)))).scalars())


def count_live(connection: sa.Connection,
               now: datetime.datetime) -> dict[node_reservation.State, int]:
    """Count the live reservations by state."""
    # SELECT state, COUNT(*) FROM reservations WHERE (it is live)
    #   GROUP BY state
    rows = connection.execute(
        sa.select(_r.state, sa.func.count()).where(conditions.live(now))
        .group_by(_r.state))
    return {_STATES[state]: count for state, count in rows}


def count_waiting(connection: sa.Connection, project_id: str | None,
                  now: datetime.datetime, but: str = '') -> int:
    """Count a project's unused reservations.

    :param but: the uuid of a reservation that is not counted.
    """
    # SELECT count(*) FROM reservations WHERE project_id = ?
    #   AND immediate IS NOT NULL AND (state = 'starting' OR
    #     state = 'reserved' AND expires_at > ?) AND uuid <> ?
    return int(connection.execute(
        sa.select(sa.func.count()).select_from(tables.reservations)
        .where(_waiting(project_id, now), _r.uuid != but)).scalar_one())


def count_waiting_by_class(connection: sa.Connection, project_id: str | None,
                           now: datetime.datetime,
                           but: str = '') -> dict[str, int]:
    """Count a project's unused reservations by resource class.

    :param but: the uuid of a reservation that is not counted.
    """
    # SELECT resource_class, count(*) FROM reservations
    #   JOIN nodes ON nodes.uuid = node_uuid WHERE ... GROUP BY resource_class
    nodes = tables.nodes.c
    return {name: count for name, count in connection.execute(
        sa.select(nodes.resource_class, sa.func.count())
        .join_from(tables.reservations, tables.nodes,
                   nodes.uuid == _r.node_uuid)
        .where(_waiting(project_id, now), _r.uuid != but,
               nodes.resource_class.is_not(None))
        .group_by(nodes.resource_class))}


def _waiting(project_id: str | None,
             now: datetime.datetime) -> sa.ColumnElement[bool]:
    """Return the condition that a reservation of a project is unused."""
    # Ironic may refuse the request of one that is starting.
    return sa.and_(
        _r.project_id == project_id, _r.immediate.is_not(None), sa.or_(
            _r.state == node_reservation.State.STARTING.value, sa.and_(
                _r.state == node_reservation.State.RESERVED.value,
                _r.expires_at > now)))


def read_page(connection: sa.Connection, now: datetime.datetime, *,
              node_uuid: str | None, instance_uuid: str | None,
              project_id: str | None, sort_key: str, descending: bool,
              marker: node_reservation.Reservation | None,
              limit: int | None,
              unconfirmed: Collection[conditions.Condition]
              ) -> list[node_reservation.Reservation]:
    """Return live reservations in an order that is stable across pages.

    Reservations that are not confirmed yet are left out.

    :param sort_key: one of :data:`SORT_KEYS`; the id breaks ties.
    :param marker: the last reservation of the previous page.
    :param unconfirmed: see :func:`read_being_made`.
    """
    # SELECT ... FROM reservations WHERE (it is live, and confirmed)
    #   AND ... AND (it is behind the marker) ORDER BY ..., id LIMIT ?
    # Without reservations that only wait for their nodes to be restored.
    query = sa.select(*_SHOWN).where(
        conditions.live(now), *(~each for each in unconfirmed), sa.or_(
        _r.state != node_reservation.State.RESERVED.value,
        _r.expires_at > now))
    for column, value in ((_r.node_uuid, node_uuid),
                          (_r.instance_uuid, instance_uuid),
                          (_r.project_id, project_id)):
        if value is not None:
            query = query.where(column == value)
    column = _r[sort_key]
    # NULLs sort first on two of the databases and last on the third, and
    # therefore need an explicit rank.
    null_rank = sa.case((column.is_(None), 0), else_=1)
    keys: list[sa.ColumnElement[Any]] = (
        [null_rank, column, _r.id] if column.nullable else [column, _r.id])
    if marker is not None:
        query = query.where(_after(column, marker, sort_key, descending))
    query = query.order_by(*(key.desc() if descending else key.asc()
                             for key in keys))
    if limit is not None:
        query = query.limit(limit)
    return RESERVATION.all(connection.execute(query))


def _after(column: sa.Column[Any], marker: node_reservation.Reservation,
           sort_key: str, descending: bool) -> sa.ColumnElement[bool]:
    value = getattr(marker, sort_key)
    later_id = _r.id < marker.id if descending else _r.id > marker.id
    if value is None:
        same = sa.and_(column.is_(None), later_id)
        return same if descending else sa.or_(same, column.is_not(None))
    same = sa.and_(column == value, later_id)
    if descending:
        beyond = sa.or_(column < value, same)
        return sa.or_(beyond, column.is_(None)) if column.nullable else beyond
    return sa.or_(column > value, same)
