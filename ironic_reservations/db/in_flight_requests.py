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

"""Rows of ``in_flight_requests``: requests in flight to Ironic.

Each is identified by its token and its node, never by the id of its row.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases

_p = tables.in_flight_requests.c
_r = tables.reservations.c
_l = tables.lease_reservations.c
_REQUEST = store.Rows(
    in_flight.InFlight, tables.in_flight_requests, 'a request in flight',
    as_read=('id', 'node_uuid', 'token', 'expires_at', 'seen'),
    changing=('seen', 'seen_at'))
# SELECT node_uuid, MAX(expires_at) FROM in_flight_requests
#   WHERE node_uuid IN (...) GROUP BY node_uuid
# Past times count, too: a request without an answer may still be carried
# out.
_LATEST = sa.select(
    _p.node_uuid, sa.func.max(_p.expires_at, type_=tables.UTCDateTime)
).group_by(_p.node_uuid)
_BUSY = store.OfNodes(_LATEST, _p.node_uuid)
# The same, with: token <> node_uuid
_USED = store.OfNodes(_LATEST.where(_p.token != _p.node_uuid), _p.node_uuid)
#: The condition that a row is an unused ticket.
_UNUSED = _p.state == in_flight.State.ISSUED.value
# INSERT INTO in_flight_requests (node_uuid, ...) SELECT ?, ... FROM nodes
#   WHERE uuid = ? AND NOT EXISTS (SELECT * FROM in_flight_requests
#     WHERE node_uuid = ? AND act IN ('undeploy', 'abort', ...))
_USE = {name: sa.bindparam(name, type_=_p[name].type) for name in (
    'node_uuid', 'token', 'reservation_uuid', 'instance_uuid', 'expires_at',
    'state')}
_INSERT_USE = sa.insert(tables.in_flight_requests).from_select(
    list(_USE), sa.select(*_USE.values()).select_from(tables.nodes).where(
        tables.nodes.c.uuid == _USE['node_uuid'],
        ~sa.exists().where(_p.node_uuid == _USE['node_uuid'],
                           _p.act.in_(in_flight.FREEING))))


def read_busy(connection: sa.Connection,
              node_uuids: Collection[str] | None = None
              ) -> dict[str, datetime.datetime]:
    """Return the nodes with requests in flight.

    :returns: the latest time for the answer to the last request, by node uuid;
        after this time, the outcome is unknown.
    """
    return {uuid: until for uuid, until
            in _BUSY.execute(connection, node_uuids)}


def read_used(connection: sa.Connection,
              node_uuids: Collection[str] | None = None) -> frozenset[str]:
    """Return the nodes that a request in flight may put to use.

    An unknown request of a lost history only delays the next use of a node.
    """
    return frozenset(_USED.execute(connection, node_uuids).scalars())


def insert(connection: sa.Connection, node_uuid: str, token: str,
           reservation_uuid: str | None, instance_uuid: str | None,
           expires_at: datetime.datetime,
           state: in_flight.State = in_flight.State.SENT,
           act: str | None = None) -> None:
    """Write that a request is let through.

    :param expires_at: the latest time for the answer.
    :param act: the act of a ticket, or :data:`.in_flight.CHANGE`.
    """
    # INSERT INTO in_flight_requests (...) VALUES (...)
    # Values as parameters cost SQLAlchemy much less.
    connection.execute(sa.insert(tables.in_flight_requests), {
        'node_uuid': node_uuid, 'token': token,
        'reservation_uuid': reservation_uuid, 'instance_uuid': instance_uuid,
        'expires_at': expires_at, 'state': state.value, 'act': act})


def insert_use(connection: sa.Connection, node_uuid: str, token: str,
               reservation_uuid: str | None, instance_uuid: str | None,
               expires_at: datetime.datetime) -> bool:
    """Write that a request is let through that uses a node.

    :param expires_at: the latest time for the answer.
    :returns: ``False`` if a ticket, used or not, or a client's request with an
        unknown outcome may take the node from its user at any moment; then
        nothing is written.
    """
    return bool(connection.execute(_INSERT_USE, {
        'node_uuid': node_uuid, 'token': token,
        'reservation_uuid': reservation_uuid, 'instance_uuid': instance_uuid,
        'expires_at': expires_at, 'state': in_flight.State.SENT.value
    }).rowcount)


def prolong_unknown(connection: sa.Connection,
                    until: datetime.datetime) -> None:
    """Write that Ironic is asked later about unknown requests."""
    # UPDATE in_flight_requests SET expires_at = ?, seen = NULL, seen_at = NULL
    #   WHERE token = node_uuid
    connection.execute(
        sa.update(tables.in_flight_requests)
        .where(_p.token == _p.node_uuid)
        .values(expires_at=until, seen=None, seen_at=None))


def insert_unknown(connection: sa.Connection, until: datetime.datetime,
                   node_uuid: str | None = None) -> None:
    """Write that an unknown request may be in flight to each node of Ironic.

    Its token is the uuid of the node, so that a node has one such row.

    :param until: the time at which Ironic is asked about the nodes.
    :param node_uuid: the only node; ``None``: all.
    """
    # INSERT INTO in_flight_requests (...) SELECT uuid, uuid, ... FROM nodes
    #   WHERE inventories IS NULL
    #   AND uuid NOT IN (SELECT token FROM in_flight_requests)
    nodes = tables.nodes.c
    values: dict[str, Any] = {
        'node_uuid': nodes.uuid, 'token': nodes.uuid,
        'state': sa.literal(in_flight.State.UNCERTAIN.value),
        'act': sa.literal(in_flight.CHANGE),
        'expires_at': sa.literal(until, tables.UTCDateTime)}
    there = tables.in_flight_requests.alias().c
    connection.execute(sa.insert(tables.in_flight_requests).from_select(
        list(values), sa.select(*values.values()).where(
            nodes.inventories.is_(None),
            ~sa.exists().where(there.token == nodes.uuid),
            *([] if node_uuid is None else [nodes.uuid == node_uuid]))))


def insert_ticket(connection: sa.Connection, booking: leases.NodeBooking,
                  lease_id: str, claimed_by: str, token: str, act: str,
                  expires_at: datetime.datetime) -> bool:
    """Write a ticket, if the booking is unchanged and the lease claimed.

    :param booking: as it was read.
    :param claimed_by: the claim under which the ticket is issued.
    :param act: the act that the ticket allows.
    :returns: ``False`` if not: nothing has been written then.
    """
    # A process that takes the lease over either does so first, or finds this
    # ticket.
    if not db_lease_work.keep(connection, lease_id, claimed_by):
        return False
    # INSERT INTO in_flight_requests (...) SELECT ... FROM reservations
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
        sa.insert(tables.in_flight_requests).from_select(list(values), found),
        db_bookings.as_read([booking])).rowcount)


def read_ticket_node(connection: sa.Connection, token: str) -> str | None:
    """Return the node of a ticket, ``None`` if there is no such ticket."""
    # SELECT node_uuid FROM in_flight_requests
    #   WHERE token = ? AND state = 'issued'
    return connection.execute(
        sa.select(_p.node_uuid).where(_p.token == token, _UNUSED)
    ).scalar_one_or_none()


def take_ticket(connection: sa.Connection, token: str, node_uuid: str,
                act: str, now: datetime.datetime,
                expires_at: datetime.datetime) -> bool:
    """Use a ticket, if it exists and is for this act and node.

    :param expires_at: the latest time for the answer to the request.
    :returns: whether it has been used.
    """
    # UPDATE in_flight_requests SET state = 'sent', expires_at = ?
    #   WHERE token = ? AND node_uuid = ? AND act = ? AND state = 'issued'
    #     AND expires_at > ?
    return bool(connection.execute(
        sa.update(tables.in_flight_requests)
        .where(_p.token == token, _p.node_uuid == node_uuid, _p.act == act,
               _UNUSED, _p.expires_at > now)
        .values(state=in_flight.State.SENT.value, expires_at=expires_at)
    ).rowcount)


def void_ticket(connection: sa.Connection, token: str) -> bool:
    """Delete an unused ticket, and return whether it was deleted."""
    # DELETE FROM in_flight_requests WHERE token = ?
    #   AND state = 'issued'
    return bool(connection.execute(
        sa.delete(tables.in_flight_requests)
        .where(_p.token == token, _UNUSED)).rowcount)


def void_tickets(connection: sa.Connection, lease_id: str) -> int:
    """Delete the unused tickets of a lease.

    :returns: the number of tickets.
    """
    # DELETE FROM in_flight_requests WHERE lease_id = ?
    #   AND state = 'issued'
    return connection.execute(
        sa.delete(tables.in_flight_requests)
        .where(_p.lease_id == lease_id, _UNUSED)).rowcount


def void_acts(connection: sa.Connection, node_uuid: str,
              acts: Collection[str]) -> None:
    """Delete the unused tickets for some acts on a node."""
    # DELETE FROM in_flight_requests WHERE node_uuid = ?
    #   AND act IN (...) AND state = 'issued'
    connection.execute(sa.delete(tables.in_flight_requests).where(
        _p.node_uuid == node_uuid, _p.act.in_(acts), _UNUSED))


def mark(connection: sa.Connection, token: str, node_uuid: str,
         state: in_flight.State,
         expires_at: datetime.datetime | None = None) -> bool:
    """Write the state of a request, if it is still in flight.

    :returns: whether it was.
    """
    # UPDATE in_flight_requests SET state = ? WHERE token = ? AND node_uuid = ?
    #   AND state = 'sent'
    return bool(connection.execute(
        sa.update(tables.in_flight_requests)
        .where(_p.token == token, _p.node_uuid == node_uuid,
               _p.state == in_flight.State.SENT.value)
        .values(state=state.value,
                **({} if expires_at is None else {'expires_at': expires_at}))
    ).rowcount)


def delete(connection: sa.Connection, token: str, node_uuid: str) -> bool:
    """Delete a request that has been answered.

    :returns: ``False`` if there was no row; the node was not kept then.
    """
    # DELETE FROM in_flight_requests WHERE token = ? AND node_uuid = ?
    return bool(connection.execute(
        sa.delete(tables.in_flight_requests).where(
            _p.token == token, _p.node_uuid == node_uuid)).rowcount)


def delete_as_read(connection: sa.Connection,
                   row: in_flight.InFlight) -> bool:
    """Delete a request with a known outcome, if it has not changed."""
    return _REQUEST.try_delete(connection, row)


def write_seen(connection: sa.Connection, row: in_flight.InFlight,
               seen: str | None, now: datetime.datetime) -> None:
    """Write the state in which Ironic shows the node of a request.

    :param seen: ``None``: not a stable state.
    """
    _REQUEST.try_update(connection, row, dataclasses.replace(
        row, seen=seen, seen_at=None if seen is None else now))


def shown_elsewhere(connection: sa.Connection, reservation_uuid: str,
                    node_uuid: str, token: str) -> bool:
    """Return whether another request in flight has the same proof.

    A request for another node has that of an earlier reservation.

    :param token: the token of the request that is not counted.
    """
    # SELECT id FROM in_flight_requests WHERE reservation_uuid = ?
    #   AND node_uuid = ? AND token <> ? LIMIT 1
    return connection.execute(
        sa.select(_p.id).where(_p.reservation_uuid == reservation_uuid,
                               _p.node_uuid == node_uuid, _p.token != token)
        .limit(1)).first() is not None


def delete_settled(connection: sa.Connection,
                   tokens: Collection[str]) -> None:
    """Delete requests of allocations whose nodes have the instance."""
    # DELETE FROM in_flight_requests WHERE act IS NULL AND token IN (...)
    if tokens:
        connection.execute(sa.delete(tables.in_flight_requests).where(
            _p.act.is_(None), _p.token.in_(tokens)))


def read_instances(connection: sa.Connection
                   ) -> frozenset[tuple[str, str, str]]:
    """Return the nodes, instances and tokens of allocations in flight.

    A client may use the uuid of an allocation, its instance, again.
    """
    # SELECT node_uuid, instance_uuid, token FROM in_flight_requests
    #   WHERE instance_uuid IS NOT NULL
    return frozenset((node, instance, token) for node, instance, token in
                     connection.execute(sa.select(
                         _p.node_uuid, _p.instance_uuid, _p.token).where(
                             _p.instance_uuid.is_not(None))))


def read_overdue(connection: sa.Connection, now: datetime.datetime,
                 limit: int, after: in_flight.InFlight | None = None
                 ) -> list[in_flight.InFlight]:
    """Return the requests whose outcome has to be determined.

    These are all overdue requests, the oldest first, and all allocations.

    :param after: the last request of the page before.
    """
    # SELECT ... FROM in_flight_requests WHERE (expires_at <= ?
    #   OR (instance_uuid IS NOT NULL AND act IS NULL))
    #   AND (expires_at > ? OR expires_at = ? AND id > ?)
    #   ORDER BY expires_at, id LIMIT ?
    query = sa.select(*_REQUEST.columns).where(sa.or_(
        _p.expires_at <= now,
        sa.and_(_p.instance_uuid.is_not(None), _p.act.is_(None))))
    if after is not None:
        query = query.where(sa.or_(
            _p.expires_at > after.expires_at,
            sa.and_(_p.expires_at == after.expires_at, _p.id > after.id)))
    return _REQUEST.all(connection.execute(
        query.order_by(_p.expires_at, _p.id).limit(limit)))


def count_overdue(connection: sa.Connection, now: datetime.datetime
                  ) -> tuple[int, datetime.datetime | None]:
    """Return the number of overdue requests, and the oldest time."""
    # SELECT COUNT(*), MIN(expires_at) FROM in_flight_requests
    #   WHERE expires_at <= ?
    count, oldest = connection.execute(
        sa.select(sa.func.count(),
                  sa.func.min(_p.expires_at, type_=tables.UTCDateTime))
        .where(_p.expires_at <= now)).one()
    return int(count), oldest
