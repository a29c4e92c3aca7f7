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

"""Rows of bookings where a lease starts, and where it ends."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.planner import leases

_r = tables.reservations.c


def intend_lessees(connection: sa.Connection,
                   lessees: Mapping[int, tuple[str | None, str | None]]
                   ) -> None:
    """Remember what is about to be written to nodes, and what it replaces.

    NOTE: bookings that have been used already, and so are bound, are planned
    again until it has been written, and still never move.

    :param lessees: both, by the id of the booking.
    """
    _write(connection, lessees, {
        'state': leases.BookingState.PLANNED.value})


def write_lessees(connection: sa.Connection,
                  lessees: Mapping[int, tuple[str | None, str | None]]
                  ) -> None:
    """Remember what stands on nodes, and what was there before.

    :param lessees: both, by the id of the booking.
    """
    _write(connection, lessees, {})


def _write(connection: sa.Connection,
           lessees: Mapping[int, tuple[str | None, str | None]],
           more: Mapping[str, str]) -> None:
    if lessees:
        connection.execute(
            sa.update(tables.reservations)
            .where(_r.id == sa.bindparam('k_id'))
            .values(lessee=sa.bindparam('v_lessee'),
                    lessee_before=sa.bindparam('v_before'), **more),
            [{'k_id': each, 'v_lessee': lessee, 'v_before': before}
             for each, (lessee, before) in lessees.items()])


def bind(connection: sa.Connection, ids: Collection[int],
         now: datetime.datetime) -> int:
    """Tell that bookings have started.

    :returns: how many had not.
    """
    if not ids:
        return 0
    # UPDATE reservations SET state = 'bound'
    #   WHERE id IN (...) AND state = 'planned'
    return connection.execute(
        sa.update(tables.reservations)
        .where(_r.id.in_(ids),
               _r.state == leases.BookingState.PLANNED.value)
        .values(state=leases.BookingState.BOUND.value,
                updated_at=now)).rowcount
