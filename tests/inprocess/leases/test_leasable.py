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

"""All nodes of a real Ironic are hosts, but for those that are closed."""

from typing import Any

import testtools

from tests import waiting
from tests.real import ironic as real_ironic

_CLOSED = 'CUSTOM_CLOSED'


class LeasableTest(testtools.TestCase):
    """``[leases] hosts = all``."""

    def setUp(self) -> None:
        """Start it; no command opens anything."""
        super().setUp()
        self.ironic = self.useFixture(real_ironic.RealIronic(reservations={
            'leases': {'hosts': 'all', 'closed_traits': _CLOSED},
            'ironic': {'poll_interval': 1, 'full_poll_interval': 2}}))

    def ask(self, method: str, path: str, **body: Any) -> Any:
        """Send a request; return the answer."""
        return self.ironic.session.request(
            method, f'{self.ironic.url}/v1/{path}', json=body or None,
            headers={'X-OpenStack-Ironic-API-Version': '1.95'}, timeout=60)

    def wait_for(self, **wanted: bool) -> None:
        """Wait until the hosts are these, open or not.

        The one that is closed is among them, closed, if it was seen after it
        had been enrolled and before it had its traits.
        """
        def found() -> dict[str, bool]:
            hosts = {host['name']: host['reservable']
                     for host in self.ask('GET', 'os-hosts').json()['hosts']}
            if not hosts.get('kept-0'):
                hosts.pop('kept-0', None)
            return hosts
        waiting.until(lambda: found() == wanted, found)

    def test_nodes_come_and_go(self) -> None:
        """Each is leased at once, unless it is closed."""
        first, second, third = self.ironic.enroll(3, prefix='free')
        self.ironic.enroll(1, prefix='kept', traits=[_CLOSED])
        names = [node.name for node in (first, second, third)]
        self.wait_for(**dict.fromkeys(names, True))
        made = self.ask(
            'POST', 'leases', name='all', start_date='2050-01-01 10:00',
            end_date='2050-01-01 12:00', events=[], reservations=[{
                'resource_type': 'physical:host', 'min': 3, 'max': 3,
                'hypervisor_properties': '', 'resource_properties': ''}])
        self.assertEqual(201, made.status_code, made.text)
        self.ask('DELETE', f'leases/{made.json()["lease"]["id"]}')

        self.ask('PUT', f'nodes/{first.uuid}/traits/{_CLOSED}')
        self.wait_for(**dict.fromkeys(names[1:], True), **{names[0]: False})
        refused = self.ask('PUT', f'os-hosts/{first.uuid}', reservable=True)
        self.assertEqual((409, True), (
            refused.status_code,
            'host.decided_by_configuration' in refused.text))
        self.ask('DELETE', f'nodes/{first.uuid}/traits/{_CLOSED}')
        self.wait_for(**dict.fromkeys(names, True))

        refused = self.ask('DELETE', f'os-hosts/{second.uuid}')
        self.assertEqual(409, refused.status_code)
        gone = self.ask('DELETE', f'nodes/{second.uuid}')
        self.assertEqual(204, gone.status_code, gone.text)
        self.wait_for(**{names[0]: True, names[2]: True})
