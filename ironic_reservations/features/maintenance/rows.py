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

"""Rows of ``maintenance_windows``, and of their nodes.

A caller that writes rows of nodes has raised the generations of the nodes in
the same transaction, and passes the rows as they were read.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import node_windows as db_windows
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.features.maintenance import values
from ironic_reservations.model import node_window

_w = tables.maintenance_windows.c
_m = tables.maintenance_nodes.c
_WINDOW = store.Rows(
    values.Window, tables.maintenance_windows, 'a maintenance window',
    as_read=('id', 'updated_at'), changing=('ends_at', 'updated_at'))


def read(connection: sa.Connection, ids: Collection[str] | None = None
         ) -> list[values.Window]:
    """Return windows with their nodes, ordered by start.

    :param ids: ``None``: all.
    """
    # SELECT ... FROM maintenance_windows WHERE id IN (...)
    #   ORDER BY starts_at, id
    # SELECT ... FROM maintenance_nodes WHERE window_id IN (...) ORDER BY id
    query = sa.select(*_WINDOW.columns).order_by(_w.starts_at, _w.id)
    nodes = sa.select(*db_windows.WINDOW.columns).order_by(_m.id)
    if ids is not None:
        query = query.where(_w.id.in_(ids))
        nodes = nodes.where(_m.window_id.in_(ids))
    found: dict[str, list[node_window.NodeWindow]] = {}
    for each in db_windows.WINDOW.all(connection.execute(nodes)):
        found.setdefault(each.window_id, []).append(each)
    rows = connection.execute(query)
    made = _WINDOW.reader(rows, 'nodes')
    return [made(row, tuple(found.get(row.id, ()))) for row in rows]


def read_purposes(connection: sa.Connection, ids: Collection[str]
                  ) -> dict[str, node_window.Purpose]:
    """Return the names and reasons of windows, by id."""
    # SELECT id, name, reason FROM maintenance_windows WHERE id IN (...)
    return {each.id: each for each in store.read(
        node_window.Purpose, connection.execute(sa.select(
            _w.id, _w.name, _w.reason).where(_w.id.in_(ids))))}


def read_due(connection: sa.Connection, now: datetime.datetime
             ) -> list[tuple[node_window.NodeWindow, str, bool]]:
    """Return the nodes of windows that have started and are not over.

    :returns: each with the reason of its window, and whether the window drains
        nodes.
    """
    # SELECT ..., reason, drain FROM maintenance_nodes
    #   JOIN maintenance_windows ON ...
    #   WHERE state IN (...) AND starts_at <= ? ORDER BY starts_at
    rows = connection.execute(
        sa.select(*db_windows.WINDOW.columns, _w.reason, _w.drain).join_from(
            tables.maintenance_nodes, tables.maintenance_windows,
            _m.window_id == _w.id).where(
                db_windows.STANDS, _m.starts_at <= now).order_by(
                    _m.starts_at, _m.id))
    made = db_windows.WINDOW.reader(rows)
    return [(made(row), row.reason, row.drain) for row in rows]


def read_postponed(connection: sa.Connection, now: datetime.datetime
                   ) -> list[tuple[node_window.NodeWindow,
                                   datetime.datetime]]:
    """Return the nodes of windows that wait for their present users.

    :returns: each with the requested start.
    """
    # SELECT ..., maintenance_windows.starts_at FROM maintenance_nodes
    #   JOIN maintenance_windows ON ...
    #   WHERE state = 'planned' AND maintenance_nodes.starts_at > ? AND drain
    #     AND maintenance_nodes.starts_at > maintenance_windows.starts_at
    rows = connection.execute(
        sa.select(*db_windows.WINDOW.columns,
                  _w.starts_at.label('wanted')).join_from(
            tables.maintenance_nodes, tables.maintenance_windows,
            _m.window_id == _w.id).where(
                _m.state == node_window.State.PLANNED.value,
                _m.starts_at > now, _w.drain, _m.starts_at > _w.starts_at)
        .order_by(_m.starts_at, _m.id))
    made = db_windows.WINDOW.reader(rows)
    return [(made(row), row.wanted) for row in rows]


def count_late(connection: sa.Connection, now: datetime.datetime) -> int:
    """Count nodes whose maintenance is late to begin."""
    # SELECT count(*) FROM maintenance_nodes
    #   WHERE state = 'planned' AND starts_at <= ? AND ends_at > ?
    return connection.scalar(
        sa.select(sa.func.count()).select_from(tables.maintenance_nodes)
        .where(_m.state == node_window.State.PLANNED.value,
               _m.starts_at <= now, _m.ends_at > now)) or 0


def insert(connection: sa.Connection, window: values.Window) -> None:
    """Write a new window with its nodes."""
    _WINDOW.insert(connection, [window])
    db_windows.insert(connection, window.nodes)


def write_end(connection: sa.Connection, window: values.Window,
              ends_at: datetime.datetime) -> None:
    """Write a new end of a window that has not been ended.

    :param window: as it was read.
    :raises Conflict: a request has ended it since.
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


def _ended_since(before: datetime.datetime) -> sa.ColumnElement[bool]:
    """Return the condition that a request ended a window before an instant.

    No other operation updates a window; its dates may be in the far future.
    """
    return sa.and_(_w.updated_at < before, _nodes_with(db_windows.STANDS) == 0)


def _passed_since(before: datetime.datetime) -> sa.ColumnElement[bool]:
    """Return the condition that the dates of a window are before an instant.

    With ``drain``, the maintenance of nodes may end after the window.
    """
    return sa.and_(_w.ends_at < before, _nodes_with(
        sa.or_(db_windows.STANDS, _m.ends_at >= before)) == 0)


def _nodes_with(condition: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    """Return the number of nodes of a window that meet a condition.

    Nodes are counted, since for NOT EXISTS PostgreSQL reads the nodes of all
    windows.
    """
    # SELECT COUNT(*) FROM maintenance_nodes
    #   WHERE window_id = maintenance_windows.id AND ...
    return sa.select(sa.func.count()).where(
        _m.window_id == _w.id, condition).scalar_subquery()
