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

"""Sessions of the calendar page, with a strategy for each way to sign in.

A session is stored only in the cookie of the browser: any process can verify
it, and no process stores it.
"""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Protocol

from ironic_reservations.api import wsgi


@dataclasses.dataclass(frozen=True)
class Session:
    """The session of a user.

    :ivar user: the user, with "id", "name" and, if there are domains,
        "domain".
    :ivar project: the project, with "id", "name" and "domain"; ``None``
        without projects.
    :ivar expires_at: ISO 8601, in UTC.
    """

    user: dict[str, Any] | None = None
    project: dict[str, Any] | None = None
    expires_at: str | None = None


class Strategy(Protocol):
    """The ways in which users sign in."""

    #: The value of ``auth_strategy`` that selects the strategy.
    name: str

    def begin(self) -> str | None:
        """Return a cookie for users that need not sign in, else ``None``."""

    def fingerprint(self, user_id: str | None) -> str | None:
        """Return a text that changes with a user's password.

        :param user_id: ``None``: no particular user.
        :returns: empty where this service does not check passwords; ``None``:
            there is no such user.
        """

    def sign_in(self, document: Any, environ: wsgi.Environ) -> str:
        """Check a user's credentials, and return the value of the cookie.

        :raises ReservationError: the credentials are refused, or cannot be
            checked.
        """

    def authenticate(self, value: str | None,
                     environ: wsgi.Environ) -> Session:
        """Return the session of a cookie.

        :raises SessionEnded: there is no session, or it has ended.
        """

    def credentials(self, value: str | None) -> wsgi.Environ:
        """Return the entries of the environ that authenticate a user.

        :raises SessionEnded: there is no session, or it has ended.
        """

    def sign_out(self, value: str) -> None:
        """End a session; the caller removes the cookie."""
