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

"""Versions are negotiated in the same way on all resources."""

from ironic_reservations.api import versions
from ironic_reservations_client import host
from ironic_reservations_client import lease
from ironic_reservations_client import versions as client_versions
from ironic_reservations_client.sdk import leases
from tests import clients
from tests.inprocess.api import asking
from tests.inprocess.api import world
from tests.inprocess.client import served

_OWN = versions.text(versions.MAXIMUM)
_RANGE = ('reservation 1.0, baremetal-reservation 1.0',
          f'reservation 1.0, baremetal-reservation {_OWN}')
_PATHS = ('/v1/leases', '/v1/os-hosts', '/v1/os-hosts/1',
          '/v1/os-hosts/allocations', '/v1/os-hosts/properties',
          '/v1/availability')
_LATER = 'baremetal-reservation 1.999'


class VersionsCase(asking.AskingCase):
    """An application with one host, where everybody is an administrator."""

    nodes = {'compute-1': {'resource_class': 'gold'}}
    member = operator = {}

    def serve(self) -> world.World:
        return world.OpenWorld()


class TestNegotiated(VersionsCase):
    """Resources in Blazar's format, with both lines of versions."""

    def test_version_that_is_not_served(self) -> None:
        """The headers and the error contain the range."""
        for asked in ('1.999', '2.0', '1', 'new', '', '1.0.0', '-1.0'):
            for path in (*_PATHS, '/v1/reservations'):
                with self.subTest(f'{asked} {path}'):
                    answer = self.send(
                        'GET', path, 406,
                        version=f'baremetal-reservation {asked}')
                    self.assertEqual('request.version_not_acceptable',
                                     answer.code)
                    self.assertIn(f'Ask for 1.0 to {_OWN}', answer.detail)
                    self.assertIn('of baremetal-reservation', answer.detail)
                    newest = answer.headers[versions.MAXIMUM_HEADER]
                    self.assertIn(f'baremetal-reservation {_OWN}', newest)
                    self.assertNotIn(versions.HEADER, answer.headers)

    def test_range_of_both_lines(self) -> None:
        """The refusal has both ranges, whichever version is not served."""
        for asked in (f'reservation 1.0, {_LATER}',
                      f'{_LATER}, reservation 1.0', _LATER,
                      'reservation 1.7, baremetal-reservation 1.3',
                      'reservation 1.7, baremetal-reservation 1.999'):
            answer = self.send('GET', '/v1/leases', 406, version=asked)
            self.assertEqual(_RANGE, (
                answer.headers[versions.MINIMUM_HEADER],
                answer.headers[versions.MAXIMUM_HEADER]))

    def test_two_versions_at_once(self) -> None:
        """They are refused, as on reservations."""
        self.send('GET', '/v1/leases', 406, version=(
            'baremetal-reservation 1.1, baremetal-reservation 1.2'))

    def test_version_that_is_served(self) -> None:
        """The answer contains the version."""
        for asked, used in (
                ('baremetal-reservation 1.12', '1.12'),
                ('baremetal-reservation latest', _OWN)):
            for path in _PATHS:
                answer = self.send('GET', path, version=asked)
                self.assertEqual(
                    f'reservation 1.0, baremetal-reservation {used}',
                    answer.headers[versions.HEADER])

    def test_clients_of_blazar(self) -> None:
        """They send no version, or Blazar's, and see only Blazar's."""
        for asked in (None, 'reservation 1.0', 'reservation latest',
                      'compute 2.999, reservation 1.0', 'compute 9.9'):
            for path in _PATHS:
                answer = self.send('GET', path, version=asked)
                for name in (versions.HEADER, versions.MINIMUM_HEADER,
                             versions.MAXIMUM_HEADER):
                    self.assertEqual('reservation 1.0', answer.headers[name])
        self.send('GET', '/v1/leases', 406, version='reservation 1.1')


class TestNewerClient(VersionsCase):
    """A client of a later release, against this service."""

    def setUp(self) -> None:
        super().setUp()
        self.http = self.useFixture(served.Served(self.served))
        self.patch(client_versions, 'LATEST', '1.999')

    def test_goes_down_by_itself(self) -> None:
        """It gets the feature that it requests: a place in the queue."""
        client = clients.ironic(self.http.url)
        made = lease.LeaseManager(client).post({
            'name': 'queued', 'start_date': '2050-01-01 10:00',
            'end_date': '2050-01-02 10:00', 'on_refusal': 'queue',
            'reservations': asking.hosts()})
        self.assertFalse(made.queued)
        found, = host.HostManager(client).list()
        self.assertEqual('1', found.id)

    def test_openstacksdk_goes_down_by_itself(self) -> None:
        """openstacksdk negotiates in the same way."""
        conn = clients.openstacksdk(self.http.url)
        made = leases.post(conn, {
            'name': 'queued', 'start_date': '2050-01-01 10:00',
            'end_date': '2050-01-02 10:00', 'on_refusal': 'queue',
            'reservations': asking.hosts()})
        self.assertEqual('queued', made.name)
