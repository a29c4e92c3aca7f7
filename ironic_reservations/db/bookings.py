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

"""Rows of ``reservations`` that promise a node to a lease.

A caller that writes such rows has raised the generations of their nodes in the
same transaction (:mod:`~ironic_reservations.engine.seen`), and passes the
bookings as they were read. If a row has changed since, nothing is written:
:class:`~ironic_reservations.db.connection.Conflict` is raised, and the
transaction has to be rolled back.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
from typing import Any
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations.db import instance_reservations as db_instances
from ironic_reservations.db import lease_parts
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases

_r = tables.reservations.c
_l = tables.lease_reservations.c
#: The rows of bookings.
BOOKING = store.Rows(
    leases.NodeBooking, tables.reservations, 'a booking of a lease',
    named={'reservation_id': 'lease_reservation_id', 'ends_at': 'expires_at'})
_COLUMNS = BOOKING.columns
# The statements are built once: building one takes longer than all other
# work of SQLAlchemy for a few rows.
_LEASED = sa.join(tables.reservations, tables.lease_reservations,
                  _r.lease_reservation_id == _l.id)
_ASKED = 'asked_'
# SELECT ... FROM reservations JOIN lease_reservations ...
#   LEFT OUTER JOIN instance_reservations ON ... WHERE node_uuid IN (...)
_WITH_WANTS = store.OfNodes(sa.select(
    *_COLUMNS, _l.hypervisor_properties, _l.resource_properties,
    *db_instances.labelled(_ASKED)).select_from(sa.outerjoin(
        _LEASED, tables.instance_reservations,
        tables.instance_reservations.c.reservation_id == _l.id)), _r.node_uuid)
# SELECT ... FROM reservations JOIN lease_reservations ON ...
#   WHERE lease_id IN (...) ORDER BY place
_OF_LEASES = sa.select(*_COLUMNS).select_from(_LEASED).where(
    _l.lease_id.in_(sa.bindparam('leases', expanding=True))
).order_by(_r.place)
# Times as the driver returns them; converting them would double the
# cost of a row.
_BRIEFS = sa.select(
    _l.lease_id, _r.id, _r.node_uuid,
    sa.type_coerce(_r.starts_at, sa.DateTime).label('starts_at'),
    sa.type_coerce(_r.expires_at, sa.DateTime).label('ends_at'), _r.state,
    _r.lessee,
    _r.lessee_before).select_from(_LEASED).where(
        _l.lease_id.in_(sa.bindparam('leases', expanding=True)))
# SELECT ..., generation FROM reservations JOIN nodes ON uuid = node_uuid
#   WHERE reservations.uuid IN (...)
_WITH_GENERATIONS = sa.select(*_COLUMNS, tables.nodes.c.generation).join_from(
    tables.reservations, tables.nodes,
    _r.node_uuid == tables.nodes.c.uuid).where(
        _r.uuid.in_(sa.bindparam('rows', expanding=True)),
        _r.immediate.is_(None))
_TEXTS = (_l.hypervisor_properties, _l.resource_properties)
_NO_TEXTS = tuple(sa.literal_column("''").label(each.name) for each in _TEXTS)
#: The condition that rows have not changed since they were read; its values
#: come from :func:`as_read`.
# uuid IN (...) AND node_uuid IN (...) AND lease_reservation_id IN (...)
#   AND state = ?
AS_READ = (_r.uuid.in_(sa.bindparam('read_uuids', expanding=True)),
           _r.node_uuid.in_(sa.bindparam('read_nodes', expanding=True)),
           _r.lease_reservation_id.in_(
               sa.bindparam('read_reservations', expanding=True)),
           _r.state == sa.bindparam('read_state'))
# The same, and that no lessee has been written for the nodes.
_UNTOUCHED = (*AS_READ, _r.lessee.is_(None))
# It sets the columns whose values are given.
_UPDATE = sa.update(tables.reservations).where(*AS_READ)
# UPDATE ... SET expires_at = CASE WHEN expires_at < ? THEN expires_at ELSE ?
#   END WHERE ...
_END = _UPDATE.values(expires_at=sa.case(
    (_r.expires_at < (_now := sa.bindparam('now', type_=_r.expires_at.type)),
     _r.expires_at), else_=_now))
_DELETE = sa.delete(tables.reservations).where(*AS_READ)
_DELETE_PLANNED = sa.delete(tables.reservations).where(*_UNTOUCHED)

#: The hypervisor properties and resource properties that a booking requires,
#: and its instance reservation if it is for an instance.
Wants = tuple[str, str, instance_reservations.InstanceReservation | None]


def read_with_wants(connection: sa.Connection,
                    node_uuids: Collection[str] | None = None
                    ) -> list[tuple[leases.NodeBooking, Wants]]:
    """Return the bookings of nodes with their requirements.

    :param node_uuids: ``None``: all nodes.
    """
    rows = _WITH_WANTS.execute(connection, node_uuids)
    made = BOOKING.reader(rows)
    asked = db_instances.reader(rows, prefix=_ASKED)
    others = store.values_of(rows, f'{_ASKED}id', 'hypervisor_properties',
                             'resource_properties')
    known: dict[str, instance_reservations.InstanceReservation] = {}
    found: list[tuple[leases.NodeBooking, Wants]] = []
    for row in rows:
        each = made(row)
        asked_id, hypervisor, resource = others(row)
        # A reservation may have thousands of instances.
        if asked_id is not None and each.reservation_id not in known:
            known[each.reservation_id] = asked(row)
        found.append((each, (hypervisor, resource,
                             known.get(each.reservation_id))))
    return found


def read_with_uuid(connection: sa.Connection, uuid: str) -> bool:
    """Return whether a booking of a lease has a uuid."""
    # SELECT id FROM reservations WHERE uuid = ? AND immediate IS NULL
    return connection.execute(sa.select(_r.id).where(
        _r.uuid == uuid, _r.immediate.is_(None))).first() is not None


def read_of_leases(connection: sa.Connection, lease_ids: Collection[str]
                   ) -> list[leases.NodeBooking]:
    """Return the bookings of leases, ordered by place."""
    return BOOKING.all(connection.execute(
        _OF_LEASES, {'leases': list(lease_ids)}))


def leases_of_node(node_uuid: str) -> sa.Select[tuple[str]]:
    """Return a query for the ids of the leases that have a node."""
    # SELECT lease_id FROM reservations JOIN lease_reservations ON ...
    #   WHERE node_uuid = ?
    return sa.select(_l.lease_id).select_from(_LEASED).where(
        _r.node_uuid == node_uuid)


def read_briefs(connection: sa.Connection, lease_ids: Collection[str]
                ) -> dict[str, frozenset[lease_parts.Brief]]:
    """Return the changeable values of the bookings of leases.

    :returns: the values by lease ID; leases without bookings are left out.
    """
    # SELECT lease_id, id, node_uuid, ... FROM reservations
    #   JOIN lease_reservations ... WHERE lease_id IN (...)
    found: dict[str, list[lease_parts.Brief]] = {}
    rows = connection.execute(_BRIEFS, {'leases': list(lease_ids)})
    brief = store.record(lease_parts.Brief).reader(rows)
    for row in rows:
        found.setdefault(row.lease_id, []).append(brief(row))
    return {lease_id: frozenset(each) for lease_id, each in found.items()}


def read_of_hosts(connection: sa.Connection, lease_id: str | None = None,
                  reservation_id: str | None = None,
                  node_uuid: str | None = None
                  ) -> list[tuple[leases.NodeBooking, str]]:
    """Return bookings with the IDs of their leases, ordered by start.

    The start is that of the lease, even if the lease got the host later. Each
    parameter that is given restricts the result.
    """
    # SELECT ..., lease_id, leases.starts_at FROM reservations
    #   JOIN lease_reservations ON ... JOIN leases ON ... WHERE ...
    of_lease = tables.leases.c
    query = (sa.select(*_COLUMNS, _l.lease_id,
                       of_lease.starts_at.label('lease_starts_at'))
             .select_from(sa.join(_LEASED, tables.leases,
                                  _l.lease_id == of_lease.id))
             .order_by(of_lease.starts_at, _r.id))
    for column, value in ((_l.lease_id, lease_id), (_l.id, reservation_id),
                          (_r.node_uuid, node_uuid)):
        if value is not None:
            query = query.where(column == value)
    rows = connection.execute(query)
    made = BOOKING.reader(rows)
    return [(dataclasses.replace(made(row), starts_at=row.lease_starts_at),
             row.lease_id) for row in rows]


def read_of_project(connection: sa.Connection, project_id: str | None,
                    now: datetime.datetime, *without: str,
                    texts: bool = False
                    ) -> list[tuple[datetime.datetime, datetime.datetime,
                                    bool, str, str, int]]:
    """Return the bookings of a project that have not ended.

    :param without: IDs of leases to leave out.
    :param texts: whether to read the requested properties, too.
    :returns: for bookings that are alike, of one reservation: start, end,
        whether each is for a whole host, hypervisor properties and resource
        properties (empty without ``texts``), and their number.
    """
    # SELECT starts_at, expires_at, resource_type(, hypervisor_properties,
    #   resource_properties), number FROM lease_reservations JOIN (
    #     SELECT lease_reservation_id, starts_at, expires_at, COUNT(*) number
    #     FROM reservations WHERE project_id = ? AND expires_at > ?
    #     GROUP BY lease_reservation_id, starts_at, expires_at) ON ...
    #   WHERE lease_id NOT IN (...)
    # MariaDB may group texts by their first kilobyte only.
    alike = (_r.lease_reservation_id, _r.starts_at, _r.expires_at)
    counted = sa.select(*alike, sa.func.count().label('number')).where(
        _r.project_id == project_id, _r.expires_at > now
        ).group_by(*alike).subquery()
    query = sa.select(
        counted.c.starts_at, counted.c.expires_at, _l.resource_type,
        *(_TEXTS if texts else _NO_TEXTS), counted.c.number
        ).select_from(tables.lease_reservations.join(
            counted, counted.c.lease_reservation_id == _l.id))
    if without:
        query = query.where(_l.lease_id.not_in(without))
    return [(start, end, kind == leases.PHYSICAL_HOST, hypervisor, resource,
             count) for start, end, kind, hypervisor, resource, count
            in connection.execute(query)]


def read_of_reservation(connection: sa.Connection, reservation_id: str,
                        now: datetime.datetime) -> list[leases.NodeBooking]:
    """Return the present bookings of a lease reservation.

    They are ordered by place.
    """
    # SELECT ... FROM reservations WHERE lease_reservation_id = ?
    #   AND state <> 'ending' AND starts_at <= ? AND expires_at > ?
    #   ORDER BY place
    return BOOKING.all(connection.execute(
        sa.select(*_COLUMNS)
        .where(_r.lease_reservation_id == reservation_id,
               _r.state != leases.BookingState.ENDING.value,
               _r.starts_at <= now, _r.expires_at > now)
        .order_by(_r.place)))


def read_used_by(connection: sa.Connection, project_id: str | None,
                 node_uuids: Collection[str], now: datetime.datetime
                 ) -> list[leases.NodeBooking]:
    """Return the present bookings of some nodes by leases of a project."""
    # SELECT ... FROM reservations WHERE node_uuid IN (...) AND project_id = ?
    #   AND immediate IS NULL AND state <> 'ending' AND starts_at <= ?
    #   AND expires_at > ? ORDER BY id
    return BOOKING.all(connection.execute(
        sa.select(*_COLUMNS)
        .where(_r.node_uuid.in_(list(node_uuids)),
               _r.project_id == project_id, _r.immediate.is_(None),
               _r.state != leases.BookingState.ENDING.value,
               _r.starts_at <= now, _r.expires_at > now)
        .order_by(_r.id)))


def read_with_generations(connection: sa.Connection,
                          bookings: Collection[leases.NodeBooking]
                          ) -> list[tuple[leases.NodeBooking, int]]:
    """Read bookings again, each with its node's generation.

    :returns: the bookings that still exist; booking and generation were read
        at the same moment.
    """
    if not bookings:
        return []
    rows = connection.execute(_WITH_GENERATIONS, {
        'rows': [each.uuid for each in bookings]})
    made = BOOKING.reader(rows)
    return [(made(row), row.generation) for row in rows]


def insert_many(connection: sa.Connection,
                bookings: Collection[leases.NodeBooking],
                user_id: str | None, now: datetime.datetime) -> None:
    """Write new bookings; the database assigns their ids."""
    BOOKING.insert(connection, (
        booking if booking.uuid else dataclasses.replace(
            booking, uuid=str(uuid_module.uuid4())) for booking in bookings),
        created_at=now, user_id=user_id)


def _groups(bookings: Iterable[leases.NodeBooking]
            ) -> list[list[leases.NodeBooking]]:
    """Group bookings by state, since a statement has a single state."""
    found: dict[leases.BookingState, list[leases.NodeBooking]] = {}
    for booking in bookings:
        found.setdefault(booking.state, []).append(booking)
    return list(found.values())


def as_read(bookings: Collection[leases.NodeBooking]) -> dict[str, Any]:
    """Return the parameters of the condition :data:`AS_READ`.

    A uuid is never used for a second row. If a row has moved from one of
    these nodes to another, their generations show it.

    :param bookings: all in the same state.
    """
    (state,) = {booking.state for booking in bookings}
    return {
        'read_uuids': [booking.uuid for booking in bookings],
        'read_nodes': list({booking.node_uuid for booking in bookings}),
        'read_reservations': list({booking.reservation_id
                                   for booking in bookings}),
        'read_state': state.value}


def _check_untouched(bookings: Collection[leases.NodeBooking]) -> None:
    """Check that bookings meet the condition :data:`_UNTOUCHED`."""
    if any(booking.begun for booking in bookings):
        raise ValueError('a booking that has started cannot be moved or '
                         'deleted as planned')


def move(connection: sa.Connection,
         homes: Mapping[leases.NodeBooking, str],
         now: datetime.datetime) -> None:
    """Move bookings that have not started to other nodes.

    :param homes: the uuid of the new node, by the booking as it was read.
    :raises Conflict: one of the bookings has changed.
    """
    # UPDATE reservations SET node_uuid = CASE uuid WHEN ? THEN ? ... END
    #   WHERE uuid IN (...) AND node_uuid IN (...) AND
    #     lease_reservation_id IN (...) AND state = 'planned'
    #     AND lessee IS NULL
    _check_untouched(homes)
    _execute(connection, sa.update(tables.reservations).where(
        *_UNTOUCHED).values(node_uuid=sa.case(
            {booking.uuid: uuid for booking, uuid in homes.items()},
            value=_r.uuid), updated_at=now), homes)


def update_end(connection: sa.Connection,
               bookings: Collection[leases.NodeBooking],
               ends_at: datetime.datetime, now: datetime.datetime) -> None:
    """Change the end of bookings.

    :raises Conflict: one of the bookings has changed.
    """
    _execute(connection, _UPDATE, bookings, expires_at=ends_at, updated_at=now)


def update_state(connection: sa.Connection,
                 bookings: Collection[leases.NodeBooking],
                 state: leases.BookingState,
                 now: datetime.datetime) -> None:
    """Write a new state of bookings.

    :raises Conflict: one of the bookings has changed.
    """
    changed: dict[str, Any] = {'state': state.value, 'updated_at': now}
    if state is leases.BookingState.BOUND:
        changed['bound_at'] = now
    _execute(connection, _UPDATE, bookings, **changed)


def update_warned(connection: sa.Connection,
                  bookings: Collection[leases.NodeBooking],
                  warned_at: datetime.datetime) -> None:
    """Write the time of the warning that unused nodes are released.

    :raises Conflict: one of the bookings has changed.
    """
    _execute(connection, _UPDATE, bookings, warned_at=warned_at)


def end(connection: sa.Connection, bookings: Collection[leases.NodeBooking],
        now: datetime.datetime) -> None:
    """End bookings now, or at their end if that has passed.

    :raises Conflict: one of the bookings has changed.
    """
    # A booking that is ended late must not overlap the next one.
    _execute(connection, _END, bookings, now=now, updated_at=now,
             state=leases.BookingState.ENDING.value)


def update_lessees(connection: sa.Connection,
                   lessees: Mapping[leases.NodeBooking,
                                    tuple[str | None, str | None]]) -> None:
    """Write the lessees of nodes, and the lessees that they replace.

    A lessee is written here before it is set in Ironic.

    :param lessees: both, by the booking as it was read.
    :raises Conflict: one of the bookings has changed.
    """
    # UPDATE reservations SET lessee = CASE uuid WHEN ? THEN ? ... END, ...
    #   WHERE (as they were read)
    for group in _groups(lessees):
        changed = {
            column: sa.case({booking.uuid: sa.literal(
                lessees[booking][place], _r.lessee.type)
                for booking in group}, value=_r.uuid)
            for place, column in enumerate(('lessee', 'lessee_before'))}
        _execute(connection, _UPDATE.values(changed), group)


def delete_planned(connection: sa.Connection,
                   bookings: Collection[leases.NodeBooking]) -> None:
    """Delete bookings that have not started.

    :raises Conflict: one of the bookings has started or changed.
    """
    _check_untouched(bookings)
    _execute(connection, _DELETE_PLANNED, bookings)


def delete(connection: sa.Connection,
           bookings: Collection[leases.NodeBooking]) -> None:
    """Delete bookings whose nodes have been released.

    :raises Conflict: one of the bookings has changed.
    """
    _execute(connection, _DELETE, bookings)


def write(connection: sa.Connection, before: Collection[leases.NodeBooking],
          after: Collection[leases.NodeBooking], user_id: str | None,
          now: datetime.datetime) -> None:
    """Write the differences between two states of the bookings of a lease.

    :param before: as they were read.
    :raises Conflict: one of the bookings has changed since.
    """
    old = {row.uuid for row in before}
    new = {row.uuid: row for row in after}
    gone = [row for row in before if row.uuid not in new]
    delete_planned(connection, [row for row in gone if not row.begun])
    delete(connection, [row for row in gone if row.begun])
    staying = [(row, new[row.uuid]) for row in before
               if row.uuid in new and new[row.uuid] != row]
    update_lessees(connection, {
        row: (then.lessee, then.lessee_before) for row, then in staying
        if (row.lessee, row.lessee_before) != (then.lessee,
                                               then.lessee_before)})
    extended: dict[datetime.datetime, list[leases.NodeBooking]] = {}
    changed: dict[leases.BookingState, list[leases.NodeBooking]] = {}
    ended: list[leases.NodeBooking] = []
    for row, then in staying:
        if then.ending:
            if not row.ending:
                ended.append(row)
        elif then.state is not row.state:
            changed.setdefault(then.state, []).append(row)
        elif then.ends_at != row.ends_at:
            extended.setdefault(then.ends_at, []).append(row)
    for ends_at, rows in extended.items():
        update_end(connection, rows, ends_at, now)
    for state, rows in changed.items():
        update_state(connection, rows, state, now)
    end(connection, ended, now)
    insert_many(connection, [row for row in after if row.uuid not in old],
                user_id, now)


def _execute(connection: sa.Connection, statement: sa.Update | sa.Delete,
             bookings: Collection[leases.NodeBooking], **values: Any) -> None:
    """Change or delete bookings, if they are as they were read.

    :param statement: with the condition :data:`AS_READ`.
    :raises Conflict: one of the bookings has changed.
    """
    # UPDATE reservations SET ..., or DELETE FROM reservations,
    #   WHERE uuid IN (...) AND node_uuid IN (...)
    #     AND lease_reservation_id IN (...) AND state = ? (AND lessee IS NULL)
    for group in _groups(bookings):
        store.check(connection.execute(
            statement, {**values, **as_read(group)}), len(group),
            'a booking of a lease')
