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

"""Requests that are sent twice: their identity, and the earlier result.

A client identifies a request by a key, or by the uuid that it chooses for a
reservation.  A feature may have stored the result of an earlier copy.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import hashlib
import json
from typing import Any
from typing import TYPE_CHECKING

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.engine import feature

if TYPE_CHECKING:
    from ironic_reservations.engine import Engine


@dataclasses.dataclass(frozen=True)
class Key:
    """The identity of a request.

    :ivar kind: ``reservation``, ``lease``, ``maintenance`` or ``change``.
    :ivar key: a SHA-256 in hex, of the project and the key of the client.
    :ivar digest: a digest of the request; empty if different requests may have
        the same key.
    """

    kind: str
    key: str
    digest: str = ''


@dataclasses.dataclass(frozen=True)
class Earlier:
    """The known results of earlier copies of a request when it is planned.

    :ivar key: the identity of the request, if a feature keeps it.
    :ivar ident: the uuid of the resource that the same request has made.
    :ivar row_id: the id of its row; 0 if it is not known.
    :ivar deleted: whether the resource is a lease that has been deleted since.
    """

    key: Key | None = None
    ident: str | None = None
    row_id: int = 0
    deleted: bool = False

    def ended(self) -> errors.ReservationError:
        """Return the refusal of a copy of a request whose result has ended."""
        raise NotImplementedError

    def undone(self, connection: sa.Connection) -> bool:
        """Return whether its reservation was undone before it was answered."""
        return False

    def check_unserved(self, engine: Engine,
                       refusal: errors.ReservationError) -> None:
        """Check that no copy of a refused request was served meanwhile.

        The refusal may be due to the resource of the copy.

        :raises Conflict: a copy was served, so this request has to be planned
            again.
        """


def read(engine: Engine, connection: sa.Connection, key: Key,
         now: datetime.datetime) -> Earlier:
    """Read whether the same request has been carried out before.

    Call it before all other reads of the request: a copy that is carried out
    later is found when the key is kept.

    :raises IdempotencyKeyReused: another request for a lease had the key; for
        other requests, :class:`errors.ReservationKeyReused` or
        :class:`errors.MaintenanceKeyReused`.
    """
    return feature.first(each.earlier(connection, key, now)
                         for each in engine.hooks['earlier']) or Earlier()


def of_request(kind: str, project_id: str | None, key: str,
               asked: object | Mapping[str, Any],
               computed: Collection[str] = ()) -> Key:
    """Return the identity that a client has given to its request.

    :param kind: the kind of the resource.
    :param key: the key that the client has sent.
    :param asked: the request: a dataclass, or the body of the client.
    :param computed: the fields that differ between copies of the request.
    """
    fields: Mapping[str, Any] = asked if isinstance(asked, Mapping) else {
        name: value for name, value in _given(asked).items()
        if name not in computed}
    return Key(kind, sha256([project_id, 'key', key]), sha256(fields))


def of_uuid(kind: str, project_id: str | None, uuid: str) -> Key:
    """Return the identity of a request by the uuid that its client chose."""
    return Key(kind, sha256([project_id, 'uuid', uuid]))


def sha256(value: Any) -> str:
    """Return the digest of a value that can be written as JSON."""
    return hashlib.sha256(json.dumps(
        value, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return _given(value)
    return sorted(value) if isinstance(value, Collection) else str(value)


def _given(asked: Any) -> dict[str, Any]:
    # Digests survive the fields that a later release adds.
    return {field.name: value for field in dataclasses.fields(asked)
            if (value := getattr(asked, field.name)) != field.default}
