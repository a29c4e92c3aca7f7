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

"""Rows of ``reservations`` that book a node for maintenance.

A caller that writes them has raised the generations of the nodes in the same
transaction, and passes the windows as they were read.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import node_window

_r = tables.reservations.c
#: The rows of nodes in windows.
WINDOW = store.Rows(
    node_window.NodeWindow, tables.reservations,
    'a node of a maintenance window', named={'ends_at': 'expires_at'},
    decode={'state': conditions.WINDOW_STATES},
    encode={'state': lambda state: f'window_{state.value}'})

#: A node in a window as it was read, and as it will be; ``None`` before: it is
#: made.
Pair = tuple[node_window.NodeWindow | None, node_window.NodeWindow]
#: The state of windows as they were read, whether they are over, and the
#: values of the columns that change.
_Alike = tuple[node_window.State, bool, tuple[tuple[str, Any], ...]]


def write(connection: sa.Connection, pairs: Sequence[Pair],
          now: datetime.datetime) -> None:
    """Write the differences between two states of nodes in windows.

    The row of a window that is over is deleted.

    :raises Conflict: one of the rows has changed since.
    """
    WINDOW.insert(connection, [
        after if after.uuid else dataclasses.replace(
            after, uuid=str(uuid_module.uuid4()))
        for before, after in pairs if before is None],
        created_at=now)
    # Each statement writes the same values to windows that were alike.
    alike: dict[_Alike, list[node_window.NodeWindow]] = {}
    for before, after in pairs:
        if before is not None:
            changed = () if after.over else tuple(sorted(
                WINDOW.values(after).items() - WINDOW.values(before).items()))
            alike.setdefault((before.state, after.over, changed),
                             []).append(before)
    for (state, over, changed), there in alike.items():
        # DELETE FROM reservations, or UPDATE reservations SET ...
        #   WHERE uuid IN (...) AND node_uuid IN (...) AND window_id IN (...)
        #     AND state = ?
        statement = (
            sa.delete(tables.reservations) if over else sa.update(
                tables.reservations).values(updated_at=now, **dict(changed)))
        store.check(connection.execute(statement.where(
            _r.uuid.in_([each.uuid for each in there]),
            _r.node_uuid.in_({each.node_uuid for each in there}),
            _r.window_id.in_({each.window_id for each in there}),
            conditions.window_is(state))),
            len(there), 'a node of a maintenance window')


def delete_of_node(connection: sa.Connection, node_uuid: str) -> None:
    """Delete the windows of a node that is being deleted."""
    # DELETE FROM reservations WHERE node_uuid = ? AND immediate IS NULL
    #   AND state IN (...)
    connection.execute(sa.delete(tables.reservations).where(
        _r.node_uuid == node_uuid, conditions.window_is()))
