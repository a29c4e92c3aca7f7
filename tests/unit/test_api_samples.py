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

"""The samples of the API reference are what the API takes and gives."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import testtools

from ironic_reservations.api import versions
from tests.inprocess.api import world

SAMPLES = pathlib.Path(__file__).parents[2] / 'api-ref/source/samples'
ROOT = 'https://baremetal.example.com'
NODES = ('96b3a7ff-df46-4211-94c3-a5570a0881aa',
         'f985d47a-c858-48ac-b0ae-4f6f433f0c24')
RESERVATIONS = '/v1/reservations'
#: What differs from one run to the next, and what stands for it.
_CHANGING = (
    (r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00', '(time)'),
    (r'20[0-4]\d-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC', '(time)'),
    (r'req-[0-9a-f-]{36}', '(request)'),
)
#: The uuid that the client chooses in the samples from 1.1 on, and the one
#: that the server makes up in that of 1.0.
CHOSEN = '2c4a7b7e-5a55-4b64-9d4e-7c1f3b0f8a11'
MADE_UP = '8a6c2f0e-3d1b-4c5a-9e7f-2b4d6f8a0c1e'


def sample(name: str) -> Any:
    """Read a sample."""
    return json.loads((SAMPLES / f'{name}.json').read_text())


def settled(document: Any, uuid: str = MADE_UP) -> Any:
    """Put placeholders where values differ from one run to the next.

    :param uuid: one that the server made up.
    """
    text = json.dumps(document)
    for one in {CHOSEN, MADE_UP, uuid}:
        text = text.replace(one, '(uuid)')
    for pattern, placeholder in _CHANGING:
        text = re.sub(pattern, placeholder, text)
    return json.loads(text)


class ApiSamplesTest(testtools.TestCase):
    """Each sample is sent to, or compared with, the real application."""

    def setUp(self) -> None:
        super().setUp()
        self.world = self.useFixture(world.World(api__public_endpoint=ROOT))
        for uuid in NODES:
            self.world.ironic.add(
                uuid=uuid, resource_class='gold', owner='red',
                traits=frozenset(('CUSTOM_RAID',)))

    def ask(self, method: str, path: str, minor: int,
            document: Any = None, **environ: str) -> world.Answer:
        """Send a request as a member of a project."""
        return world.request(
            self.world, method, path, document,
            version=f'{versions.SERVICE_TYPE} {versions.text(minor)}',
            environ=environ, X_ROLES='member,reader', X_PROJECT_ID='red',
            X_USER_ID='ada')

    def reserve(self, minor: int) -> world.Answer:
        """Send the sample of a request at a version."""
        newest = min(minor, versions.PICK)
        return self.ask('POST', RESERVATIONS, minor, sample(
            f'reservation-create-request-{versions.text(newest)}'))

    def assert_is(self, name: str, answer: world.Answer, status: int = 200,
                  uuid: str = MADE_UP) -> None:
        """Compare an answer with a sample.

        :param uuid: one that the server made up.
        """
        self.assertEqual(status, answer.status, answer.body)
        self.assertEqual(settled(sample(name)), settled(answer.json, uuid))

    def check_reservation(self, minor: int, name: str) -> None:
        """Make a reservation, show it and list it at a version."""
        made = self.reserve(minor)
        uuid = made.json['reservation']['uuid']
        name = f'reservation-response-{name}'
        self.assert_is(name, made, 201, uuid)
        self.assertEqual(f'{ROOT}{RESERVATIONS}/{uuid}',
                         made.headers['Location'])
        shown = self.ask('GET', f'{RESERVATIONS}/{uuid}', minor)
        self.assert_is(name, shown, uuid=uuid)

    def check_list(self, minor: int, name: str, query: str = '') -> None:
        """List the reservation at a version."""
        uuid = self.reserve(minor).json['reservation']['uuid']
        self.assert_is(f'reservation-list-response-{name}',
                       self.ask('GET', RESERVATIONS + query, minor),
                       uuid=uuid)

    def close_the_first_node(self) -> None:
        """Leave one node, so that it is known which one is picked."""
        self.world.ironic.change(NODES[0], maintenance=True)

    def test_reservation_1_0(self):
        """The specification's five keys."""
        self.check_reservation(versions.SEED, '1.0')

    def test_reservation_1_1(self):
        """With the times."""
        self.check_reservation(versions.TIMES, '1.1')

    def test_reservation_1_2(self):
        """Chosen by class; looks as at 1.1."""
        self.close_the_first_node()
        self.check_reservation(versions.PICK, '1.2')

    def test_reservation_1_3(self):
        """With links."""
        self.close_the_first_node()
        self.check_reservation(versions.PAGES, '1.3')

    def test_reservation_1_4(self):
        """With whose it is."""
        self.close_the_first_node()
        self.check_reservation(versions.REASONS, '1.4')

    def test_request_1_5(self):
        """Chosen by a flavor; looks as at 1.4."""
        self.close_the_first_node()
        made = self.ask('POST', RESERVATIONS, versions.FLAVORS,
                        sample('reservation-create-request-1.5'))
        self.assert_is('reservation-response-1.4', made, 201,
                       made.json['reservation']['uuid'])

    def test_reservation_1_6(self):
        """Suspended, since its node has gone into maintenance."""
        self.close_the_first_node()
        made = self.reserve(versions.SUSPENDED).json['reservation']
        self.assertIs(False, made['suspended'])
        self.world.ironic.change(NODES[1], maintenance=True)
        self.world.look_outside()
        self.assert_is('reservation-response-1.6', self.ask(
            'GET', f'{RESERVATIONS}/{made["uuid"]}', versions.SUSPENDED))

    def test_limits_1_6(self):
        """Of a project with one reservation, by the defaults."""
        self.world.conf.set_override('project_limits', True, 'leases')
        self.reserve(versions.SUSPENDED)
        self.assert_is('limits-response-1.6', self.ask(
            'GET', '/v1/limits', versions.LIMITS))

    def test_limits_1_13_and_1_16(self):
        """Of the class gold, and of extensions, too."""
        for name, value in (('project_limits', True),
                            ('max_hosts_per_class', {'gold': 4}),
                            ('max_host_hours_per_class', {'gold': 500})):
            self.world.conf.set_override(name, value, 'leases')
        self.world.conf.set_override('max_per_class', {'gold': 2},
                                     'reservations')
        self.reserve(versions.SUSPENDED)
        self.assert_is('limits-response-1.13', self.ask(
            'GET', '/v1/limits', versions.CLASS_LIMITS))
        self.assert_is('limits-response-1.6', self.ask(
            'GET', '/v1/limits', versions.QUEUE))
        for name, value in (('extension_notice', 86400),
                            ('max_extensions', 2)):
            self.world.conf.set_override(name, value, 'leases')
        self.assert_is('limits-response-1.16', self.ask(
            'GET', '/v1/limits', versions.EXTENSION_LIMITS))
        self.assert_is('limits-response-1.13', self.ask(
            'GET', '/v1/limits', versions.MOVES))

    def test_maintenance_1_9(self):
        """Booked, shown, and taken back."""
        self.world.look_outside()
        operator = {'HTTP_X_ROLES': 'admin,member,reader',
                    'HTTP_OPENSTACK_SYSTEM_SCOPE': 'all'}
        request = sample('maintenance-create-request-1.9')
        path = '/v1/maintenances'
        made = self.ask('POST', path, versions.MAINTENANCE, request,
                        **operator)
        uuid = made.json['maintenance']['uuid']
        self.assert_is('maintenance-create-response-1.9', made, 201, uuid)
        self.assert_is('maintenance-response-1.9', self.ask(
            'GET', f'{path}/{uuid}', versions.MAINTENANCE, **operator),
            uuid=uuid)
        self.assertEqual([uuid], [each['uuid'] for each in self.ask(
            'GET', path, versions.MAINTENANCE, **operator).json[
                'maintenances']])
        self.assertEqual(204, self.ask(
            'DELETE', f'{path}/{uuid}', versions.MAINTENANCE,
            **operator).status)
        self.assertEqual(404, self.ask(
            'GET', path, versions.CALENDAR, **operator).status)
        self.assertEqual(403, self.ask(
            'GET', path, versions.MAINTENANCE).status)

    def test_usage_1_10(self):
        """Of a project with a lease of one host, which is to come."""
        for who, path, document in (
                ({'X_ROLES': 'admin,member,reader',
                  'OPENSTACK_SYSTEM_SCOPE': 'all'}, '/v1/os-hosts',
                 {'name': NODES[0]}),
                ({'X_ROLES': 'member,reader', 'X_PROJECT_ID': 'red'},
                 '/v1/leases', {
                    'name': 'half a day', 'start_date': '2050-01-01 12:00',
                    'end_date': '2050-01-02 00:00', 'reservations': [
                        {'resource_type': 'physical:host', 'min': 1,
                         'max': 1}]})):
            self.assertEqual(201, world.request(
                self.world, 'POST', path, document, **who).status)
        self.assert_is('usage-response-1.10', self.ask(
            'GET', '/v1/usage?first_day=2050-01-01&last_day=2050-01-01',
            versions.USAGE))

    def test_list_1_0(self):
        """All at once."""
        self.check_list(versions.SEED, '1.0')

    def test_list_1_3(self):
        """A page, with the way to the next."""
        self.close_the_first_node()
        self.check_list(versions.PAGES, '1.3', '?limit=1')

    def test_list_1_4_with_fields(self):
        """Only what was asked for."""
        self.close_the_first_node()
        self.check_list(versions.REASONS, '1.4-fields',
                        f'?node={NODES[1]}&fields=uuid,project_id')

    def test_both_renewals(self):
        """By a time to live, and by an instant."""
        made = self.reserve(versions.TIMES).json['reservation']
        path = f'{RESERVATIONS}/{made["uuid"]}'
        by_ttl = self.ask('PATCH', path, versions.TIMES,
                          sample('reservation-renew-request-1.1'))
        self.assert_is('reservation-renew-response-1.1', by_ttl)
        patch = sample('reservation-renew-request-1.1-expires-at')
        # NOTE: the sample's instant is long past by now.
        patch[0]['value'] = by_ttl.json['reservation']['expires_at']
        by_instant = self.ask('PATCH', path, versions.TIMES, patch)
        self.assert_is('reservation-renew-response-1.1', by_instant)

    def check_refusal(self, minor: int, request: str, name: str) -> None:
        """Ask for nodes that are not free any more."""
        self.reserve(versions.TIMES)
        self.world.ironic.change(NODES[1], maintenance=True)
        document = sample(request)
        document['instance_uuid'] = '3d5f8a10-6c0e-4b7e-8d55-0a9a6f6b1c77'
        document.pop('uuid', None)
        self.assert_is(name, self.ask('POST', RESERVATIONS, minor, document),
                       409)

    def test_refusal_1_0(self):
        """The reasons are in the sentence."""
        self.check_refusal(versions.SEED, 'reservation-create-request-1.0',
                           'reservation-refused-response-1.0')

    def test_refusal_1_4(self):
        """The reasons are data as well."""
        self.check_refusal(versions.REASONS, 'reservation-create-request-1.0',
                           'reservation-refused-response-1.4')

    def test_refusal_by_class(self):
        """A count for each cause."""
        self.reserve(versions.TIMES)
        document = sample('reservation-create-request-1.0')
        document['instance_uuid'] = '3d5f8a10-6c0e-4b7e-8d55-0a9a6f6b1c77'
        self.assertEqual(201, self.ask('POST', RESERVATIONS, versions.SEED,
                                       document).status)
        document = sample('reservation-create-request-1.2')
        del document['uuid']
        document['instance_uuid'] = '0c8a2b0b-4f53-4a27-8a25-5a2f2a4c7d10'
        self.assert_is(
            'reservation-refused-response-1.4-by-class',
            self.ask('POST', RESERVATIONS, versions.REASONS, document), 409)

    def test_version_out_of_range(self):
        """The answer says what there is."""
        self.assert_is('version-refused-response',
                       self.ask('GET', RESERVATIONS, 99), 406)

    def test_version_documents(self):
        """As they are inside Ironic's API."""
        self.assert_is('versions-response', self.ask(
            'GET', '/', versions.SEED, SCRIPT_NAME='/reservation'))
        self.assert_is('version-response', self.ask(
            'GET', '/v1', versions.SEED, SCRIPT_NAME='/reservation'))

    def test_no_sample_is_left_out(self):
        """A sample that no test reads could say anything."""
        source = pathlib.Path(__file__).read_text()
        for path in SAMPLES.glob('*.json'):
            stem = re.sub(r'-1\.\d.*$', '', path.stem)
            self.assertIn(stem, source, path.name)
