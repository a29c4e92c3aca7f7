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

"""The clouds.yaml files of Ironic without Keystone, as bifrost writes them."""

import pathlib
from typing import Any
import uuid

import fixtures
import openstack
import testtools
import yaml

from ironic_reservations_client import sdk
from ironic_reservations_client.sdk import leases
from tests.real import ironic as real_ironic

_USERS = {'ann': 'secret'}
_AUTH = {'username': 'ann', 'password': 'secret'}


class CloudsYamlTest(testtools.TestCase):
    """An Ironic with http_basic, and clients with openstacksdk."""

    def _connect(self, url: str, cloud: dict[str, Any]) -> Any:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                            'clouds.yaml')
        path.write_text(yaml.safe_dump({'clouds': {'metal': cloud}}))
        conn = openstack.connection.Connection(
            config=openstack.config.OpenStackConfig(
                config_files=[str(path)], load_envvars=False).get_one('metal'))
        self.addCleanup(conn.close)
        return conn

    def test_root_endpoints(self) -> None:
        """They have no version; a path with a version is one as well."""
        ironic = self.useFixture(real_ironic.RealIronic(
            users=_USERS, reservations={'ironic': {
                'auth_type': 'http_basic', **_AUTH}}))
        node, = ironic.enroll()
        for root in (ironic.url, f'{ironic.url}/', f'{ironic.url}/v1'):
            basic = {'auth_type': 'http_basic',
                     'auth': {**_AUTH, 'endpoint': root}}
            for cloud in (basic,
                          {**basic, 'baremetal_endpoint_override': root},
                          {**basic, 'baremetal_api_version': '1'}):
                self._check(self._connect(ironic.url, cloud), node, cloud)

    def _check(self, conn: Any, node: Any, cloud: Any) -> None:
        held = sdk.reserve(conn, [node.uuid], str(uuid.uuid4()))
        self.assertEqual([held.id], [
            each.id for each in sdk.reservations(conn)], cloud)
        sdk.release(conn, held)
        self.assertEqual([], list(leases.leases(conn)), cloud)
