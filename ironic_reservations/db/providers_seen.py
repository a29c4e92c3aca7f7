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

import sqlalchemy as sa

from ironic_reservations.db import tables

_s = tables.providers_seen.c
#: How many rows one statement names.
_BATCH = 500


@dataclasses.dataclass(frozen=True)
class Seen:
    """How a provider was when nothing was wrong with it.

    :ivar expected: who was to have the node: the consumer of our hold, or
        the owner of a promise that its instance has taken up.
    """

    generation: int
    resource_class: str
    expected: str | None


def read(connection: sa.Connection) -> dict[str, Seen]:
    """Read how the providers of nodes were, by uuid."""
    return {row[0]: Seen(*row[1:]) for row in connection.execute(
        sa.select(_s.provider_uuid, _s.generation, _s.resource_class,
                  _s.expected))}


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
        connection.execute(sa.insert(tables.providers_seen), [
            {'provider_uuid': uuid, 'generation': one.generation,
             'resource_class': one.resource_class,
             'expected': one.expected, 'seen_at': now}
            for uuid, one in sorted(seen.items())])


def look_at(connection: sa.Connection, uuid: str,
            now: datetime.datetime) -> None:
    """Have the next audit look at a provider, whether or not one has.

    NOTE: of nodes that we know no more, it looks at those alone that are
    here; all others may be anybody's.
    """
    write(connection, {uuid: Seen(0, '', None)}, (), now)
