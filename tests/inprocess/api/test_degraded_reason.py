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

"""A degraded lease shows its reason to clients that request it."""

from ironic_reservations.engine.lease_cycle import health
from tests.inprocess.api import asking

_OTHERS = ('reservation 1.0', asking.since(5), 'reservation latest', None)


class TestReason(asking.AskingCase):
    """All hosts are leased."""

    nodes = {'rack-7': {}, 'rack-8': {}}
    version = asking.since(6)

    def setUp(self) -> None:
        super().setUp()
        self.first, _ = self.served.ironic.nodes()
        self.made = self.book('01 10', '01 12', 2)
        self.path = f'/v1/leases/{self.made["id"]}'

    def _pass(self, maintenance: bool) -> None:
        """Change the first node, and run the reconciler."""
        self.served.ironic.change(self.first.uuid, maintenance=maintenance)
        self.served.look_outside()
        health.check(self.served.engine)

    def _shown(self) -> tuple[bool, str | None]:
        """Return the lease alone, in the list and in the answer to a change.
        """
        shown = [
            self.ask('GET', self.path)['lease'],
            self.ask('GET', '/v1/leases')['leases'][0],
            self.ask('PUT', self.path, 200, {})['lease']]
        told, = {(each['degraded'], each['degraded_reason']) for each in shown}
        return told

    def test_reason_comes_and_goes_with_what_is_wrong(self) -> None:
        """Each view of the lease shows the reason."""
        self.assertIsNone(self.made['degraded_reason'])
        self._pass(maintenance=True)
        self.assertEqual((True, 'Node rack-7 is in maintenance.'),
                         self._shown())
        self._pass(maintenance=False)
        self.assertEqual((False, None), self._shown())

    def test_what_is_no_longer_wrong_is_not_told(self) -> None:
        """The flag is removed by the next pass only."""
        self._pass(maintenance=True)
        self.served.ironic.change(self.first.uuid, maintenance=False)
        self.served.look_outside()
        self.assertEqual((True, None), self._shown())

    def test_format_of_blazar_is_as_it_was(self) -> None:
        """Clients of Blazar get the same answer as before."""
        self._pass(maintenance=True)
        for version in _OTHERS:
            shown = self.ask('GET', self.path, version=version)['lease']
            self.assertIs(True, shown['degraded'])
            self.assertNotIn('degraded_reason', shown)
