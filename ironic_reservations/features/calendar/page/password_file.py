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

"""Sessions of the users in a password file (http_basic).

The page has its own form, since the browser would send credentials from its
sign-in dialogue with every request to the host: also with requests that other
sites make, and to all of Ironic. The cookie contains the user and the end of
the session. It is signed with the user's hash in the file, so that each
process can verify it, and a new password ends the session.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
from typing import Any

import bcrypt
from oslo_log import log
from oslo_middleware import basic_auth
import webob.exc

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.api import identity
from ironic_reservations.api import wsgi
from ironic_reservations.features.calendar.page import attempts
from ironic_reservations.features.calendar.page import client_address
from ironic_reservations.features.calendar.page import credentials
from ironic_reservations.features.calendar.page import sessions

LOG = log.getLogger(__name__)

_PURPOSE = b'ironic-reservations: a session of the calendar'
_OF_TOKENS = b'ironic-reservations: a token of the calendar'
#: bcrypt ignores the rest of a password.
_BCRYPT_BYTES = 72


class PasswordFile:
    """Signs users in with the passwords in a file.

    :param path: the path of the file, which has Apache's format, with bcrypt.
    :param lifetime: the lifetime of a session, in seconds.
    """

    name = 'http_basic'

    def __init__(self, path: str, lifetime: int) -> None:
        self._path = path
        self._lifetime = lifetime
        self._attempts = attempts.Attempts()

    def begin(self) -> None:
        """Return no cookie: every user has to sign in."""

    def fingerprint(self, user_id: str | None) -> str | None:
        """Return a fingerprint of a user's present password.

        The fingerprint is stored, so it must not reveal the hash in the file,
        nor allow passwords to be tried.

        :returns: ``None``: the user is not in the file.
        :raises Unexpected: the file cannot be read.
        """
        entries = self._entries()
        hashed = None if user_id is None else entries.get(user_id)
        return None if hashed is None else hmac.new(
            hashed, _OF_TOKENS, hashlib.sha256).hexdigest()

    def sign_in(self, document: Any, environ: wsgi.Environ) -> str:
        """Check a user's password, and return the value of the cookie.

        :raises SignInRefused: the user or the password is wrong.
        """
        given = credentials.read(document, ('username', 'password'))
        user = given['username']
        with self._attempts.one(client_address.of(environ), user):
            entries = self._entries()
            known = entries.get(user)
            # A sign-in of an unknown user takes the same time.
            against = known or next(iter(entries.values()), None)
            if against is None or not _matches(
                    given['password'], against) or known is None:
                raise errors.SignInRefused()
        until = int(clock.utc_now().timestamp()) + self._lifetime
        return _signed(user, until, known)

    def authenticate(self, value: str | None,
                     environ: wsgi.Environ) -> sessions.Session:
        """Return the session of a cookie.

        :raises SessionEnded: the session has ended or is not genuine, or the
            user has a new password or is no longer in the file.
        """
        user, until = self._read(value)
        return sessions.Session(
            user={'id': user, 'name': user},
            expires_at=datetime.datetime.fromtimestamp(
                until, datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ'))

    def credentials(self, value: str | None) -> wsgi.Environ:
        """Return the user as already authenticated.

        The password is not included, since it is not stored.

        :raises SessionEnded: there is no session, or it has ended.
        """
        user, _ = self._read(value)
        return {identity.SIGNED_IN: {'HTTP_X_USER': user,
                                     'HTTP_X_USER_NAME': user}}

    def sign_out(self, value: str) -> None:
        """Do nothing: the session is only the cookie."""

    def _read(self, value: str | None) -> tuple[str, int]:
        name, _, rest = (value or '').partition('.')
        until, _, _ = rest.partition('.')
        try:
            user = base64.urlsafe_b64decode(name).decode()
            ends = int(until)
        except ValueError as exc:
            raise errors.SessionEnded() from exc
        known = self._entries().get(user)
        if known is None or not hmac.compare_digest(
                _signed(user, ends, known), str(value)):
            raise errors.SessionEnded()
        if ends <= clock.utc_now().timestamp():
            raise errors.SessionEnded()
        return user, ends

    def _entries(self) -> dict[str, bytes]:
        """Return the password hashes by user."""
        found: dict[str, bytes] = {}
        try:
            with open(self._path, encoding='utf-8') as file:
                for line in file:
                    if ':' in line:
                        user, hashed = basic_auth.parse_entry(line.strip())
                        found.setdefault(user, hashed)
        except (OSError, ValueError, webob.exc.HTTPException) as exc:
            LOG.error('The file of users, http_basic_auth_user_file, cannot '
                      'be read: %s', exc)
            raise errors.Unexpected(
                'The users of this service cannot be read. Tell the operator, '
                'who finds the reason in the log.') from exc
        return found


def _matches(password: str, hashed: bytes) -> bool:
    try:
        return bcrypt.checkpw(password.encode()[:_BCRYPT_BYTES], hashed)
    except ValueError:
        return False


def _signed(user: str, until: int, hashed: bytes) -> str:
    signed = f'{base64.urlsafe_b64encode(user.encode()).decode()}.{until}'
    key = hmac.new(hashed, _PURPOSE, hashlib.sha256).digest()
    signature = hmac.new(key, signed.encode(), hashlib.sha256).hexdigest()
    return f'{signed}.{signature}'
