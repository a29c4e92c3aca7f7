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

"""The calendar's sign-in with Keystone."""

import fixtures

from ironic_reservations.clouds import keystone
from tests.inprocess.api import on_its_own
from tests.inprocess.api import world
from tests.inprocess.api.calendar import base
from tests.inprocess.api.calendar import small_keystone

ANNA = {'username': 'anna', 'password': 'secret', 'project': 'red'}
CREDENTIAL = {'application_credential_id': 'a1b2c3',
              'application_credential_secret': 'credential-secret'}


class KeystoneTest(base.TestCase):
    """Users with tokens, and the duration of their sessions."""

    strategy = 'keystone'
    user = ANNA

    def serve(self) -> world.World:
        self.keystone = self.useFixture(small_keystone.SmallKeystone())
        self.options = {'file': on_its_own.keystone_at(self.keystone.url)}
        return super().serve()

    def test_with_a_password(self) -> None:
        """The cookie is a token of a project that no script can read."""
        self.assert_ended()
        answer = self.sign_in()
        self.assertEqual(200, answer.status, answer.body)
        self.assertEqual(
            ({'id': 'id-of-anna', 'name': 'anna', 'domain': 'Default'},
             {'id': 'id-of-red', 'name': 'red', 'domain': 'Default'}),
            (answer.json['user'], answer.json['project']))
        self.assertIsNotNone(answer.json['expires_at'])
        self.assertIn(self.browser.cookie, self.keystone.tokens.tokens)
        self.assertNotIn(self.browser.cookie.encode(), answer.body)
        self.assertIn('; HttpOnly; SameSite=Strict', self.browser.set_cookie)
        self.assertEqual(200, self.browser.send('GET', base.LEASES).status)
        limits = self.browser.send('GET', f'{base.HOME}api/v1/limits')
        self.assertEqual('id-of-red', limits.json['limits']['project_id'])

    def test_with_an_application_credential(self) -> None:
        """The credential determines the project."""
        answer = self.sign_in(CREDENTIAL)
        self.assertEqual('red', answer.json['project']['name'])
        self.assertEqual(200, self.browser.send('GET', base.LEASES).status)

    def test_domains(self) -> None:
        """The default domain of the project is that of the user."""
        other = {**ANNA, 'user_domain': 'other', 'password': 'different'}
        answer = self.sign_in(other)
        self.assertEqual(('other', 'other'), (
            answer.json['user']['domain'], answer.json['project']['domain']))
        answer = self.sign_in({**other, 'project_domain': 'Default'})
        self.assertEqual('Default', answer.json['project']['domain'])

    def test_write_needs_the_token_of_the_session(self) -> None:
        """The CSRF token of another session is refused."""
        self.sign_in()
        first = self.browser.csrf
        self.sign_in()
        self.assertNotEqual(first, self.browser.csrf)
        answer = self.browser.send('POST', base.LEASES, {}, x_csrf_token=first)
        self.check(answer, 403, 'identity.csrf_token_invalid')
        answer = self.browser.send('POST', base.LEASES, {})
        self.assertEqual(400, answer.status)

    def test_answer_that_is_not_keystones_is_no_token(self) -> None:
        """It was an unexpected error, with status 500."""
        for said in (b'5', b'null', b'[]', b'"token"', b'["token"]', b'{}',
                     b'{"token": null}', b'{"token": 5}', b'{"token": {}}',
                     b'<html>'):
            self.keystone.fails, self.keystone.failure = (201, []), said
            self.check(self.sign_in(), 503, 'service.keystone_unavailable',
                       said)
        self.keystone.fails = None

    def test_wrong_credentials(self) -> None:
        """They are refused with the same text, whichever part is wrong."""
        said = set()
        for wrong in ({'username': 'nobody'}, {'password': 'x'},
                      {'project': 'x'}, {'user_domain': 'x'},
                      {'project_domain': 'x'}):
            answer = self.sign_in({**ANNA, **wrong})
            self.check(answer, 401, 'identity.sign_in_refused', wrong)
            said.add(answer.detail)
        for wrong in ({'application_credential_id': 'x'},
                      {'application_credential_secret': 'x'}):
            answer = self.sign_in({**CREDENTIAL, **wrong})
            self.assertEqual('identity.sign_in_refused', answer.code)
            said.add(answer.detail)
        self.assertEqual(1, len(said))
        for status in (403, 404, 400):
            self.keystone.fails = status, []
            answer = self.sign_in()
            self.assertEqual('identity.sign_in_refused', answer.code)

    def test_bodies_that_are_no_sign_in(self) -> None:
        """They are not sent to Keystone."""
        for document in ({}, [], {**ANNA, **CREDENTIAL},
                         {'username': 'anna', 'password': 'secret'},
                         {**ANNA, 'project': {'id': 'x'}},
                         {**CREDENTIAL, 'project': 'red'}):
            self.assertEqual(400, self.sign_in(document).status, document)
        self.assertEqual([], self.keystone.asked)

    def test_session_ends_with_its_token(self) -> None:
        """The token expires or is revoked."""
        self.sign_in()
        self.keystone.end(self.browser.cookie)
        self.assert_ended()
        self.assertIsNone(self.browser.cookie)

    def test_sign_out(self) -> None:
        """The token is revoked, so that a copy of it is void."""
        self.sign_in()
        copy = self.browser.cookie
        refused = self.browser.send('DELETE', base.SESSION, x_csrf_token='')
        self.assertEqual(403, refused.status)
        self.assertIn(copy, self.keystone.tokens.tokens)
        self.assertEqual(204, self.browser.send('DELETE', base.SESSION).status)
        self.assertNotIn(copy, self.keystone.tokens.tokens)
        self.browser.cookie = copy
        self.assert_ended()

    def test_signed_out_but_remembered(self) -> None:
        """keystonemiddleware accepts a revoked token for some minutes."""
        self.sign_in()
        copy = self.browser.cookie
        data = self.keystone.tokens._token_data[copy]
        self.browser.send('DELETE', base.SESSION)
        self.keystone.tokens.add_token(data, copy)
        proper = self.browser.send('GET', '/v1/leases', x_auth_token=copy)
        self.assertEqual(200, proper.status)
        self.browser.cookie = copy
        self.assert_ended()

    def test_sign_out_without_keystone(self) -> None:
        """The answer names the remaining token, and removes the cookie."""
        self.sign_in()
        self.keystone.fails = 500, []
        answer = self.browser.send('DELETE', base.SESSION)
        self.check(answer, 503, 'service.keystone_unavailable')
        self.assertIn('until it expires', answer.detail)
        self.assertIsNone(self.browser.cookie)

    def test_keystone_that_does_not_answer_well(self) -> None:
        """The answer is no wrong password, and redirects are not followed."""
        for status, headers in (
                (500, []), (503, []), (302, [('Location', 'http://evil/')]),
                (307, [('Location', f'{self.keystone.url}/elsewhere')]),
                (200, [])):
            self.keystone.fails = status, headers
            self.keystone.asked.clear()
            answer = self.sign_in()
            self.check(answer, 503, 'service.keystone_unavailable', status)
            self.assertEqual(1, len(self.keystone.asked))

    def test_silent_keystone(self) -> None:
        """The wait ends with the time-out of the client."""
        log = self.useFixture(fixtures.FakeLogger())
        self.useFixture(fixtures.MockPatchObject(keystone, 'PATIENCE', 1))
        self.keystone.silent = True
        answer = self.sign_in()
        self.assertEqual('service.keystone_unavailable', answer.code)
        self.assertIn('timed out', log.output)

    def test_token_that_is_no_cookie(self) -> None:
        """The answer says so, since no session would begin."""
        self.keystone.size = 4000
        answer = self.sign_in()
        self.assertEqual(503, answer.status)
        self.assertIn('4000 characters', answer.detail)

    def test_no_secret_is_logged(self) -> None:
        """No log level shows passwords or tokens."""
        log = self.useFixture(fixtures.FakeLogger())
        self.sign_in()
        self.sign_in({**ANNA, 'password': 'hush-hush'})
        self.sign_in(CREDENTIAL)
        self.browser.send('GET', base.LEASES)
        token = self.browser.cookie
        self.browser.send('DELETE', base.SESSION)
        for secret in ('hush-hush', 'secret"', 'credential-secret', token):
            self.assertNotIn(secret, log.output)

    def test_tokens_in_headers_do_not_count_here(self) -> None:
        """Cookies elsewhere do not count either."""
        self.sign_in()
        token, self.browser.cookie = self.browser.cookie, None
        answer = self.browser.send('GET', base.LEASES, x_auth_token=token)
        self.assertEqual('identity.session_ended', answer.code)
        shown = self.browser.send('GET', base.SESSION, x_auth_token=token)
        self.assertFalse(shown.json['signed_in'])
        self.browser.cookie = token
        self.assertEqual(401, self.browser.send('GET', '/v1/leases').status)
        proper = self.browser.send('GET', '/v1/leases', x_auth_token=token)
        self.assertEqual(200, proper.status)


class KeystoneNowhereTest(base.TestCase):
    """A configuration without a public address of Keystone."""

    strategy = 'keystone'
    options = {'file': '[keystone_authtoken]\nauth_type = none\n'}

    def serve(self) -> world.World:
        self.useFixture(small_keystone.ksm_fixture.AuthTokenFixture())
        return super().serve()

    def test_sign_in_says_so(self) -> None:
        """The text is for the operator."""
        answer = self.browser.send('POST', base.SESSION, ANNA)
        self.check(answer, 503, 'service.keystone_unavailable')
        self.assertIn('www_authenticate_uri', answer.detail)
