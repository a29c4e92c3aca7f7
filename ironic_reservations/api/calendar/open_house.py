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

"""Sessions where nobody is authenticated (noauth)."""

from __future__ import annotations

import secrets
from typing import Any

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.api.calendar import sessions


class OpenHouse:
    """Everybody is in; the cookie is there for the CSRF token alone."""

    name = 'noauth'

    def begin(self) -> str:
        """Return a cookie's value."""
        return secrets.token_urlsafe(32)

    def fingerprint(self, user_id: str | None) -> str:
        """Return that everybody is known, and that nobody is told apart."""
        return ''

    def sign_in(self, document: Any, environ: wsgi.Environ) -> str:
        """Refuse, since there is nothing to sign in to.

        :raises InvalidValue: always.
        """
        raise errors.InvalidValue(
            'This service has no authentication (auth_strategy is noauth), so '
            'there is no sign-in. Use it without one.')

    def look(self, value: str | None,
             environ: wsgi.Environ) -> sessions.Session:
        """Return a session of nobody in particular."""
        return sessions.Session()

    def credentials(self, value: str | None) -> wsgi.Environ:
        """Return nothing, which is all that the API asks for."""
        return {}

    def sign_out(self, value: str) -> None:
        """Do nothing: the session is its cookie."""
