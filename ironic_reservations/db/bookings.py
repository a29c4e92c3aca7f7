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

"""Rows of ``reservations`` that promise a node to a lease."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations.db import instance_reservations as db_instances
from ironic_reservations.db import nodes
from ironic_reservations.db import tables
from ironic_reservations.planner import facts
from ironic_reservations.planner import instance_reservations
from ironic_reservations.planner import leases

_r = tables.reservations.c
_l = tables.lease_reservations.c
_STATES = {state.value: state for state in leases.BookingState}
_COLUMNS = (_r.id, _r.lease_reservation_id, _r.place, _r.node_uuid,
            _r.starts_at, _r.expires_at, _r.state, _r.lessee,
            _r.lessee_before, _r.project_id)
# NOTE: put together once, since that takes longer than all else that
# SQLAlchemy does for a few rows.
_LEASED = sa.join(tables.reservations, tables.lease_reservations,
                  _r.lease_reservation_id == _l.id)
# SELECT ... FROM reservations JOIN lease_reservations ...
#   LEFT OUTER JOIN instance_reservations ON ... WHERE node_uuid IN (...)
_WITH_WANTS = sa.select(
    *_COLUMNS, _l.hypervisor_properties, _l.resource_properties,
    *db_instances.COLUMNS).select_from(sa.outerjoin(
        _LEASED, tables.instance_reservations,
        tables.instance_reservations.c.reservation_id == _l.id))
_WITH_WANTS_OF = _WITH_WANTS.where(
    _r.node_uuid.in_(sa.bindparam('uuids', expanding=True)))
_OF_LEASES = sa.select(*_COLUMNS).select_from(_LEASED).where(
    _l.lease_id.in_(sa.bindparam('leases', expanding=True))
).order_by(_r.place)
_INSERT = sa.insert(tables.reservations)

#: The hypervisor properties and the resource properties that were asked for,
#: and what of each instance, where instances were.
Wants = tuple[str, str, instance_reservations.InstanceReservation | None]


def _booking(row: Sequence[Any]) -> leases.NodeBooking:
    return leases.NodeBooking(row[0], row[1], row[2], row[3], row[4], row[5],
                              _STATES[row[6]], row[7], row[8], row[9])


def read_with_wants(connection: sa.Connection,
                    node_uuids: Collection[str] | None = None
                    ) -> list[tuple[leases.NodeBooking, Wants]]:
    """Read what nodes are promised to, and what would do as well.

    :param node_uuids: ``None``: all nodes.
    """
    rows = (connection.execute(_WITH_WANTS) if node_uuids is None
            else connection.execute(_WITH_WANTS_OF,
                                    {'uuids': list(node_uuids)}))
    known: dict[str, instance_reservations.InstanceReservation] = {}
    found: list[tuple[leases.NodeBooking, Wants]] = []
    for row in rows:
        # NOTE: a reservation may have thousands of instances.
        if row[12] is not None and row[1] not in known:
            known[row[1]] = db_instances.of_row(row[12:])
        found.append((_booking(row), (row[10], row[11], known.get(row[1]))))
    return found


def read_of_leases(connection: sa.Connection, lease_ids: Collection[str]
                   ) -> list[leases.NodeBooking]:
    """Read the nodes that leases are promised, in the order of their places.
    """
    return [_booking(row) for row in connection.execute(
        _OF_LEASES, {'leases': list(lease_ids)})]


def read_of_hosts(connection: sa.Connection, lease_id: str | None = None,
                  reservation_id: str | None = None,
                  node_uuid: str | None = None
                  ) -> list[tuple[leases.NodeBooking, str]]:
    """Read which lease each booking is of, by the start."""
    query = (sa.select(*_COLUMNS, _l.lease_id)
             .join_from(tables.reservations, tables.lease_reservations,
                        _r.lease_reservation_id == _l.id)
             .order_by(_r.starts_at, _r.id))
    for column, value in ((_l.lease_id, lease_id), (_l.id, reservation_id),
                          (_r.node_uuid, node_uuid)):
        if value is not None:
            query = query.where(column == value)
    return [(_booking(row), row[10]) for row in connection.execute(query)]


def read_of_node(connection: sa.Connection, node_uuid: str,
                 now: datetime.datetime) -> list[leases.NodeBooking]:
    """Read what one node is promised to, by the start."""
    # SELECT ... WHERE node_uuid = ? AND immediate IS NULL AND (it has the
    #   node OR it is to come) ORDER BY starts_at
    return [_booking(row) for row in connection.execute(
        sa.select(*_COLUMNS)
        .where(_r.node_uuid == node_uuid, _there(now))
        .order_by(_r.starts_at, _r.id))]


def read_of_reservation(connection: sa.Connection, reservation_id: str,
                        now: datetime.datetime) -> list[leases.NodeBooking]:
    """Read the nodes that a lease reservation has now, by their places."""
    return [_booking(row) for row in connection.execute(
        sa.select(*_COLUMNS)
        .where(_r.lease_reservation_id == reservation_id,
               _r.state != leases.BookingState.ENDING.value,
               _r.starts_at <= now, _r.expires_at > now)
        .order_by(_r.place))]


def read_leased(connection: sa.Connection, node_uuids: Collection[str],
                now: datetime.datetime) -> dict[str, facts.Leased]:
    """Read what leases have of nodes, in one row for each that they do."""
    # SELECT node_uuid, MAX(CASE WHEN it has the node THEN 1 END),
    #   MAX(CASE WHEN ... and is over THEN 1 END),
    #   MAX(CASE WHEN ... THEN lease_reservation_id END),
    #   MAX(CASE WHEN ... THEN expires_at END),
    #   MIN(CASE WHEN it is to come THEN starts_at END)
    #   FROM reservations WHERE node_uuid IN (...) AND immediate IS NULL
    #   GROUP BY node_uuid
    held = nodes.is_leased(now)
    over = sa.and_(held, sa.or_(
        _r.state == leases.BookingState.ENDING.value, _r.expires_at <= now))
    query = sa.select(
        _r.node_uuid, sa.func.max(sa.case((held, 1))),
        sa.func.max(sa.case((over, 1))),
        sa.func.max(sa.case((held, _r.lease_reservation_id))),
        sa.func.max(sa.case((held, _r.expires_at)), type_=tables.UTCDateTime),
        sa.func.min(sa.case((nodes.is_promised(now), _r.starts_at)),
                    type_=tables.UTCDateTime)
    ).where(_r.node_uuid.in_(node_uuids), _there(now)).group_by(_r.node_uuid)
    return {row[0]: facts.Leased(bool(row[1]), None if row[2] else row[3],
                                 None if row[2] else row[4], row[5])
            for row in connection.execute(query)}


def _there(now: datetime.datetime) -> sa.ColumnElement[bool]:
    return sa.or_(nodes.is_leased(now), nodes.is_promised(now))


def insert_many(connection: sa.Connection,
                bookings: Collection[leases.NodeBooking],
                user_id: str | None, now: datetime.datetime) -> None:
    """Write new bookings; their ids are given by the database."""
    if bookings:
        connection.execute(_INSERT, [
            {'uuid': str(uuid_module.uuid4()),
             'node_uuid': booking.node_uuid, 'created_at': now,
             'starts_at': booking.starts_at, 'expires_at': booking.ends_at,
             'state': booking.state.value, 'project_id': booking.project_id,
             'user_id': user_id, 'place': booking.place,
             'lease_reservation_id': booking.reservation_id}
            for booking in bookings])


def move(connection: sa.Connection, homes: Mapping[int, str],
         now: datetime.datetime) -> int:
    """Put bookings that have not started on other nodes.

    :param homes: the uuid of the node, by the id of the booking.
    :returns: how many there were.
    """
    if not homes:
        return 0
    # UPDATE reservations SET node_uuid = CASE id WHEN ? THEN ? ... END
    #   WHERE id IN (...) AND state = 'planned' AND lessee IS NULL
    return connection.execute(
        sa.update(tables.reservations)
        .where(_r.id.in_(homes), _r.lessee.is_(None),
               _r.state == leases.BookingState.PLANNED.value)
        .values(node_uuid=sa.case(homes, value=_r.id),
                updated_at=now)).rowcount


def update_window(connection: sa.Connection, ids: Collection[int],
                  starts_at: datetime.datetime | None,
                  ends_at: datetime.datetime,
                  now: datetime.datetime) -> None:
    """Change from when until when nodes are promised.

    :param starts_at: ``None``: as it was.
    """
    if ids:
        changed: dict[str, Any] = {'expires_at': ends_at, 'updated_at': now}
        if starts_at is not None:
            changed['starts_at'] = starts_at
        connection.execute(sa.update(tables.reservations)
                           .where(_r.id.in_(ids)).values(**changed))


def update_state(connection: sa.Connection, ids: Collection[int],
                 state: leases.BookingState,
                 now: datetime.datetime) -> None:
    """Tell that bookings have started, or that they are over."""
    if ids:
        connection.execute(
            sa.update(tables.reservations).where(_r.id.in_(ids))
            .values(state=state.value, updated_at=now))


def update_lessee(connection: sa.Connection, booking_id: int,
                  lessee: str | None, before: str | None) -> None:
    """Remember what is about to be written to a node, and what it replaces.
    """
    connection.execute(
        sa.update(tables.reservations).where(_r.id == booking_id)
        .values(lessee=lessee, lessee_before=before))


def delete_planned(connection: sa.Connection,
                   bookings: Collection[leases.NodeBooking]) -> bool:
    """Take promises back for which nothing has been done yet.

    :returns: ``False`` if some have started meanwhile, or were moved to a
        node whose generation the caller has not raised.
    """
    if not bookings:
        return True
    # DELETE FROM reservations WHERE id IN (...) AND node_uuid IN (...)
    #   AND state = 'planned' AND lessee IS NULL
    return connection.execute(
        sa.delete(tables.reservations)
        .where(_r.id.in_([booking.id for booking in bookings]),
               _r.node_uuid.in_({booking.node_uuid for booking in bookings}),
               _r.lessee.is_(None),
               _r.state == leases.BookingState.PLANNED.value)
    ).rowcount == len(bookings)


def end(connection: sa.Connection, ids: Collection[int],
        now: datetime.datetime) -> None:
    """Have nodes taken back from now on, or since they were due."""
    if ids:
        # NOTE: what is late does not reach into what comes after it.
        connection.execute(
            sa.update(tables.reservations).where(_r.id.in_(ids))
            .values(state=leases.BookingState.ENDING.value,
                    expires_at=sa.case((_r.expires_at < now, _r.expires_at),
                                       else_=now), updated_at=now))


def delete(connection: sa.Connection, ids: Collection[int]) -> None:
    """Take promises back."""
    if ids:
        connection.execute(sa.delete(tables.reservations)
                           .where(_r.id.in_(ids)))
