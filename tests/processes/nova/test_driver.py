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

"""plugins/nova with the ironic driver of Nova, against a real Ironic."""

from __future__ import annotations

from collections.abc import Mapping
import tempfile

from tests import nova_child
from tests.inprocess.guard import with_keystone


@nova_child.mirrors('tests.processes.nova.driver_cases')
class DriverTest(nova_child.ChildTestCase):
    """One Ironic for all of them, that wants a reservation always."""

    ironic: with_keystone.WithKeystone

    @classmethod
    def setUpClass(cls) -> None:
        """Start Ironic first."""
        cls.ironic = cls.enterClassContext(with_keystone.WithKeystone(
            cls.enterClassContext(tempfile.TemporaryDirectory()),
            options={'DEFAULT': {'auth_strategy': 'keystone'},
                     'keystone_authtoken': {'auth_type': 'none'}},
            reservations={
                'guard': {'require': 'always'},
                'ironic': {'auth_type': 'admin_token',
                           'endpoint': 'http://not.asked.invalid',
                           'token': 'token-of-our-service'}}))
        super().setUpClass()

    @classmethod
    def environment(cls) -> Mapping[str, str]:
        """Tell where it is."""
        return {'IRONIC_URL': cls.ironic.url}
