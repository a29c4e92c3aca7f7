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

"""Reads the names, projects, users and statuses of leases."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import leases

_r = tables.reservations.c
_l = tables.lease_reservations.c
_s = tables.leases.c
_COLUMNS = (_l.id.label('reservation_id'), _s.id, _s.generation, _s.name,
            _s.project_id, _s.status, _s.degraded, _s.user_id)


def read(connection: sa.Connection, node_uuids: Collection[str]
         ) -> dict[str, leases.NamedLease]:
    """Return the leases that have bookings on nodes.

    :returns: by the ids of the lease reservations.
    """
    return _named(connection.execute(_on(node_uuids, *_COLUMNS)))


def read_by_reservation(connection: sa.Connection,
                        reservation_ids: Collection[str]
                        ) -> dict[str, leases.NamedLease]:
    """Return the leases of lease reservations.

    :returns: by the ids of the lease reservations.
    """
    # SELECT ... FROM lease_reservations JOIN leases ON ... WHERE id IN (...)
    return _named(connection.execute(
        sa.select(*_COLUMNS)
        .join_from(tables.lease_reservations, tables.leases,
                   _l.lease_id == _s.id)
        .where(_l.id.in_(reservation_ids))))


def read_generations(connection: sa.Connection,
                     node_uuids: Collection[str]) -> dict[str, int]:
    """Return the generations of leases with bookings on nodes.

    :returns: by the ids of the lease reservations.
    """
    return {row.id: row.generation for row in connection.execute(_on(
        node_uuids, _l.id, _s.generation))}


def _on(node_uuids: Collection[str],
        *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    # SELECT DISTINCT ... FROM reservations
    #   JOIN lease_reservations ON ... JOIN leases ON ...
    #   WHERE node_uuid IN (...)
    return (sa.select(*columns).distinct()
            .join_from(tables.reservations, tables.lease_reservations,
                       _r.lease_reservation_id == _l.id)
            .join(tables.leases, _l.lease_id == _s.id)
            .where(_r.node_uuid.in_(node_uuids)))


def _named(rows: sa.CursorResult[Any]) -> dict[str, leases.NamedLease]:
    made = store.record(leases.NamedLease).reader(rows)
    return {row.reservation_id: made(row) for row in rows}
