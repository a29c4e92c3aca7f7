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

"""A conductor is dead that had many requests under way.

Whoever asks it for something waits for all of the RPC time-out.  Each of its
nodes was waited for in turn, in the pass that also reads nodes and flags
leases, and whatever had another conductor came behind all of them.
"""

from unittest import mock

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import conductors
from ironic_reservations.engine.in_flight import uncertain
from tests import world


class TestDeadConductor(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world()
        self.nodes = [*self.world.enrol(5)]
        self.ironic = self.world.ironic
        for node in self.nodes[:4]:
            self.ironic.conductors[node] = 'dead'
        self.ironic.silent = {'dead'}
        for node in self.nodes:
            admission.mark_uncertain(
                self.world.engine, admission.admit(self.world.engine, node))
        self.looks = uncertain.Uncertain(self.world.engine, self.ironic)
        self.world.clock.advance(self.world.conf.guard.in_flight_timeout
                                 + self.world.conf.guard.rpc_timeout)

    def kept(self):
        """Return whose requests are not known of after two looks."""
        for _ in range(2):
            self.looks.settle_overdue()
            self.world.clock.advance(conductors.BETWEEN_CHECKS)
        return {row['node_uuid'] for row in self.world.in_flight()}

    def test_it_is_waited_for_once_in_a_look(self):
        self.ironic.asked.clear()
        self.looks.settle_overdue()
        self.assertEqual(2, self.ironic.asked.count('ask_conductor'))

    def test_nodes_of_others_come_free_meanwhile(self):
        self.assertEqual({*self.nodes[:4]}, self.kept())
        self.ironic.silent.clear()
        self.assertEqual(set(), self.kept())

    def test_nodes_of_others_come_free_behind_more_than_are_read_at_once(self):
        """A lost history leaves one such request for each node of a fleet."""
        with mock.patch.object(uncertain, '_PAGE', 3):
            self.assertEqual({*self.nodes[:4]}, self.kept())

    def test_living_conductor_is_asked_once_in_a_look(self):
        """Its answer shows that none of its older calls is left."""
        self.ironic.silent.clear()
        for _ in range(2):
            self.ironic.asked.clear()
            self.looks.settle_overdue()
            self.assertEqual(2, self.ironic.asked.count('ask_conductor'))
            self.world.clock.advance(conductors.BETWEEN_CHECKS)
        self.assertEqual([], self.world.in_flight())

    def test_conductor_is_asked_again_for_a_later_request(self):
        """It may have answered before that request could reach it."""
        self.ironic.silent.clear()
        last, = self.world.enrol()
        self.ironic.conductors[last] = 'dead'
        admission.mark_uncertain(
            self.world.engine, admission.admit(self.world.engine, last))
        self.world.clock.now, = (
            row['expires_at'] for row in self.world.in_flight()
            if row['node_uuid'] == last)
        self.ironic.interrupt('ask_conductor', lambda: (
            self.world.clock.advance(self.world.conf.guard.rpc_timeout)))
        self.ironic.asked.clear()
        self.looks.settle_overdue()
        self.assertEqual(3, self.ironic.asked.count('ask_conductor'))

    def test_node_that_ironic_never_shows_keeps_no_other(self):
        """All requests after its own were never settled."""
        self.ironic.silent.clear()
        self.ironic.fails.add(self.nodes[0])
        self.assertEqual({self.nodes[0]}, self.kept())

    def test_nodes_that_ironic_never_shows_come_last(self):
        self.ironic.silent.clear()
        self.ironic.fails.update(self.nodes[:4])
        self.assertRaises(errors.IronicUnavailable, self.looks.settle_overdue)
        for _ in range(2):
            self.assertRaises(errors.IronicUnavailable,
                              self.looks.settle_overdue)
            self.world.clock.advance(conductors.BETWEEN_CHECKS)
        self.assertEqual({*self.nodes[:4]}, {
            row['node_uuid'] for row in self.world.in_flight()})

    def test_ironic_that_is_down_is_asked_a_few_times_only(self):
        self.ironic.down = True
        self.ironic.asked.clear()
        self.assertRaises(errors.IronicUnavailable, self.looks.settle_overdue)
        self.assertEqual(3, len(self.ironic.asked))

    def test_a_process_that_has_lost_its_claim_stops(self):
        self.ironic.asked.clear()
        self.looks.settle_overdue(lambda: False)
        self.assertEqual([], self.ironic.asked)
