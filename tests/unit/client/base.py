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
from ironicclient.v1 import client as v1_client
from openstack import connection
import testtools

from ironic_reservations_client import waiting
from tests import clients
from tests.unit.client import fake

INSTANCE = 'ef1896b0-a794-425e-9396-e7557ad1bf61'
OTHER_INSTANCE = '5d2b2d0e-3f43-4f0e-9d6b-0d5f6b2f6a11'
UNKNOWN = '11111111-2222-4333-8444-555555555555'


class ClientTestCase(testtools.TestCase):
    """A fake service with two nodes, without traces in the user's home."""

    def setUp(self) -> None:
        """Start the service, and enroll the nodes."""
        super().setUp()
        self.useFixture(clients.Cache())
        self.useFixture(fixtures.MonkeyPatch(
            f'{waiting.__name__}.FIRST_PAUSE', 0.01))
        self.service = self.useFixture(fake.FakeService())
        self.one = self.service.node('one')
        self.two = self.service.node('two')

    def ironic(self, endpoint: str | None = None,
               **options: Any) -> v1_client.Client:
        """Return an Ironic client of the service."""
        return clients.ironic(endpoint or self.service.url,
                              **{'retry_interval': 0, **options})

    def nobody(self) -> str:
        """Return an endpoint at which no service listens."""
        return 'http://127.0.0.1:9'

    def connection(self, **options: Any) -> connection.Connection:
        """Return a connection of openstacksdk to the service."""
        return clients.openstacksdk(self.service.url, **options)
