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

"""The dry run of a lease shows the other leases that would move."""

from typing import Any

from tests.inprocess.api import asking

_NOTHING: dict[str, Any] = {'leases': [], 'others': 0}


class TestMoves(asking.AskingCase):
    """Two hosts; one of them has a property that few leases need."""

    options = {'leases__cleaning_time': 0}
    nodes = {name: {'resource_class': name} for name in ('plain', 'large')}
    version = asking.since(15)

    def setUp(self) -> None:
        super().setUp()
        self.uuids = {node.name: node.uuid
                      for node in self.served.ironic.nodes()}

    def make(self, document: dict[str, Any],
             who: dict[str, str] | None = None) -> dict[str, Any]:
        made: dict[str, Any] = self.ask('POST', '/v1/leases', 201, document,
                                        who)['lease']
        return made

    def dry(self, document: dict[str, Any],
            who: dict[str, str] | None = None, **more: str) -> dict[str, Any]:
        def leases() -> Any:
            return self.ask('GET', '/v1/leases', who=asking.OPERATOR)
        before = leases()
        found: dict[str, Any] = self.ask(
            'POST', '/v1/leases?dry_run=true', 200, document, who, **more)
        self.assertEqual(before, leases())
        return found

    def where(self, lease: dict[str, Any]) -> str:
        found: str = self.ask(
            'GET', f'/v1/leases/{lease["id"]}', who=asking.OPERATOR)[
                'lease']['reservations'][0]['nodes'][0]['uuid']
        return found

    def wants_the_node_of(self, lease: dict[str, Any], start: str = '02 10',
                          end: str = '02 14') -> dict[str, Any]:
        """Return a request for the very node that a lease has."""
        kind, = (name for name, uuid in self.uuids.items()
                 if uuid == self.where(lease))
        return asking.lease(start, end, 1,
                            f'["==", "$resource_class", "{kind}"]')

    def test_lease_that_gets_another_host(self) -> None:
        """The owner sees which lease moves, and the real request moves it."""
        there = self.book('02 09', '02 18', name='there')
        left = self.where(there)
        got, = set(self.uuids.values()) - {left}
        request = self.wants_the_node_of(there)
        self.assertEqual({'others': 0, 'leases': [{
            'id': there['id'], 'name': 'there', 'project_id': 'red',
            'start_date': '2050-01-02T09:00:00.000000',
            'end_date': '2050-01-02T18:00:00.000000', 'shift': 0,
            'nodes': [{'from': left, 'to': got}]}]},
            self.dry(request)['moves'])
        self.make(request)
        self.assertEqual(got, self.where(there))

    def test_leases_of_others_are_a_number(self) -> None:
        """Without name, id and node; an administrator sees these."""
        there = self.book('02 09', '02 18', name='secret plan',
                          who=asking.OTHER)
        request = self.wants_the_node_of(there)
        answer = self.dry(request)
        self.assertEqual({'leases': [], 'others': 1}, answer['moves'])
        for secret in ('secret plan', there['id'],
                       there['reservations'][0]['id'], 'blue'):
            self.assertNotIn(secret, str(answer))
        seen = self.dry(request, asking.OPERATOR)['moves']
        self.assertEqual(
            ([there['id']], 0),
            ([each['id'] for each in seen['leases']], seen['others']))

    def test_lease_of_no_project_is_one_of_others(self) -> None:
        """The caller has no project either."""
        there = self.book('02 09', '02 18', who={
            'x_roles': 'admin,member,reader', 'openstack_system_scope': 'all'})
        self.assertEqual({'leases': [], 'others': 1}, self.dry(
            self.wants_the_node_of(there))['moves'])

    def test_lease_that_slides(self) -> None:
        """Its dates are open: the answer shows the delay of its start."""
        request = asking.lease('02 10', '02 14', 1,
                               '["==", "$resource_class", "plain"]')
        there = self.make({
            'name': 'open', 'between': ['2050-01-02 10:00',
                                        '2050-01-20 10:00'],
            'duration': 86400, 'reservations': request['reservations']})
        moves = self.dry(request)['moves']
        self.assertEqual(
            [(there['id'], 4 * 3600, '2050-01-02T14:00:00.000000',
              '2050-01-03T14:00:00.000000', [])],
            [(each['id'], each['shift'], each['start_date'],
              each['end_date'], each['nodes']) for each in moves['leases']])
        self.assertEqual({'leases': [], 'others': 1},
                         self.dry(request, asking.OTHER)['moves'])
        self.make(request)
        self.assertEqual(
            '2050-01-02T14:00:00.000000', self.ask(
                'GET', f'/v1/leases/{there["id"]}')['lease']['start_date'])

    def test_change_of_a_lease(self) -> None:
        """The dry run of a change has the same keys."""
        red = self.book('02 09', '02 12')
        blue = self.book('02 09', '02 12', who=asking.OTHER)
        mine = self.make(self.wants_the_node_of(blue, '01 09', '01 18'))
        path = f'/v1/leases/{mine["id"]}?dry_run=true'
        self.ask('PUT', path, 409, {'end_date': '2050-01-02 11:00'})
        self.ask('DELETE', f'/v1/leases/{red["id"]}', 204)
        for change, moves in (
                ({'end_date': '2050-01-02 11:00'},
                 {'leases': [], 'others': 1}),
                ({'name': 'another'}, _NOTHING),
                ({'end_date': '2050-01-01 17:00'}, _NOTHING)):
            self.assertEqual(moves, self.ask('PUT', path, 200, change)[
                'moves'])

    def test_nothing_moves(self) -> None:
        """A host is free."""
        self.book('02 09', '02 18')
        self.assertEqual(_NOTHING, self.dry(
            asking.lease('02 10', '02 14'))['moves'])

    def test_versions_before(self) -> None:
        """The real request returns only the lease, too."""
        there = self.book('02 09', '02 18', name='there')
        request = self.wants_the_node_of(there)
        for version in ('reservation 1.0', asking.since(14)):
            self.assertEqual({'lease'}, self.dry(
                request, version=version).keys())
        self.assertEqual({'lease'}, self.ask(
            'POST', '/v1/leases', 201, request).keys())
