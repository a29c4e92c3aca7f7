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


"""Convert leases to demands of the planner, and its bookings to rows."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import uuid as uuid_module

from ironic_reservations.engine import snapshots
from ironic_reservations.engine.leases import request_checks
from ironic_reservations.model import instants
from ironic_reservations.model import leases
from ironic_reservations.model import requirements
from ironic_reservations.planner import bookings
from ironic_reservations.planner import host_states

#: What the names of demands have between a reservation and the place of a
#: host that it keeps, and after a reservation that gets more hosts.
KEPT, MORE = ':kept:', ':more'


def of(ident: str, start: int, end: int, least: int, most: int,
       eligible: int, margin: int, preferred: int = 0,
       wanted: request_checks.Instances = None,
       group: str | None = None) -> bookings.Demand:
    """Return a demand for hosts, or for instances.

    :param wanted: the request for each of the ``most`` instances; ``None``:
        the demand is for whole hosts.
    :param group: the lease reservation that the instances belong to;
        ``None``: it is ``ident``.
    """
    if wanted is None:
        return bookings.Demand(ident, start, end, least, most, eligible,
                               margin, preferred)
    return bookings.Demand(
        ident, start, end, most, most, eligible, margin, preferred,
        wanted.need.amounts, wanted.affinity, group=group)


def of_rows(snapshot: snapshots.Snapshot, ident: str,
            rows: list[leases.NodeBooking], start: int, end: int,
            eligible: int) -> bookings.Demand:
    """Return the demand for some rows of one lease reservation."""
    group = rows[0].reservation_id
    return of(ident, start, end, len(rows), len(rows), eligible,
              snapshot.margin, group=group,
              wanted=snapshot.host_of(rows[0]).instances.get(group))


def home(snapshot: snapshots.Snapshot, rows: list[leases.NodeBooking],
         wanted: requirements.Requirement, hosts: int,
         ident: str | None = None) -> bookings.Demand:
    """Return a demand for another host, for rows that must share one.

    :param hosts: the hosts that are considered.
    """
    row = rows[0]
    return snapshot.limited(of_rows(
        snapshot, ident or f'{host_states.name(row)}:home', rows,
        instants.instant(row.starts_at), instants.instant(row.ends_at),
        snapshot.eligible(wanted) & hosts), row.project_id)


def units(snapshot: snapshots.Snapshot, rows: Iterable[leases.NodeBooking]
          ) -> list[list[leases.NodeBooking]]:
    """Group rows that must be on the same host."""
    found: dict[str, list[leases.NodeBooking]] = {}
    for row in rows:
        asked = snapshot.host_of(row).instances.get(row.reservation_id)
        key = (row.reservation_id if asked is not None and asked.affinity
               else host_states.name(row))
        found.setdefault(key, []).append(row)
    return list(found.values())


def granted_rows(snapshot: snapshots.Snapshot, reservation_id: str,
                 granted: Sequence[bookings.Booking], project_id: str | None,
                 first: int = 0) -> tuple[leases.NodeBooking, ...]:
    """Return the rows for granted bookings, which have no ids yet.

    :param first: the place of the first row in its reservation.
    """
    return tuple(
        leases.NodeBooking(0,
                           reservation_id,
                           first + place,
                           snapshot.host_set.uuids[booking.node],
                           instants.moment(booking.start),
                           instants.moment(booking.end),
                           project_id=project_id,
                           uuid=str(uuid_module.uuid4()))
        for place, booking in enumerate(granted))
