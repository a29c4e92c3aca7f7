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

"""Chooses how users of the calendar sign in, as for callers of the API."""

from __future__ import annotations

import secrets
from typing import Any

from ironic_reservations import errors
from ironic_reservations.api import pages
from ironic_reservations.api import wsgi
from ironic_reservations.clouds import keystone
from ironic_reservations.features.calendar.page import password_file
from ironic_reservations.features.calendar.page import sessions
from ironic_reservations.features.calendar.page import tokens


class NoAuth:
    """Sessions without a sign-in; the cookie is only for the CSRF token."""

    name = 'noauth'

    def begin(self) -> str:
        """Return a random value for the cookie."""
        return secrets.token_urlsafe(32)

    def fingerprint(self, user_id: str | None) -> str:
        """Return an empty fingerprint: there are no passwords."""
        return ''

    def sign_in(self, document: Any, environ: wsgi.Environ) -> str:
        """Refuse, since there is no authentication.

        :raises InvalidValue: always.
        """
        raise errors.InvalidValue(
            'This service has no authentication (auth_strategy is noauth), so '
            'there is no sign-in. Open the page of the calendar directly.')

    def authenticate(self, value: str | None,
                     environ: wsgi.Environ) -> sessions.Session:
        """Return an anonymous session."""
        return sessions.Session()

    def credentials(self, value: str | None) -> wsgi.Environ:
        """Return no credentials, since the API needs none."""
        return {}

    def sign_out(self, value: str) -> None:
        """Do nothing: the session is only the cookie."""


def make(sign_in: pages.SignIn) -> sessions.Strategy:
    """Return the strategy."""
    if sign_in.auth_strategy == 'http_basic':
        return password_file.PasswordFile(
            sign_in.settings.http_basic_auth_user_file,
            sign_in.conf.api.calendar_session_time)
    if sign_in.auth_strategy == 'keystone':
        assert sign_in.identify is not None
        return tokens.Tokens(
            keystone.Keystone(sign_in.settings, sign_in.conf),
            sign_in.identify)
    return NoAuth()
