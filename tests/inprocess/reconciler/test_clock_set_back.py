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

"""A worker judges whether a lease still is its own, and a clock is set back.

Seen: it went on after another one had taken over, and undeployed the node of
the next lease.
"""

from ironic_reservations.model import leases
from tests import world
from tests.inprocess.reconciler import leases as base

TERMINATED = leases.LeaseStatus.TERMINATED


class TestClockSetBack(base.TestCase):

    def setUp(self):
        super().setUp()
        self.made = self.started()
        self.node = self.node_of(self.made)
        self.at(4)
        self.ironic.deploy(self.node, world.new_uuid())
        self.other = self.another_crew()

    def status(self):
        return self.lease(self.made).status

    def test_worker_that_stood_still_does_nothing_whatever_the_clock_says(
            self):
        def stands_still():
            self.world.clock.advance(60)
            self.work(self.other)
            self.assertEqual(TERMINATED, self.status())
            self.ironic.deploy(self.node, world.new_uuid())
            self.ironic.changed.clear()
            self.world.clock.set_back(3600)
        self.ironic.interrupt('node', stands_still)
        self.work()
        self.assertEqual([], self.ironic.changed)
        self.assertEqual('active',
                         self.ironic.there[self.node].provision_state)

    def test_worker_stops_before_the_others_begin(self):
        """The times that two processes tell may differ a little."""
        def nearly_over():
            self.world.clock.advance(58)
            self.ironic.changed.clear()
        self.ironic.interrupt('node', nearly_over)
        self.work()
        self.assertEqual([], self.ironic.changed)
        self.assertEqual(0, self.work(self.other))
        self.world.clock.advance(2)
        self.assertEqual(1, self.work(self.other))
        self.assertEqual(TERMINATED, self.status())
