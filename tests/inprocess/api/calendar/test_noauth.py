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

"""The calendar without authentication."""

import io
import logging
import sys
import uuid

import fixtures

from tests.inprocess.api.calendar import base

#: A lease that is refused for lack of hosts, after its body was read.
WISH = {'name': 'mine', 'start_date': 'now', 'end_date': '2100-01-01 00:00',
        'events': [], 'reservations': [{
            'resource_type': 'physical:host', 'min': 1, 'max': 1,
            'hypervisor_properties': '', 'resource_properties': ''}]}


class NoauthTest(base.TestCase):
    """Every user has access, and other sites have none."""

    def test_everybody_is_signed_in(self) -> None:
        """The cookie is bound to the CSRF token."""
        shown = self.browser.send('GET', base.SESSION)
        self.assertEqual(200, shown.status)
        csrf = self.browser.csrf
        self.assertEqual(
            {'strategy': 'noauth', 'signed_in': True, 'user': None,
             'project': None, 'expires_at': None, 'csrf': csrf}, shown.json)
        for attribute in ('; HttpOnly', '; SameSite=Strict',
                          '; Path=/reservation/calendar/'):
            self.assertIn(attribute, self.browser.set_cookie)
        again = self.browser.send('GET', base.SESSION)
        self.assertEqual(csrf, again.json['csrf'])
        self.assertIsNone(self.browser.set_cookie)

    def test_read_needs_no_cookie(self) -> None:
        """The API is open to everybody, too."""
        answer = self.browser.send('GET', base.LEASES)
        self.assertEqual((200, []), (answer.status, answer.json['leases']))

    def test_reservation_that_is_read_is_logged_without_its_proof(
            self) -> None:
        """The log has more readers than the page, so it has no uuids."""
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        proof = str(uuid.uuid4())
        path = f'{base.HOME}api/v1/reservations/{proof}'
        self.assertEqual(404, self.browser.send('GET', path).status)
        self.assertIn(f'reservations/{proof[:8]}... - 404', log.output)
        self.assertNotIn(proof, log.output)

    def test_write_needs_the_token(self) -> None:
        """The header needs the token of this session."""
        self.browser.send('GET', base.SESSION)
        other = base.Browser(self.served)
        other.send('GET', base.SESSION)
        for wrong in (None, '', 'x', other.csrf, f'{self.browser.csrf}0',
                      self.browser.csrf[:-1], self.browser.cookie, 'é'):
            answer = self.browser.send('POST', base.LEASES, WISH,
                                       x_csrf_token=wrong)
            self.check(answer, 403, 'identity.csrf_token_invalid', wrong)
        right = self.browser.send('POST', base.LEASES, WISH)
        self.check(right, 409, 'lease.refused')

    def test_token_without_its_cookie(self) -> None:
        """The token alone gives no access."""
        self.browser.send('GET', base.SESSION)
        answer = self.browser.send('POST', base.LEASES, WISH, cookie=None)
        self.assertEqual('identity.csrf_token_invalid', answer.code)

    def test_sign_out_forgets_the_cookie(self) -> None:
        """The sign-out needs the token, as all changes."""
        self.browser.send('GET', base.SESSION)
        refused = self.browser.send('DELETE', base.SESSION, x_csrf_token='x')
        self.assertEqual(403, refused.status)
        self.assertEqual(204, self.browser.send('DELETE', base.SESSION).status)
        self.assertIsNone(self.browser.cookie)

    def test_sign_in_is_refused_with_the_reason(self) -> None:
        """There is no sign-in without authentication."""
        answer = self.browser.send('POST', base.SESSION, {'username': 'x'})
        self.assertEqual(400, answer.status)
        self.assertIn('noauth', answer.detail)

    def test_body_in_chunks_is_refused(self) -> None:
        """The refusal has a reason; it was a 500 with a traceback."""
        self.browser.send('GET', base.SESSION)
        environ = {
            'REQUEST_METHOD': 'POST', 'PATH_INFO': base.LEASES,
            'QUERY_STRING': '', 'SERVER_NAME': 'x', 'SERVER_PORT': '80',
            'SERVER_PROTOCOL': 'HTTP/1.1', 'SCRIPT_NAME': '',
            'wsgi.url_scheme': 'http', 'wsgi.input': io.BytesIO(b'{}' * 9),
            'wsgi.errors': sys.stderr, 'wsgi.input_terminated': True,
            'CONTENT_TYPE': 'application/json',
            'HTTP_TRANSFER_ENCODING': 'chunked',
            'HTTP_SEC_FETCH_SITE': 'same-origin',
            'HTTP_X_CSRF_TOKEN': self.browser.csrf,
            'HTTP_COOKIE': f'{base.COOKIE}={self.browser.cookie}'}
        begun: list[str] = []
        answer = iter(self.served.app(
            environ, lambda status, headers, exc=None: begun.append(status)))
        body = next(answer)
        self.assertEqual('411', begun[0][:3])
        self.assertIn(b'Transfer-Encoding', body)
        # NOTE: the server closes the connection, since it would read the rest
        # of the body as the next request.
        self.assertRaises(ConnectionResetError, list, answer)
