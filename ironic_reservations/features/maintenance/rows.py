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

"""Rows of ``maintenance_windows``, and the nodes of windows.

The nodes are bookings: :mod:`~ironic_reservations.db.node_windows`.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
import datetime
import operator

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import node_windows as db_windows
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.features.maintenance import values
from ironic_reservations.model import node_window

_w = tables.maintenance_windows.c
_r = tables.reservations.c
_NODE = db_windows.WINDOW
_m = tables.maintenance_nodes.c
_OVER = store.Rows(node_window.NodeWindow, tables.maintenance_nodes,
                   'a node whose maintenance is over')
#: Their values as those of rows of reservations.
_OVERS = {**{column.key: column for column in _OVER.columns},
          'state': sa.literal_column("'window_over'", sa.String),
          'uuid': sa.literal_column("''", sa.String)}
# reservations JOIN maintenance_windows ON window_id = maintenance_windows.id
_STANDING = sa.join(tables.reservations, tables.maintenance_windows,
                    _r.window_id == _w.id)
_PLACE = operator.attrgetter('place')
_OF_WINDOW = 'of_window_'
_WINDOW = store.Rows(
    values.Window, tables.maintenance_windows, 'a maintenance window',
    as_read=('id', 'ends_at', 'updated_at'),
    changing=('ends_at', 'updated_at'))


def read(connection: sa.Connection, ids: Collection[str] | None = None
         ) -> list[values.Window]:
    """Return windows with their nodes, ordered by start.

    :param ids: ``None``: all.
    """
    # SELECT ... FROM maintenance_windows WHERE id IN (...)
    #   ORDER BY starts_at, id
    # SELECT ... FROM reservations WHERE (it is a window)
    #     AND window_id IN (...)
    #   UNION ALL SELECT ... FROM maintenance_nodes WHERE window_id IN (...)
    query = sa.select(*_WINDOW.columns).order_by(_w.starts_at, _w.id)
    standing = sa.select(*_NODE.columns).where(conditions.window_is())
    over = sa.select(*(_OVERS[column.key].label(column.key)
                       for column in _NODE.columns))
    if ids is not None:
        query = query.where(_w.id.in_(ids))
        standing = standing.where(_r.window_id.in_(ids))
        over = over.where(_m.window_id.in_(ids))
    found: dict[str, list[node_window.NodeWindow]] = {}
    nodes = connection.execute(sa.union_all(standing, over))
    node = _NODE.reader(nodes)
    for row in nodes:
        found.setdefault(row.window_id, []).append(node(row))
    rows = connection.execute(query)
    made = _WINDOW.reader(rows, 'nodes')
    return [made(row, tuple(sorted(found.get(row.id, ()), key=_PLACE)))
            for row in rows]


def read_standing(connection: sa.Connection, ident: str
                  ) -> tuple[values.Window | None, dict[str, int]]:
    """Return a window with the nodes whose maintenance is not over.

    :returns: the window, ``None`` without such a node, and the generations of
        the nodes, all read at one moment.
    """
    # SELECT ..., generation FROM reservations JOIN maintenance_windows ON ...
    #   JOIN nodes ON ... WHERE (it is a window) AND window_id = ?
    result = connection.execute(sa.select(
        *_NODE.columns, *_WINDOW.labelled(_OF_WINDOW),
        tables.nodes.c.generation).select_from(sa.join(
            _STANDING, tables.nodes, _r.node_uuid == tables.nodes.c.uuid))
        .where(conditions.window_is(), _r.window_id == ident))
    node = _NODE.reader(result)
    window = _WINDOW.reader(result, 'nodes', prefix=_OF_WINDOW)
    rows = result.all()
    return (window(rows[0], tuple(map(node, rows))) if rows else None,
            {row.node_uuid: row.generation for row in rows})


def read_purposes(connection: sa.Connection, ids: Collection[str]
                  ) -> dict[str, node_window.Purpose]:
    """Return the names and reasons of windows, by id."""
    # SELECT id, name, reason FROM maintenance_windows WHERE id IN (...)
    return {each.id: each for each in store.read(
        node_window.Purpose, connection.execute(sa.select(
            _w.id, _w.name, _w.reason).where(_w.id.in_(ids))))}


def read_due(connection: sa.Connection, now: datetime.datetime
             ) -> list[tuple[node_window.NodeWindow, str, bool]]:
    """Return nodes whose windows have started and are not over.

    :returns: the nodes, each with the reason of its window and whether the
        window drains nodes.
    """
    # SELECT ..., reason, drain FROM reservations
    #   JOIN maintenance_windows ON ...
    #   WHERE state IN (...) AND starts_at <= ? ORDER BY starts_at
    rows = connection.execute(
        sa.select(*_NODE.columns, _w.reason, _w.drain)
        .select_from(_STANDING)
        .where(conditions.window_is(), _r.starts_at <= now)
        .order_by(_r.starts_at, _r.id))
    made = _NODE.reader(rows)
    return [(made(row), row.reason, row.drain) for row in rows]


def read_postponed(connection: sa.Connection, now: datetime.datetime
                   ) -> list[tuple[node_window.NodeWindow,
                                   datetime.datetime]]:
    """Return the nodes of windows that wait for their present users.

    :returns: the nodes, each with the requested start of its window.
    """
    # SELECT ..., maintenance_windows.starts_at FROM reservations
    #   JOIN maintenance_windows ON ...
    #   WHERE state = 'window_planned' AND reservations.starts_at > ?
    #     AND drain
    #     AND reservations.starts_at > maintenance_windows.starts_at
    rows = connection.execute(
        sa.select(*_NODE.columns, _w.starts_at.label('wanted'))
        .select_from(_STANDING)
        .where(conditions.window_is(node_window.State.PLANNED),
               _r.starts_at > now, _w.drain, _r.starts_at > _w.starts_at)
        .order_by(_r.starts_at, _r.id))
    made = _NODE.reader(rows)
    return [(made(row), row.wanted) for row in rows]


def count_late(connection: sa.Connection, now: datetime.datetime) -> int:
    """Count nodes that should be in maintenance already."""
    # SELECT count(*) FROM reservations
    #   WHERE state = 'window_planned' AND starts_at <= ?
    #     AND expires_at > ?
    return connection.scalar(
        sa.select(sa.func.count()).select_from(tables.reservations)
        .where(conditions.window_is(node_window.State.PLANNED),
               _r.starts_at <= now, _r.expires_at > now)) or 0


def insert(connection: sa.Connection, window: values.Window) -> None:
    """Write a new window, without its nodes."""
    _WINDOW.insert(connection, [window])


def insert_over(connection: sa.Connection,
                nodes: Sequence[node_window.NodeWindow]) -> None:
    """Write nodes whose maintenance is over."""
    _OVER.insert(connection, nodes)


def write_end(connection: sa.Connection, window: values.Window,
              ends_at: datetime.datetime) -> None:
    """Write a new end of a window that has not been ended.

    :param window: as it was read.
    :raises Conflict: a request has ended it since, or another process has
        moved one of its nodes.
    """
    _WINDOW.update(connection, window, dataclasses.replace(
        window, ends_at=ends_at))


def end_window(connection: sa.Connection, window: values.Window,
               now: datetime.datetime) -> None:
    """Write that a window has ended; a future window ends at its start.

    :param window: as it was read.
    :raises Conflict: another process has changed it since.
    """
    _WINDOW.update(connection, window, dataclasses.replace(
        window, ends_at=max(window.starts_at, now), updated_at=now))


def read_forgettable(connection: sa.Connection, before: datetime.datetime,
                     limit: int) -> list[str]:
    """Return the ids of windows that were over before an instant.

    :param limit: the maximum number of windows.
    """
    # SELECT id FROM maintenance_windows WHERE updated_at < ? AND ... LIMIT ?
    # SELECT id FROM maintenance_windows WHERE ends_at < ? AND ... LIMIT ?
    # Two statements, since each has an index of its own.
    found: dict[str, None] = {}
    for instant, condition in ((_w.updated_at, _ended_since(before)),
                               (_w.ends_at, _passed_since(before))):
        found.update(dict.fromkeys(connection.scalars(
            sa.select(_w.id).where(condition)
            .order_by(instant, _w.id).limit(limit))))
    return list(found)[:limit]


def delete_many(connection: sa.Connection, ids: Collection[str],
                before: datetime.datetime) -> None:
    """Delete windows that were over before an instant, with their nodes."""
    # DELETE FROM maintenance_windows WHERE id IN (...) AND (... OR ...)
    connection.execute(sa.delete(tables.maintenance_windows).where(
        _w.id.in_(ids), sa.or_(_ended_since(before), _passed_since(before))))


# id NOT IN (SELECT window_id FROM reservations WHERE (it is a window))
_NONE_STANDS = _w.id.not_in(
    sa.select(_r.window_id).where(conditions.window_is()))


def _ended_since(before: datetime.datetime) -> sa.ColumnElement[bool]:
    """Return the condition that a request ended a window before an instant.

    No other operation updates a window; its dates may be in the far future.
    """
    return sa.and_(_w.updated_at < before, _NONE_STANDS)


def _passed_since(before: datetime.datetime) -> sa.ColumnElement[bool]:
    """Return the condition that the dates of a window are before an instant.

    With ``drain``, the maintenance of nodes may end after the window.
    """
    # ... AND (SELECT COUNT(*) FROM maintenance_nodes
    #   WHERE window_id = maintenance_windows.id AND ends_at >= ?) = 0
    # Nodes are counted, since for NOT EXISTS PostgreSQL reads the nodes of
    # all windows.
    later = sa.select(sa.func.count()).where(
        _m.window_id == _w.id, _m.ends_at >= before).scalar_subquery()
    return sa.and_(_w.ends_at < before, _NONE_STANDS, later == 0)
