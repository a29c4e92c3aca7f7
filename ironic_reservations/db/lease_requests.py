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

"""Finds the lease that was made with an idempotency key.

The lease has the key as long as it exists. A row of ``claims`` keeps it for a
while after that.
"""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import tables

_c = tables.claims.c
_s = tables.leases.c

#: The prefix of the names of these rows,
PREFIX = 'lease request '
#: and their maximum length. 200 bits of the digest fit into it, enough to be
#: unique.
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
    :ivar until: until when the key is remembered although the lease is gone.
    """

    lease_id: str
    digest: str | None = None
    until: datetime.datetime | None = None


def name_of(key: str) -> str:
    """Return the name of the row for a key, which is a SHA-256 in hex."""
    return f'{PREFIX}{key}'[:_NAME]


def read(connection: sa.Connection, key: str) -> Made | None:
    """Return the lease that was made with a key, ``None`` without one."""
    made = [Made(*row) for row in connection.execute(
        _MADE, {'name': name_of(key), 'key': key})]
    # NOTE: the row of the lease, if there is one, has the digest, too.
    return min(made, key=lambda each: each.digest is None, default=None)


def insert(connection: sa.Connection, key: str, lease_id: str,
           until: datetime.datetime) -> None:
    """Write which lease is made with a key.

    :raises oslo_db.exception.DBDuplicateEntry: the key was used before.
    """
    connection.execute(sa.insert(tables.claims).values(
        name=name_of(key), owner=lease_id, expires_at=until))
