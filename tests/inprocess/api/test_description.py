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

"""The OpenAPI description agrees with the application."""

import json
import re
from typing import Any

import testtools

from ironic_reservations.api import versions
from ironic_reservations.api.types import basic
from ironic_reservations.api.types import host as host_types
from ironic_reservations.api.types import host_shape
from ironic_reservations.api.types import lease as lease_types
from ironic_reservations.engine.reservations import find
from ironic_reservations.features.calendar import types as calendar_types
from ironic_reservations.features.limits import controller as limits
from tests.inprocess.api import world


def keys(datatype: Any) -> set[str]:
    """Return the names of the keys of a body or a query."""
    return {part.name for part in basic.wtypes.list_attributes(datatype)}


class TestDescription(testtools.TestCase):
    """Each described operation is served, and each served one is described."""

    def setUp(self) -> None:
        super().setUp()
        self.world = self.useFixture(world.OpenWorld())
        self.described: Any = world.request(
            self.world, 'GET', '/openapi.json').json
        self.schemas = self.described['components']['schemas']

    def _parameters(self, path: str) -> dict[str, Any]:
        out = {}
        for parameter in self.described['paths'][path]['get']['parameters']:
            if '$ref' in parameter:
                name = parameter['$ref'].rpartition('/')[2]
                parameter = self.described['components']['parameters'][name]
            if parameter['in'] == 'query':
                out[parameter['name']] = parameter
        return out

    def test_keys_of_a_reservation(self) -> None:
        """All keys, in the same order."""
        self.assertEqual(
            set(basic.FIELDS), set(self.schemas['Reservation']['properties']))

    def test_keys_of_a_request(self) -> None:
        """All keys, each with its version."""
        described = self.schemas['NewReservation']['properties']
        served = {part.name: part.since for part in
                  basic.wtypes.list_attributes(basic.NewReservation)}
        self.assertEqual(set(served), set(described))
        for name, since in served.items():
            if since:
                self.assertIn(versions.text(since),
                              described[name]['description'])

    def test_query_parameters(self) -> None:
        """The parameters of the list and of one reservation."""
        for path, query in (
                ('/v1/reservations', basic.ListQuery),
                ('/v1/reservations/{uuid}', basic.ShowQuery),
                ('/v1/limits', limits.LimitsQuery),
                ('/v1/calendar', calendar_types.CalendarQuery),
                ('/v1/leases.ics', calendar_types.FeedQuery),
                ('/v1/leases', lease_types.LeaseQuery),
                ('/v1/os-hosts', host_types.HostQuery),
                ('/v1/os-hosts/allocations', host_types.AllocationQuery),
                ('/v1/os-hosts/{id}/allocation',
                 host_types.AllocationQuery),
                ('/v1/os-hosts/properties', host_types.PropertyQuery),
                ('/v1/availability', host_types.AvailabilityQuery)):
            self.assertEqual(keys(query), set(self._parameters(path)))

    def test_keys_of_leases(self) -> None:
        """The keys of requests, and of the objects in them."""
        for name, datatype in (('NewLease', lease_types.NewLease),
                               ('LeaseUpdate', lease_types.LeaseUpdate)):
            self.assertEqual(keys(datatype),
                             set(self.schemas[name]['properties']))
        kinds = self.schemas['NewLease']['properties']['reservations'][
            'items']['oneOf']
        for described, datatype in zip(kinds, (
                lease_types.NewReservation, lease_types.NewInstances,
                lease_types.NewFlavored), strict=True):
            self.assertEqual(keys(datatype), set(described['properties']))
        for name, inside, datatype in (
                ('NewLease', 'events', lease_types.NewEvent),
                ('LeaseUpdate', 'reservations',
                 lease_types.ReservationUpdate)):
            self.assertEqual(keys(datatype), set(
                self.schemas[name]['properties'][inside]['items'][
                    'properties']))

    def test_keys_of_hosts(self) -> None:
        """All names that a capability cannot have."""
        self.assertEqual(host_shape.KEYS,
                         set(self.schemas['Host']['properties']))

    def test_words(self) -> None:
        """The sort keys and the fields."""
        listed = self._parameters('/v1/reservations')
        self.assertEqual(set(find.SORT_KEYS),
                         set(listed['sort_key']['schema']['enum']))
        self.assertEqual(set(basic.FIELDS),
                         set(listed['fields']['schema']['items']['enum']))

    def test_versions(self) -> None:
        """Each version, and latest."""
        self.assertEqual(
            [f'{versions.SERVICE_TYPE} {versions.text(minor)}'
             for minor, _ in versions.HISTORY]
            + [f'{versions.SERVICE_TYPE} latest'],
            self.described['components']['parameters']['Version']['schema'][
                'enum'])
        newest = versions.text(versions.MAXIMUM)
        self.assertEqual(newest, self.described['info']['version'])
        self.assertIn(f'This is version {newest}, the latest one.',
                      self.described['info']['description'])

    def test_history_has_no_gap(self) -> None:
        """One entry for each version, in order."""
        self.assertEqual(list(range(versions.MAXIMUM + 1)),
                         [minor for minor, _ in versions.HISTORY])

    def test_methods(self) -> None:
        """The methods in the answer to OPTIONS."""
        for path, described in self.described['paths'].items():
            answer = world.request(
                self.world, 'OPTIONS', re.sub('{[a-z]+}', 'x', path))
            allowed = {word.lower() for word in
                       answer.headers['Allow'].split(', ')}
            self.assertEqual(allowed - {'head', 'options'},
                             set(described) - {'parameters'})

    def test_examples_are_taken(self) -> None:
        """The examples of requests are accepted, with other nodes."""
        content = self.described['paths']['/v1/reservations']['post'][
            'requestBody']['content']['application/json']
        for example in content['examples'].values():
            answer = world.request(self.world, 'POST', '/v1/reservations',
                                   example['value'])
            self.assertEqual(409, answer.status, json.dumps(example))

    def test_examples_of_leases_are_taken(self) -> None:
        """The examples of leases and hosts are accepted, with other nodes."""
        self.world.ironic.add(name='node-1', resource_class='silver')
        for _ in range(2):
            self.world.ironic.add(resource_class='gold', properties=(
                ('cpus', '64'), ('local_gb', '2000'),
                ('memory_mb', '262144')))
        for path in ('/v1/os-hosts', '/v1/leases'):
            content = self.described['paths'][path]['post']['requestBody'][
                'content']['application/json']
            for example in content['examples'].values():
                answer = world.request(self.world, 'POST', path,
                                       example['value'])
                self.assertEqual(201, answer.status, answer.body)
