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

"""Tokens with which a calendar program reads the leases of a project."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
import datetime
import hashlib
import secrets

from ironic_reservations import errors
from ironic_reservations.engine import Engine
from ironic_reservations.engine import retry
from ironic_reservations.engine.leases import find
from ironic_reservations.features.calendar import token_rows as calendar_tokens
from ironic_reservations.model import leases

Holder = calendar_tokens.Holder

_BYTES = 32


def make(engine: Engine, user_id: str | None, project_id: str | None,
         roles: Collection[str], fingerprint: str | None) -> str:
    """Make a token of a user in a project; it replaces the previous token.

    Only a hash of it is stored, so it cannot be shown again.

    :param fingerprint: the fingerprint of the user's password; see
        :class:`Holder`.
    """
    token = secrets.token_urlsafe(_BYTES)
    retry.write(engine, lambda connection: calendar_tokens.write(
        connection, _digest(token), user_id, project_id, roles, fingerprint,
        engine.clock()), repeatable=True)
    return token


def show(engine: Engine, user_id: str | None, project_id: str | None,
         fingerprint: str | None) -> Holder | None:
    """Return the token of a user in a project, if there is one.

    :param fingerprint: the fingerprint of the user's password; a token that
        was made with another password does not count.
    """
    with engine.database.read() as connection:
        found = calendar_tokens.read(connection, user_id, project_id)
    return found if found and found.has(fingerprint) else None


def revoke(engine: Engine, user_id: str | None,
           project_id: str | None) -> None:
    """Delete the token of a user in a project, if there is one."""
    retry.write(engine, lambda connection: calendar_tokens.delete(
        connection, user_id, project_id), repeatable=True)


def holder(engine: Engine, token: str) -> Holder:
    """Return the user and the project of a token.

    The work is the same for valid and invalid tokens.  The caller has to check
    that the user still has the same password.

    :raises CalendarNotFound: there is no such token.
    """
    with engine.database.read() as connection:
        found = calendar_tokens.find(connection, _digest(token))
    if found is None:
        raise unknown()
    return found


def unknown() -> errors.CalendarNotFound:
    """Return the error for an invalid token, the same for each reason."""
    return errors.CalendarNotFound(
        'There is no calendar here: the address is not complete, its token '
        'has been revoked or replaced, or the password of its user has '
        'changed. Make a new address.')


def leases_of(engine: Engine,
              project_id: str | None) -> Iterator[leases.Lease]:
    """Yield the leases of a project, the oldest first.

    Leases that ended long ago are left out, as in lists.

    :param project_id: ``None``: all leases, if there are no projects.
    """
    limit = engine.conf.api.max_limit
    since = engine.clock() - datetime.timedelta(
        days=engine.conf.leases.listed)
    marker = None
    while True:
        page = find.page(engine, project_id, limit, marker, since)
        yield from page
        if len(page) < limit:
            return
        marker = page[-1].id


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode('utf-8', 'replace')).hexdigest()
