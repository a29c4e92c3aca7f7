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

"""Rows of ``calendar_tokens``: the users whose leases a token shows.

Only a hash of each token is stored, so that a reader of the database gets no
access.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import datetime
import hashlib
import json

import sqlalchemy as sa

from ironic_reservations.db import tables

_c = tables.calendar_tokens.c


@dataclasses.dataclass(frozen=True)
class Holder:
    """The user who made a token.

    :ivar user_id: ``None`` if users are not distinguished.
    :ivar project_id: ``None`` if there are no projects.
    :ivar roles: the roles of the user in the project at that time.
    :ivar fingerprint: the fingerprint of the user's password at that time;
        empty if this service does not check passwords.
    """

    user_id: str | None
    project_id: str | None
    roles: frozenset[str]
    created_at: datetime.datetime
    fingerprint: str

    def has(self, fingerprint: str | None) -> bool:
        """Return whether the user's password is unchanged.

        :param fingerprint: the fingerprint of the present password; ``None``:
            the user does not exist.
        """
        return fingerprint == self.fingerprint


def find(connection: sa.Connection, digest: str) -> Holder | None:
    """Return the holder of a token, ``None`` if the token is unknown.

    :param digest: the hash of the token.
    """
    return _holder(connection, _c.digest == digest)


def read(connection: sa.Connection, user_id: str | None,
         project_id: str | None) -> Holder | None:
    """Return the holder of a user's token in a project, ``None`` without one.
    """
    return _holder(connection, _owned(user_id, project_id))


def write(connection: sa.Connection, digest: str, user_id: str | None,
          project_id: str | None, roles: Collection[str],
          fingerprint: str | None, now: datetime.datetime) -> None:
    """Write a token of a user in a project and delete the previous one.

    :raises oslo_db.exception.DBDuplicateEntry: another process is
        writing a token for the same user and project.
    """
    delete(connection, user_id, project_id)
    connection.execute(sa.insert(tables.calendar_tokens).values(
        digest=digest, owner=_owner(user_id, project_id),
        user_id=user_id or '', project_id=project_id or '',
        roles=json.dumps(sorted(roles)), created_at=now,
        fingerprint=fingerprint))


def delete(connection: sa.Connection, user_id: str | None,
           project_id: str | None) -> None:
    """Delete the token of a user in a project, if there is one."""
    # DELETE FROM calendar_tokens WHERE owner = ?
    connection.execute(sa.delete(tables.calendar_tokens).where(
        _owned(user_id, project_id)))


def _owned(user_id: str | None,
           project_id: str | None) -> sa.ColumnElement[bool]:
    return _c.owner == _owner(user_id, project_id)


def _owner(user_id: str | None, project_id: str | None) -> str:
    """Return a key that is unique for a user in a project."""
    return hashlib.sha256(json.dumps(
        [user_id or '', project_id or '']).encode()).hexdigest()


def _holder(connection: sa.Connection,
            condition: sa.ColumnElement[bool]) -> Holder | None:
    row = connection.execute(sa.select(
        _c.user_id, _c.project_id, _c.roles, _c.created_at,
        _c.fingerprint)
        .where(condition)).one_or_none()
    # SELECT user_id, project_id, roles, ... FROM calendar_tokens WHERE ...
    return None if row is None else Holder(
        row.user_id or None, row.project_id or None,
        frozenset(json.loads(row.roles)), row.created_at,
        row.fingerprint or '')
