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

"""Rows of ``lease_usage``: the totals of leases, kept after the leases.

A row is written or increased in the transaction that deletes the counted
bookings, so that each booking is counted exactly once.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import tables
from ironic_reservations.features.usage import periods as db_usage_periods
from ironic_reservations.model import leases

_u = tables.lease_usage.c
_n = tables.nodes.c
_COUNTED = ('bookings', 'promised_seconds', 'bound_seconds')
# UPDATE lease_usage SET bookings = bookings + ?, ..., starts_at =
#     CASE WHEN starts_at < ? THEN starts_at ELSE ? END, ...
#   WHERE reservation_id = ? AND resource_class = ?
_ADD = sa.update(tables.lease_usage).where(
    _u.reservation_id == sa.bindparam('k_reservation'),
    _u.resource_class == sa.bindparam('k_class')
).values(
    starts_at=sa.case((_u.starts_at < sa.bindparam('v_starts_at'),
                       _u.starts_at), else_=sa.bindparam('v_starts_at')),
    ended_at=sa.case((_u.ended_at > sa.bindparam('v_ended_at'), _u.ended_at),
                     else_=sa.bindparam('v_ended_at')),
    **{name: _u[name] + sa.bindparam('v_' + name) for name in _COUNTED})


@dataclasses.dataclass
class Usage:
    """The usage of a resource class by a lease reservation.

    :ivar resource_class: the class of the nodes, empty for nodes without one;
        for instances, a class of Placement.
    :ivar amount: the amount of the class for each booking: 1 for a node.
    :ivar starts_at: the start of the first booking.
    :ivar ended_at: the end of the last booking.
    :ivar bookings: the number of nodes or instances.
    :ivar promised_seconds: the sum of the durations of the bookings.
    :ivar bound_seconds: the same sum for bookings that have started.
    """

    reservation_id: str
    resource_class: str
    lease_id: str
    project_id: str | None
    user_id: str | None
    resource_type: str
    amount: int
    starts_at: datetime.datetime
    ended_at: datetime.datetime
    bookings: int = 0
    promised_seconds: int = 0
    bound_seconds: int = 0

    def count(self, booking: leases.NodeBooking) -> None:
        """Add a booking."""
        seconds = _seconds(booking.starts_at, booking.ends_at)
        self.bookings += 1
        self.promised_seconds += seconds
        self.bound_seconds += seconds if booking.begun else 0
        self.starts_at = min(self.starts_at, booking.starts_at)
        self.ended_at = max(self.ended_at, booking.ends_at)


def add(connection: sa.Connection, lease: leases.Lease,
        bookings: Collection[leases.NodeBooking]) -> None:
    """Count bookings of a lease that this transaction deletes.

    :param bookings: bookings with a start in the past.
    """
    if not bookings:
        return
    # SELECT uuid, resource_class, inventories IS NULL FROM nodes
    #   WHERE uuid IN (...)
    there = connection.execute(
        sa.select(_n.uuid, _n.resource_class,
                  _n.inventories.is_(None).label('node')).where(
            _n.uuid.in_({booking.node_uuid for booking in bookings}))).all()
    classes = {row.uuid: row.resource_class for row in there}
    db_usage_periods.keep(connection, lease, bookings, {
        row.uuid: row.resource_class or '' for row in there if row.node})
    asked = {each.id: each for each in lease.reservations}
    found: dict[tuple[str, str], Usage] = {}
    for booking in bookings:
        each = asked[booking.reservation_id]
        amounts = ({classes.get(booking.node_uuid) or '': 1}
                   if each.instances is None
                   else dict(each.instances.need.amounts))
        for name, amount in amounts.items():
            found.setdefault((each.id, name), Usage(
                each.id, name, lease.id, lease.project_id, lease.user_id,
                each.resource_type, amount, booking.starts_at,
                booking.ends_at)).count(booking)
    _write(connection, found.values())


def _write(connection: sa.Connection, usages: Iterable[Usage]) -> None:
    rows = {(each.reservation_id, each.resource_class):
            dataclasses.asdict(each) for each in usages}
    if not rows:
        return
    # SELECT reservation_id, resource_class FROM lease_usage
    #   WHERE reservation_id IN (...)
    there = set(connection.execute(
        sa.select(_u.reservation_id, _u.resource_class)
        .where(_u.reservation_id.in_({ident for ident, _ in rows}))).tuples())
    new = [row for key, row in rows.items() if key not in there]
    more = [_named(row) for key, row in rows.items() if key in there]
    if new:
        connection.execute(sa.insert(tables.lease_usage), new)
    if more:
        connection.execute(_ADD, more)


def _named(row: dict[str, Any]) -> dict[str, Any]:
    return {'k_reservation': row['reservation_id'],
            'k_class': row['resource_class'],
            **{'v_' + name: row[name]
               for name in ('starts_at', 'ended_at', *_COUNTED)}}


def _seconds(start: datetime.datetime, end: datetime.datetime) -> int:
    return max(0, round((end - start).total_seconds()))
