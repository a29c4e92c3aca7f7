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

"""Nodes of leases that have not been deployed yet (``usable_bookings``).

A row exists while the node of a booking can be deployed, and is deleted as
soon as the node cannot be deployed.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
import datetime

import sqlalchemy as sa

from ironic_reservations.db import conditions
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.features.no_show import decisions as no_show
from ironic_reservations.model import leases
from ironic_reservations.model import node_condition

_r = tables.reservations.c
_l = tables.lease_reservations.c
_n = tables.nodes.c
_s = tables.leases.c
_u = tables.usable_bookings.c


def read(connection: sa.Connection, lease_ids: Collection[str],
         unbroken: datetime.datetime) -> dict[str, list[no_show.Seat]]:
    """Return all nodes that leases have, and their use.

    :param unbroken: since when nodes have been checked without a break.
    :returns: the nodes by the id of the lease.
    """
    # SELECT lease_id, uuid, node_uuid, resource_class, since, warned_at,
    #   EXISTS (usage_periods ...), (it could be deployed)
    #   FROM reservations JOIN lease_reservations ... JOIN nodes ...
    #   LEFT JOIN usable_bookings ON booking_uuid = reservations.uuid
    #   WHERE lease_id IN (...) AND state <> 'ending'
    # Instances may be on any node of their lease, so that it is not known
    # which node is unused.
    free = sa.and_(
        _r.state == leases.BookingState.BOUND.value,
        _l.resource_type == leases.PHYSICAL_HOST, _deployable(),
        ~sa.exists().where(tables.in_flight_requests.c.node_uuid == _n.uuid))
    found: dict[str, list[no_show.Seat]] = {}
    for row in connection.execute(
            sa.select(_l.lease_id, _r.uuid, _r.node_uuid, _n.resource_class,
                      _u.since, _r.warned_at,
                      sa.case((conditions.was_deployed(), 1),
                              else_=0).label('deployed'),
                      sa.case((free, 1), else_=0).label('free'))
            .select_from(_nodes().outerjoin(
                tables.usable_bookings, _u.booking_uuid == _r.uuid))
            .where(_l.lease_id.in_(lease_ids),
                   _r.state != leases.BookingState.ENDING.value)):
        since = None if row.since is None else max(row.since, unbroken)
        found.setdefault(row.lease_id, []).append(no_show.Seat(
            row.uuid, row.node_uuid, row.resource_class, since, row.warned_at,
            bool(row.deployed), bool(row.free), row.warned_at))
    return found


def read_due(connection: sa.Connection, terms: no_show.Terms,
             now: datetime.datetime,
             unbroken: datetime.datetime) -> list[str]:
    """Return active leases with nodes that may need a warning or release.

    :param unbroken: since when nodes have been checked without a break.
    :returns: the ids of the leases;
        :mod:`~ironic_reservations.features.no_show.decisions` decides.
    """
    # SELECT DISTINCT lease_id FROM reservations JOIN lease_reservations ...
    #   JOIN nodes ... JOIN leases ... JOIN usable_bookings ...
    #   WHERE state = 'bound' AND ... AND (CASE class ... END)
    due = []
    for name, time in terms.after.items():
        warn = now - datetime.timedelta(seconds=time - terms.notice(time))
        release = now - datetime.timedelta(seconds=time)
        if unbroken > warn:
            continue
        due.append(sa.and_(
            _of_class(terms, name), _u.since <= warn, sa.or_(
                _r.warned_at.is_(None), _r.warned_at < _u.since,
                _r.warned_at < unbroken, sa.and_(
                    _r.warned_at <= now - datetime.timedelta(
                        seconds=terms.notice(time)),
                    _u.since <= release))))
    if not due:
        return []
    return list(connection.scalars(
        sa.select(_l.lease_id).distinct()
        .select_from(_nodes()
                     .join(tables.leases, _l.lease_id == _s.id)
                     .join(tables.usable_bookings,
                           _u.booking_uuid == _r.uuid))
        .where(_r.expires_at > now,
               _s.status == leases.LeaseStatus.ACTIVE.value, _unused(),
               sa.or_(*due))))


def read_begun(connection: sa.Connection,
               now: datetime.datetime) -> list[str]:
    """Return unused bookings whose node can be deployed and have no row."""
    # SELECT reservations.uuid FROM reservations JOIN ... LEFT JOIN
    #   usable_bookings ON ... WHERE (it could be deployed, and never was)
    #   AND booking_uuid IS NULL
    return list(connection.scalars(
        sa.select(_r.uuid).select_from(_nodes().outerjoin(
            tables.usable_bookings, _u.booking_uuid == _r.uuid))
        .where(_r.expires_at > now, _unused(), _u.booking_uuid.is_(None))))


def read_over(connection: sa.Connection
              ) -> list[tuple[str, datetime.datetime]]:
    """Return rows whose node cannot be deployed any more.

    :returns: pairs of the uuid of a booking and the time from which its node
        could be deployed.
    """
    # SELECT booking_uuid, since FROM usable_bookings LEFT JOIN (reservations
    #   JOIN ...) ON (it could be deployed, and never was)
    #   WHERE reservations.uuid IS NULL
    usable = sa.select(_r.uuid).select_from(_nodes()).where(
        _unused()).subquery()
    return [(uuid, since) for uuid, since in connection.execute(
        sa.select(_u.booking_uuid, _u.since).select_from(
            tables.usable_bookings.outerjoin(
                usable, usable.c.uuid == _u.booking_uuid))
        .where(usable.c.uuid.is_(None)))]


def begin(connection: sa.Connection, booking_uuids: Collection[str],
          now: datetime.datetime) -> None:
    """Write that nodes can be deployed from now on.

    :raises Conflict: another process has written a row for one of them.
    """
    # INSERT INTO usable_bookings (booking_uuid, since) VALUES (?, ?), ...
    if booking_uuids:
        connection.execute(sa.insert(tables.usable_bookings), [
            {'booking_uuid': uuid, 'since': now} for uuid in booking_uuids])


def finish(connection: sa.Connection,
           over: Sequence[tuple[str, datetime.datetime]]) -> None:
    """Write that nodes cannot be deployed any more.

    :param over: rows as they were read; rows written again since stay.
    """
    # DELETE FROM usable_bookings WHERE booking_uuid IN (...)
    #   AND (booking_uuid, since) IN ((?, ?), ...)
    # The first condition is for the index: MariaDB uses none for pairs.
    for piece in store.pieces(over):
        connection.execute(sa.delete(tables.usable_bookings).where(
            _u.booking_uuid.in_([uuid for uuid, _ in piece]),
            sa.tuple_(_u.booking_uuid, _u.since).in_(piece)))


def _nodes() -> sa.Join:
    return (tables.reservations
            .join(tables.lease_reservations,
                  _r.lease_reservation_id == _l.id)
            .join(tables.nodes, _r.node_uuid == _n.uuid))


def _unused() -> sa.ColumnElement[bool]:
    """Return the condition that a node can be deployed and never was.

    A request in flight comes from the owner, and is not a break.
    """
    return sa.and_(_r.state == leases.BookingState.BOUND.value,
                   _l.resource_type == leases.PHYSICAL_HOST, _deployable(),
                   ~conditions.was_deployed())


def _of_class(terms: no_show.Terms,
              name: str) -> sa.ColumnElement[bool]:
    if name != no_show.OTHERS:
        return _n.resource_class == name
    named = [each for each in terms.after if each != no_show.OTHERS]
    return sa.func.coalesce(_n.resource_class, '').not_in(named)


def _deployable() -> sa.ColumnElement[bool]:
    """Return the condition that the owner can deploy a node."""
    return sa.and_(_n.inventories.is_(None), sa.not_(_n.maintenance),
                   sa.not_(_n.retired), _n.parent_node.is_(None),
                   _n.provision_state == node_condition.AVAILABLE,
                   sa.not_(conditions.occupied()))
