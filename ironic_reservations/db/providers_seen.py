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

A provider's generation grows with each write of allocations or inventories, so
that an unchanged provider is still in order, unless allocations were deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import datetime
import enum
from typing import Any

import sqlalchemy as sa

from ironic_reservations.db import tables

_s = tables.providers_seen.c
#: How many rows one statement names.
_BATCH = 500


class Kind(enum.StrEnum):
    """The kinds of providers that an audit checks."""

    #: A node of Ironic.
    NODE = 'node'
    #: A compute host of Nova.
    COMPUTE_HOST = 'compute_host'
    #: The child of a host that offers the classes of leases.
    LEASE_PROVIDER = 'lease_provider'


#: The values of "resource_class" by which the previous release distinguishes
#: them; its other values are classes of nodes.
_BEFORE = {Kind.NODE: '', Kind.COMPUTE_HOST: 'COMPUTE_HOST',
           Kind.LEASE_PROVIDER: 'CUSTOM_RESERVATION'}
_KINDS = {name: kind for kind, name in _BEFORE.items()}


@dataclasses.dataclass(frozen=True)
class Seen:
    """The state of a provider when an audit found it in order.

    :ivar fingerprint: of everything that it was compared with; ``None``:
        unknown.
    """

    generation: int
    kind: Kind
    fingerprint: str | None


def read(connection: sa.Connection) -> dict[str, Seen]:
    """Return the states of providers, by uuid."""
    return {row.provider_uuid: Seen(row.generation, _kind(row),
                                    row.fingerprint)
            for row in connection.execute(sa.select(
                _s.provider_uuid, _s.generation, _s.kind, _s.fingerprint,
                _s.resource_class))}


def _kind(row: Any) -> Kind:
    # NOTE: the previous release writes it to another column.
    return (_KINDS.get(row.resource_class, Kind.NODE) if row.kind is None
            else Kind(row.kind))


def write(connection: sa.Connection, seen: Mapping[str, Seen],
          gone: Collection[str], now: datetime.datetime) -> None:
    """Write the states of providers.

    :param gone: providers whose rows are to be deleted.
    """
    stale = sorted({*seen, *gone})
    for start in range(0, len(stale), _BATCH):
        connection.execute(sa.delete(tables.providers_seen).where(
            _s.provider_uuid.in_(stale[start:start + _BATCH])))
    if seen:
        # NOTE: the fingerprints of two releases never match, so that each
        # checks again what the other one has found in order.
        connection.execute(sa.insert(tables.providers_seen), [
            {'provider_uuid': uuid, 'generation': one.generation,
             'kind': one.kind.value, 'fingerprint': one.fingerprint,
             'resource_class': _BEFORE[one.kind],
             'expected': one.fingerprint, 'seen_at': now}
            for uuid, one in sorted(seen.items())])


def look_at(connection: sa.Connection, uuid: str,
            now: datetime.datetime) -> None:
    """Have the next audit check the provider of a node.

    NOTE: of nodes that are not mirrored any more, an audit checks only those
    with a row here; all others may belong to anybody.
    """
    write(connection, {uuid: Seen(0, Kind.NODE, None)}, (), now)
