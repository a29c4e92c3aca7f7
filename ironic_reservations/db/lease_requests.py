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

"""Which lease a request has made, by the key that came with it.

The lease has the key for as long as it is there.  So that it is known when
the lease is gone, a row of ``claims`` has it, too, for a while.
"""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables

_c = tables.claims.c
_s = tables.leases.c

#: How the names of those rows begin,
PREFIX = 'lease request '
#: and how long they may be.  What that leaves of a digest, 200 bits, is more
#: than enough that no two are the same.
_NAME = 64
# SELECT owner, NULL, expires_at FROM claims WHERE name = ?
#   UNION ALL SELECT id, request_digest, NULL FROM leases
#   WHERE request_key = ?
_MADE = sa.union_all(
    sa.select(_c.owner, sa.null().label('digest'), _c.expires_at)
    .where(_c.name == sa.bindparam('name')),
    sa.select(_s.id, _s.request_digest, sa.null())
    .where(_s.request_key == sa.bindparam('key')))


@dataclasses.dataclass(frozen=True)
class Made:
    """A lease that a request has made.

    :ivar digest: of the request; ``None``: the lease is gone.
    :ivar until: for how long it is known though the lease is gone.
    """

    lease_id: str
    digest: str | None = None
    until: datetime.datetime | None = None


def name_of(key: str) -> str:
    """Return the name of the row for a key, which is a SHA-256 in hex."""
    return f'{PREFIX}{key}'[:_NAME]


def read(connection: sa.Connection, key: str) -> Made | None:
    """Read what a request has made, if it has made anything."""
    made = [Made(*row) for row in connection.execute(
        _MADE, {'name': name_of(key), 'key': key})]
    # NOTE: a lease that is there tells more than that there was one.
    return min(made, key=lambda each: each.digest is None, default=None)


def insert(connection: sa.Connection, key: str, lease_id: str,
           until: datetime.datetime) -> None:
    """Write which lease a request makes.

    :raises oslo_db.exception.DBDuplicateEntry: it has made one before.
    """
    connection.execute(sa.insert(tables.claims).values(
        name=name_of(key), owner=lease_id, expires_at=until))
