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

"""Rows of ``providers_seen``: what an audit need not look at again.

A provider's generation grows with each write of allocations or inventories,
so that one which is as it was is in order still, but for a DELETE.
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
    """Providers of which kinds an audit looks at."""

    #: A node of Ironic.
    NODE = 'node'
    #: A compute host of Nova.
    COMPUTE_HOST = 'compute_host'
    #: The child of a host that offers the classes of leases.
    LEASE_PROVIDER = 'lease_provider'


#: By which names in "resource_class" the release before tells them apart;
#: there the others are classes of nodes.
_BEFORE = {Kind.NODE: '', Kind.COMPUTE_HOST: 'COMPUTE_HOST',
           Kind.LEASE_PROVIDER: 'CUSTOM_RESERVATION'}
_KINDS = {name: kind for kind, name in _BEFORE.items()}


@dataclasses.dataclass(frozen=True)
class Seen:
    """How a provider was when nothing was wrong with it.

    :ivar fingerprint: of all that it was compared with; ``None``: unknown.
    """

    generation: int
    kind: Kind
    fingerprint: str | None


def read(connection: sa.Connection) -> dict[str, Seen]:
    """Read how providers were, by uuid."""
    return {row.provider_uuid: Seen(row.generation, _kind(row),
                                    row.fingerprint)
            for row in connection.execute(sa.select(
                _s.provider_uuid, _s.generation, _s.kind, _s.fingerprint,
                _s.resource_class))}


def _kind(row: Any) -> Kind:
    # NOTE: the release before says it in another column.
    return (_KINDS.get(row.resource_class, Kind.NODE) if row.kind is None
            else Kind(row.kind))


def write(connection: sa.Connection, seen: Mapping[str, Seen],
          gone: Collection[str], now: datetime.datetime) -> None:
    """Write how some providers are.

    :param gone: of these there is nothing to say any more.
    """
    stale = sorted({*seen, *gone})
    for start in range(0, len(stale), _BATCH):
        connection.execute(sa.delete(tables.providers_seen).where(
            _s.provider_uuid.in_(stale[start:start + _BATCH])))
    if seen:
        # NOTE: no fingerprint of this release is one of the release before,
        # so that each looks again at what the other has found in order.
        connection.execute(sa.insert(tables.providers_seen), [
            {'provider_uuid': uuid, 'generation': one.generation,
             'kind': one.kind.value, 'fingerprint': one.fingerprint,
             'resource_class': _BEFORE[one.kind],
             'expected': one.fingerprint, 'seen_at': now}
            for uuid, one in sorted(seen.items())])


def look_at(connection: sa.Connection, uuid: str,
            now: datetime.datetime) -> None:
    """Have the next audit look at the provider of a node.

    NOTE: of nodes that we know no more, it looks at those alone that are
    here; all others may be anybody's.
    """
    write(connection, {uuid: Seen(0, Kind.NODE, None)}, (), now)
