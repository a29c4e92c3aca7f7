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

"""Write the differences between two states of reservations."""

from __future__ import annotations

from collections.abc import Sequence
import datetime

import sqlalchemy as sa

from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.model import node_reservation

#: A reservation as it was read, and as it will be.
Pair = tuple[node_reservation.Reservation | None,
             node_reservation.Reservation | None]


def write(connection: sa.Connection, pairs: Sequence[Pair],
          now: datetime.datetime) -> dict[str, int]:
    """Write the differences between two states of reservations.

    The generations of their nodes have been raised before, except for void
    reservations, which give no right to a node.

    :param pairs: ``None`` before: it is made; ``None`` after: it is deleted.
    :returns: the ids of the inserted rows, by uuid.
    :raises Conflict: one of the reservations has changed since.
    :raises oslo_db.exception.DBDuplicateEntry: a new reservation has the uuid,
        the node or the instance of another one.
    """
    gone = [before for before, after in pairs
            if before is not None and after is None]
    void = [row for row in gone if not row.live(now)]
    if void and db_reservations.delete_void(
            connection, void, now) != len(void):
        raise db_connection.Conflict('a reservation has changed meanwhile')
    for row in gone:
        if row.live(now):
            db_reservations.delete(connection, row)
    ids = {}
    for before, after in pairs:
        if after is None:
            continue
        if before is None:
            made = db_reservations.insert(connection, after)
            assert made.id is not None
            ids[made.uuid] = made.id
        else:
            db_reservations.update(connection, before, after, now)
    return ids
