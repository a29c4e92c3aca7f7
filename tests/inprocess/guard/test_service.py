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

from __future__ import annotations

import threading

import fixtures
import testtools

from ironic_reservations import errors
from ironic_reservations.clouds import in_process
from ironic_reservations.guard import service
from tests.inprocess.api import world
from tests.inprocess.api.calendar import small_keystone

PATIENCE = 120


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
