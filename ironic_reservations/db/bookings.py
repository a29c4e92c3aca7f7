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

Whoever writes such rows has raised the generations of their nodes in the same
transaction (:mod:`~ironic_reservations.engine.commit`), and hands them over as
they were read: a row that is no longer so is not written, and the whole
transaction is given up.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import functools
from typing import Any
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import instance_reservations as db_instances
from ironic_reservations.db import lease_parts
from ironic_reservations.db import tables
from ironic_reservations.db import written
from ironic_reservations.model import facts
from ironic_reservations.model import instance_reservations
from ironic_reservations.model import leases
from ironic_reservations.model import maintenance

_r = tables.reservations.c
_l = tables.lease_reservations.c
_m = tables.maintenance_nodes.c
_STATES = {state.value: state for state in leases.BookingState}
_COLUMNS = (_r.id, _r.lease_reservation_id, _r.place, _r.node_uuid,
            _r.starts_at, _r.expires_at, _r.state, _r.lessee,
            _r.lessee_before, _r.project_id, _r.uuid)
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
# NOTE: as the driver has the times, which is half of what a row takes.
_BRIEFS = sa.select(
    _l.lease_id, _r.id, _r.node_uuid,
    sa.type_coerce(_r.starts_at, sa.DateTime),
    sa.type_coerce(_r.expires_at, sa.DateTime), _r.state, _r.lessee,
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
#: That rows are those that were read, and as they were; the values are of
#: :func:`as_read`.
# uuid IN (...) AND node_uuid IN (...) AND lease_reservation_id IN (...)
#   AND state = ?
AS_READ = (_r.uuid.in_(sa.bindparam('read_uuids', expanding=True)),
           _r.node_uuid.in_(sa.bindparam('read_nodes', expanding=True)),
           _r.lease_reservation_id.in_(
               sa.bindparam('read_reservations', expanding=True)),
           _r.state == sa.bindparam('read_state'))
# NOTE: and that nothing has been done about the nodes.
_UNTOUCHED = (*AS_READ, _r.lessee.is_(None))
_INSERT = sa.insert(tables.reservations)
_BOOKINGS = 'a booking of a lease'

#: The hypervisor properties and the resource properties that were asked for,
#: and what of each instance, where instances were.
Wants = tuple[str, str, instance_reservations.InstanceReservation | None]


def _booking(row: Sequence[Any]) -> leases.NodeBooking:
    return leases.NodeBooking(row[0], row[1], row[2], row[3], row[4], row[5],
                              _STATES[row[6]], row[7], row[8], row[9],
                              row[10])


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
        if row[13] is not None and row[1] not in known:
            known[row[1]] = db_instances.of_row(row[13:])
        found.append((_booking(row), (row[11], row[12], known.get(row[1]))))
    return found


def read_of_leases(connection: sa.Connection, lease_ids: Collection[str]
                   ) -> list[leases.NodeBooking]:
    """Read the nodes that leases are promised, in the order of their places.
    """
    return [_booking(row) for row in connection.execute(
        _OF_LEASES, {'leases': list(lease_ids)})]


def read_briefs(connection: sa.Connection, lease_ids: Collection[str]
                ) -> dict[str, frozenset[lease_parts.Brief]]:
    """Read all that can change of the bookings of leases, by the lease."""
    # SELECT lease_id, id, node_uuid, ... FROM reservations
    #   JOIN lease_reservations ... WHERE lease_id IN (...)
    found: dict[str, list[lease_parts.Brief]] = {}
    for row in connection.execute(_BRIEFS, {'leases': list(lease_ids)}):
        found.setdefault(row[0], []).append(tuple(row[1:]))
    return {lease_id: frozenset(each) for lease_id, each in found.items()}


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
    return [(_booking(row), row[11]) for row in connection.execute(query)]


def read_of_project(connection: sa.Connection, project_id: str | None,
                    now: datetime.datetime, *without: str,
                    texts: bool = False
                    ) -> list[tuple[datetime.datetime, datetime.datetime,
                                    bool, str, str]]:
    """Read what a project has been promised that is not over.

    :param without: leases that are left out.
    :param texts: whether the properties that were asked for are wanted, too.
    :returns: start, end, whether it is a whole host, hypervisor properties
        and resource properties of each booking.
    """
    # SELECT starts_at, expires_at, resource_type(, hypervisor_properties,
    #   resource_properties) FROM reservations JOIN lease_reservations ON ...
    #   WHERE project_id = ? AND expires_at > ? AND lease_id NOT IN (...)
    query = sa.select(
        _r.starts_at, _r.expires_at,
        _l.resource_type == leases.PHYSICAL_HOST,
        *(_TEXTS if texts else _NO_TEXTS)).select_from(_LEASED).where(
            _r.project_id.is_(None) if project_id is None
            else _r.project_id == project_id, _r.expires_at > now)
    if without:
        query = query.where(_l.lease_id.not_in(without))
    return [(start, end, bool(whole), hypervisor, resource)
            for start, end, whole, hypervisor, resource
            in connection.execute(query)]


def read_of_node(connection: sa.Connection, node_uuid: str,
                 now: datetime.datetime) -> list[leases.NodeBooking]:
    """Read what one node is promised to, by the start."""
    # SELECT ... WHERE node_uuid = ? AND immediate IS NULL AND (it has the
    #   node OR it is to come) ORDER BY starts_at
    return [_booking(row) for row in connection.execute(
        sa.select(*_COLUMNS)
        .where(_r.node_uuid == node_uuid, _there(now))
        .order_by(_r.starts_at, _r.id))]


def read_with_windows(connection: sa.Connection, node_uuid: str,
                      now: datetime.datetime
                      ) -> tuple[list[leases.NodeBooking],
                                 list[maintenance.NodeWindow]]:
    """Read what one node is promised to, and its maintenance windows."""
    # SELECT ... WHERE node_uuid = ? AND immediate IS NULL AND (it has the
    #   node OR it is to come)
    # UNION ALL SELECT NULL, window_id, ... FROM maintenance_nodes
    #   WHERE node_uuid = ? AND (it has the node OR it is to come)
    bookings = sa.select(*_COLUMNS).where(_r.node_uuid == node_uuid,
                                          _there(now))
    windows = sa.select(
        sa.null(), _m.window_id, sa.null(), _m.node_uuid, _m.starts_at,
        _m.ends_at, _m.state, *[sa.null()] * 4).where(
            _m.node_uuid == node_uuid, sa.or_(
                conditions.maintained(now), conditions.to_maintain(now)))
    rows = connection.execute(sa.union_all(bookings, windows)).all()
    return sorted(
        (_booking(row) for row in rows if row[0] is not None),
        key=lambda each: (each.starts_at, each.id)), [
            maintenance.NodeWindow(row[1], row[3], row[4], row[5],
                                   maintenance.State(row[6]))
            for row in rows if row[0] is None]


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
    """Read what leases, and maintenance windows, have of nodes.

    In one row for each node of which leases have anything, and another one
    for windows.
    """
    found: dict[str, facts.Leased] = {}
    maintained: dict[str, maintenance.Maintained] = {}
    for row in connection.execute(_leased(), {'uuids': list(node_uuids),
                                              'now': now}):
        if row[7]:
            maintained[row[0]] = maintenance.Maintained(
                bool(row[1]), row[4], row[5])
            continue
        found[row[0]] = facts.Leased(
            bool(row[1]), None if row[2] else row[3],
            None if row[2] else row[4], row[5], None if row[2] else row[6])
    return {uuid: dataclasses.replace(
        found.get(uuid, facts.UNLEASED),
        maintained=maintained.get(uuid, maintenance.Maintained()))
        for uuid in found.keys() | maintained.keys()}


@functools.cache
def _leased() -> sa.CompoundSelect[Any]:
    """Return the query of :func:`read_leased`, put together once."""
    now, uuids = conditions.NOW, sa.bindparam('uuids', expanding=True)
    # SELECT node_uuid, MAX(CASE WHEN it has the node THEN 1 END),
    #   MAX(CASE WHEN ... and is over THEN 1 END),
    #   MAX(CASE WHEN ... THEN lease_reservation_id END),
    #   MAX(CASE WHEN ... THEN expires_at END),
    #   MIN(CASE WHEN it is to come THEN starts_at END),
    #   MAX(CASE WHEN ... THEN project_id END)
    #   FROM reservations WHERE node_uuid IN (...) AND immediate IS NULL
    #   GROUP BY node_uuid
    # UNION ALL SELECT node_uuid, (the same of windows)
    #   FROM maintenance_nodes WHERE node_uuid IN (...) AND state <> 'over'
    #   GROUP BY node_uuid
    held = conditions.has_node(now)
    over = sa.and_(held, conditions.over(now))
    query = sa.select(
        _r.node_uuid, sa.func.max(sa.case((held, 1))),
        sa.func.max(sa.case((over, 1))),
        sa.func.max(sa.case((held, _r.lease_reservation_id))),
        sa.func.max(sa.case((held, _r.expires_at)), type_=tables.UTCDateTime),
        sa.func.min(sa.case((conditions.to_come(now), _r.starts_at)),
                    type_=tables.UTCDateTime),
        sa.func.max(sa.case((held, _r.project_id))),
        sa.literal_column('0')
    ).where(_r.node_uuid.in_(uuids), _there(now)).group_by(_r.node_uuid)
    had, later = conditions.maintained(now), conditions.to_maintain(now)
    windows = sa.select(
        _m.node_uuid, sa.func.max(sa.case((had, 1))), sa.null(), sa.null(),
        sa.func.max(sa.case((had, _m.ends_at)), type_=tables.UTCDateTime),
        sa.func.min(sa.case((later, _m.starts_at)),
                    type_=tables.UTCDateTime), sa.null(),
        sa.literal_column('1')
    ).where(_m.node_uuid.in_(uuids), sa.or_(had, later)).group_by(
        _m.node_uuid)
    return sa.union_all(query, windows)


def _there(now: conditions.Instant) -> sa.ColumnElement[bool]:
    return sa.or_(conditions.has_node(now), conditions.to_come(now))


def read_with_generations(connection: sa.Connection,
                          bookings: Collection[leases.NodeBooking]
                          ) -> list[tuple[leases.NodeBooking, int]]:
    """Read bookings again, each with the generation of its node.

    :returns: those that there still are, each read at one moment with the
        generation.
    """
    if not bookings:
        return []
    return [(_booking(row), row[11]) for row in connection.execute(
        _WITH_GENERATIONS, {'rows': [each.uuid for each in bookings]})]


def insert_many(connection: sa.Connection,
                bookings: Collection[leases.NodeBooking],
                user_id: str | None, now: datetime.datetime) -> None:
    """Write new bookings; their ids are given by the database."""
    if bookings:
        connection.execute(_INSERT, [
            {'uuid': booking.uuid or str(uuid_module.uuid4()),
             'node_uuid': booking.node_uuid, 'created_at': now,
             'starts_at': booking.starts_at, 'expires_at': booking.ends_at,
             'state': booking.state.value, 'project_id': booking.project_id,
             'user_id': user_id, 'place': booking.place,
             'lease_reservation_id': booking.reservation_id}
            for booking in bookings])


def _groups(bookings: Iterable[leases.NodeBooking]
            ) -> list[list[leases.NodeBooking]]:
    """Put together what one statement can name: one for each state."""
    found: dict[leases.BookingState, list[leases.NodeBooking]] = {}
    for booking in bookings:
        found.setdefault(booking.state, []).append(booking)
    return list(found.values())


def as_read(bookings: Collection[leases.NodeBooking]) -> dict[str, Any]:
    """Return the values of :data:`AS_READ`.

    NOTE: a uuid is given to one row ever.  A row that has moved from one of
    these nodes to another is caught by their generations.

    :param bookings: all in the same state.
    """
    (state,) = {booking.state for booking in bookings}
    return {
        'read_uuids': [booking.uuid for booking in bookings],
        'read_nodes': list({booking.node_uuid for booking in bookings}),
        'read_reservations': list({booking.reservation_id
                                   for booking in bookings}),
        'read_state': state.value}


def _untouched(bookings: Collection[leases.NodeBooking]) -> dict[str, Any]:
    """Return the values of :data:`_UNTOUCHED`."""
    if any(booking.begun for booking in bookings):
        raise ValueError('a booking that has begun is not taken back so')
    return as_read(bookings)


def move(connection: sa.Connection,
         homes: Mapping[leases.NodeBooking, str],
         now: datetime.datetime) -> None:
    """Put bookings that have not started on other nodes.

    :param homes: the uuid of the node, by the booking as it was read.
    :raises Conflict: one of them is not as it was.
    """
    if not homes:
        return
    # UPDATE reservations SET node_uuid = CASE uuid WHEN ? THEN ? ... END
    #   WHERE uuid IN (...) AND node_uuid IN (...) AND
    #     lease_reservation_id IN (...) AND state = 'planned'
    #     AND lessee IS NULL
    written.check(connection.execute(
        sa.update(tables.reservations).where(*_UNTOUCHED)
        .values(node_uuid=sa.case(
            {booking.uuid: uuid for booking, uuid in homes.items()},
            value=_r.uuid), updated_at=now), _untouched(homes)),
        len(homes), _BOOKINGS)


def update_window(connection: sa.Connection,
                  bookings: Collection[leases.NodeBooking],
                  starts_at: datetime.datetime | None,
                  ends_at: datetime.datetime,
                  now: datetime.datetime) -> None:
    """Change from when until when nodes are promised.

    :param starts_at: ``None``: as it was.
    :raises Conflict: one of the bookings is not as it was.
    """
    changed: dict[str, Any] = {'expires_at': ends_at, 'updated_at': now}
    if starts_at is not None:
        changed['starts_at'] = starts_at
    _update(connection, bookings, changed)


def update_state(connection: sa.Connection,
                 bookings: Collection[leases.NodeBooking],
                 state: leases.BookingState,
                 now: datetime.datetime) -> None:
    """Write that bookings have started, or that they are over.

    :raises Conflict: one of them is not as it was.
    """
    changed: dict[str, Any] = {'state': state.value, 'updated_at': now}
    if state is leases.BookingState.BOUND:
        changed['bound_at'] = now
    _update(connection, bookings, changed)


def update_warned(connection: sa.Connection,
                  bookings: Collection[leases.NodeBooking],
                  warned_at: datetime.datetime) -> None:
    """Write when it was told that nodes are released if nobody deploys them.

    :raises Conflict: one of the bookings is not as it was.
    """
    _update(connection, bookings, {'warned_at': warned_at})


def end(connection: sa.Connection, bookings: Collection[leases.NodeBooking],
        now: datetime.datetime) -> None:
    """Have nodes taken back from now on, or since they were due.

    :raises Conflict: one of the bookings is not as it was.
    """
    # NOTE: what is late does not reach into what comes after it.
    _update(connection, bookings, {
        'state': leases.BookingState.ENDING.value,
        'expires_at': sa.case((_r.expires_at < now, _r.expires_at),
                              else_=now), 'updated_at': now})


def update_lessees(connection: sa.Connection,
                   lessees: Mapping[leases.NodeBooking,
                                    tuple[str | None, str | None]],
                   state: leases.BookingState | None = None) -> None:
    """Write what stands on nodes, or is about to, and what it replaces.

    :param lessees: both, by the booking as it was read.
    :param state: of the bookings from now on; ``None``: as it was.
    :raises Conflict: one of them is not as it was.
    """
    # UPDATE reservations SET lessee = CASE uuid WHEN ? THEN ? ... END, ...
    #   WHERE (as they were read)
    for group in _groups(lessees):
        changed: dict[str, Any] = {
            column: sa.case({booking.uuid: sa.literal(
                lessees[booking][place], _r.lessee.type)
                for booking in group}, value=_r.uuid)
            for place, column in enumerate(('lessee', 'lessee_before'))}
        if state is not None:
            changed['state'] = state.value
        _update(connection, group, changed)


def _update(connection: sa.Connection,
            bookings: Collection[leases.NodeBooking],
            changed: Mapping[str, Any]) -> None:
    # UPDATE reservations SET ... WHERE uuid IN (...) AND node_uuid IN (...)
    #   AND lease_reservation_id IN (...) AND state = ?
    for group in _groups(bookings):
        written.check(connection.execute(
            sa.update(tables.reservations).where(*AS_READ)
            .values(**changed), as_read(group)), len(group), _BOOKINGS)


def delete_planned(connection: sa.Connection,
                   bookings: Collection[leases.NodeBooking]) -> None:
    """Take promises back for which nothing has been done yet.

    :raises Conflict: some have started meanwhile, or have been moved.
    """
    if bookings:
        # DELETE FROM reservations WHERE uuid IN (...) AND node_uuid IN (...)
        #   AND lease_reservation_id IN (...) AND state = 'planned'
        #   AND lessee IS NULL
        written.check(connection.execute(
            sa.delete(tables.reservations).where(*_UNTOUCHED),
            _untouched(bookings)), len(bookings), _BOOKINGS)


def delete(connection: sa.Connection,
           bookings: Collection[leases.NodeBooking]) -> None:
    """Take promises back whose nodes are as they were before them.

    :raises Conflict: one of the bookings is not as it was.
    """
    # DELETE FROM reservations WHERE uuid IN (...) AND node_uuid IN (...)
    #   AND lease_reservation_id IN (...) AND state = ?
    for group in _groups(bookings):
        written.check(connection.execute(
            sa.delete(tables.reservations).where(*AS_READ),
            as_read(group)), len(group), _BOOKINGS)
