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

"""Flags of leases with missing or replaced nodes."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import generations as db_generations
from ironic_reservations.db import tables
from ironic_reservations.model import leases

_s = tables.leases.c
_l = tables.lease_reservations.c
_r = tables.reservations.c
# id IN (SELECT lease_reservation_id FROM reservations
#        WHERE uuid IN (...) AND node_uuid IN (...) AND ...)
_LACKS = _l.id.in_(sa.select(_r.lease_reservation_id).where(
    *db_bookings.AS_READ))


def flag_replaced(connection: sa.Connection,
                  reservation_ids: Collection[str],
                  lacking: Collection[str], now: datetime.datetime) -> None:
    """Flag reservations whose nodes were replaced.

    To be called in the transaction that moves their bookings.

    :param reservation_ids: the lease reservations with a new node.
    :param lacking: the reservations among them that still lack another node.
    """
    if not reservation_ids:
        return
    _outdate(connection, _l.id.in_(reservation_ids), now)
    # UPDATE lease_reservations SET resources_changed = true
    #   WHERE id IN (...)
    connection.execute(
        sa.update(tables.lease_reservations)
        .where(_l.id.in_(reservation_ids))
        .values(resources_changed=True, missing_resources=sa.case(
            (_l.id.in_(lacking), _l.missing_resources), else_=False)
            if lacking else False, updated_at=now))
    # UPDATE leases SET degraded = false WHERE id IN (SELECT lease_id ...)
    #   AND id NOT IN (SELECT lease_id ... WHERE missing_resources)
    connection.execute(
        sa.update(tables.leases)
        .where(_s.id.in_(sa.select(_l.lease_id)
                         .where(_l.id.in_(reservation_ids))),
               _s.id.not_in(sa.select(_l.lease_id)
                            .where(_l.missing_resources)))
        .values(degraded=False))


def degrade(connection: sa.Connection,
            lost: Collection[leases.NodeBooking],
            now: datetime.datetime) -> None:
    """Flag leases that have lost nodes to others as degraded.

    :param lost: their bookings on these nodes, as they were read.
    """
    read = db_bookings.as_read(lost)
    _outdate(connection, _LACKS, now, read, degraded=True)
    connection.execute(
        sa.update(tables.lease_reservations).where(_LACKS)
        .values(missing_resources=True, updated_at=now), read)


def _outdate(connection: sa.Connection, which: sa.ColumnElement[bool],
             now: datetime.datetime,
             given: Mapping[str, Any] | None = None, **changed: Any) -> None:
    """Change the generations of leases without comparing them.

    That is safe, since the flags depend on the bookings, not on the leases;
    other transactions only have to read the leases again.
    """
    # UPDATE leases SET generation = ?, ...
    #   WHERE id IN (SELECT lease_id FROM lease_reservations WHERE ...)
    connection.execute(
        sa.update(tables.leases)
        .where(_s.id.in_(sa.select(_l.lease_id).where(which)))
        .values(generation=db_generations.fresh(), updated_at=now,
                **changed),
        dict(given or {}))
