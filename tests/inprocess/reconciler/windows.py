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


"""A node with windows, and a small Ironic that is told of them."""

import dataclasses

from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.features.maintenance import find
from ironic_reservations.features.maintenance import sync
from ironic_reservations.guard import tickets as guard_tickets
from ironic_reservations.model import node_window
from tests import guarded
from tests.inprocess.reconciler import balancer
from tests.inprocess.timeline import windows


class KeepTestCase(windows.MaintenanceTestCase):
    """A node, and a small Ironic behind the gate for tickets."""

    def setUp(self) -> None:
        super().setUp()
        self._put_ironic_behind_a_gate()

    def begin_with_a_node(self):
        """Begin anew, with an empty database."""
        self.begin()
        self._put_ironic_behind_a_gate()

    def _put_ironic_behind_a_gate(self):
        self.small = guarded.SmallIronic(self.ironic)
        gate = guard_tickets.Gate(self.small)
        gate.engine = self.engine
        self.transport = in_process.InProcess(gate)
        self.balancer = balancer.Balancer(self.transport)
        (self.node,) = self.leasing.hosts()

    def keep(self, transport=None):
        """Have a process do what there is to do."""
        ironic = ironic_client.Ironic(transport or self.transport)
        sync.sync(dataclasses.replace(self.engine, ironic=ironic), ironic)

    def begun(self, end=2, **more):
        """Return a window of the node that has begun, at one."""
        made = self.book(1, end, self.node, **more)
        self.keep_at(1)
        return made

    def keep_at(self, hour):
        """Have a process do it at an hour."""
        self.at(hour)
        self.keep()

    def assert_kept(self, shown):
        """Check what Ironic shows when a process has done it."""
        self.keep()
        self.assertEqual(shown, self.shown())

    def assert_shown_at(self, hour, shown):
        """Check what Ironic shows when a process has done it at an hour."""
        self.at(hour)
        self.assert_kept(shown)

    def maintain(self, reason):
        """Have an operator put the node in maintenance."""
        self.ironic.change(self.node, maintenance=True)
        self.ironic.why[self.node] = reason

    def becomes(self, state):
        """Have the node be in another state, without an instance."""
        self.world.change(self.node, provision_state=state, instance_uuid=None)
        self.keep()

    def assert_flagged(self, lease, flagged):
        """Check whether a lease is degraded when it has been looked at."""
        self.watch()
        self.assertIs(flagged, self.lease(lease).degraded)

    def assert_active(self, lease):
        """Check that a lease has its nodes."""
        self.assertEqual('ACTIVE', self.lease(lease).status.value)

    def shown(self):
        """Return what Ironic shows of the node."""
        return (self.ironic.there[self.node].maintenance,
                self.ironic.why.get(self.node))

    def state(self, made):
        """Return how far the window has come with the node."""
        (there,) = find.get(self.engine, made.window.id).nodes
        return there.state

    def told(self, made):
        """Return what Ironic is to show."""
        return True, node_window.marked(made.window.id, 'New firmware')
