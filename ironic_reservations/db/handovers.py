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
together with the booking of the holder.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import handovers
from ironic_reservations.model import leases

_h = tables.handovers.c


def _acts(acts: Collection[str]) -> str:
    return json.dumps(sorted(acts))


def _unanswered(requests: Collection[handovers.Unanswered]) -> str:
    return json.dumps([[each.token, each.at.isoformat(), sorted(each.adds),
                        each.soils] for each in requests])


def _requests(text: str) -> tuple[handovers.Unanswered, ...]:
    return tuple(handovers.Unanswered(
        token, datetime.datetime.fromisoformat(at), frozenset(adds), soils)
        for token, at, adds, soils in json.loads(text))


def _text(document: handovers.Document | None) -> str | None:
    return None if document is None else json.dumps(
        dataclasses.asdict(document))


def _document(text: str | None) -> handovers.Document | None:
    if text is None:
        return None
    values: Mapping[str, Any] = json.loads(text)
    return handovers.Document(values['node'], tuple(values['vifs']),
                              values['targets'], values['connectors'],
                              values['ports'], values['portgroups'],
                              values['parts'])


_HANDOVER = store.Rows(
    handovers.Handover, tables.handovers, 'the handover of a node',
    as_read=('node_uuid', 'holder', 'settles_at', 'settled', 'dirty', 'phase',
             'acts', 'unanswered'),
    changing=('acts', 'dirty', 'settles_at', 'settled', 'phase',
              'unanswered'),
    decode={'document': _document,
            'acts': lambda text: frozenset(json.loads(text)),
            'unanswered': _requests},
    encode={'document': _text, 'acts': _acts, 'unanswered': _unanswered})


def read(connection: sa.Connection, node_uuids: Collection[str]
         ) -> dict[str, handovers.Handover]:
    """Return the handovers of nodes, by node uuid."""
    # SELECT ... FROM handovers WHERE node_uuid IN (...)
    return {each.node_uuid: each for each in _HANDOVER.all(connection.execute(
        sa.select(*_HANDOVER.columns).where(_h.node_uuid.in_(node_uuids))))}


def read_one(connection: sa.Connection,
             node_uuid: str) -> handovers.Handover | None:
    """Return the handover of one node, if it has one."""
    return read(connection, (node_uuid,)).get(node_uuid)


def insert(connection: sa.Connection, handover: handovers.Handover) -> None:
    """Write the first act of a holder.

    :raises Conflict: the node has a row already.
    """
    _HANDOVER.insert(connection, [handover])


def update(connection: sa.Connection, before: handovers.Handover,
           after: handovers.Handover) -> None:
    """Write further acts, or a phase.

    :param before: the handover as it was read.
    :raises Conflict: the row has changed since.
    """
    # The document may be long.
    more = {} if after.document == before.document else {
        'document': _text(after.document)}
    _HANDOVER.update(connection, before, after, None, **more)


def delete_as_read(connection: sa.Connection,
                   before: handovers.Handover) -> None:
    """Delete a handover without acts.

    :raises Conflict: the row has changed since it was read.
    """
    _HANDOVER.delete(connection, before)


def delete_of_node(connection: sa.Connection,
                   before: handovers.Handover | None) -> None:
    """Delete the handover of a deleted booking, if it is as it was read."""
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


