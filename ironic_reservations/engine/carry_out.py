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

"""Carrying a plan of the whole timeline out, in a constant number of writes.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import timelines
from ironic_reservations.planner import leases
from ironic_reservations.planner import standing
from ironic_reservations.planner.pool import pool


@dataclasses.dataclass(frozen=True)
class Difference:
    """What a plan changes.

    :ivar generations: of every node whose bookings it changes.
    :ivar homes: the new node of each booking of others that moves, by the
        booking's row.
    """

    generations: Mapping[str, int]
    homes: Mapping[int, str]


def compare(horizon: timelines.Horizon, after: pool.Pool,
            own: frozenset[str] = frozenset(),
            renamed: Mapping[str, leases.NodeBooking] | None = None
            ) -> Difference:
    """Tell what a plan changes for nodes and for the bookings of others.

    :param own: what the planner calls the bookings that the caller writes
        itself.
    :param renamed: bookings that have been planned anew, by what the planner
        calls them now.
    """
    whole, shared = horizon.timeline.rows, horizon.pool.rows
    touched = [number for number, row in enumerate(after.timeline.rows)
               if row is not whole[number]
               or after.rows[number] is not shared[number]]
    generations: dict[str, int] = {}
    rows: dict[str, leases.NodeBooking] = dict(renamed or {})
    for number in touched:
        here = horizon.standing(number)
        generations[here.host.node.uuid] = here.host.node.generation
        for booking, _ in here.promised:
            rows[standing.name(booking)] = booking
    homes: dict[int, str] = {}
    for number in touched:
        uuid = horizon.fleet.uuids[number]
        for placed in after.on(number):
            row = rows.get(placed.id)
            if row is not None and row.node_uuid != uuid and (
                    placed.id not in own):
                homes[row.id] = uuid
    return Difference(generations, homes)


def claim(connection: sa.Connection, horizon: timelines.Horizon,
          difference: Difference) -> None:
    """Change the bookings of nodes, if nobody has since the plan was made.

    Comes first in a transaction that writes bookings.

    :raises Conflict: somebody has.
    """
    if not db_nodes.advance_all(connection, difference.generations):
        raise db_connection.Conflict('a node has changed meanwhile')
    if db_bookings.move(connection, difference.homes,
                        horizon.now) != len(difference.homes):
        raise db_connection.Conflict('a booking has started meanwhile')
