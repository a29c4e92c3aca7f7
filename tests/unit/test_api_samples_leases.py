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
"""The samples about leases are what the API takes and gives."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import testtools

from tests.inprocess.api import world

SAMPLES = pathlib.Path(__file__).parents[2] / 'api-ref/source/samples/leases'
ROOT = 'https://baremetal.example.com'
NODES = {'node-1': '96b3a7ff-df46-4211-94c3-a5570a0881aa',
         'node-2': 'f985d47a-c858-48ac-b0ae-4f6f433f0c24'}
#: What differs from one run to the next.
_CHANGING = (
    (r'20[0-4]\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{6})?', '(time)'),
    (r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', '(uuid)'),
    (r'"[0-9a-f]{32}"', '"(sequence)"'),
    (r'"now": -\d+', '"now": 0'),
)
_OURS = 'reservation 1.0, baremetal-reservation 1.15'
_LATER = 'reservation 1.0, baremetal-reservation 1.19'
_MEMBER = {'X_ROLES': 'member,reader', 'X_PROJECT_ID': 'red',
           'X_USER_ID': 'ada'}
_OPERATOR = {'X_ROLES': 'admin,member,reader', 'X_PROJECT_ID': 'operators',
             'openstack_system_scope': 'all'}


def sample(name: str) -> Any:
    """Read a sample."""
    return json.loads((SAMPLES / f'{name}.json').read_text())


def settled(document: Any) -> Any:
    """Put placeholders where values differ from one run to the next."""
    text = json.dumps(document)
    for pattern, placeholder in _CHANGING:
        text = re.sub(pattern, placeholder, text)
    return json.loads(text)


class LeaseSamplesTest(testtools.TestCase):
    """Each sample is sent to, or compared with, the real application."""

    def setUp(self) -> None:
        super().setUp()
        self.world = self.useFixture(world.World(api__public_endpoint=ROOT))
        for name, uuid in NODES.items():
            self.world.ironic.add(
                uuid=uuid, name=name, resource_class='gold', properties=(
                    ('cpu_arch', 'x86_64'), ('cpus', '64'),
                    ('local_gb', '2000'), ('memory_mb', '262144')))
        self.used: set[str] = set()

    def send(self, method: str, path: str, request: str | None = None,
             **caller: str) -> world.Answer:
        """Send a sample, or nothing."""
        if request is not None:
            self.used.add(request)
        return world.request(
            self.world, method, path,
            None if request is None else sample(request),
            **{'version': 'reservation 1.0', **caller})

    def assert_is(self, name: str, answer: world.Answer,
                  status: int = 200) -> Any:
        """Compare an answer with a sample."""
        self.used.add(name)
        self.assertEqual(status, answer.status, answer.body)
        self.assertEqual(settled(sample(name)), settled(answer.json), name)
        return answer.json

    def test_samples(self) -> None:
        """In the order of a story, and none is left out."""
        self.assert_is('host-response', self.send(
            'POST', '/v1/os-hosts', 'host-create-request', **_OPERATOR), 201)
        self.assert_is('hosts-response', self.send(
            'POST', '/v1/os-hosts', 'hosts-create-request', **_OPERATOR),
            201)
        self.assert_is('host-update-response', self.send(
            'PUT', '/v1/os-hosts/1', 'host-update-request', **_OPERATOR))
        self.assert_is('property-response', self.send(
            'PATCH', '/v1/os-hosts/properties/rack',
            'property-update-request', **_OPERATOR))
        self.assert_is('properties-response', self.send(
            'GET', '/v1/os-hosts/properties?detail=True&all=True',
            **_OPERATOR))
        made = self.assert_is('lease-response', self.send(
            'POST', '/v1/leases', 'lease-create-request', **_MEMBER), 201)
        self.assert_is('leases-response', self.send(
            'GET', '/v1/leases?limit=1', **_MEMBER))
        self.assert_is('lease-refused-response', self.send(
            'POST', '/v1/leases', 'lease-create-request', **_MEMBER), 409)
        self.assert_is('lease-update-response', self.send(
            'PUT', f'/v1/leases/{made["lease"]["id"]}',
            'lease-update-request', **_MEMBER))
        self.assert_is('lease-history-response', self.send(
            'GET', f'/v1/leases/{made["lease"]["id"]}/history',
            **{**_MEMBER, 'version': _LATER}))
        for kind, caller in (
                ('instances', _MEMBER), ('flavor', _MEMBER),
                ('flexible', {**_MEMBER, 'version': _OURS}),
                ('queued', {**_MEMBER, 'version': _OURS})):
            other = self.assert_is(f'lease-{kind}-response', self.send(
                'POST', '/v1/leases', f'lease-{kind}-create-request',
                **caller), 201)
            self.assertEqual(204, self.send(
                'DELETE', f'/v1/leases/{other["lease"]["id"]}',
                **_MEMBER).status)
        self.assert_is('allocations-response', self.send(
            'GET', '/v1/os-hosts/allocations', **_OPERATOR))
        self.assert_is('allocation-response', self.send(
            'GET', '/v1/os-hosts/1/allocation', **_OPERATOR))
        self.assert_is('availability-response', self.send(
            'GET', '/v1/availability?start_date=2050-01-01%2000:00'
            '&end_date=2050-01-05%2000:00&count=2&duration=86400',
            **_MEMBER))
        self.assert_is('availability-slots-response', self.send(
            'GET', '/v1/availability?start_date=2050-01-01%2000:00'
            '&end_date=2050-01-06%2000:00&count=2&duration=28800&slots=2',
            version=_OURS, **_MEMBER))
        self.assertEqual(201, world.request(
            self.world, 'POST', '/v1/maintenances', {
                'name': 'firmware', 'nodes': ['node-2'],
                'starts_at': '2050-01-05T00:00:00Z',
                'ends_at': '2050-01-05T12:00:00Z'},
            version=_OURS, **_OPERATOR).status)
        self.assert_is('calendar-response', self.send(
            'GET', '/v1/calendar?from=2050-01-01T00:00Z'
            '&to=2050-01-06T00:00Z&rows=true',
            **{**_OPERATOR, 'version': _LATER, 'X_PROJECT_ID': 'red'}))
        self.assertEqual({path.stem for path in SAMPLES.glob('*.json')},
                         self.used)
