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

"""Sessions of Keystone's users: the cookie contains the token (keystone)."""

from __future__ import annotations

import collections
import hashlib
import threading
from typing import Any

from ironic_reservations import errors
from ironic_reservations.api import pages
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import keystone
from ironic_reservations.features.calendar.page import attempts
from ironic_reservations.features.calendar.page import client_address
from ironic_reservations.features.calendar.page import cookies
from ironic_reservations.features.calendar.page import credentials
from ironic_reservations.features.calendar.page import sessions

#: The maximum number of ended tokens that are remembered.
_REMEMBERED = 10000
_TOKEN = 'HTTP_X_AUTH_TOKEN'  # noqa: S105 - the header's name
_INFO = 'keystone.token_info'
_BY_PASSWORD = ('username', 'password', 'project')
_DOMAINS = ('user_domain', 'project_domain')
_DEFAULT_DOMAIN = 'Default'
_BY_CREDENTIAL = ('application_credential_id',
                  'application_credential_secret')


class Tokens:
    """Gets tokens from Keystone, and has them validated as the API does."""

    name = 'keystone'

    def __init__(self, cloud: keystone.Keystone,
                 identify: pages.Identify) -> None:
        self._keystone = cloud
        self._identify = identify
        self._attempts = attempts.Attempts()
        self._ended = _Ended()

    def begin(self) -> None:
        """Return no cookie: every user has to sign in."""

    def fingerprint(self, user_id: str | None) -> str | None:
        """Return an empty fingerprint: Keystone checks passwords."""
        return None if user_id is None else ''

    def sign_in(self, document: Any, environ: wsgi.Environ) -> str:
        """Return a token for the credentials of a user.

        :raises SignInRefused: Keystone refuses them.
        """
        address = client_address.of(environ)
        if isinstance(document, dict) and _BY_CREDENTIAL[0] in document:
            given = credentials.read(document, _BY_CREDENTIAL)
            ident, secret = (given[name] for name in _BY_CREDENTIAL)
            with self._attempts.one(address, ident):
                token = self._keystone.sign_in_with_application_credential(
                    ident, secret)
        else:
            given = credentials.read(document, _BY_PASSWORD, _DOMAINS)
            domain = given.get('user_domain', _DEFAULT_DOMAIN)
            user = given['username']
            with self._attempts.one(address, f'{domain}\0{user}'):
                token = self._keystone.sign_in_with_password(
                    user, domain, given['password'], given['project'],
                    given.get('project_domain', domain))
        if not cookies.fits(token):
            raise errors.KeystoneUnavailable(
                f'A token of this Keystone, with {len(token)} characters, is '
                'too long for a cookie, or has characters that a cookie '
                'cannot have. The operator should configure Fernet tokens in '
                'Keystone.')
        return token

    def authenticate(self, value: str | None,
                     environ: wsgi.Environ) -> sessions.Session:
        """Return the session of a token.

        :raises SessionEnded: the token is not valid, or no longer valid.
        """
        shown = {**environ, **self.credentials(value),
                 'REQUEST_METHOD': 'GET', 'QUERY_STRING': ''}
        found = self._identify(shown)
        if isinstance(found, wsgi.Answer):
            if found.status == 401:
                raise errors.SessionEnded()
            raise errors.KeystoneUnavailable()
        token = (found.get(_INFO) or {}).get('token') or {}
        return sessions.Session(
            user=_named(token.get('user')),
            project=_named(token.get('project')),
            expires_at=token.get('expires_at'))

    def credentials(self, value: str | None) -> wsgi.Environ:
        """Return the header with the token.

        :raises SessionEnded: there is no token, or it was ended here.
        """
        if value is None or value in self._ended:
            raise errors.SessionEnded()
        return {_TOKEN: value}

    def sign_out(self, value: str) -> None:
        """Have Keystone revoke the token."""
        self._ended.add(value)
        self._keystone.revoke(value)


class _Ended:
    """The tokens of users who have signed out in this process.

    NOTE: keystonemiddleware caches for minutes that a token is valid, even if
    Keystone has revoked it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._digests: collections.OrderedDict[bytes, None] = (
            collections.OrderedDict())

    def add(self, token: str) -> None:
        """Remember a token, and forget the oldest if there are too many."""
        with self._lock:
            self._digests[_digest(token)] = None
            while len(self._digests) > _REMEMBERED:
                self._digests.popitem(last=False)

    def __contains__(self, token: str) -> bool:
        with self._lock:
            return _digest(token) in self._digests


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _named(one: dict[str, Any] | None) -> dict[str, Any] | None:
    return one and {'id': one.get('id'), 'name': one.get('name'),
                    'domain': (one.get('domain') or {}).get('name')}
