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

"""Reads the present and the next holders of nodes, in one statement."""

from __future__ import annotations

from collections.abc import Collection
import datetime
import functools
import operator

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import conditions
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import node_windows as db_windows
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.db import store
from ironic_reservations.db import tables
from ironic_reservations.model import host_view
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation
from ironic_reservations.model import node_window

_r = tables.reservations.c
_BOOKED = 'booked_'
_ROW = db_reservations.RESERVATION
_BOOKING = db_bookings.BOOKING
_WINDOW = db_windows.WINDOW
_ORDER = operator.attrgetter('starts_at', 'id')
_START = operator.attrgetter('starts_at')
_FOREVER = datetime.datetime.max.replace(tzinfo=datetime.UTC)


def read(connection: sa.Connection, node_uuids: Collection[str],
         now: datetime.datetime, until: datetime.datetime | None = None,
         first: bool = False, windows: bool = False,
         busy: bool = False) -> dict[str, host_view.HostView]:
    """Return the present and the next holder of each node.

    :param until: bookings that start at or after this time are left out;
        ``None``: none are.
    :param first: whether to read only the first future booking of each node,
        which saves time for many nodes.
    :param windows: whether to read the maintenance windows.
    :param busy: whether to read the requests in flight, with another query.
    """
    result = connection.execute(_views(first, windows), {
        'uuids': list(node_uuids), 'now': now, 'until': until or _FOREVER})
    reservation = _ROW.reader(result)
    booking = _BOOKING.reader(result, prefix=_BOOKED)
    window = _WINDOW.reader(result, prefix=_BOOKED)
    rows: dict[str, node_reservation.Reservation] = {}
    bookings: dict[str, list[leases.NodeBooking]] = {}
    maintained: dict[str, list[node_window.NodeWindow]] = {}
    for row in result:
        uuid = row.booked_node_uuid
        if row.immediate:
            rows[uuid] = reservation(row)
        elif row.booked_window_id is None:
            bookings.setdefault(uuid, []).append(booking(row))
        else:
            maintained.setdefault(uuid, []).append(window(row))
    in_flight = (db_in_flight.read_busy(connection, node_uuids) if busy
                 else {})
    return {uuid: host_view.HostView(
        uuid, now, rows.get(uuid),
        tuple(sorted(bookings.get(uuid, ()), key=_ORDER)),
        tuple(sorted(maintained.get(uuid, ()), key=_START)),
        in_flight.get(uuid))
        for uuid in node_uuids}


def read_one(connection: sa.Connection, node_uuid: str,
             now: datetime.datetime, until: datetime.datetime | None = None,
             windows: bool = False) -> host_view.HostView:
    """Return the present and the next holder of one node.

    The parameters are those of :func:`read`.
    """
    return read(connection, (node_uuid,), now, until,
                windows=windows)[node_uuid]


@functools.cache
def _views(first: bool, windows: bool) -> sa.SelectBase:
    """Return the statement of :func:`read`, which is built once."""
    # SELECT ... FROM reservations WHERE node_uuid IN (...) AND (immediate = 1
    #   OR it has the node OR it is to come AND starts_at < ?
    #     [AND starts_at = (SELECT MIN(starts_at) FROM reservations AS others
    #       WHERE it is of the same node AND to come)]
    #   [OR it is a window that has the node OR is to come])
    now, uuids = conditions.NOW, sa.bindparam('uuids', expanding=True)
    later = _r.starts_at < sa.bindparam('until', type_=tables.UTCDateTime)
    if first:
        others = tables.reservations.alias('others')
        later &= _r.starts_at == sa.select(sa.func.min(
            others.c.starts_at)).where(
                others.c.node_uuid == _r.node_uuid,
                conditions.to_come(now, others)).scalar_subquery()
    booked = _BOOKING.labelled(_BOOKED)
    promises = [_r.immediate == 1, conditions.has_node(now),
                sa.and_(conditions.to_come(now), later)]
    if windows:
        promises += conditions.maintained(now), conditions.to_maintain(now)
    return sa.select(
        _r.immediate, *_ROW.columns, *booked,
        _r.window_id.label(f'{_BOOKED}window_id')).where(
            _r.node_uuid.in_(uuids), sa.or_(*promises))


# SELECT ... FROM reservations WHERE immediate = 1 OR it is a window that is
#   not over
_UNLEASED = store.OfNodes(sa.select(
    _r.immediate, *_ROW.columns, *_WINDOW.labelled(_BOOKED)).where(
        sa.or_(_r.immediate == 1, conditions.window_is())), _r.node_uuid)


def read_unleased(connection: sa.Connection,
                  node_uuids: Collection[str] | None = None
                  ) -> tuple[dict[str, node_reservation.Reservation],
                             dict[str, tuple[node_window.NodeWindow, ...]]]:
    """Return the reservations and the maintenance windows of nodes, by node.

    :param node_uuids: ``None``: of all nodes.
    :returns: the reservations, live or not, and the windows that are not over,
        by start.
    """
    result = _UNLEASED.execute(connection, node_uuids)
    reservation = _ROW.reader(result)
    window = _WINDOW.reader(result, prefix=_BOOKED)
    rows: dict[str, node_reservation.Reservation] = {}
    windows: dict[str, list[node_window.NodeWindow]] = {}
    for row in result:
        if row.immediate:
            rows[row.node_uuid] = reservation(row)
        else:
            windows.setdefault(row.node_uuid, []).append(window(row))
    return rows, {uuid: tuple(sorted(each, key=_START))
                  for uuid, each in windows.items()}
