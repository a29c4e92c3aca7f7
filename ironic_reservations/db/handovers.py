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

"""Queries and statements for handovers.

A row is inserted before the first act of a holder reaches Ironic, and deleted
with the booking of the holder.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import row_counts
from ironic_reservations.db import tables
from ironic_reservations.model import handovers
from ironic_reservations.model import leases

_h = tables.handovers.c
_COLUMNS = (_h.node_uuid, _h.holder, _h.document, _h.acts, _h.dirty,
            _h.settles_at, _h.settled, _h.phase)


def read(connection: sa.Connection, node_uuids: Collection[str]
         ) -> dict[str, handovers.Handover]:
    """Return the handovers of nodes, by node uuid."""
    # SELECT ... FROM handovers WHERE node_uuid IN (...)
    return {row.node_uuid: _of_row(row) for row in connection.execute(
        sa.select(*_COLUMNS).where(_h.node_uuid.in_(node_uuids)))}


def insert(connection: sa.Connection, handover: handovers.Handover) -> None:
    """Write the first act of a holder.

    :raises Conflict: the node has a row already.
    """
    connection.execute(sa.insert(tables.handovers), {
        'node_uuid': handover.node_uuid, 'holder': handover.holder,
        'document': _text(handover.document), **_changed(handover)})


def update(connection: sa.Connection, before: handovers.Handover,
           after: handovers.Handover) -> None:
    """Write further acts, or a phase.

    :param before: the handover as it was read.
    :raises Conflict: the row has changed since.
    """
    # UPDATE handovers SET acts = ?, dirty = ?, settles_at = ?, settled = ?,
    #     phase = ?
    #   WHERE node_uuid = ? AND holder = ? AND settles_at = ? AND settled = ?
    #     AND dirty = ? AND phase = ?
    row_counts.check(connection.execute(
        sa.update(tables.handovers)
        .where(_h.node_uuid == before.node_uuid, _h.holder == before.holder,
               _h.settles_at == before.settles_at,
               _h.settled == before.settled, _h.dirty == before.dirty,
               _h.phase == before.phase.value, _h.acts == _acts(before))
        .values(_changed(after) if after.document == before.document else {
            'document': _text(after.document), **_changed(after)})),
        1, 'the handover of a node')


def delete_of_node(connection: sa.Connection,
                   before: handovers.Handover | None) -> None:
    """Delete the handover of a booking that is gone, as it was read."""
    if before is not None:
        # DELETE FROM handovers WHERE node_uuid = ? AND holder = ?
        connection.execute(sa.delete(tables.handovers).where(
            _h.node_uuid == before.node_uuid, _h.holder == before.holder))


def delete(connection: sa.Connection,
           bookings: Collection[leases.NodeBooking]) -> None:
    """Delete the handovers of bookings that are deleted."""
    if bookings:
        # DELETE FROM handovers WHERE node_uuid IN (...) AND holder IN (...)
        connection.execute(sa.delete(tables.handovers).where(
            _h.node_uuid.in_({each.node_uuid for each in bookings}),
            _h.holder.in_({each.uuid for each in bookings})))


def _changed(handover: handovers.Handover) -> dict[str, Any]:
    return {'acts': _acts(handover), 'dirty': handover.dirty,
            'settles_at': handover.settles_at, 'settled': handover.settled,
            'phase': handover.phase.value}


def _acts(handover: handovers.Handover) -> str:
    return json.dumps(sorted(handover.acts))


def _of_row(row: sa.Row[Any]) -> handovers.Handover:
    return handovers.Handover(
        row.node_uuid, row.holder, _document(row.document),
        frozenset(json.loads(row.acts)), row.dirty, row.settles_at,
        handovers.Phase(row.phase), row.settled)


def _text(document: handovers.Document | None) -> str | None:
    return (None if document is None
            else json.dumps(dataclasses.asdict(document)))


def _document(text: str | None) -> handovers.Document | None:
    if text is None:
        return None
    values: Mapping[str, Any] = json.loads(text)
    return handovers.Document(values['node'], tuple(values['vifs']),
                              values['targets'], values['connectors'],
                              values['ports'], values['portgroups'],
                              values['parts'])
