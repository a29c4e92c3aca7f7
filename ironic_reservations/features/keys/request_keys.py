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

"""A request that is sent twice with one key makes one resource.

The rules are the same for reservations, leases, maintenance windows and
changes of leases. The key is written in the transaction that makes the
resource, under a unique constraint, and belongs to a project. It is kept for a
day, also after the resource is deleted; the key of a lease is kept as long as
the lease exists. During that time, the same request returns its resource. If
the resource has ended, the request is refused, since it may be a copy that a
proxy has delayed. A different request with the key is refused. After that
time, the request is carried out like a new one.
"""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import earlier
from ironic_reservations.engine import Engine
from ironic_reservations.features.keys import rows as db_keys

#: The time for which a key is kept: longer than any proxy delays a request.
KEPT = datetime.timedelta(days=1)


@dataclasses.dataclass(frozen=True)
class _Kind:
    """The kind of resource that requests make.

    :ivar reused: the error for another request with the key.
    :ivar ended: the error for a copy that arrives after the end.
    :ivar made: a description of the made resource, where ``{}`` is its uuid.
    :ivar again: the advice on how to request it again.
    """

    reused: type[errors.ReservationError]
    ended: type[errors.ReservationError]
    made: str
    again: str


_LEASE = _Kind(
    errors.IdempotencyKeyReused, errors.IdempotencyKeyReused,
    'made the lease {}, which has been deleted since. No lease was made',
    'To make another lease, send the request with a new key.')
_KINDS = {
    'lease': _LEASE,
    'change': _LEASE,
    'reservation': _Kind(
        errors.ReservationKeyReused, errors.ReservationEnded,
        'made the reservation {}, which has ended since. Nothing was reserved',
        'To reserve a node again, send the request with a new '
        'Idempotency-Key, or without one and with a new uuid.'),
    'maintenance': _Kind(
        errors.MaintenanceKeyReused, errors.MaintenanceEnded,
        'booked the maintenance window {}, which has ended since. Nothing was '
        'booked',
        'To book the nodes again, send the request with a new '
        'Idempotency-Key.')}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Known(earlier.Earlier):
    """The record of a key when a request is planned.

    :ivar planned_at: the time at which it was read.
    :ivar made: the contents of the row of the key, if there is one.
    """

    key: earlier.Key
    planned_at: datetime.datetime
    made: db_keys.Made | None = None

    def ended(self) -> errors.ReservationError:
        """See the base class."""
        kind = _KINDS[self.key.kind]
        return kind.ended(
            f'This request {kind.made.format(self.ident)}: the same '
            'request is not carried out again within a day, since it may be a '
            f'copy that was delivered late. {kind.again}')

    def undone(self, connection: sa.Connection) -> bool:
        """See the base class."""
        return db_keys.read_undone(connection, self.row_id)

    def check_unserved(self, engine: Engine,
                       refusal: errors.ReservationError) -> None:
        """See the base class."""
        if self.ident is not None:
            return
        with engine.database.read() as connection:
            made = db_keys.read(connection, self.key.kind, self.key.key)
        if made != self.made:
            raise db_connection.Conflict(
                'a copy of the request has been served') from refusal


def read(connection: sa.Connection, key: earlier.Key,
         now: datetime.datetime) -> Known:
    """Read whether the same request has been carried out before.

    :raises ReservationError: another request with the key has been carried
        out.
    """
    made = db_keys.read(connection, key.kind, key.key)
    again = made if made is not None and made.kept(now) else None
    if again is not None and again.digest != key.digest:
        raise _KINDS[key.kind].reused(
            'The same Idempotency-Key was sent with a different request '
            'before. Send each request with its own key.')
    return Known(
        key=key, planned_at=now, made=made,
        ident=None if again is None else again.ident,
        row_id=0 if again is None else again.number,
        deleted=again is not None and again.until is not None)


def keep(connection: sa.Connection, known: Known, ident: str, number: int,
         now: datetime.datetime) -> None:
    """Keep the key of a request, in the transaction that makes a resource.

    :param ident: the uuid of the resource.
    :param number: the id of its row; 0 if it is not known.
    :raises Conflict: a copy of the request may have been served meanwhile.
    :raises oslo_db.exception.DBDuplicateEntry: a copy has been served.
    """
    # A process that was stopped for so long may miss a deleted key.
    if known.planned_at + KEPT <= now:
        raise db_connection.Conflict('it was planned days ago')
    key = known.key
    made = db_keys.Made.of(ident, number, key.digest, now + KEPT)
    if known.made is None:
        db_keys.insert(connection, key.kind, key.key, made)
    else:
        db_keys.replace(connection, key.kind, key.key, known.made, made)
