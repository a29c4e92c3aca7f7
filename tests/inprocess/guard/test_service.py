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

"""Our own requests to the Ironic in this process."""

import threading
from unittest import mock

import fixtures
import testtools

from ironic_reservations import errors
from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.guard import service
from tests.inprocess.api import world
from tests.inprocess.api.calendar import small_keystone

PATIENCE = 120


class _Auth:
    """Has another token after each one that is not valid any more."""

    def __init__(self):
        self.token = 0

    def get_headers(self, session):
        return {'X-Auth-Token': str(self.token)}

    def invalidate(self):
        self.token += 1
        return True


class TestTokenThatEnds(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.sent = []
        conf = world.configuration(self.useFixture(fixtures.TempDir()).path,
                                   '[ironic]\nauth_type = password\n')
        with mock.patch.multiple(
                service.loading, load_session_from_conf_options=mock.DEFAULT,
                load_auth_from_conf_options=mock.Mock(return_value=_Auth())):
            self.asking = service.Authenticated(self, conf, 'keystone')

    def send(self, method, path, headers, body=None):
        """Answer as an Ironic that does not know the first token."""
        self.sent.append(headers)
        return (401 if headers['X-Auth-Token'] == '0' else 200), None

    def test_request_is_sent_again_with_a_new_one(self):
        self.assertEqual((200, None), self.asking.send('GET', '/v1/x', {}))
        self.assertEqual(2, len(self.sent))

    def test_ticket_is_not_shown_again(self):
        """The owner of a lease read that a ticket was not valid."""
        ticket = {ironic_client.TICKET_HEADER: 'x'}
        self.assertRaises(errors.IronicUnavailable, self.asking.send, 'PUT',
                          '/v1/x', ticket)
        self.assertEqual(1, len(self.sent))
        self.assertEqual((200, None), self.asking.send('PUT', '/v1/x', {
            ironic_client.TICKET_HEADER: 'y'}))


class TestAuthenticated(testtools.TestCase):

    def test_keystone_that_tells_nobody_its_versions(self):
        """keystoneauth acquired its own lock twice, and waited for ever."""
        keystone = self.useFixture(small_keystone.SmallKeystone())
        keystone.fails = 401, []
        conf = world.configuration(
            self.useFixture(fixtures.TempDir()).path,
            '[ironic]\nauth_type = password\n'
            f'auth_url = {keystone.url}/\nusername = anna\n'
            'password = secret\nproject_name = red\n'
            'user_domain_name = Default\nproject_domain_name = Default\n')
        asking = service.Authenticated(
            in_process.InProcess(lambda *_: []), conf, 'keystone')
        said = []

        def ask():
            try:
                asking.send('GET', '/v1/nodes', {})
            except errors.IronicUnavailable as exc:
                said.append(exc)
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        self.assertEqual(1, len(said))
        # If Keystone was down, only the file of options was to be checked.
        self.assertIn('whether Keystone answers', str(said[0]))
