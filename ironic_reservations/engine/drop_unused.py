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

"""End an unused reservation within a larger transaction."""

from __future__ import annotations

import datetime

import sqlalchemy as sa

from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import Engine
from ironic_reservations.engine import seen
from ironic_reservations.model import node_reservation


def drop_unused(engine: Engine, connection: sa.Connection, uuid: str,
                node_uuid: str, now: datetime.datetime) -> bool:
    """Delete a reservation unless its holder has used its proof.

    The same request may then make a reservation again. This is no ``Change``:
    the row of its hold is written in the same transaction, also if the
    reservation stays.

    :returns: whether it was deleted.
    :raises Conflict: the bookings of its node have changed meanwhile.
    """
    found = db_reservations.read_with_generation(connection, uuid)
    if found is None:
        return False
    reservation, generation = found
    if reservation.node_uuid != node_uuid or (
            reservation.state is not node_reservation.State.RESERVED
            or reservation.acted):
        return False
    seen.advance(connection, seen.Seen({node_uuid: generation}), now)
    db_reservations.delete(connection, reservation)
    for each in engine.features:
        each.undo(connection, reservation, now)
    return True
