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
"""Who may look at leases, and who may end them, by the policies."""

from __future__ import annotations

import pathlib
from typing import Any
from urllib.parse import quote

import fixtures
import testtools

from tests.inprocess.api import world

_OPERATOR = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators',
             'openstack_system_scope': 'all'}
_MEMBER = {'x_roles': 'member,reader', 'x_project_id': 'red'}
_DAY = 'start_date=2050-01-01 00:00&end_date=2050-01-03 00:00'


def _ask(text: str) -> dict[str, Any]:
    return {'name': 'day', 'start_date': '2050-01-01 10:00',
            'end_date': '2050-01-02 10:00', 'reservations': [
                {'resource_type': 'physical:host', 'min': 1, 'max': 1,
                 'hypervisor_properties': '', 'resource_properties': text}]}


class TestRoles(testtools.TestCase):
    """An application with a host, and the file of policies of an operator.
    """

    def _serve(self, policy: str = '') -> world.World:
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                            'policy.yaml')
        path.write_text(policy)
        served = self.useFixture(world.World(
            oslo_policy__policy_file=str(path)))
        served.ironic.add(name='compute-1', resource_class='gold')
        self._send(served, 'POST', '/v1/os-hosts', 201, _OPERATOR,
                   {'name': 'compute-1'})
        return served

    def _send(self, served: world.World, method: str, path: str, status: int,
              who: dict[str, str], document: Any = None) -> Any:
        answer = world.request(served, method, path, document, **who)
        self.assertEqual(status, answer.status, answer.body)
        return answer.json if answer.body else None

    def _lease(self, served: world.World) -> str:
        made = self._send(served, 'POST', '/v1/leases', 201, _MEMBER, {
            'name': 'day', 'start_date': '2050-01-01 10:00',
            'end_date': '2050-01-02 10:00', 'reservations': [
                {'resource_type': 'physical:host', 'min': 1, 'max': 1}]})
        return f'/v1/leases/{made["lease"]["id"]}'

    def test_members_see_what_is_free_and_not_the_hosts(self) -> None:
        """Blazar: members see neither hosts nor allocations, hence not what
        is available.
        """
        served = self._serve()
        self._lease(served)
        shown = self._send(served, 'GET', f'/v1/availability?{_DAY}', 200,
                           {**_MEMBER, 'x_project_id': 'blue'})
        (gold,) = shown['availability']['classes']
        self.assertEqual(('gold', 1, [1, 0, 1]), (
            gold['resource_class'], gold['hosts'],
            [span['free'] for span in gold['spans']]))
        self._send(served, 'GET', '/v1/os-hosts', 403, _MEMBER)

    def test_operator_shows_members_when_hosts_are_promised(self) -> None:
        """The proofs of others, and private properties, stay hidden."""
        served = self._serve(
            '"reservation:host:get": "role:reader"\n'
            '"reservation:host:get_allocation_times": "role:reader"\n')
        host = self._send(served, 'GET', '/v1/os-hosts', 200,
                          _OPERATOR)['hosts'][0]
        path = f'/v1/os-hosts/{host["id"]}'
        self._send(served, 'PUT', path, 200, _OPERATOR,
                   {'rack': 'r1', 'price': '9'})
        self._send(served, 'PATCH', '/v1/os-hosts/properties/price', 200,
                   _OPERATOR, {'private': True})
        lease = self._lease(served)
        other = {**_MEMBER, 'x_project_id': 'blue'}
        shown = [self._send(served, 'GET', '/v1/os-hosts', 200,
                            other)['hosts'][0],
                 self._send(served, 'GET', path, 200, other)['host']]
        for each in shown:
            self.assertEqual('r1', each['rack'])
            self.assertNotIn('price', each)
        self.assertEqual('9', self._send(served, 'GET', path, 200,
                                         _OPERATOR)['host']['price'])
        whole, = self._send(served, 'GET', '/v1/os-hosts/allocations', 200,
                            _OPERATOR)['allocations']
        for who in (other, _MEMBER):
            times, = self._send(served, 'GET', '/v1/os-hosts/allocations',
                                200, who)['allocations']
            self.assertEqual(times, self._send(
                served, 'GET', f'{path}/allocation', 200, who)['allocation'])
            (proof,), (stand_in,) = (whole['reservations'],
                                     times['reservations'])
            self.assertEqual({**proof, 'lease_id': None,
                              'id': stand_in['id']}, stand_in)
            self.assertNotEqual(proof['id'], stand_in['id'])
        # Whoever knows a lease does not learn which hosts it has.
        for query in (f'lease_id={lease.rpartition("/")[2]}',
                      f'reservation_id={proof["id"]}'):
            for at in ('/v1/os-hosts/allocations', f'{path}/allocation'):
                self._send(served, 'GET', f'{at}?{query}', 403, other)
                self._send(served, 'GET', f'{at}?{query}', 200, _OPERATOR)

    def test_availability_oracle(self) -> None:
        """Yes and no told names, owners and what is private, one by one."""
        served = self._serve()
        host = self._send(served, 'GET', '/v1/os-hosts', 200,
                          _OPERATOR)['hosts'][0]
        self._send(served, 'PUT', f'/v1/os-hosts/{host["id"]}', 200,
                   _OPERATOR, {'rack': 'r1', 'price': '9'})
        self._send(served, 'PATCH', '/v1/os-hosts/properties/price', 200,
                   _OPERATOR, {'private': True})
        told = set()
        for name, value in (
                ('name', 'compute-1'), ('name', 'other'),
                ('hypervisor_hostname', 'compute-1'), ('owner', 'blue'),
                ('node_uuid', host['node_uuid']), ('status', 'available'),
                ('price', '9'), ('price', '8'), ('no_such_thing', '1')):
            for text in (f'["==", "${name}", "{value}"]',
                         f'["not", ["==", "${name}", "{value}"]]'):
                for method, path, body in (
                        ('GET', f'/v1/availability?{_DAY}'
                                f'&resource_properties={quote(text)}', None),
                        ('POST', '/v1/leases', _ask(text)),
                        ('POST', '/v1/leases?dry_run=true', _ask(text))):
                    answer = world.request(served, method, path, body,
                                           **_MEMBER)
                    told.add((answer.status, answer.code,
                              answer.detail.replace(name, 'X')))
                self._send(served, 'GET', f'/v1/availability?{_DAY}'
                           f'&resource_properties={quote(text)}', 200,
                           _OPERATOR)
        self.assertEqual(1, len(told), told)
        for text in ('["==", "$rack", "r1"]', '["==", "$vcpus", "4"]',
                     '["==", "$resource_class", "gold"]',
                     '["==", "$owner", "red"]'):
            self._send(served, 'GET', f'/v1/availability?{_DAY}'
                       f'&resource_properties={quote(text)}', 200, _MEMBER)

    def test_who_may_look_may_not_end(self) -> None:
        """esi-leap: DELETE checks the policy of GET."""
        served = self._serve('"reservation:lease:delete": "!"\n')
        path = self._lease(served)
        for who in (_MEMBER, _OPERATOR):
            self._send(served, 'GET', path, 200, who)
            self._send(served, 'DELETE', path, 403, who)
        self._send(served, 'GET', path, 200, _MEMBER)
