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

import fixtures
import testtools

from tests.api import world

_OPERATOR = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators'}
_MEMBER = {'x_roles': 'member,reader', 'x_project_id': 'red'}
_DAY = 'start_date=2050-01-01 00:00&end_date=2050-01-03 00:00'


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

    def test_who_may_look_may_not_end(self) -> None:
        """esi-leap: DELETE checks the policy of GET."""
        served = self._serve('"reservation:lease:delete": "!"\n')
        path = self._lease(served)
        for who in (_MEMBER, _OPERATOR):
            self._send(served, 'GET', path, 200, who)
            self._send(served, 'DELETE', path, 403, who)
        self._send(served, 'GET', path, 200, _MEMBER)
