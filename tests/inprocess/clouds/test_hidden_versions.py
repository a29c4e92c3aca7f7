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

"""A Keystone, or its proxy, that tells nobody its versions."""

from collections.abc import Callable
import threading

import fixtures
import testtools

from ironic_reservations import errors
from ironic_reservations.clouds import ironic
from ironic_reservations.clouds import nova
from ironic_reservations.clouds import placement
from tests.inprocess.api import world
from tests.inprocess.api.calendar import small_keystone

PATIENCE = 120


class TestHiddenVersions(testtools.TestCase):
    """keystoneauth took its own lock twice, and waited for ever."""

    def setUp(self) -> None:
        super().setUp()
        keystone = self.useFixture(small_keystone.SmallKeystone())
        keystone.fails = 401, []
        self.conf = world.configuration(
            self.useFixture(fixtures.TempDir()).path, ''.join(
                f'[{group}]\nauth_type = password\n'
                f'auth_url = {keystone.url}/\nusername = anna\n'
                'password = secret\nproject_name = red\n'
                'user_domain_name = Default\n'
                'project_domain_name = Default\n'
                for group in ('ironic', 'placement', 'nova')))

    def assert_refused(self, ask: Callable[[], object],
                       refusal: type[Exception]) -> None:
        """It ends, and says so."""
        said = []

        def run() -> None:
            try:
                ask()
            except refusal as exc:
                said.append(exc)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        self.assertEqual(1, len(said))

    def test_each_service_is_unavailable(self) -> None:
        for ask, refusal in (
                (lambda: ironic.Ironic.over_http(self.conf).node('x'),
                 errors.IronicUnavailable),
                (lambda: placement.Placement.over_http(
                    self.conf).consumer('x'), errors.PlacementUnavailable),
                (lambda: nova.Nova.over_http(self.conf).flavor('x'),
                 errors.NovaUnavailable)):
            self.assert_refused(ask, refusal)
