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

"""What the dry run of a lease says of other leases, which make room."""

from __future__ import annotations

from typing import Any

import testtools

from tests.inprocess.api import world

_OPERATOR = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators',
             'openstack_system_scope': 'all'}
_RED = {'x_roles': 'member,reader', 'x_project_id': 'red'}
_BLUE = {'x_roles': 'member,reader', 'x_project_id': 'blue'}
_OURS = 'reservation 1.0, baremetal-reservation 1.15'
_NOTHING: dict[str, Any] = {'leases': [], 'others': 0}


def _body(name: str, start: str, end: str,
          properties: str = '') -> dict[str, Any]:
    return {'name': name, 'start_date': f'2050-01-{start}:00',
            'end_date': f'2050-01-{end}:00', 'reservations': [
                {'resource_type': 'physical:host', 'min': 1, 'max': 1,
                 'resource_properties': properties}]}


class TestMoves(testtools.TestCase):
    """Two hosts, of which one has what few ask for."""

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(world.World(
            leases__cleaning_time=0))
        self.nodes = {}
        for name in ('plain', 'large'):
            node = self.served.ironic.add(name=name, resource_class=name)
            self.nodes[name] = node.uuid
            self.send('POST', '/v1/os-hosts', 201, {'name': name}, _OPERATOR)

    def send(self, method: str, path: str, status: int, document: Any = None,
             who: dict[str, str] = _RED, version: str = _OURS) -> Any:
        answer = world.request(self.served, method, path, document,
                               version=version, **who)
        self.assertEqual(status, answer.status, answer.body)
        return answer.json if answer.body else None

    def make(self, document: dict[str, Any],
             who: dict[str, str] = _RED) -> dict[str, Any]:
        made: dict[str, Any] = self.send('POST', '/v1/leases', 201, document,
                                         who)['lease']
        return made

    def dry(self, document: dict[str, Any], who: dict[str, str] = _RED,
            version: str = _OURS) -> dict[str, Any]:
        before = self.send('GET', '/v1/leases', 200, who=_OPERATOR)
        found: dict[str, Any] = self.send(
            'POST', '/v1/leases?dry_run=true', 200, document, who, version)
        self.assertEqual(before, self.send('GET', '/v1/leases', 200,
                                           who=_OPERATOR))
        return found

    def where(self, lease: dict[str, Any]) -> str:
        found: str = self.send('GET', f'/v1/leases/{lease["id"]}', 200,
                               who=_OPERATOR)['lease'][
                                   'reservations'][0]['nodes'][0]['uuid']
        return found

    def wants_the_node_of(self, lease: dict[str, Any], start: str = '02 10',
                          end: str = '02 14') -> dict[str, Any]:
        """Return a request for the very node that a lease has."""
        kind, = (name for name, uuid in self.nodes.items()
                 if uuid == self.where(lease))
        return _body('new', start, end,
                     f'["==", "$resource_class", "{kind}"]')

    def test_lease_that_gets_another_host(self) -> None:
        """Its owner sees which one; and so it is done."""
        there = self.make(_body('there', '02 09', '02 18'))
        left = self.where(there)
        got, = set(self.nodes.values()) - {left}
        request = self.wants_the_node_of(there)
        self.assertEqual({'others': 0, 'leases': [{
            'id': there['id'], 'name': 'there', 'project_id': 'red',
            'start_date': '2050-01-02T09:00:00.000000',
            'end_date': '2050-01-02T18:00:00.000000', 'slides': 0,
            'nodes': [{'from': left, 'to': got}]}]},
            self.dry(request)['moves'])
        self.make(request)
        self.assertEqual(got, self.where(there))

    def test_leases_of_others_are_a_number(self) -> None:
        """No name, no id, no node; an administrator sees them."""
        there = self.make(_body('secret plan', '02 09', '02 18'), _BLUE)
        request = self.wants_the_node_of(there)
        answer = self.dry(request)
        self.assertEqual({'leases': [], 'others': 1}, answer['moves'])
        for secret in ('secret plan', there['id'],
                       there['reservations'][0]['id'], 'blue'):
            self.assertNotIn(secret, str(answer))
        self.assertEqual(
            ([there['id']], 0), (
                [each['id'] for each in self.dry(request, _OPERATOR)[
                    'moves']['leases']],
                self.dry(request, _OPERATOR)['moves']['others']))

    def test_lease_of_no_project_is_one_of_others(self) -> None:
        """For a caller who has none either."""
        nobody = {'x_roles': 'admin,member,reader',
                  'openstack_system_scope': 'all'}
        there = self.make(_body('there', '02 09', '02 18'), nobody)
        self.assertEqual({'leases': [], 'others': 1}, self.dry(
            self.wants_the_node_of(there))['moves'])

    def test_lease_that_slides(self) -> None:
        """Its dates are open: it starts later, and says by how much."""
        request = _body('new', '02 10', '02 14',
                        '["==", "$resource_class", "plain"]')
        there = self.make({
            'name': 'open', 'between': ['2050-01-02 10:00',
                                        '2050-01-20 10:00'],
            'duration': 86400, 'reservations': request['reservations']})
        moves = self.dry(request)['moves']
        self.assertEqual(
            [(there['id'], 4 * 3600, '2050-01-02T14:00:00.000000',
              '2050-01-03T14:00:00.000000', [])],
            [(each['id'], each['slides'], each['start_date'],
              each['end_date'], each['nodes']) for each in moves['leases']])
        self.assertEqual({'leases': [], 'others': 1},
                         self.dry(request, _BLUE)['moves'])
        self.make(request)
        self.assertEqual(
            '2050-01-02T14:00:00.000000', self.send(
                'GET', f'/v1/leases/{there["id"]}', 200)['lease'][
                    'start_date'])

    def test_change_of_a_lease(self) -> None:
        """Says the same as a new one does."""
        red = self.make(_body('red', '02 09', '02 12'))
        blue = self.make(_body('blue', '02 09', '02 12'), _BLUE)
        mine = self.make(self.wants_the_node_of(blue, '01 09', '01 18'))
        path = f'/v1/leases/{mine["id"]}?dry_run=true'
        self.send('PUT', path, 409, {'end_date': '2050-01-02 11:00'})
        self.send('DELETE', f'/v1/leases/{red["id"]}', 204)
        self.assertEqual({'leases': [], 'others': 1}, self.send(
            'PUT', path, 200, {'end_date': '2050-01-02 11:00'})['moves'])
        self.assertEqual(_NOTHING, self.send(
            'PUT', path, 200, {'name': 'another'})['moves'])
        self.assertEqual(_NOTHING, self.send(
            'PUT', path, 200, {'end_date': '2050-01-01 17:00'})['moves'])

    def test_nothing_moves(self) -> None:
        """There is a free host."""
        self.make(_body('there', '02 09', '02 18'))
        self.assertEqual(_NOTHING, self.dry(
            _body('new', '02 10', '02 14'))['moves'])

    def test_versions_before(self) -> None:
        """And what is no dry run: a lease, and nothing else."""
        there = self.make(_body('there', '02 09', '02 18'))
        request = self.wants_the_node_of(there)
        for version in ('reservation 1.0',
                        'reservation 1.0, baremetal-reservation 1.14'):
            self.assertEqual({'lease'}, self.dry(
                request, version=version).keys())
        self.assertEqual({'lease'}, self.send(
            'POST', '/v1/leases', 201, request).keys())
