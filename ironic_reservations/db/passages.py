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

"""Rows of ``passages``: requests on their way to Ironic.

Each is named by its token and its node, never by the number of its row.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import tables
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases

_p = tables.passages.c
_r = tables.reservations.c
_s = tables.leases.c
_l = tables.lease_reservations.c
_COLUMNS = tuple(_p[field.name] for field in
                 dataclasses.fields(in_flight.InFlight))
# SELECT node_uuid, MAX(expires_at) FROM passages
#   WHERE node_uuid IN (...) GROUP BY node_uuid
# NOTE: however long ago that was: a request whose end nobody has seen may
# still be carried out.
_BUSY = sa.select(
    _p.node_uuid, sa.func.max(_p.expires_at, type_=tables.UTCDateTime)
).group_by(_p.node_uuid)
_BUSY_OF = _BUSY.where(
    _p.node_uuid.in_(sa.bindparam('uuids', expanding=True)))


def read_busy(connection: sa.Connection,
              node_uuids: Collection[str] | None = None
              ) -> dict[str, datetime.datetime]:
    """Read which nodes are kept for requests, and until when they should be.

    :returns: by the uuid of the node, when its last request should have had
        an answer; where that has passed, nobody knows what became of it.
    """
    rows = (connection.execute(_BUSY) if node_uuids is None
            else connection.execute(_BUSY_OF, {'uuids': list(node_uuids)}))
    return {uuid: until for uuid, until in rows}


def insert(connection: sa.Connection, node_uuid: str, token: str,
           reservation_uuid: str | None, instance_uuid: str | None,
           expires_at: datetime.datetime,
           state: in_flight.State = in_flight.State.SENT,
           act: str | None = None) -> None:
    """Write that a request is let through.

    :param expires_at: until when its sender has an answer.
    :param act: what a ticket is good for, or :data:`.in_flight.CHANGE`.
    """
    connection.execute(sa.insert(tables.passages).values(
        node_uuid=node_uuid, token=token, reservation_uuid=reservation_uuid,
        instance_uuid=instance_uuid, expires_at=expires_at,
        state=state.value, act=act))


def insert_ticket(connection: sa.Connection, booking: leases.NodeBooking,
                  lease_id: str, claimed_by: str, token: str, act: str,
                  expires_at: datetime.datetime) -> bool:
    """Write a ticket, if the booking is what it was and the lease claimed.

    :param booking: as it was read.
    :param claimed_by: the claim under which it is issued.
    :returns: ``False`` where it is not; then nothing has been written.
    """
    # UPDATE leases SET claimed_by = claimed_by WHERE id = ? AND claimed_by = ?
    # NOTE: this takes the lock of the row, so that whoever takes the lease
    # over comes after this ticket, and finds it, or before it.
    if not connection.execute(
            sa.update(tables.leases)
            .where(_s.id == lease_id, _s.claimed_by == claimed_by)
            .values(claimed_by=_s.claimed_by)).rowcount:
        return False
    # INSERT INTO passages (...) SELECT ... FROM reservations
    #   JOIN lease_reservations ON ... WHERE (the booking is as it was)
    values: dict[str, Any] = {
        'node_uuid': _r.node_uuid,
        'token': sa.literal(token), 'state': sa.literal(
            in_flight.State.ISSUED.value),
        'act': sa.literal(act), 'lease_id': sa.literal(lease_id),
        'expires_at': sa.literal(expires_at, tables.UTCDateTime)}
    found = (
        sa.select(*values.values())
        .join_from(tables.reservations, tables.lease_reservations,
                   _r.lease_reservation_id == _l.id)
        .where(*db_bookings.AS_READ, _l.lease_id == lease_id))
    return bool(connection.execute(
        sa.insert(tables.passages).from_select(list(values), found),
        db_bookings.as_read([booking])).rowcount)


def take_ticket(connection: sa.Connection, token: str, node_uuid: str,
                act: str, now: datetime.datetime,
                expires_at: datetime.datetime) -> bool:
    """Use a ticket up, if it is there and good for this.

    :param expires_at: until when whoever uses it has an answer.
    """
    # UPDATE passages SET state = 'sent', expires_at = ?
    #   WHERE token = ? AND node_uuid = ? AND act = ? AND state = 'issued'
    #     AND expires_at > ?
    return bool(connection.execute(
        sa.update(tables.passages)
        .where(_p.token == token, _p.node_uuid == node_uuid, _p.act == act,
               _p.state == in_flight.State.ISSUED.value, _p.expires_at > now)
        .values(state=in_flight.State.SENT.value, expires_at=expires_at)
    ).rowcount)


def void_ticket(connection: sa.Connection, token: str) -> bool:
    """Delete a ticket, unless somebody has used it."""
    return bool(connection.execute(
        sa.delete(tables.passages)
        .where(_p.token == token,
               _p.state == in_flight.State.ISSUED.value)).rowcount)


def void_tickets(connection: sa.Connection, lease_id: str) -> int:
    """Delete the tickets of a lease that nobody has used.

    :returns: how many there were.
    """
    return connection.execute(
        sa.delete(tables.passages)
        .where(_p.lease_id == lease_id,
               _p.state == in_flight.State.ISSUED.value)).rowcount


def void_acts(connection: sa.Connection, node_uuid: str,
              acts: Collection[str]) -> None:
    """Delete the tickets for a node that nobody has used.

    :param acts: that they are good for.
    """
    connection.execute(sa.delete(tables.passages).where(
        _p.node_uuid == node_uuid, _p.act.in_(acts),
        _p.state == in_flight.State.ISSUED.value))


def mark(connection: sa.Connection, token: str, node_uuid: str,
         state: in_flight.State,
         expires_at: datetime.datetime | None = None) -> bool:
    """Write how far a request has come, if it still is on its way."""
    # UPDATE passages SET state = ? WHERE token = ? AND node_uuid = ?
    #   AND state = 'sent'
    return bool(connection.execute(
        sa.update(tables.passages)
        .where(_p.token == token, _p.node_uuid == node_uuid,
               _p.state == in_flight.State.SENT.value)
        .values(state=state.value,
                **({} if expires_at is None else {'expires_at': expires_at}))
    ).rowcount)


def delete(connection: sa.Connection, token: str, node_uuid: str) -> bool:
    """Write that a request has been answered.

    :returns: ``False`` where it was not on its way any more: nobody kept the
        node for it.
    """
    return bool(connection.execute(
        sa.delete(tables.passages).where(
            _p.token == token, _p.node_uuid == node_uuid)).rowcount)


def _as_read(row: in_flight.InFlight) -> sa.ColumnElement[bool]:
    """Return the condition that a row is what it was when it was read."""
    return sa.and_(
        _p.id == row.id, _p.node_uuid == row.node_uuid,
        _p.token.is_not_distinct_from(row.token),
        _p.expires_at == row.expires_at,
        _p.seen.is_not_distinct_from(row.seen))


def delete_as_read(connection: sa.Connection,
                   row: in_flight.InFlight) -> bool:
    """Write that the outcome of a request is known, if nobody was first."""
    return bool(connection.execute(
        sa.delete(tables.passages).where(_as_read(row))).rowcount)


def write_seen(connection: sa.Connection, row: in_flight.InFlight,
               seen: str | None, now: datetime.datetime) -> None:
    """Write what Ironic shows of the node of a request.

    :param seen: ``None``: nothing that lasts.
    """
    connection.execute(
        sa.update(tables.passages).where(_as_read(row))
        .values(seen=seen, seen_at=None if seen is None else now))


def shown_elsewhere(connection: sa.Connection,
                    reservation_uuid: str) -> bool:
    """Return whether another request shows the same proof right now."""
    return connection.execute(
        sa.select(_p.id).where(_p.reservation_uuid == reservation_uuid)
        .limit(1)).first() is not None


def delete_settled(connection: sa.Connection,
                   carried: Collection[tuple[str, str]]) -> None:
    """Delete the requests of allocations whose nodes carry them by now.

    :param carried: nodes, and the instances that they carry.
    """
    # DELETE FROM passages WHERE act IS NULL
    #   AND (node_uuid, instance_uuid) IN ((?, ?), ...)
    if carried:
        connection.execute(sa.delete(tables.passages).where(
            _p.act.is_(None),
            sa.tuple_(_p.node_uuid, _p.instance_uuid).in_(list(carried))))


def read_instances(connection: sa.Connection) -> frozenset[tuple[str, str]]:
    """Read on which nodes allocations are under way, and for what."""
    return frozenset((node, instance) for node, instance in
                     connection.execute(
                         sa.select(_p.node_uuid, _p.instance_uuid).where(
                             _p.instance_uuid.is_not(None))))


def read_overdue(connection: sa.Connection, now: datetime.datetime,
                 limit: int) -> list[in_flight.InFlight]:
    """Read the requests whose outcome has to be found out.

    These are those that have lasted too long, the oldest first, and all
    allocations.
    """
    # SELECT ... FROM passages WHERE expires_at <= ?
    #   OR (instance_uuid IS NOT NULL AND act IS NULL)
    #   ORDER BY expires_at LIMIT ?
    return [_in_flight(row) for row in connection.execute(
        sa.select(*_COLUMNS)
        .where(sa.or_(_p.expires_at <= now, sa.and_(
            _p.instance_uuid.is_not(None), _p.act.is_(None))))
        .order_by(_p.expires_at, _p.id).limit(limit))]


def count_overdue(connection: sa.Connection, now: datetime.datetime
                  ) -> tuple[int, datetime.datetime | None]:
    """Count the requests whose outcome is not known, and find the oldest."""
    # SELECT COUNT(*), MIN(expires_at) FROM passages WHERE expires_at <= ?
    count, oldest = connection.execute(
        sa.select(sa.func.count(),
                  sa.func.min(_p.expires_at, type_=tables.UTCDateTime))
        .where(_p.expires_at <= now)).one()
    return int(count), oldest


def _in_flight(row: Any) -> in_flight.InFlight:
    values = dict(row._mapping)
    # NOTE: the release before knows of no states.
    values['state'] = in_flight.State(values['state']
                                      or in_flight.State.SENT)
    return in_flight.InFlight(**values)
