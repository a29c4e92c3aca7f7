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

"""Sessions of the calendar's page, one way for each way to authenticate.

A session is kept by the browser alone, in its cookie: any process can judge
it, and none has to remember it.
"""

from __future__ import annotations

import dataclasses
from typing import Any
from typing import Protocol

from ironic_reservations.api import wsgi


@dataclasses.dataclass(frozen=True)
class Session:
    """Who has signed in.

    :ivar user: with "id", "name" and, where there are domains, "domain".
    :ivar project: with "id", "name" and "domain"; ``None`` without projects.
    :ivar expires_at: ISO 8601, in UTC.
    """

    user: dict[str, Any] | None = None
    project: dict[str, Any] | None = None
    expires_at: str | None = None


class Strategy(Protocol):
    """How users sign in."""

    #: As the configuration calls it.
    name: str

    def begin(self) -> str | None:
        """Return a cookie's value for who needs not sign in, else ``None``."""

    def fingerprint(self, user_id: str | None) -> str | None:
        """Return what is another one once a user has another password.

        :param user_id: ``None``: nobody in particular.
        :returns: an empty one where others ask for passwords; ``None``: there
            is no user of that id.
        """

    def sign_in(self, document: Any, environ: wsgi.Environ) -> str:
        """Check what a user shows, and return the value of the cookie.

        :raises ReservationError: the user does not get in.
        """

    def look(self, value: str | None, environ: wsgi.Environ) -> Session:
        """Return whose session a cookie stands for.

        :raises SessionEnded: there is none, or no more.
        """

    def credentials(self, value: str | None) -> wsgi.Environ:
        """Return what of a request shows the API who sends it.

        :raises SessionEnded: there is no session, or no more.
        """

    def sign_out(self, value: str) -> None:
        """End a session, as far as it does not end with its cookie."""
