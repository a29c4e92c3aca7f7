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

"""One node of a lease has a conductor that does not answer.

The nodes behind it were not handed over at the start of the lease, and not
freed at its end.
"""

from ironic_reservations.db import in_flight_requests as db_in_flight
from tests import leasing
from tests import world
from tests.inprocess.reconciler import leases


class TestDeadConductorInLease(leases.TestCase):

    def setUp(self):
        super().setUp()
        self.nodes = self.leasing.hosts(4)
        self.made = self.leasing.create(0, 10, leasing.wish(4))

    def kill_conductor(self, *nodes):
        """Let the conductor of some nodes die, and return the others."""
        self.ironic.silent = {'dead'}
        self.ironic.conductors = dict.fromkeys(nodes, 'dead')
        return {*self.nodes} - {*nodes}

    def first(self, number):
        return [each.node_uuid for each in
                self.lease(self.made).bookings[:number]]

    def states(self):
        return {each.node_uuid: each.state
                for each in self.lease(self.made).bookings}

    def test_others_are_handed_over_at_the_start(self):
        others = self.kill_conductor(*self.first(1))
        self.work()
        self.assertEqual({('ours', leasing.BOUND)}, {
            (self.ironic.there[node].lessee, self.states()[node])
            for node in others})
        self.ironic.silent.clear()
        self.soon()
        self.assertEqual({leasing.BOUND}, {*self.states().values()})
        self.assertEqual('ACTIVE', self.lease(self.made).status)

    def test_others_start_beside_a_node_that_ironic_fails_to_show(self):
        """No node of the lease was handed over as long as one failed."""
        failing, *others = self.nodes
        self.ironic.fails.add(failing)
        self.work()
        self.soon(times=2)
        self.assertEqual({('ours', leasing.BOUND)}, {
            (self.ironic.there[node].lessee, self.states()[node])
            for node in others})
        self.assertEqual(leasing.PLANNED, self.states()[failing])
        self.assertIn('Ironic answered 500', self.lease(self.made).waiting)
        self.ironic.fails.clear()
        self.soon()
        self.assertEqual({leasing.BOUND}, {*self.states().values()})
        self.assertEqual('ACTIVE', self.lease(self.made).status)

    def test_start_asks_an_ironic_that_is_down_once(self):
        self.ironic.down = True
        self.ironic.asked.clear()
        self.work()
        self.assertEqual(['node'], self.ironic.asked)

    def test_others_are_freed_at_the_end(self):
        self.work()
        for node in self.nodes:
            self.ironic.deploy(node, 'one')
        dead = self.first(1)
        self.kill_conductor(*dead)
        self.work_at(10)
        self.soon()
        self.assertEqual({*dead}, {*self.states()})
        self.ironic.silent.clear()
        self.soon()
        self.soon()
        self.assertEqual({}, self.states())
        self.assertEqual({(None, 'available')}, {
            (node.lessee, node.provision_state)
            for node in self.ironic.there.values()
            if node.uuid in self.nodes})

    def test_node_that_ironic_never_shows_keeps_no_other(self):
        """The nodes after it were never freed."""
        self.work()
        for node in self.nodes:
            self.ironic.deploy(node, 'one')
        failing = self.first(2)
        self.ironic.fails.update(failing)
        self.work_at(10)
        self.soon(times=5)
        self.assertEqual({*failing}, {*self.states()})

    def test_lessees_behind_a_node_that_ironic_never_shows(self):
        self.work()
        uuids = sorted(self.nodes)
        for uuid in uuids[::3]:
            self.ironic.change(uuid, lessee='strangers')
        self.watch()
        self.ironic.fails.add(uuids[0])
        self.work()
        self.soon()
        self.assertEqual(['strangers', 'ours'], [
            self.ironic.there[uuid].lessee for uuid in uuids[::3]])

    def test_lessees_behind_a_conductor_that_is_dead(self):
        """It was waited for before each of the others, in another pass."""
        self.work()
        uuids = sorted(self.nodes)
        for uuid in uuids[:3]:
            self.ironic.change(uuid, lessee='strangers')
        self.watch()
        self.kill_conductor(uuids[0])
        self.work()
        self.assertEqual(['strangers', 'ours', 'ours'], [
            self.ironic.there[uuid].lessee for uuid in uuids[:3]])

    def test_it_is_waited_for_once(self):
        self.kill_conductor(*self.nodes)
        self.ironic.asked.clear()
        self.work()
        self.assertEqual(1, self.ironic.asked.count('write_lessee'))

    def test_ironic_that_is_down_is_asked_once(self):
        self.work()
        self.ironic.down = True
        self.at(10)
        self.ironic.asked.clear()
        self.work()
        self.assertEqual(['node'], self.ironic.asked)

    def test_cause_is_shown_while_an_outcome_is_unknown(self):
        """It was overwritten within milliseconds, and nobody read it."""
        self.work()
        (dead,) = self.first(1)
        self.ironic.deploy(dead, 'one')
        self.kill_conductor(dead)
        self.leasing.refresh()
        self.work_at(10)
        cause = self.lease(self.made).waiting
        self.assertIn('cannot be freed', cause)
        with self.engine.database.write() as connection:
            db_in_flight.insert(connection, dead, world.new_uuid(), None, None,
                                self.engine.clock())
        for _ in range(2):
            self.soon()
            self.assertEqual(
                f'Node {dead} may still be changed by a request whose outcome '
                f'is not known yet. Before that: {cause}',
                self.lease(self.made).waiting)
