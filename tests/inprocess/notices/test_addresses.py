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

"""Keystone is asked for the address of a user who is not in the file."""

from http import server
import json
import threading

import fixtures
from keystoneauth1 import fixture as ksa_fixture
from keystoneauth1 import loading

from ironic_reservations.features.notices import mail_addresses
from tests import world


class _Handler(server.BaseHTTPRequestHandler):

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        token = ksa_fixture.V3Token(project_id='service')
        identity = token.add_service('identity', 'keystone')
        identity.add_standard_endpoints(
            public=self.server.root, internal=self.server.root)
        self._answer(201, token, [('X-Subject-Token', 'a token')])

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path.rstrip('/') in ('', '/v3'):
            self._answer(200, {'version': ksa_fixture.V3Discovery(
                f'{self.server.root}/v3')})
        elif self.headers.get('X-Auth-Token') != 'a token':
            self._answer(401, {})
        else:
            self._answer(*self.server.users.get(
                self.path.removeprefix('/v3/users/'),
                (404, {'error': {'code': 404}})))

    def _answer(self, status, document, headers=()):
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class TestKeystone(world.TestCase):

    def setUp(self):
        super().setUp()
        keystone = server.ThreadingHTTPServer(('127.0.0.1', 0), _Handler)
        self.addCleanup(keystone.server_close)
        self.root = keystone.root = (
            f'http://127.0.0.1:{keystone.server_port}')
        self.asked = keystone.asked = []
        self.users = keystone.users = {
            'anna': (200, {'user': {'email': 'anna@example.com'}}),
            'bert': (200, {'user': {'name': 'bert'}}),
            'eve': (200, {'user': {'email': 'a@example.com,b@example.com'}}),
            'carl': (403, {}), 'dora': (500, {}), 'emil': (200, []),
            'of%20a%20proxy': (404, {}), 'other': (404, {'error': []})}
        thread = threading.Thread(target=keystone.serve_forever,
                                  kwargs={'poll_interval': 0.05})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(keystone.shutdown)
        folder = self.useFixture(fixtures.TempDir())
        path = folder.join('addresses')
        with open(path, 'w') as file:
            file.write('fritz: fritz@example.org\n')
        self.conf = world.configured(
            'sqlite://', notices__mail_addresses_file=path,
            notices__mail_addresses_from_keystone=True,
            ironic__auth_type='password')
        # The plugin registers them when it is loaded.
        self.conf.register_opts(
            loading.get_auth_plugin_conf_options('password'), 'ironic')
        for name, value in (('auth_url', f'{self.root}/v3'),
                            ('username', 'ironic'), ('password', 'secret'),
                            ('user_domain_name', 'Default'),
                            ('project_name', 'service'),
                            ('project_domain_name', 'Default')):
            self.conf.set_override(name, value, 'ironic')

    def find(self, user_id):
        return mail_addresses.find(self.conf, user_id)

    def test_address_of_a_user(self):
        self.assertEqual('anna@example.com', self.find('anna'))

    def test_file_comes_first(self):
        self.assertEqual('fritz@example.org', self.find('fritz'))
        self.assertEqual([], self.asked)

    def test_user_without_one(self):
        self.assertIsNone(self.find('bert'))
        self.assertIsNone(self.find('nobody'))

    def test_more_than_an_address_is_none(self):
        self.assertIsNone(self.find('eve'))

    def test_what_a_header_would_decode_is_none(self):
        """Such an address could send mail to others."""
        for each in ('x@=?utf-8?q?evil=2Eorg=3E=2C_b=40c?=', '.@.',
                     'anna@example..com', 'a@b\r\nBcc: c@d'):
            self.users['eve'] = 200, {'user': {'email': each}}
            self.assertIsNone(self.find('eve'), each)

    def test_id_is_no_path(self):
        self.assertIsNone(self.find('../projects?x=anna'))
        self.assertEqual('/v3/users/..%2Fprojects%3Fx%3Danna', self.asked[-1])

    def test_keystone_that_does_not_tell(self):
        """Without its own answer, nothing is known, and the notices wait.

        A 404 of a proxy was no address: the mail was finished unsent.
        """
        for user in ('carl', 'dora', 'emil', 'of a proxy', 'other'):
            self.assertRaises(mail_addresses.Unknown, self.find, user)

    def test_keystone_is_not_asked_unless_told_to(self):
        self.conf.set_override('mail_addresses_from_keystone', False,
                               'notices')
        self.assertIsNone(self.find('anna'))
        self.assertEqual([], self.asked)
