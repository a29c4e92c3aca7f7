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

"""A client cannot fill the database with the keys of its requests."""

import itertools
from typing import Any
import uuid

import testtools

from ironic_reservations import errors
from ironic_reservations.features.keys import key_limit
from tests.inprocess.api import asking


class TestKeyLimit(asking.AskingCase):
    """A project creates and ends a lease and a reservation, without end."""

    options = {'api__max_keys_per_day': 4}
    nodes = {'host': {'owner': 'red'}}

    def setUp(self) -> None:
        super().setUp()
        self._number = itertools.count()

    def _lease(self, status: int = 201, who: dict[str, str] = asking.MEMBER,
               key: bool = True) -> Any:
        number = next(self._number)
        made = self.send(
            'POST', '/v1/leases', status, asking.lease(
                '01 10', '01 12', name=f'lease {number}'), who,
            **({'idempotency_key': f'key {number}'} if key else {}))
        if status == 201:
            self.send('DELETE', f'/v1/leases/{made.json["lease"]["id"]}',
                      204, who=who)
        return made

    def _reserve(self, status: int) -> Any:
        node, = self.served.ironic.nodes()
        return self.ask('POST', '/v1/reservations', status, {
            'uuid': str(uuid.uuid4()), 'instance_uuid': str(uuid.uuid4()),
            'node_uuid': [node.uuid]})

    def test_requests_that_keep_a_key_are_counted(self) -> None:
        count = key_limit.KeyLimit.count
        # The machine may take seconds between the first and the last request.
        self.patch(
            key_limit.KeyLimit, 'count',
            lambda limit, project, most, _: count(limit, project, most, 100))
        for _ in range(2):
            self._lease()
        made = self._reserve(201)['reservation']
        self.send('DELETE', f'/v1/reservations/{made["uuid"]}', 204)
        self._lease()
        refused = self._lease(429)
        self.assertEqual('request.too_many_keys', refused.json['code'])
        self.assertEqual('21600', refused.headers['Retry-After'])
        self._reserve(429)

    def test_change_is_counted(self) -> None:
        path = f'/v1/leases/{self.book("01 10", "01 12")["id"]}'
        for number in range(5):
            self.send('PUT', path, 200 if number < 4 else 429,
                      {'name': f'name {number}'},
                      idempotency_key=f'key {number}')
        self.assertEqual('name 3', self.ask('GET', path)['lease']['name'])

    def test_nothing_else_is_limited(self) -> None:
        """Other projects, administrators and requests without a key continue.
        """
        for _ in range(4):
            self._lease()
        self._lease(429)
        self._lease(key=False)
        self._lease(who=asking.OPERATOR)
        self._lease(who=asking.OTHER)

    def test_no_limit(self) -> None:
        self.served.conf.set_override('max_keys_per_day', 0, 'api')
        for _ in range(6):
            self._lease()


class TestCount(testtools.TestCase):

    def test_day_passes(self) -> None:
        """A project may use a day's number at once, and then by parts."""
        limit = key_limit.KeyLimit()
        for _ in range(3):
            limit.count('red', 3, 100.0)
        refused = self.assertRaises(errors.TooManyKeys, limit.count, 'red', 3,
                                    100.0)
        self.assertEqual(86400 / 3, refused.retry_after)
        limit.count('blue', 3, 100.0)
        later = 100.0 + 86400 / 3
        limit.count('red', 3, later)
        self.assertRaises(errors.TooManyKeys, limit.count, 'red', 3, later)
        for _ in range(3):
            limit.count('red', 3, later + 86400)

    def test_all_of_a_number_that_does_not_divide_a_day(self) -> None:
        limit = key_limit.KeyLimit()
        for _ in range(100003):
            limit.count('red', 100003, 1e9 / 7)
        self.assertRaises(errors.TooManyKeys, limit.count, 'red', 100003,
                          1e9 / 7)

    def test_number_of_projects_is_bounded(self) -> None:
        limit = key_limit.KeyLimit()
        for number in range(key_limit.REMEMBERED + 5):
            limit.count(f'project {number}', 3, 100.0 + number)
        self.assertEqual(key_limit.REMEMBERED, len(limit))
