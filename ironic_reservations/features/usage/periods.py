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

"""Rows of ``usage_periods``: times of promised, bound and deployed nodes.

Rows of promised and bound nodes are written by the transaction that deletes
the bookings. A row of a deployed node is written when the deployment is
detected, and runs until the deployment is over or the booking is deleted.
"""

from __future__ import annotations

import collections
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.features.usage import values as usage
from ironic_reservations.model import leases
from ironic_reservations.model import period_kind

_p = tables.usage_periods.c
_r = tables.reservations.c
_l = tables.lease_reservations.c
_n = tables.nodes.c


@dataclasses.dataclass(frozen=True)
class Deployment:
    """A booking whose node is deployed.

    :ivar resource_class: the class of the node; empty: none.
    """

    booking_uuid: str
    reservation_id: str
    lease_id: str
    project_id: str | None
    resource_class: str


def read_unrecorded(connection: sa.Connection, now: datetime.datetime,
                    node_uuid: str | None = None) -> list[Deployment]:
    """Return bookings with a deployed node and no running row.

    :param node_uuid: a node that is deployed, even if the mirror shows another
        state; ``None``: all nodes that the mirror shows as deployed.
    """
    # SELECT ... FROM reservations JOIN lease_reservations ... JOIN nodes ...
    #   WHERE state = 'bound' AND expires_at > ? AND inventories IS NULL
    #     AND (it is occupied) AND NOT EXISTS (a row that is running)
    running = sa.exists().where(_p.booking_uuid == _r.uuid, _p.running == 1)
    query = (
        sa.select(_r.uuid.label('booking_uuid'),
                  _l.id.label('reservation_id'), _l.lease_id, _r.project_id,
                  sa.func.coalesce(_n.resource_class, '').label(
                      'resource_class'))
        .join_from(tables.reservations, tables.lease_reservations,
                   _r.lease_reservation_id == _l.id)
        .join(tables.nodes, _r.node_uuid == _n.uuid)
        .where(_r.state == leases.BookingState.BOUND.value,
               _r.immediate.is_(None), _r.expires_at > now,
               _n.inventories.is_(None), ~running))
    query = query.where(conditions.occupied() if node_uuid is None
                        else _r.node_uuid == node_uuid)
    return store.read(Deployment, connection.execute(query))


def read_over(connection: sa.Connection
              ) -> list[tuple[str, datetime.datetime]]:
    """Return the running rows whose node is not deployed any more.

    A row keeps running while the mirror does not know the state of the node.

    :returns: the bookings, and the starts of the rows.
    """
    # SELECT booking_uuid, usage_periods.starts_at
    #   FROM usage_periods LEFT JOIN reservations ON ...
    #   LEFT JOIN nodes ON ... WHERE running = 1
    #     AND (there is no booking OR the node is not occupied)
    return [(uuid, start) for uuid, start in connection.execute(
        sa.select(_p.booking_uuid, _p.starts_at).select_from(
            tables.usage_periods
            .outerjoin(tables.reservations, _r.uuid == _p.booking_uuid)
            .outerjoin(tables.nodes, _n.uuid == _r.node_uuid))
        .where(_p.running == 1, sa.or_(
            _r.uuid.is_(None),
            sa.and_(_n.provision_state.is_not(None),
                    sa.not_(conditions.occupied())))))]


def begin(connection: sa.Connection, those: Collection[Deployment],
          now: datetime.datetime, lasts: bool = True) -> None:
    """Write that nodes are deployed.

    :param lasts: whether they are still deployed.
    :raises Conflict: another process has written a row for one of them.
    """
    # INSERT INTO usage_periods (booking_uuid, ...) VALUES (...), ...
    if those:
        connection.execute(sa.insert(tables.usage_periods), [
            {**dataclasses.asdict(each), 'kind': period_kind.DEPLOYED,
             'starts_at': now, 'ended_at': None if lasts else now,
             'hosts': 1, 'running': 1 if lasts else None} for each in those])


def note_no_shows(connection: sa.Connection, lease: leases.Lease,
                  bookings: Collection[leases.NodeBooking],
                  now: datetime.datetime) -> None:
    """Write that unused nodes of a lease are released.

    The rows do not name the bookings, since a row with a booking means that
    its node has been deployed.
    """
    classes = db_nodes.read_classes_of(
        connection, {each.node_uuid for each in bookings})
    counts = collections.Counter(
        (each.reservation_id, classes.get(each.node_uuid, ''))
        for each in bookings)
    connection.execute(sa.insert(tables.usage_periods), [
        {'reservation_id': reservation_id, 'lease_id': lease.id,
         'project_id': lease.project_id, 'resource_class': name,
         'kind': period_kind.NO_SHOW, 'starts_at': now, 'ended_at': now,
         'hosts': count}
        for (reservation_id, name), count in counts.items()])


def check_booked(connection: sa.Connection,
                 begun: Collection[Deployment]) -> None:
    """Check that bookings exist, and lock them for the transaction.

    :raises Conflict: one of them was deleted.
    """
    # SELECT uuid FROM reservations WHERE uuid IN (...) ORDER BY uuid
    #   FOR UPDATE
    if begun and len(connection.execute(
            sa.select(_r.uuid)
            .where(_r.uuid.in_([each.booking_uuid for each in begun]))
            .order_by(_r.uuid).with_for_update()).all()) < len(begun):
        raise db_connection.Conflict('a booking was deleted')


def check_none_ended(connection: sa.Connection,
                     begun: Collection[Deployment],
                     now: datetime.datetime) -> None:
    """Check that no deployment that was just written was over long ago.

    Call it after :func:`begin`, so that no other process writes a row.

    :raises Conflict: a row of one of the bookings has ended since.
    """
    # SELECT id FROM usage_periods WHERE booking_uuid IN (...)
    #   AND ended_at > ?
    if begun and connection.execute(sa.select(_p.id).where(
            _p.booking_uuid.in_([each.booking_uuid for each in begun]),
            _p.ended_at > now)).first() is not None:
        raise db_connection.Conflict('a deployment is over already')


def finish(connection: sa.Connection,
           over: Sequence[tuple[str, datetime.datetime]],
           now: datetime.datetime) -> None:
    """Write that nodes are not deployed any more.

    :param over: rows as they were read; a later deployment goes on.
    """
    # UPDATE usage_periods SET ended_at = ?, running = NULL
    #   WHERE booking_uuid IN (...) AND (booking_uuid, starts_at) IN (...)
    #     AND running = 1
    # Not by ids, which another history uses for other rows.
    # The first condition is for the index: MariaDB uses none for pairs.
    for piece in store.pieces(over):
        connection.execute(
            sa.update(tables.usage_periods)
            .where(_p.booking_uuid.in_([uuid for uuid, _ in piece]),
                   sa.tuple_(_p.booking_uuid, _p.starts_at).in_(piece),
                   _p.running == 1)
            .values(ended_at=_not_before_its_start(now), running=None))


def keep(connection: sa.Connection, lease: leases.Lease,
         bookings: Collection[leases.NodeBooking],
         classes: Mapping[str, str]) -> None:
    """Write the periods of bookings that this transaction deletes.

    :param classes: the resource classes of Ironic's nodes, by uuid; other
        nodes are omitted.
    """
    whole = [booking for booking in bookings if booking.node_uuid in classes]
    counts: collections.Counter[tuple[Any, ...]] = collections.Counter(
        (booking.reservation_id, classes[booking.node_uuid],
         period_kind.BOUND if booking.begun else period_kind.PROMISED,
         booking.starts_at, booking.ends_at) for booking in whole
        if booking.starts_at < booking.ends_at)
    if counts:
        connection.execute(sa.insert(tables.usage_periods), [
            {'reservation_id': reservation_id, 'lease_id': lease.id,
             'project_id': lease.project_id, 'resource_class': name,
             'kind': kind, 'starts_at': start, 'ended_at': end,
             'hosts': count}
            for (reservation_id, name, kind, start, end), count
            in counts.items()])
    by_end: dict[datetime.datetime, list[str]] = {}
    for booking in whole:
        by_end.setdefault(booking.ends_at, []).append(booking.uuid)
    for end, piece in ((end, piece) for end, uuids in by_end.items()
                       for piece in store.pieces(uuids)):
        # UPDATE usage_periods SET ended_at = (the end of the booking),
        #   running = NULL
        #   WHERE booking_uuid IN (...) AND (running = 1 OR ended_at > ?)
        connection.execute(
            sa.update(tables.usage_periods)
            .where(_p.booking_uuid.in_(piece),
                   sa.or_(_p.running == 1, _p.ended_at > end))
            .values(ended_at=_not_before_its_start(end), running=None))


def _not_before_its_start(end: datetime.datetime
                          ) -> sa.ColumnElement[datetime.datetime]:
    # Without the type, drivers also get the time zone, which each of them
    # interprets in another way.
    return sa.case((_p.starts_at > end, _p.starts_at),
                   else_=sa.literal(end, tables.UTCDateTime))


def read(connection: sa.Connection, begin: datetime.datetime,
         end: datetime.datetime, project_id: str | None,
         every: bool) -> list[usage.Spell]:
    """Return the periods of leases on nodes of Ironic.

    The database sums up equal periods, so that the number of rows grows with
    the number of leases, not of their hosts.

    :param connection: the connection of a snapshot.
    :param begin: periods that ended by this time are omitted.
    :param end: periods that start at or after this time are omitted.
    :param project_id: the project whose periods are read.
    :param every: whether to read the periods of all projects instead.
    """
    return [*_read_over(connection, begin, end, _of_project(
        _p.project_id, project_id, every)),
        *_read_live(connection, begin, end, _of_project(
            _r.project_id, project_id, every))]


def _of_project(column: sa.Column[str | None], project_id: str | None,
                every: bool) -> sa.ColumnElement[bool]:
    # SQLAlchemy compares with None by IS NULL.
    return sa.true() if every else column == project_id


def _read_over(connection: sa.Connection, begin: datetime.datetime,
               end: datetime.datetime, whose: sa.ColumnElement[bool]
               ) -> list[usage.Spell]:
    # SELECT project_id, resource_class, kind, starts_at, ended_at,
    #   expires_at, SUM(hosts) FROM usage_periods
    #   LEFT JOIN reservations ON uuid = booking_uuid
    #   WHERE starts_at < ? AND kind <> 'no_show'
    #     AND (ended_at > ? OR running = 1)
    #   GROUP BY project_id, resource_class, kind, starts_at, ended_at,
    #     expires_at
    # expires_at limits a row: a node may be deployed for longer than it is
    # promised.
    columns = (_p.project_id, _p.resource_class, _p.kind, _p.starts_at,
               _p.ended_at, _r.expires_at)
    found = []
    for project_id, name, kind, start, ended, expires, hosts in (
            connection.execute(
                sa.select(*columns, sa.func.sum(_p.hosts))
                .select_from(tables.usage_periods.outerjoin(
                    tables.reservations, _r.uuid == _p.booking_uuid))
                .where(_p.starts_at < end, _p.kind != period_kind.NO_SHOW,
                       sa.or_(_p.ended_at > begin, _p.running == 1), whose)
                .group_by(*columns))):
        until = min((time for time in (ended, expires) if time is not None),
                    default=start)
        found.append(usage.Spell(
            project_id, name, start, until, int(hosts),
            kind != period_kind.DEPLOYED,
            until if kind == period_kind.BOUND else None,
            kind == period_kind.DEPLOYED))
    return found


def _read_live(connection: sa.Connection, begin: datetime.datetime,
               end: datetime.datetime, whose: sa.ColumnElement[bool]
               ) -> list[usage.Spell]:
    # SELECT project_id, resource_class, starts_at, expires_at,
    #   (it has begun), COUNT(*) FROM reservations JOIN nodes ON ...
    #   WHERE it is of a lease AND inventories IS NULL
    #     AND expires_at > ? AND starts_at < ? GROUP BY ...
    # The equivalent of "it has begun" is leases.NodeBooking.begun.
    begun = sa.case((sa.or_(
        _r.state != leases.BookingState.PLANNED.value,
        _r.lessee.is_not(None)), 1), else_=0)
    columns = (_r.project_id, sa.func.coalesce(_n.resource_class, ''),
               _r.starts_at, _r.expires_at, begun)
    return [usage.Spell(project_id, name, start, end, hosts, True,
                        end if begun else None)
            for project_id, name, start, end, begun, hosts
            in connection.execute(
                sa.select(*columns, sa.func.count())
                .join_from(tables.reservations, tables.nodes,
                           _r.node_uuid == _n.uuid)
                .where(_r.lease_reservation_id.is_not(None),
                       _n.inventories.is_(None), _r.expires_at > begin,
                       _r.starts_at < end, whose)
                .group_by(_r.project_id, _n.resource_class, _r.starts_at,
                          _r.expires_at, begun))]


def count_now(connection: sa.Connection, now: datetime.datetime
              ) -> dict[str, tuple[int, int]]:
    """Count the nodes that leases have now, by resource class.

    :returns: the number of nodes, and the number of deployed nodes.
    """
    # SELECT resource_class, COUNT(*), COUNT(usage_periods.id)
    #   FROM reservations JOIN nodes ON ... LEFT JOIN usage_periods ON ...
    #   WHERE state = 'bound' AND expires_at > ? GROUP BY resource_class
    return {name or '': (nodes, deployed) for name, nodes, deployed
            in connection.execute(sa.select(
        _n.resource_class, sa.func.count(), sa.func.count(_p.id))
        .select_from(tables.reservations.join(
            tables.nodes, _r.node_uuid == _n.uuid).outerjoin(
                tables.usage_periods, sa.and_(
                    _p.booking_uuid == _r.uuid, _p.running == 1)))
        .where(_r.state == leases.BookingState.BOUND.value,
               _r.lease_reservation_id.is_not(None),
               _n.inventories.is_(None), _r.expires_at > now)
        .group_by(_n.resource_class))}
