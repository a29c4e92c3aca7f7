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

"""A lease that is degraded says why, to those who ask for it."""

from __future__ import annotations

from typing import Any

import testtools

from ironic_reservations.engine.lease_cycle import health
from tests.inprocess.api import world

_OPERATOR = {'x_roles': 'admin,member,reader', 'x_project_id': 'operators',
             'openstack_system_scope': 'all'}
_MEMBER = {'x_roles': 'member,reader', 'x_project_id': 'red'}
_OURS = 'reservation 1.0, baremetal-reservation 1.6'
_OTHERS = ('reservation 1.0', 'reservation 1.0, baremetal-reservation 1.5',
           'reservation latest, baremetal-reservation 1.99', None)


class TestReason(testtools.TestCase):
    """Both hosts that there are have been leased."""

    def setUp(self) -> None:
        super().setUp()
        self.served = self.useFixture(world.World())
        self.nodes = [self.served.ironic.add(name=name)
                      for name in ('rack-7', 'rack-8')]
        for node in self.nodes:
            self._send('POST', '/v1/os-hosts', 201, _OURS,
                       {'name': node.name}, _OPERATOR)
        self.made = self._send('POST', '/v1/leases', 201, _OURS, {
            'name': 'all', 'start_date': '2050-01-01 10:00',
            'end_date': '2050-01-01 12:00', 'reservations': [
                {'resource_type': 'physical:host', 'min': 2, 'max': 2}]}
        )['lease']
        self.path = f'/v1/leases/{self.made["id"]}'

    def _send(self, method: str, path: str, status: int, version: str | None,
              document: Any = None, who: dict[str, str] = _MEMBER) -> Any:
        answer = world.request(self.served, method, path, document,
                               version=version, **who)
        self.assertEqual(status, answer.status, answer.body)
        return answer.json

    def _pass(self, maintenance: bool) -> None:
        """Change the first node, and have the reconciler look."""
        self.served.ironic.change(self.nodes[0].uuid,
                                  maintenance=maintenance)
        self.served.look_outside()
        health.check(self.served.engine)

    def _shown(self) -> tuple[bool, str | None]:
        """Return what the lease shows, alone, in the list and changed."""
        shown = [
            self._send('GET', self.path, 200, _OURS)['lease'],
            self._send('GET', '/v1/leases', 200, _OURS)['leases'][0],
            self._send('PUT', self.path, 200, _OURS, {})['lease']]
        told, = {(each['degraded'], each['degraded_reason'])
                 for each in shown}
        return told

    def test_reason_comes_and_goes_with_what_is_wrong(self) -> None:
        """Wherever the lease is shown."""
        self.assertIsNone(self.made['degraded_reason'])
        self._pass(maintenance=True)
        self.assertEqual((True, 'Node rack-7 is in maintenance.'),
                         self._shown())
        self._pass(maintenance=False)
        self.assertEqual((False, None), self._shown())

    def test_what_is_no_longer_wrong_is_not_told(self) -> None:
        """Though the flag is taken away at the next pass only."""
        self._pass(maintenance=True)
        self.served.ironic.change(self.nodes[0].uuid, maintenance=False)
        self.served.look_outside()
        self.assertEqual((True, None), self._shown())

    def test_format_of_blazar_is_as_it_was(self) -> None:
        """For all who do not ask for it."""
        self._pass(maintenance=True)
        for version in _OTHERS:
            shown = self._send('GET', self.path, 200, version)['lease']
            self.assertIs(True, shown['degraded'])
            self.assertNotIn('degraded_reason', shown)
