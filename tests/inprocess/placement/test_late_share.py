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

"""A share that is late, with a reconciler that works, and with one that died.

Whoever was planned to start on the host in the next minute or two lost the
place to whoever asked: 20 of 16 VCPUs were promised, for hours.
"""

from ironic_reservations import errors
from ironic_reservations.engine.lease_cycle import health as lease_health
from ironic_reservations.model import leases
from tests import leasing
from tests import servers
from tests.inprocess.placement import shared

STATUS = leases.LeaseStatus
MINUTE = 1 / 60


@servers.also
class TestLateShare(shared.TestCase):

    def set_up_hosts(self):
        """Have a lease whose servers do not go, and one that comes next."""
        self.late_host = self.host(vcpus=16)
        self.before = self.given({self.late_host: 2})
        self.running = self.boot(self.had(self.before), self.late_host)
        self.nova.deleting = True
        self.after = self.lease({self.late_host: 8}, 4 + MINUTE, 8)

    def assert_refused(self, start, end):
        """Nobody gets the place of what is planned."""
        try:
            made = self.leasing.create(start, end,
                                       leasing.instances(1, 2, 512, 5))
        except errors.LeaseRefused:
            return
        raise AssertionError(f'20 of 16 VCPUs are promised: {made}')

    def test_reconciler_works(self):
        self.set_up_hosts()
        for hours in (4, 4 + MINUTE / 6, 4 + MINUTE, 4 + 2 * MINUTE, 5):
            self.work(hours)
            lease_health.check(self.engine)
            self.assert_refused(hours + MINUTE, 5.5)
            self.assert_refused(6, 7)
        self.assertIs(STATUS.TERMINATING, self.status(self.before))
        self.assertIsNot(STATUS.ACTIVE, self.status(self.after))
        self.assertIn('in Placement', self.waiting(self.after))
        self.nova.go(self.running)
        self.soon()
        self.soon()
        self.assertIs(STATUS.TERMINATED, self.status(self.before))
        self.assertIs(STATUS.ACTIVE, self.status(self.after))
        self.assert_refused(6, 7)
        self.assertEqual([], self.leasing.overfull())
        self.assert_clean()

    def test_another_host_is_found_at_the_start(self):
        self.set_up_hosts()
        other = self.host(vcpus=16)
        self.work(4 + MINUTE / 6)
        lease_health.check(self.engine)
        self.assertEqual({self.late_host}, self.leasing.nodes(self.after))
        self.work(4 + MINUTE)
        self.assertIs(STATUS.ACTIVE, self.status(self.after))
        # NOTE: beside what is late there is room for some of them.
        self.assertEqual({self.late_host, other},
                         self.leasing.nodes(self.after))
        self.assertEqual([], self.leasing.overfull())

    def test_reconciler_died(self):
        """Nobody takes anything back, for hours."""
        self.set_up_hosts()
        for hours in (4, 4 + MINUTE / 6, 4 + MINUTE, 4 + 2 * MINUTE, 5, 7):
            self.world.clock.now = leasing.at(hours)
            self.assert_refused(hours + MINUTE, hours + 0.5)
            self.assert_refused(hours + 0.5, hours + 0.75)
        self.leasing.create(8, 9, leasing.instances(1, 2, 512, 5))
        self.assertEqual([], self.leasing.overfull())
