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

"""Rows of ``claims`` with the resource that a request made, by its key.

The rows are kept after the resource is gone, so that a late copy of the
request is recognized. As long as a lease exists, its own row has the key, too.
"""

from __future__ import annotations

import dataclasses
import datetime

import sqlalchemy as sa

from ironic_reservations.db import store
from ironic_reservations.db import tables

_c = tables.claims.c
_s = tables.leases.c

#: The kind of requests that make leases.
LEASE = 'lease'
_REQUEST = 'request '
#: The maximum length of the names. At least 170 bits of a digest fit, which
#: is enough to make each name unique.
_NAME = 64
_UNDONE = f'{_REQUEST}undone '


@dataclasses.dataclass(frozen=True)
class Made:
    """The resource that a request has made.

    :ivar owner: the column of ``claims``: :attr:`ident`, :attr:`number` and
        :attr:`digest`.
    :ivar until: the time until which the row is kept; ``None``: as long as the
        resource exists.
    """

    owner: str
    until: datetime.datetime | None

    @classmethod
    def of(cls, ident: str, number: int, digest: str,
           until: datetime.datetime) -> Made:
        """Return the entry for a new resource."""
        return cls(f'{ident} {number} {digest}', until)

    @property
    def ident(self) -> str:
        """The uuid of the resource."""
        return self._part(0)

    @property
    def number(self) -> int:
        """The id of its row, or 0.

        A uuid may be used again; the id of a row never is.
        """
        return int(self._part(1))

    @property
    def digest(self) -> str:
        """The digest of the request; empty if a uuid identifies it."""
        return self._part(2)

    def _part(self, place: int) -> str:
        return self.owner.split(' ')[place]

    def kept(self, now: datetime.datetime) -> bool:
        """Return whether the request is still recognized."""
        return self.until is None or self.until > now


_MADE = store.Rows(Made, tables.claims, 'the key of a request',
                   named={'until': 'expires_at'}, as_read=('owner', 'until'),
                   changing=('owner', 'until'),
                   where=(_c.name == sa.bindparam('of_name'),))
# SELECT owner, expires_at FROM claims WHERE name = ?
_KEPT = (sa.select(*_MADE.columns)
         .where(_c.name == sa.bindparam('name')))
# ... UNION ALL SELECT id || ' 0 ' || request_digest, NULL FROM leases
#   WHERE request_key = ?
_KEPT_OF_LEASE = sa.union_all(_KEPT, sa.select(
    _s.id + ' 0 ' + _s.request_digest, sa.null())
    .where(_s.request_key == sa.bindparam('key')))


def name_of(kind: str, key: str) -> str:
    """Return the name of the row for a key.

    :param kind: the kind of the request.
    :param key: a SHA-256 in hex.
    """
    return f'{_REQUEST}{kind} {key}'[:_NAME]


def read(connection: sa.Connection, kind: str, key: str) -> Made | None:
    """Return the resource that a request has made, if any.

    :param key: a SHA-256 in hex.
    """
    given = {'name': name_of(kind, key)}
    if kind == LEASE:
        given['key'] = key
    made = _MADE.all(connection.execute(
        _KEPT_OF_LEASE if kind == LEASE else _KEPT, given))
    return min(made, key=lambda each: each.until is not None, default=None)


def insert(connection: sa.Connection, kind: str, key: str,
           made: Made) -> None:
    """Write the resource that a request makes.

    :raises oslo_db.exception.DBDuplicateEntry: the key has an entry.
    """
    _MADE.insert(connection, [made], name=name_of(kind, key))


def replace(connection: sa.Connection, kind: str, key: str,
            read_before: Made, made: Made) -> None:
    """Write that a request makes a new resource.

    :param read_before: the previous resource, as it was read.
    :raises Conflict: the entry has changed since.
    """
    _MADE.update(connection, read_before, made, of_name=name_of(kind, key))


def insert_undone(connection: sa.Connection, number: int,
                  until: datetime.datetime) -> None:
    """Write that the reservation with this row id was dropped."""
    # INSERT INTO claims (name, owner, expires_at) VALUES (?, ?, ?)
    connection.execute(sa.insert(tables.claims).values(
        name=f'{_UNDONE}{number}', owner='', expires_at=until))


def read_undone(connection: sa.Connection, number: int) -> bool:
    """Return whether the reservation with this row id was dropped."""
    # SELECT name FROM claims WHERE name = ?
    return connection.execute(sa.select(_c.name).where(
        _c.name == f'{_UNDONE}{number}')).one_or_none() is not None
