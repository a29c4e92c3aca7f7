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

"""Which leases the refusal of another one names."""

from __future__ import annotations

from typing import Any

import testtools

from tests.inprocess.api import world

_OPERATOR = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators',
             'openstack_system_scope': 'all'}
_RED = {'x_roles': 'member,reader', 'x_project_id': 'red'}
_BLUE = {'x_roles': 'member,reader', 'x_project_id': 'blue'}
_OURS = 'reservation 1.0, baremetal-reservation 1.23'
_BEFORE = 'reservation 1.0, baremetal-reservation 1.22'


class TestBlockerNames(testtools.TestCase):
    """One host, and a lease that has it."""

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(world.World(leases__cleaning_time=0))
        self.served.ironic.add(name='gold', resource_class='gold')
        self.send('POST', '/v1/os-hosts', 201, {'name': 'gold'}, _OPERATOR)
        self.there = self.lease('there', '02 10', '02 18')

    def send(self, method: str, path: str, status: int, document: Any = None,
             who: dict[str, str] = _RED, version: str = _OURS) -> Any:
        answer = world.request(self.served, method, path, document,
                               version=version, **who)
        self.assertEqual(status, answer.status, answer.body)
        return answer.json

    def lease(self, name: str, start: str, end: str, status: int = 201,
              query: str = '', **more: Any) -> Any:
        answer = self.send('POST', f'/v1/leases{query}', status, {
            'name': name, 'start_date': f'2050-01-{start}:00',
            'end_date': f'2050-01-{end}:00', 'reservations': [
                {'resource_type': 'physical:host', 'min': 1, 'max': 1}]},
            **more)
        return answer['lease'] if status == 201 else answer

    def blocker(self, refused: dict[str, Any]) -> dict[str, Any]:
        """Return the only lease in the way."""
        reason, = refused['details']['reasons']
        found: dict[str, Any]
        found, = reason['blockers']
        return found

    def test_lease_of_the_own_project_is_named(self) -> None:
        """By a dry run, a refused lease and a refused change."""
        named = {'start_date': '2050-01-02T10:00:00+00:00',
                 'end_date': '2050-01-02T18:00:00+00:00', 'own': True,
                 'reservation_id': self.there['reservations'][0]['id'],
                 'hosts': 1, 'lease_id': self.there['id'],
                 'lease_name': 'there'}
        for query in ('?dry_run=true', ''):
            self.assertEqual(named, self.blocker(self.lease(
                'new', '02 08', '02 12', 409, query)))
        new = self.lease('new', '02 08', '02 10')
        for query in ('?dry_run=true', ''):
            self.assertEqual(named, self.blocker(self.send(
                'PUT', f'/v1/leases/{new["id"]}{query}', 409,
                {'end_date': '2050-01-02 11:00'})))

    def test_lease_of_another_project_has_no_name(self) -> None:
        refused = self.lease('new', '02 08', '02 12', 409, who=_BLUE)
        self.assertEqual(
            {'start_date', 'end_date', 'own', 'hosts'},
            set(self.blocker(refused)))
        for secret in ('there', self.there['id'],
                       self.there['reservations'][0]['id']):
            self.assertNotIn(secret, str(refused))

    def test_version_before(self) -> None:
        self.assertEqual(
            {'start_date', 'end_date', 'own', 'reservation_id', 'hosts'},
            set(self.blocker(self.lease('new', '02 08', '02 12', 409,
                                        version=_BEFORE))))
