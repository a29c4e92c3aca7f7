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

"""Rows of nodes in maintenance windows, which belong to the timeline.

A caller that writes them has raised the generations of the nodes in the same
transaction, and passes the rows as they were read.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import node_window

_m = tables.maintenance_nodes.c
#: The rows of nodes in windows.
WINDOW = store.Rows(
    node_window.NodeWindow, tables.maintenance_nodes,
    'a node of a maintenance window',
    as_read=('window_id', 'node_uuid', 'state'),
    changing=('starts_at', 'ends_at', 'state'))
#: The condition that a window is not over; a list, since PostgreSQL uses no
#: index for "<> 'over'".
STANDS = _m.state.in_([state.value for state in node_window.State
                       if state is not node_window.State.OVER])
# SELECT ... FROM maintenance_nodes WHERE state IN (...) ORDER BY starts_at
_STANDING = sa.select(*WINDOW.columns).where(STANDS).order_by(
    _m.starts_at, _m.id)
_STANDING_ON = _STANDING.where(
    _m.node_uuid.in_(sa.bindparam('uuids', expanding=True)))


def read_of_nodes(connection: sa.Connection,
                  node_uuids: Collection[str] | None = None
                  ) -> dict[str, tuple[node_window.NodeWindow, ...]]:
    """Return the windows of nodes, without past windows, by node.

    :param node_uuids: ``None``: all nodes.
    """
    rows = (connection.execute(_STANDING) if node_uuids is None
            else connection.execute(_STANDING_ON,
                                    {'uuids': list(node_uuids)}))
    found: dict[str, tuple[node_window.NodeWindow, ...]] = {}
    for each in WINDOW.all(rows):
        found[each.node_uuid] = (*found.get(each.node_uuid, ()), each)
    return found


def insert(connection: sa.Connection,
           windows: Iterable[node_window.NodeWindow]) -> None:
    """Write nodes of a new window."""
    WINDOW.insert(connection, windows)


def update_state(connection: sa.Connection, there: node_window.NodeWindow,
                 state: node_window.State) -> None:
    """Write the state of a node in its window.

    :param there: as it was read.
    :raises Conflict: it has changed since.
    """
    WINDOW.update(connection, there, dataclasses.replace(there, state=state))


def end(connection: sa.Connection, there: node_window.NodeWindow,
        now: datetime.datetime) -> None:
    """End the maintenance of a node now.

    If nothing has been written to Ironic, the maintenance is over at once.

    :param there: as it was read.
    :raises Conflict: it has changed since.
    """
    WINDOW.update(connection, there, dataclasses.replace(
        there, ends_at=max(there.starts_at, now),
        state=there.state if there.written else node_window.State.OVER))


def move(connection: sa.Connection, there: node_window.NodeWindow,
         starts_at: datetime.datetime, ends_at: datetime.datetime) -> None:
    """Write the period of a node in its window.

    :param there: as it was read.
    :raises Conflict: it has changed since.
    """
    WINDOW.update(connection, there, dataclasses.replace(
        there, starts_at=starts_at, ends_at=ends_at))
