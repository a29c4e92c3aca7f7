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

"""Each time in an answer: ISO 8601 with a zone, or as Blazar writes it."""

from collections.abc import Iterator
import re
from typing import Any

from tests import world as worlds
from tests.inprocess.api import asking
from tests.inprocess.api import world

_TIME = re.compile(r'[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:')
_OURS = re.compile(r'[0-9-]{10}T[0-9:]{8}([.][0-9]{6})?[+]00:00')
_BLAZARS = re.compile(r'[0-9-]{10}(T[0-9:]{8}[.][0-9]{6}| [0-9:]{8})')
_WINDOW = 'start_date=2050-01-01 00:00&end_date=2050-01-09 00:00'.replace(
    ' ', '%20')


def _texts(document: Any, key: str = '') -> Iterator[tuple[str, str]]:
    """Yield all texts of a document that are times, with their keys."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from _texts(value, name)
    elif isinstance(document, list):
        for value in document:
            yield from _texts(value, key)
    elif isinstance(document, str) and _TIME.match(document):
        yield key, document


class TestFormats(asking.AskingCase):
    """Whatever there is has been made once."""

    version = f'reservation 1.0, {asking.AskingCase.version}'
    member = operator = {}
    nodes = {f'compute-{number}': {'resource_class': 'gold'}
             for number in range(4)}

    def serve(self) -> world.World:
        return world.OpenWorld()

    def setUp(self) -> None:
        super().setUp()
        self.lease = self.ask('POST', '/v1/leases', 201, {
            'name': 'lease', 'duration': 3600,
            'between': ['2050-01-01 10:00', '2050-01-03 10:00'],
            'reservations': asking.hosts()})['lease']
        self.host, *_ = self.ask('GET', '/v1/os-hosts')['hosts']

    def check(self, path: str, form: re.Pattern[str], *keys: str) -> None:
        """Check the times of an answer.

        :param keys: of times that it must have.
        """
        found = [*_texts(self.ask('GET', path))]
        self.assertEqual(set(keys), {key for key, _ in found} & {*keys})
        self.assertEqual([], [each for each in found
                              if not form.fullmatch(each[1])], path)

    def test_ours_have_a_zone(self) -> None:
        own = '/v1/reservations'
        self.ask('POST', own, 201, {
            'instance_uuid': worlds.new_uuid(),
            'node_uuid': [self.host['node_uuid']]})
        self.check(own, _OURS, 'expires_at', 'created_at')
        window = self.ask('POST', '/v1/maintenances', 201, {
            'name': 'firmware', 'nodes': [self.host['node_uuid']],
            'starts_at': '2050-02-01T00:00:00Z',
            'ends_at': '2050-02-02T00:00:00Z'})['maintenance']
        self.check('/v1/maintenances', _OURS, 'starts_at', 'ends_at')
        self.check(f'/v1/maintenances/{window["uuid"]}', _OURS, 'created_at')
        self.ask('POST', '/v1/calendar/token', 201)
        self.check('/v1/calendar/token', _OURS, 'created_at')
        self.check('/v1/calendar?from=2050-01-01T00:00Z&rows=true', _OURS)
        self.check(f'/v1/leases/{self.lease["id"]}/history', _OURS, 'at')
        self.check(f'/v1/availability?{_WINDOW}&count=1&duration=60&slots=2',
                   _OURS, 'earliest', 'start_date', 'end_date')
        self.check('/v1/usage?first_day=2050-01-01&last_day=2050-01-02', _OURS)
        self.check('/v1/limits', _OURS)

    def test_refusal_has_zones(self) -> None:
        refused = self.book('01 10', '03 10', 9, status=409)
        # Offers are requests.
        found = [*_texts(refused['details']['reasons'])]
        self.assertNotEqual([], found)
        self.assertEqual([], [each for each in found
                              if not _OURS.fullmatch(each[1])])

    def test_leases_and_hosts_are_as_blazar_writes_them(self) -> None:
        """With the keys that are ours, so that they can be compared."""
        path = f'/v1/leases/{self.lease["id"]}'
        for each in ('/v1/leases', path):
            self.check(each, _BLAZARS, 'start_date', 'between', 'created_at',
                       'time')
        self.check('/v1/os-hosts', _BLAZARS, 'created_at')
        self.check('/v1/os-hosts/allocations', _BLAZARS, 'start_date')
