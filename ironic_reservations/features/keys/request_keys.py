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

The same rules for reservations, leases, maintenance windows and changes of
leases. The key is written in the transaction that makes the resource, under a
unique constraint, and belongs to a project. It is kept for a day, also after
the resource is deleted; the key of a lease is kept as long as the lease
exists. During that time, the same request returns its resource. If the
resource has ended, the request is refused, since it may be a copy that a proxy
has delayed. A different request with the key is refused. After that time, the
request is carried out like a new one.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import hashlib
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import Engine
from ironic_reservations.features.keys import rows as db_keys

#: The time for which a key is kept: longer than any proxy delays a request.
KEPT = datetime.timedelta(days=1)


@dataclasses.dataclass(frozen=True)
class _Kind:
    """The kind of resource that requests make.

    :ivar reused: the error for another request with the key.
    :ivar ended: the error for a copy that arrives after the end.
    :ivar made: a text about the resource, where ``{}`` is the uuid.
    :ivar again: the advice for making it again.
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


@dataclasses.dataclass(frozen=True)
class Key:
    """The identity of a request.

    :ivar kind: ``reservation``, ``lease``, ``maintenance`` or ``change``.
    :ivar key: a SHA-256 in hex, of the project and the key of the client.
    :ivar digest: of the request; empty where different requests may have the
        same key.
    """

    kind: str
    key: str
    digest: str = ''


@dataclasses.dataclass(frozen=True)
class Known:
    """The record of a key when a request is planned.

    :ivar planned_at: the time at which it was read.
    :ivar made: the contents of the row of the key, if there is one.
    """

    key: Key
    planned_at: datetime.datetime
    made: db_keys.Made | None = None

    @property
    def again(self) -> db_keys.Made | None:
        """The resource of the same request, if the key is still valid."""
        made = self.made
        return made if made is not None and made.kept(self.planned_at) else (
            None)

    def ended(self) -> errors.ReservationError:
        """Return the refusal of a copy of a request whose result has ended."""
        assert self.made is not None
        kind = _KINDS[self.key.kind]
        return kind.ended(
            f'This request {kind.made.format(self.made.ident)}: the same '
            'request is not carried out again within a day, since it may be a '
            f'copy that was delivered late. {kind.again}')


def of_request(kind: str, project_id: str | None, key: str,
               asked: object | Mapping[str, Any]) -> Key:
    """Return the identity that a client has given to its request.

    :param kind: of the resource.
    :param key: the key that the client has sent.
    :param asked: the request: a dataclass, or the body of the client.
    """
    # Unset fields are left out, so digests survive new fields of a later
    # release.
    fields: Mapping[str, Any] = asked if isinstance(asked, Mapping) else {
        name: value for name, value in vars(asked).items() if value}
    return Key(kind, sha256([project_id, 'key', key]), sha256(fields))


def of_uuid(kind: str, project_id: str | None, uuid: str) -> Key:
    """Return the identity of a request by the uuid that its client chose."""
    return Key(kind, sha256([project_id, 'uuid', uuid]))


def sha256(value: Any) -> str:
    """Return the digest of a value that can be written as JSON."""
    return hashlib.sha256(json.dumps(
        value, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return (sorted(value) if isinstance(value, Collection) else str(value))


def read(connection: sa.Connection, key: Key,
         now: datetime.datetime) -> Known:
    """Read whether the same request has been carried out before.

    Call it before all other reads of the request: :func:`keep` finds a copy
    that is carried out later.

    :raises IdempotencyKeyReused: another request with the key has, for a
        lease; for others, :class:`errors.ReservationKeyReused` or
        :class:`errors.MaintenanceKeyReused`.
    """
    known = Known(key, now, db_keys.read(connection, key.kind, key.key))
    if known.again is not None and known.again.digest != key.digest:
        raise _KINDS[key.kind].reused(
            'The same Idempotency-Key was sent with a different request '
            'before. Send each request with its own key.')
    return known


def keep(connection: sa.Connection, known: Known, ident: str, number: int,
         now: datetime.datetime) -> None:
    """Keep the key of a request, in the transaction that makes a resource.

    :param ident: the uuid of the resource.
    :param number: the id of its row, or 0.
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


def check_unserved(engine: Engine, known: Known | None,
                   refusal: errors.ReservationError) -> None:
    """Check that no copy of a refused request was served meanwhile.

    The refusal may be due to the resource of the copy.

    :param known: the record of the key, read before anything else.
    :raises Conflict: a copy was served, so this request has to be planned
        again.
    """
    if known is None or known.again is not None:
        return
    with engine.database.read() as connection:
        made = db_keys.read(connection, known.key.kind, known.key.key)
    if made != known.made:
        raise db_connection.Conflict(
            'a copy of the request has been served') from refusal
