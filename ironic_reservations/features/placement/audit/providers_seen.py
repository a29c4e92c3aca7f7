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

"""Rows of ``providers_seen``: providers that an audit need not check again.

A provider's generation grows with each write of allocations or inventories.
An unchanged provider is therefore still in order, unless allocations were
deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import enum
import uuid as uuid_module

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables

_s = tables.providers_seen.c
_NAMESPACE = uuid_module.UUID('7c0f5f1e-5a63-4b0c-8d7c-5f6a1f0b9d34')


class Kind(enum.StrEnum):
    """The kinds of providers that an audit checks."""

    #: A node of Ironic.
    NODE = 'node'
    #: A compute host of Nova.
    COMPUTE_HOST = 'compute_host'
    #: The child of a host that offers the classes of leases.
    LEASE_PROVIDER = 'lease_provider'


@dataclasses.dataclass(frozen=True)
class Seen:
    """The state of a provider when an audit found it in order.

    :ivar fingerprint: a fingerprint of all values that it was compared with;
        ``None``: unknown.
    """

    generation: int
    kind: Kind
    fingerprint: str | None

    @classmethod
    def of(cls, generation: int, kind: Kind, compared: object) -> Seen:
        """Return the state of a provider that is in order.

        :param compared: all values that it was compared with.
        """
        return cls(generation, kind,
                   str(uuid_module.uuid5(_NAMESPACE, repr(compared))))


_SEEN = store.Rows(Seen, tables.providers_seen, 'a provider')


def read(connection: sa.Connection) -> dict[str, Seen]:
    """Return the states of providers, by uuid."""
    # SELECT provider_uuid, generation, kind, fingerprint FROM providers_seen
    rows = connection.execute(sa.select(_s.provider_uuid, *_SEEN.columns))
    made = _SEEN.reader(rows)
    return {row.provider_uuid: made(row) for row in rows}


def write(connection: sa.Connection, seen: Mapping[str, Seen],
          gone: Collection[str], now: datetime.datetime) -> None:
    """Write the states of providers.

    :param gone: providers whose rows are to be deleted.
    """
    # DELETE FROM providers_seen WHERE provider_uuid IN (...)
    # INSERT INTO providers_seen (...) VALUES (...), ...
    for piece in store.pieces({*seen, *gone}):
        connection.execute(sa.delete(tables.providers_seen).where(
            _s.provider_uuid.in_(piece)))
    if seen:
        connection.execute(_SEEN.inserting, [
            {**_SEEN.values(one), 'provider_uuid': uuid, 'seen_at': now}
            for uuid, one in sorted(seen.items())])


def look_at(connection: sa.Connection, uuid: str,
            now: datetime.datetime) -> None:
    """Make the next audit check the provider of a node.

    If a node is not mirrored any more, an audit checks its provider only if it
    has a row here; other providers may belong to another service.
    """
    write(connection, {uuid: Seen(0, Kind.NODE, None)}, (), now)
