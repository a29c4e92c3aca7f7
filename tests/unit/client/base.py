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


"""The base of the clients' unit tests: a service, and its clients."""

from __future__ import annotations

from typing import Any

import fixtures
from ironicclient import client as ironic_client
from ironicclient.v1 import client as v1_client
import openstack
from openstack import connection
import testtools

from ironic_reservations_client import waiting
from tests.unit.client import fake

INSTANCE = 'ef1896b0-a794-425e-9396-e7557ad1bf61'
OTHER_INSTANCE = '5d2b2d0e-3f43-4f0e-9d6b-0d5f6b2f6a11'
UNKNOWN = '11111111-2222-4333-8444-555555555555'


class ClientTestCase(testtools.TestCase):
    """A fake service, without traces in the user's home."""

    def setUp(self) -> None:
        """Start the service."""
        super().setUp()
        # ironicclient stores negotiated versions in the home.
        cache = self.useFixture(fixtures.TempDir()).path
        for name, value in (('CACHE', None), ('CACHE_DIR', cache),
                            ('CACHE_FILENAME', f'{cache}/versions.dbm')):
            self.useFixture(fixtures.MonkeyPatch(
                f'ironicclient.common.filecache.{name}', value))
        self.useFixture(fixtures.MonkeyPatch(
            f'{waiting.__name__}.FIRST_PAUSE', 0.01))
        self.service = self.useFixture(fake.FakeService())

    def ironic(self, **kwargs: Any) -> v1_client.Client:
        """Return an Ironic client of the service."""
        kwargs.setdefault('os_ironic_api_version', '1.95')
        kwargs.setdefault('retry_interval', 0)
        return ironic_client.get_client(
            '1', endpoint=kwargs.pop('endpoint', self.service.url), **kwargs)

    def nobody(self) -> str:
        """Return an endpoint at which no service listens."""
        return 'http://127.0.0.1:9'

    def connection(self, **kwargs: Any) -> connection.Connection:
        """Return a connection of openstacksdk to the service."""
        return openstack.connect(
            load_yaml_config=False, load_envvars=False, auth_type='none',
            endpoint=self.service.url, **kwargs)
