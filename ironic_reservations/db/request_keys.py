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

"""Which request has made which resource, by the key that came with it.

Rows of ``claims``, so that a copy of a request that arrives late is
recognized although the resource is gone.  The keys of leases are in
:mod:`.lease_requests`.
"""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import row_counts
from ironic_reservations.db import tables

_c = tables.claims.c

#: How the names of those rows begin,
PREFIX = 'request '
#: and how long they may be.  At least 170 bits of a digest fit, which are
#: enough that no two are the same.
_NAME = 64
_UNDONE = f'{PREFIX}undone '


@dataclasses.dataclass(frozen=True)
class Made:
    """What a request has made.

    :ivar ident: the uuid of the resource.
    :ivar number: the id of its row, or 0; a uuid may be used again, and the id
        of a row never is.
    :ivar digest: of the request.
    :ivar until: how long this is kept.
    """

    ident: str
    number: int
    digest: str
    until: datetime.datetime

    @property
    def owner(self) -> str:
        """Return how it is written in a row of ``claims``."""
        return f'{self.ident} {self.number} {self.digest}'


def name_of(kind: str, key: str) -> str:
    """Return the name of the row for a key.

    :param kind: of the resource.
    :param key: a SHA-256 in hex.
    """
    return f'{PREFIX}{kind} {key}'[:_NAME]


def read(connection: sa.Connection, name: str) -> Made | None:
    """Read what a request has made, if it has made anything."""
    # SELECT owner, expires_at FROM claims WHERE name = ?
    row = connection.execute(sa.select(_c.owner, _c.expires_at).where(
        _c.name == name)).one_or_none()
    if row is None:
        return None
    ident, number, digest = row.owner.split(' ')
    return Made(ident, int(number), digest, row.expires_at)


def insert(connection: sa.Connection, name: str, made: Made) -> None:
    """Write what a request makes.

    :raises oslo_db.exception.DBDuplicateEntry: it has made something before.
    """
    connection.execute(sa.insert(tables.claims).values(
        name=name, owner=made.owner, expires_at=made.until))


def replace(connection: sa.Connection, name: str, read_before: Made,
            made: Made) -> None:
    """Write that a request makes something anew.

    :param read_before: what it had made, as it was read.
    :raises Conflict: that is no longer what it has made.
    """
    # UPDATE claims SET owner = ?, expires_at = ?
    #   WHERE name = ? AND owner = ? AND expires_at = ?
    row_counts.check(connection.execute(
        sa.update(tables.claims)
        .where(_c.name == name, _c.owner == read_before.owner,
               _c.expires_at == read_before.until)
        .values(owner=made.owner, expires_at=made.until)), 1,
        'the key of a request')


def insert_undone(connection: sa.Connection, number: int,
                  until: datetime.datetime) -> None:
    """Write that the reservation with this row id came to nothing."""
    connection.execute(sa.insert(tables.claims).values(
        name=f'{_UNDONE}{number}', owner='', expires_at=until))


def read_undone(connection: sa.Connection, number: int) -> bool:
    """Return whether the reservation with this row id came to nothing."""
    return connection.execute(sa.select(_c.name).where(
        _c.name == f'{_UNDONE}{number}')).one_or_none() is not None
