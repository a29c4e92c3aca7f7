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

from __future__ import annotations

import datetime
from typing import Any

import testtools

from tests.inprocess.api import world

_OPERATOR = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators',
             'openstack_system_scope': 'all'}
_MEMBER = {'x_roles': 'member,reader', 'x_project_id': 'red'}
_OURS = 'reservation 1.0, baremetal-reservation 1.24'
_HOSTS = [{'resource_type': 'physical:host', 'min': 1, 'max': 1}]


class TestKeyOfNow(testtools.TestCase):
    """A request with dates that mean another instant each time."""

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(world.World())
        self.served.ironic.add(name='rack-7')
        self.send('/v1/os-hosts', 201, {'name': 'rack-7'}, **_OPERATOR)

    def send(self, path: str, status: int, document: Any,
             **headers: str) -> Any:
        answer = world.request(self.served, 'POST', path, document,
                               version=_OURS, **headers)
        self.assertEqual(status, answer.status, answer.body)
        return answer.json

    def test_repeated_request_that_is_notified_now(self) -> None:
        """Is answered with the lease that it has made."""
        first, second = (self.send('/v1/leases', 201, {
            'name': 'one', 'start_date': 'now',
            'end_date': '2050-01-02 10:00', 'before_end_date': 'now',
            'reservations': _HOSTS}, **_MEMBER, idempotency_key='once')
            for _ in range(2))
        self.assertEqual(first['lease']['id'], second['lease']['id'])

    def test_repeated_request_with_open_dates(self) -> None:
        """Is answered likewise."""
        first, second = (self.send('/v1/leases', 201, {
            'name': 'one', 'between': ['now', '2050-01-02 10:00'],
            'duration': 3600,
            'reservations': _HOSTS}, **_MEMBER, idempotency_key='once')
            for _ in range(2))
        self.assertEqual(first['lease']['id'], second['lease']['id'])

    def test_repeated_request_after_its_end(self) -> None:
        """Is answered likewise, and not as if nothing had been promised."""
        end = self.served.clock() + datetime.timedelta(hours=1)
        for number, dates in enumerate((
                {'start_date': 'now', 'end_date': end.isoformat()},
                {'between': ['now', end.isoformat()], 'duration': 1800})):
            document = {'name': 'one', **dates, 'reservations': _HOSTS}
            made = self.send('/v1/leases', 201, document, **_MEMBER,
                             idempotency_key=f'once-{number}')
            self.served.clock.ahead += datetime.timedelta(hours=2)
            again = self.send('/v1/leases', 201, document, **_MEMBER,
                              idempotency_key=f'once-{number}')
            self.assertEqual(made['lease']['id'], again['lease']['id'])
            self.send('/v1/leases', 400, document, **_MEMBER,
                      idempotency_key=f'another-{number}')
            self.send('/v1/leases', 400, document, **_MEMBER)
            self.served.clock.ahead -= datetime.timedelta(hours=2)
            world.request(self.served, 'DELETE',
                          f'/v1/leases/{made["lease"]["id"]}', version=_OURS,
                          **_MEMBER)
