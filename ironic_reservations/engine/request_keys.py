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

The resource may have ended before a copy of the request arrives that a proxy
held back, so the key is kept for a while, whatever becomes of the resource.
The keys of leases are kept by
:mod:`ironic_reservations.engine.leases.idempotency`.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import datetime
import hashlib
import json
from typing import Any

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.db import request_keys as db_keys
from ironic_reservations.engine import Engine

#: How long a key is kept: longer than anything holds back a request.
KEPT = datetime.timedelta(days=1)


@dataclasses.dataclass(frozen=True)
class Key:
    """The identity of a request.

    :ivar name: of the row that keeps it.
    :ivar digest: of the request; empty where different requests may have the
        same key.
    """

    name: str
    digest: str = ''

    def is_of(self, made: db_keys.Made) -> bool:
        """Return whether the same request has made a resource."""
        return self.digest == made.digest


@dataclasses.dataclass(frozen=True)
class Known:
    """What is known of a key when a request is planned.

    :ivar planned_at: when it was read.
    :ivar made: what the row of the key says, if there is one.
    :ivar stands: whether the resource existed then.
    """

    key: Key
    planned_at: datetime.datetime
    made: db_keys.Made | None = None
    stands: bool = False


def of_request(kind: str, project_id: str | None, key: str,
               asked: object | Mapping[str, Any]) -> Key:
    """Return the identity that a client has given to its request.

    :param kind: of the resource.
    :param key: what the client has sent.
    :param asked: the request: a dataclass, or as a client has sent it.
    """
    # NOTE: what is not asked for is left out, so that the digests of a request
    # stay the same when a later release can be asked for more.
    fields: Mapping[str, Any] = asked if isinstance(asked, Mapping) else {
        name: value for name, value in vars(asked).items() if value}
    return Key(_name(kind, project_id, 'key', key), _sha256(fields))


def of_uuid(kind: str, project_id: str | None, uuid: str) -> Key:
    """Return the identity of a request by the uuid that its client chose."""
    return Key(_name(kind, project_id, 'uuid', uuid))


def _name(kind: str, *parts: str | None) -> str:
    return db_keys.name_of(kind, _sha256(parts))


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(
        value, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return (sorted(value) if isinstance(value, Collection) else str(value))


def keep(connection: sa.Connection, known: Known, ident: str, number: int,
         now: datetime.datetime) -> None:
    """Keep the key of a request, in the transaction that makes a resource.

    :param ident: the uuid of the resource.
    :param number: the id of its row, or 0.
    :raises Conflict: a copy of the request may have been served meanwhile.
    :raises oslo_db.exception.DBDuplicateEntry: one has been.
    """
    # NOTE: a process that was stopped for so long would not find the key that
    # another one has kept.
    if known.planned_at + KEPT <= now:
        raise db_connection.Conflict('it was planned days ago')
    if known.stands:
        raise db_connection.Conflict('what the request had made has ended')
    made = db_keys.Made(ident, number, known.key.digest, now + KEPT)
    if known.made is None:
        db_keys.insert(connection, known.key.name, made)
    else:
        db_keys.replace(connection, known.key.name, known.made, made)


@contextlib.contextmanager
def refused_if_unserved(engine: Engine, known: Known | None
                        ) -> Iterator[None]:
    """Let a refusal pass only if no copy of the request was served meanwhile.

    NOTE: what the copy has got is in the way of this request.

    :param known: what was known of the key before anything else was read.
    :raises Conflict: a copy was served, so this request has to look again.
    """
    try:
        yield
    except errors.DatabaseUnavailable:
        raise
    except errors.ReservationError as exc:
        if known is not None and not known.stands:
            with engine.database.read() as connection:
                made = db_keys.read(connection, known.key.name)
            if made != known.made:
                raise db_connection.Conflict(
                    'a copy of the request has been served') from exc
        raise
