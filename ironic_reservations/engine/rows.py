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

"""Write the differences between two states of leases and reservations."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import bookings as db_bookings
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import leases as db_leases
from ironic_reservations.db import reservations as db_reservations
from ironic_reservations.engine import earlier
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation

#: A reservation as it was read, and as it will be.
ReservationPair = tuple[node_reservation.Reservation | None,
                        node_reservation.Reservation | None]
_ENDING = leases.BookingState.ENDING


def write_reservations(connection: sa.Connection,
                       pairs: Sequence[ReservationPair],
                       now: datetime.datetime) -> dict[str, int]:
    """Write the differences between two states of reservations.

    The generations of their nodes have been raised before, except for void
    reservations, which give no right to a node.

    :param pairs: ``None`` before: it is made; ``None`` after: it is deleted.
    :returns: the ids of the inserted rows, by uuid.
    :raises Conflict: one of the reservations has changed since.
    :raises oslo_db.exception.DBDuplicateEntry: a new reservation has the uuid,
        the node or the instance of another one.
    """
    gone = [before for before, after in pairs
            if before is not None and after is None]
    void = [row for row in gone if not row.live(now)]
    if void and db_reservations.delete_void(
            connection, void, now) != len(void):
        raise db_connection.Conflict('a reservation has changed meanwhile')
    for row in gone:
        if row.live(now):
            db_reservations.delete(connection, row)
    ids = {}
    for before, after in pairs:
        if after is None:
            continue
        if before is None:
            made = db_reservations.insert(connection, after)
            assert made.id is not None
            ids[made.uuid] = made.id
        else:
            db_reservations.update(connection, before, after, now)
    return ids


def write_lease(connection: sa.Connection, before: leases.Lease | None,
                after: leases.Lease | None, now: datetime.datetime,
                due_at: datetime.datetime | None,
                given: Sequence[object]) -> int | None:
    """Write the differences between two states of a lease.

    The generations of all nodes whose bookings differ have been raised before.

    :param before: the lease as it was read; ``None``: it is made.
    :param after: the lease as it will be; ``None``: it is deleted.
    :param due_at: the time at which the reconciler has to work on it next.
    :param given: values that came with the request.
    :returns: the new generation of the lease; ``None`` if its row is not
        updated.
    :raises Conflict: the lease or one of its bookings has changed since.
    """
    if before is None:
        if after is not None:
            _insert(connection, after, now, due_at, given)
        return None
    _write_bookings(connection, before, () if after is None
                    else after.bookings, now)
    if after is not None and _without_bookings(after) == (
            _without_bookings(before)):
        return None
    generation = (db_leases.delete_many(connection, [before])
                  if after is None else
                  db_leases.update(connection, before, after, due_at))
    if not generation:
        raise db_connection.Conflict('the lease has changed meanwhile')
    return generation


def _without_bookings(lease: leases.Lease) -> leases.Lease:
    return dataclasses.replace(lease, reservations=tuple(
        dataclasses.replace(each, bookings=()) for each in lease.reservations))


def _insert(connection: sa.Connection, lease: leases.Lease,
            now: datetime.datetime, due_at: datetime.datetime | None,
            given: Sequence[object]) -> None:
    key = next((each.key for each in given
                if isinstance(each, earlier.Earlier)), None)
    db_leases.insert(connection, lease, due_at or lease.start,
                     *(None, None) if key is None else (key.key, key.digest))
    db_bookings.insert_many(connection, lease.bookings, lease.user_id, now)


def _write_bookings(connection: sa.Connection, before: leases.Lease,
                    bookings: Sequence[leases.NodeBooking],
                    now: datetime.datetime) -> None:
    old = {row.uuid: row for row in before.bookings}
    new = {row.uuid: row for row in bookings}
    gone = [row for row in before.bookings if row.uuid not in new]
    db_bookings.delete_planned(connection,
                               [row for row in gone if not row.begun])
    db_bookings.delete(connection, [row for row in gone if row.begun])
    staying = [(row, new[row.uuid]) for row in before.bookings
               if row.uuid in new and new[row.uuid] != row]
    db_bookings.update_lessees(connection, {
        row: (after.lessee, after.lessee_before) for row, after in staying
        if (row.lessee, row.lessee_before) != (after.lessee,
                                               after.lessee_before)})
    extended: dict[datetime.datetime, list[leases.NodeBooking]] = {}
    changed: dict[leases.BookingState, list[leases.NodeBooking]] = {}
    ended: list[leases.NodeBooking] = []
    for row, after in staying:
        if after.state is _ENDING:
            if row.state is not _ENDING:
                ended.append(row)
        elif after.state is not row.state:
            changed.setdefault(after.state, []).append(row)
        elif after.ends_at != row.ends_at:
            extended.setdefault(after.ends_at, []).append(row)
    for ends_at, rows in extended.items():
        db_bookings.update_end(connection, rows, ends_at, now)
    for state, rows in changed.items():
        db_bookings.update_state(connection, rows, state, now)
    db_bookings.end(connection, ended, now)
    db_bookings.insert_many(connection, [
        row for row in bookings if row.uuid not in old], before.user_id, now)
