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

"""The calendar's sign-in inside a real Ironic API."""

from collections.abc import Callable
import pathlib
import re
import uuid

import bcrypt

from tests.inprocess.guard import base
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import with_keystone
from tests.real import forked_ironic

HOME = '/reservation/calendar/'
SESSION = f'{HOME}session'
COOKIE = 'ironic_reservations_calendar'
_KEPT = re.compile(rf'{COOKIE}=([^;]*);')


class DoorTestCase(base.GuardTestCase):
    """A client like the page of the calendar."""

    def setUp(self) -> None:
        super().setUp()
        self.cookie: str | None = None
        self.csrf: str | None = None

    def page(self, method: str, path: str, document: object = None,
             **headers: str) -> base.Reply:
        """Send a request as the page does, with the cookies of its browser."""
        sent = {'Sec-Fetch-Site': 'same-origin'}
        if self.cookie:
            sent['Cookie'] = f'{COOKIE}={self.cookie}'
        if self.csrf:
            sent['X-CSRF-Token'] = self.csrf
        identity, self.identity = self.identity, {}
        try:
            reply = self.send(method, path, document,
                              headers={**sent, **headers})
        finally:
            self.identity = identity
        kept = _KEPT.match(reply.headers.get('set-cookie', ''))
        if kept is not None:
            self.cookie = kept[1]
        if path == SESSION and reply.status == 200:
            self.csrf = reply.document['csrf']
        return reply

    def feed(self) -> str:
        """Create a token, and return the path and the query of its feed."""
        made = self.send('POST', '/v1/calendar/token', headers=base.OURS)
        self.assertEqual(201, made.status, made)
        return self.path_of(made)

    def path_of(self, made: base.Reply) -> str:
        url = made.document['calendar_token']['url']
        self.assertTrue(url.startswith(
            f'{self.ironic.url}/v1/leases.ics?token='), url)
        return url.removeprefix(self.ironic.url)


class BasicTestCase(base.WithUsers, DoorTestCase):

    def test_user_of_ironic_signs_in(self):
        node, = self.enroll()
        path = f'{HOME}api/v1/reservations'
        self.assertEqual('identity.session_ended', self.page('GET', path).code)
        refused = self.page('POST', SESSION,
                            {'username': 'alice', 'password': 'hidden'})
        self.assert_says(401, 'identity.sign_in_refused', refused)
        self.assertNotIn('www-authenticate', refused.headers)
        signed_in = self.page('POST', SESSION,
                              {'username': 'alice', 'password': 'secret'})
        self.assertEqual('alice', signed_in.document['user']['name'])
        # A node that Ironic has and the mirror does not have yet.
        made = self.page('POST', path, {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [node.uuid]},
            **base.OURS)
        self.assertEqual(201, made.status, made)
        self.assertEqual('alice', made.document['reservation']['user_id'])
        for path in ('/v1/reservations', '/v1/nodes',
                     '/reservation/v1/reservations'):
            self.assertEqual(401, self.page('GET', path).status, path)

    def test_feed_needs_no_password(self):
        path = self.feed()
        self.assertEqual(200, self.page('GET', path, Accept='*/*').status)
        self.assertEqual('calendar.not_found', self.page(
            'GET', f'{path}x', Accept='*/*').code)
        for wrong in ('/v1/leases.ics/x', '/v1/leases.icsx', '/v1/leases',
                      '/v1/calendar/token', '/v1/leases.ics/../nodes'):
            self.assertEqual(401, self.page(
                'GET', wrong + '?' + path.partition('?')[2]).status, wrong)

    def rewrite_users(self, change: Callable[[str], str]
                      ) -> tuple[pathlib.Path, str]:
        """Change the lines of alice in the file of users for this test."""
        path = self.ironic.folder / 'htpasswd'
        before = path.read_text()
        self.addCleanup(path.write_text, before)
        after = ''.join(change(line) if line.startswith('alice:') else line
                        for line in before.splitlines(keepends=True))
        self.assertNotEqual(before, after)
        path.write_text(after)
        return path, before

    def test_feed_of_who_is_no_user_any_more(self):
        path = self.feed()
        users, before = self.rewrite_users(lambda line: '')
        self.assert_says(404, 'calendar.not_found',
                         self.page('GET', path, Accept='*/*'))
        users.write_text(before)
        self.assertEqual(200, self.page('GET', path, Accept='*/*').status)

    def test_feed_ends_with_the_password(self):
        """The page then has no token, and makes another one."""
        again = bcrypt.hashpw(b'secret', bcrypt.gensalt(4)).decode()
        paths = []
        for _ in range(2):
            shown = self.send('GET', '/v1/calendar/token', headers=base.OURS)
            self.assertIsNone(shown.document['calendar_token'])
            paths.append(self.feed())
            self.assertEqual(200, self.page(
                'GET', paths[-1], Accept='*/*').status)
            if len(paths) == 1:
                self.rewrite_users(lambda line: f'alice:{again}\n')
                ended = self.page('GET', paths[0], Accept='*/*')
                self.assertEqual(404, ended.status, ended)

    def test_nobody_forges_who_signed_in(self):
        for headers in ({'X-User': 'alice'}, self.identity,
                        {'ironic_reservations.signed_in': 'alice'}):
            reply = self.page('GET', f'{HOME}api/v1/leases', **headers)
            self.assertEqual('identity.session_ended', reply.code, headers)


class KeystoneTestCase(DoorTestCase):

    identity = with_keystone.token('the-system')

    @classmethod
    def make(cls, folder):
        return with_keystone.make(folder)

    def test_token_in_the_cookie(self):
        self.cookie = 'token-of-one'
        shown = self.page('GET', SESSION).document
        self.assertEqual(
            (True, 'keystone', keystone_ironic.PROJECTS['one']),
            (shown['signed_in'], shown['strategy'], shown['project']['id']))
        node = self.enroll(owner=keystone_ironic.PROJECTS['one'])[0]
        other = self.enroll(owner=keystone_ironic.PROJECTS['two'])[0]
        made = self.page('POST', f'{HOME}api/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()),
            'node_uuid': [other.uuid, node.uuid]}, **base.OURS)
        self.assertEqual(201, made.status, made)
        self.assertEqual(node.uuid, made.document['reservation']['node_uuid'])
        for path in ('/v1/reservations', '/v1/leases', '/v1/nodes',
                     '/reservation/v1/leases'):
            self.assertEqual(401, self.page('GET', path).status, path)

    def test_token_that_has_ended(self):
        self.cookie = 'token-that-nobody-knows'
        reply = self.page('GET', f'{HOME}api/v1/leases')
        self.assert_says(401, 'identity.session_ended', reply)
        self.assertNotIn('www-authenticate', reply.headers)
        self.cookie = 'token-that-nobody-knows'
        self.assertFalse(self.page('GET', SESSION).document['signed_in'])

    def test_cookie_is_no_way_round_the_guard(self):
        node, = self.enroll()
        self.reserve(node.uuid)
        self.cookie = 'token-of-the-system'
        self.page('GET', SESSION)
        for path in (f'/v1/nodes/{node.uuid}/states/provision',
                     f'{HOME}api/v1/nodes/{node.uuid}/states/provision'):
            reply = self.page('PUT', path, {'target': 'active'})
            self.assertIn(reply.status, (401, 404), path)
        self.assert_untouched(node.uuid)


class ProxyTestCase(DoorTestCase):
    """Ironic trusts its proxy, and so does this service."""

    @classmethod
    def make(cls, folder):
        return forked_ironic.ForkedIronic(folder, options={
            'oslo_middleware': {'enable_proxy_headers_parsing': True}})

    def test_cookie_is_secure(self):
        reply = self.page('GET', SESSION, **{
            'X-Forwarded-Proto': 'https', 'X-Forwarded-Prefix': '/bm'})
        self.assertIn('; Secure', reply.headers['set-cookie'])
        self.assertIn('; Path=/bm/reservation/calendar/;',
                      reply.headers['set-cookie'])


class NoauthTestCase(DoorTestCase):

    def test_page_books_a_host(self):
        node, = self.enroll()
        self.assertTrue(self.page('GET', SESSION).document['signed_in'])
        made = self.page('POST', f'{HOME}api/v1/os-hosts', {'name': node.uuid})
        self.assertEqual(201, made.status, made)
        self.csrf = 'x'
        refused = self.page('POST', f'{HOME}api/v1/leases', {})
        self.assertEqual('identity.csrf_token_invalid', refused.code)
        listed = self.page('GET', f'{HOME}api/v1/os-hosts')
        self.assertIn(node.name, [
            each['name'] for each in listed.document['hosts']])

    def test_feed_is_open_to_who_has_the_token(self):
        old = self.feed()
        self.page('GET', SESSION)
        again = self.page('POST', f'{HOME}api/v1/calendar/token', **base.OURS)
        self.assertEqual(201, again.status, again)
        for path, status in ((old, 404), (self.path_of(again), 200)):
            for top in ('', '/reservation'):
                reply = self.send('GET', f'{top}{path}',
                                  headers={'Accept': 'text/calendar, */*'})
                self.assertEqual(status, reply.status, path)

    def test_ironic_is_not_behind_it(self):
        for path in ('api/v1/nodes', 'api/v1/drivers', 'api/nodes',
                     'api/../../../v1/nodes', 'api//v1/nodes',
                     'api/v1/%2e%2e/%2e%2e/nodes', 'api%2fv1/leases',
                     'api/v1/reservations/..%2f..%2fnodes'):
            reply = self.page('GET', HOME + path)
            self.assertIn((reply.status, reply.code), (
                (404, 'request.not_found'), (400, 'request.malformed')), path)
        self.assertEqual(200, self.page('GET', '/v1/nodes').status)
