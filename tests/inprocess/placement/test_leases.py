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

"""The nodes of leases are held in Placement while they are the lease's."""

from unittest import mock

from ironic_reservations import engine as engine_module
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import leases
from tests import leasing
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import held_leases
from tests.inprocess.placement import in_memory

GOLD = in_memory.GOLD
STATUS = leases.LeaseStatus


class TestStart(held_leases.TestCase):

    def test_nodes_are_held_in_the_name_of_the_owner(self) -> None:
        self.host()
        self.leasing.create(1, 4, user_id='me')
        self.work(1)
        held, = self.rows()
        there = self.client.consumer(held.consumer_uuid)
        self.assertEqual(
            (leasing.PROJECT, 'me', consumers.TYPE,
             {held.node_uuid: {GOLD: 1}}),
            (there.project_id, there.user_id, there.consumer_type,
             there.allocations))

    def assert_started(self, lease: leases.Lease, *nodes: str) -> None:
        """Check that a lease has started, and that these nodes are held."""
        self.assertIs(STATUS.ACTIVE, self.status(lease), self.waiting(lease))
        self.assertEqual(sorted(nodes or self.leasing.nodes(lease)),
                         self.held_nodes())
        self.assert_clean()

    def test_nodes_of_a_lease_are_held_with_one_write(self) -> None:
        lease = self.planned(3, leasing.wish(3))
        self.network.calls.clear()
        self.work(1)
        self.assertEqual(['POST'], self.network.writes())
        self.assert_started(lease)

    def test_node_that_others_have_keeps_no_other_from_being_held(
            self) -> None:
        lease = self.planned(3, leasing.wish(3))
        nodes = self.leasing.nodes(lease)
        taken = min(nodes)
        theirs = self.nodes.claim(taken)
        self.work(1)
        self.assertEqual(sorted(nodes - {taken}), self.held_nodes())
        self.assertIn(theirs, self.waiting(lease))
        self.client.delete_allocations(theirs)
        self.soon()
        self.assert_started(lease, *nodes)

    def test_write_that_comes_late_after_others_were_refused(self) -> None:
        """It finds a fence: what nobody has on record is nobody's."""
        lease = self.planned(2, leasing.wish(2))
        nodes = self.leasing.nodes(lease)
        theirs = [self.nodes.claim(node) for node in sorted(nodes)]
        self.network.faults = [faults.Fault.LATE]
        self.work(1)
        for consumer in theirs:
            self.client.delete_allocations(consumer)
        self.network.deliver()
        self.others()
        self.assert_started(lease, *nodes)

    def test_node_without_an_answer_keeps_no_other_from_its_tenant(
            self) -> None:
        lease = self.planned(3, leasing.wish(3))
        nodes = self.leasing.nodes(lease)
        error = faults.Fault.ERROR
        self.network.faults = [error, None, None, *[error] * 9]
        self.work(1)
        self.assertEqual(2, self.states(lease).count(leasing.BOUND))
        self.network.faults.clear()
        self.others()
        self.assert_started(lease, *nodes)

    def test_call_is_not_begun_when_others_took_all_the_time(self) -> None:
        """It is begun with a row that has a deadline of its own."""
        lease = self.planned(3, leasing.wish(3))
        nodes = sorted(self.leasing.nodes(lease))
        self.nodes.claim(nodes[0])
        begun: list[bool] = []
        put = hold_calls.put

        def slow_put(engine: engine_module.Engine, hold: values.Hold
                     ) -> answers.Answer:
            begun.append(hold_calls.in_time(engine, hold))
            answer = put(engine, hold)
            self.world.clock.advance(engine.conf.placement.timeout + 1)
            return answer
        with mock.patch.object(hold_calls, 'put', slow_put):
            self.work(1)
        self.assertNotIn(False, begun)
        self.assertGreaterEqual(len(begun), 3)
        self.assertEqual(nodes[1:], self.held_nodes())
        self.assertIn(nodes[0], self.waiting(lease))

    def test_hold_comes_before_anything_in_ironic(self) -> None:
        self.planned(1)
        held: list[list[str]] = []
        self.ironic.interrupt('write_lessee',
                              lambda: held.append(self.held_nodes()))
        self.work(1)
        self.assertEqual([1], [len(nodes) for nodes in held])

    def test_lease_waits_for_a_node_that_others_hold(self) -> None:
        lease = self.planned(1)
        theirs = self.nodes.claim(*self.leasing.nodes(lease))
        self.work(1)
        self.assertIs(STATUS.PENDING, self.status(lease))
        self.assertIn(theirs, self.waiting(lease))
        self.assertEqual([], self.ironic.changed)
        self.client.delete_allocations(theirs)
        self.soon()
        self.assertEqual('', self.waiting(lease))
        self.assert_started(lease)

    def test_lease_takes_another_node_where_others_hold_one(self) -> None:
        lease = self.planned(1)
        self.nodes.claim(*self.leasing.nodes(lease))
        free = self.host()
        self.work(1)
        self.assertEqual({free}, self.leasing.nodes(lease))
        self.assert_started(lease)

    def test_what_placement_does_not_give_is_said(self) -> None:
        node = self.host()
        for prepare, word in (
                (lambda: self.nodes.offer(
                    node, {GOLD: {**in_memory.ONE, 'reserved': 1}}),
                 'closed in Placement'),
                (lambda: self.client.delete_provider(node),
                 'cannot be held in Placement')):
            prepare()
            lease = self.leasing.create(None, 4)
            self.work()
            self.assertIn(word, self.waiting(lease))
            self.leasing.end(lease)
            self.soon()

    def used_before_anybody_came_by(self, instance: str) -> leases.Lease:
        """Return a lease that has just begun, and whose node is deployed."""
        lease = self.planned(1)
        node, = self.leasing.nodes(lease)
        self.world.clock.now = leasing.at(1)
        through = admission.admit(self.engine, node, lease.reservations[0].id)
        self.ironic.deploy(node, instance)
        admission.close(self.engine, through, True)
        return lease

    def test_node_used_before_anybody_came_by_is_held_or_closed(
            self) -> None:
        """Nova has closed what is in use; the lease has it all the same."""
        lease = self.used_before_anybody_came_by(world.new_uuid())
        self.nodes.offer(*self.leasing.nodes(lease), {
            GOLD: {**in_memory.ONE, 'reserved': 1}})
        self.work()
        self.assertIs(STATUS.ACTIVE, self.status(lease))

    def test_instance_that_has_the_node_is_not_claimed_beside(self) -> None:
        instance = world.new_uuid()
        lease = self.used_before_anybody_came_by(instance)
        node, = self.leasing.nodes(lease)
        self.leasing.refresh()
        self.nodes.claim(node, instance)
        self.work()
        self.assertIs(STATUS.ACTIVE, self.status(lease))
        self.assertEqual([instance], self.consumers(node))
        self.assert_clean()


class TestEnd(held_leases.TestCase):

    def test_node_is_held_until_it_is_free(self) -> None:
        lease = self.started()
        node, = self.leasing.nodes(lease)
        self.ironic.deploy(node, world.new_uuid())
        self.ironic.cleaning = 'cleaning'
        self.work(4)
        self.assertIn(('undeploy', node), self.ironic.changed)
        self.assertEqual([node], self.held_nodes())
        self.soon()
        self.assertEqual([node], self.held_nodes())
        self.ironic.change(node, provision_state='available')
        self.soon()
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.assertEqual([], self.consumers(node))
        self.assert_clean()

    def assert_held(self, node: str, gone: str) -> None:
        """Check that one node is held, and nobody has another."""
        self.assertEqual([node], self.held_nodes())
        self.assertEqual([], self.consumers(gone))
        self.assert_clean()

    def test_node_that_is_given_back_is_let_go_and_no_other(self) -> None:
        lease = self.started(2)
        goes, stays = sorted(self.leasing.nodes(lease))
        self.leasing.resize(lease, give_back=[goes])
        self.soon()
        self.assert_held(stays, goes)

    def test_node_that_is_replaced_is_let_go_and_the_new_one_held(
            self) -> None:
        lease = self.started()
        broken, = self.leasing.nodes(lease)
        new = self.host()
        self.leasing.break_node(broken)
        self.leasing.change(lease, heal=True)
        self.soon()
        self.assert_held(new, broken)

    def test_end_comes_also_while_placement_is_down(self) -> None:
        lease = self.started()
        node, = self.leasing.nodes(lease)
        self.network.down = True
        self.work(4)
        self.soon()
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.network.down = False
        self.assertEqual([node], self.held_nodes())
        # NOTE: the next one takes back what is in its way.
        after = self.leasing.create(None, 8)
        self.work()
        self.assertIs(STATUS.ACTIVE, self.status(after))
        self.assert_clean()

    def test_lease_that_is_extended_keeps_its_hold(self) -> None:
        lease = self.started()
        before = self.rows()
        self.leasing.change(lease, end=6)
        self.work(5)
        placement_sync.recover(self.engine)
        self.assertEqual(before, self.rows())
        self.assert_clean()

    def test_back_to_back_leases_hand_over(self) -> None:
        lease = self.started()
        node, = self.leasing.nodes(lease)
        after = self.leasing.create(4.5, 6)
        self.work(4)
        self.work(4.5)
        self.assertIs(STATUS.ACTIVE, self.status(after))
        self.assertEqual([node], self.held_nodes())
        self.assert_clean()

    def test_without_placement_nothing_is_written(self) -> None:
        self.go_on(placement=None)
        self.started()
        self.work(4)
        self.assertEqual(([], []), (self.network.calls, self.rows()))

    def test_hold_of_an_earlier_node_is_taken_back(self) -> None:
        """The worker died after the hold, and the node broke."""
        lease = self.planned(1)
        booking, = self.leasing.reload(lease).bookings
        self.world.clock.now = leasing.at(1)
        with self.engine.database.read() as opened:
            promise = holding.db_holds.read_promises_of(
                opened, [booking.id])[booking.id]
        holding.hold_node(self.engine, promise, 'gold')
        other = self.host()
        self.leasing.break_node(booking.node_uuid)
        self.work()
        placement_sync.recover(self.engine)
        self.assert_held(other, booking.node_uuid)
