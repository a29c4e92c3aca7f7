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

"""The cookies and headers of a browser, for the standalone API."""

import http.cookies
from typing import Any

import testtools

from ironic_reservations.api import wsgi
from tests.inprocess.api import on_its_own
from tests.inprocess.api import world

HOME = '/reservation/calendar/'
SESSION = f'{HOME}session'
COOKIE = 'ironic_reservations_calendar'
LEASES = f'{HOME}api/v1/leases'


class Browser:
    """Keeps the cookie and the CSRF token as a page and its browser do."""

    def __init__(self, served: wsgi.Application, **headers: str) -> None:
        self._served = served
        self._headers = headers
        self.cookie: str | None = None
        self.csrf: str | None = None
        self.set_cookie: str | None = None

    def send(self, method: str, path: str, document: Any = None,
             **headers: Any) -> world.Answer:
        """Send a request as the page does.

        :param headers: headers of the request; ``None`` removes one.
        """
        sent: dict[str, Any] = {'sec_fetch_site': 'same-origin',
                                **self._headers}
        if self.cookie is not None:
            sent['cookie'] = f'{COOKIE}={self.cookie}'
        if self.csrf is not None and method not in ('GET', 'HEAD'):
            sent['x_csrf_token'] = self.csrf
        sent.update(headers)
        answer = world.request(
            self._served, method, path, document,
            **{name: value for name, value in sent.items()
               if value is not None})
        self.set_cookie = answer.headers.get('Set-Cookie')
        if self.set_cookie is not None:
            read = http.cookies.SimpleCookie(self.set_cookie)[COOKIE]
            self.cookie = None if read['max-age'] == '0' else read.value
        if path == SESSION and answer.status == 200:
            self.csrf = answer.json['csrf']
        return answer


class TestCase(testtools.TestCase):
    """A service, and a browser on its first visit.

    :cvar strategy: the authentication strategy of the service.
    :cvar options: options of its configuration.
    :cvar user: what the first user signs in with.
    """

    strategy = 'noauth'
    options: dict[str, Any] = {}
    user: dict[str, str] = {}

    def setUp(self) -> None:
        super().setUp()
        self.served = self.serve()
        self.browser = Browser(self.served)

    def sign_in(self, who: Any = None) -> world.Answer:
        """Sign in; by default, as the first user."""
        return self.browser.send('POST', SESSION, self.user if who is None
                                 else who)

    def assert_ended(self) -> None:
        """Check that there is no session, neither in the page nor in the API.
        """
        asked = self.browser.send('GET', LEASES)
        self.check(asked, 401, 'identity.session_ended')
        self.assertNotIn('WWW-Authenticate', asked.headers)
        shown = self.browser.send('GET', SESSION)
        self.assertEqual(
            (200, False, None),
            (shown.status, shown.json['signed_in'], shown.json['csrf']))

    def check(self, answer: world.Answer, status: int, code: str,
              about: object = '') -> None:
        """Check the refusal of a request."""
        self.assertEqual((status, code), (answer.status, answer.code), about)

    def serve(self) -> world.World:
        """Start the service."""
        return self.useFixture(on_its_own.Standalone(
            auth_strategy=self.strategy, **self.options))
