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

"""No reservation gets between a guard's check and Ironic's change.

The interleavings are made, not waited for: something happens while a request
asks Ironic about a node, or between its plan and its commit.
"""

import datetime
import itertools

from ironic_reservations import errors
from ironic_reservations.engine import mirror
from ironic_reservations.engine import retry
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import allocation_requests
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.planner import pick
from tests import servers
from tests import world
from tests.inprocess.engine import timelines


@servers.also
class TestReserveAndDeploy(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.node, self.other = self.world.enrol(2)
        self.places = {
            'while Ironic is asked': lambda action:
                self.world.ironic.interrupt('node', action),
            'before the commit': self.world.before_next_write}

    def _admit(self):
        return admission.admit(self.engine, self.node)

    def _deployed(self, succeeded=True):
        opened = self._admit()
        if succeeded:
            self.world.ironic.deploy(self.node)
        admission.close(self.engine, opened, succeeded)

    def test_node_deployed_in_the_middle_is_skipped(self):
        for name, place in self.places.items():
            place(self._deployed)
            given = self.world.reserve(self.node, self.other)
            self.assertEqual(self.other, given.node_uuid, name)
            self.assertEqual([self.other], [
                row['node_uuid'] for row in
                self.world.reservations().values()])
            release.release(self.engine, given.uuid)
            self.world.ironic.undeploy(self.node)

    def test_deploy_that_begins_after_ironics_answer_is_noticed(self):
        """Ironic has said "free"; then a deploy passes and ends."""
        answered = []
        original = self.world.ironic.node

        def node(ident):
            answer = original(ident)
            if ident == self.node and not answered:
                answered.append(answer)
                self._deployed()
            return answer
        self.world.ironic.node = node
        given = self.world.reserve(self.node, self.other)
        self.assertEqual('available', answered[0].provision_state)
        self.assertEqual(self.other, given.node_uuid)

    def test_node_whose_deploy_failed_in_the_middle_is_taken(self):
        for name, place in self.places.items():
            place(lambda: self._deployed(succeeded=False))
            given = self.world.reserve(self.node, self.other)
            self.assertEqual(self.node, given.node_uuid, name)
            release.release(self.engine, given.uuid)

    def test_node_with_a_deploy_under_way_is_busy(self):
        for name, place in self.places.items():
            opened = []
            place(lambda opened=opened: opened.append(self._admit()))
            self.assertEqual([reasons.BUSY], self.codes(self.node), name)
            admission.close(self.engine, opened[0], False)

    def test_deploy_and_undeploy_in_the_middle_leave_it_free(self):
        def both():
            self._deployed()
            self.world.ironic.undeploy(self.node)
        self.world.before_next_write(both)
        self.assertEqual(self.node, self.world.reserve(self.node).node_uuid)

    def test_deploy_is_refused_where_the_reservation_committed_first(self):
        self.world.before_next_write(lambda: self.world.reserve(self.node))
        self.assertRaises(errors.ProofRequired, self._admit)
        self.assertEqual([], self.world.in_flight())


@servers.also
class TestTwoReservations(timelines.TestCase):

    def test_loser_of_a_race_takes_the_next_node(self):
        first, second = self.world.enrol(2)
        rivals = []
        self.world.before_next_write(lambda: rivals.append(
            self.world.reserve(first, second)))
        given = self.world.reserve(first, second)
        self.assertEqual((first, second),
                         (rivals[0].node_uuid, given.node_uuid))

    def test_race_for_an_unmirrored_node_has_one_winner(self):
        (node,) = self.world.enrol(mirrored=False)
        rivals = []
        self.world.before_next_write(lambda: rivals.append(
            self.world.reserve(node)))
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve, node)
        self.assertEqual([rivals[0].uuid], list(self.world.reservations()))

    def test_same_request_twice_at_once_gets_the_same(self):
        nodes = self.world.enrol(2)
        for identity in ({'instance_uuid': world.new_uuid()},
                         {'instance_uuid': world.new_uuid(),
                          'uuid': world.new_uuid()}):
            for order in itertools.permutations(nodes):
                twins = []
                self.world.before_next_write(
                    lambda twins=twins, order=order, identity=identity:
                    twins.append(self.world.reserve(*order[::-1],
                                                    **identity)))
                given = self.world.reserve(*order, **identity)
                self.assertEqual(twins, [given])
                self.assertEqual([given.uuid], list(self.world.reservations()))
                release.release(self.engine, given.uuid)

    def test_node_released_in_the_middle_of_a_refusal_is_no_harm(self):
        node, other = self.world.enrol(2)
        held = self.world.reserve(node)
        self.world.ironic.interrupt('node', lambda: release.release(
            self.engine, held.uuid))
        self.assertEqual(other, self.world.reserve(node, other).node_uuid)

    def test_node_forgotten_in_the_middle_is_refused(self):
        (node,) = self.world.enrol()

        def forgotten():
            self.world.ironic.remove(node)
            mirror.refresh_node(self.engine, node)
        self.world.before_next_write(forgotten)
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve, node)
        self.assertEqual({}, self.world.reservations())

    def test_endless_conflicts_end_in_contention(self):
        (node,) = self.world.enrol()

        def interrupt_again():
            admission.close(rival, admission.admit(rival, node), False)
            self.world.before_next_write(interrupt_again)
        rival = self.world.another_engine()
        self.world.before_next_write(interrupt_again)
        self.patch(retry, '_OUTRUN', 0.5)
        self.assertRaises(errors.Contention, self.world.reserve, node)
        self.assertEqual({}, self.world.reservations())


@servers.also
class TestSlowConfirmation(timelines.TestCase):

    def setUp(self):
        super().setUp()
        (self.node,) = self.world.enrol()
        self.world.ironic.interrupt(
            'node', lambda: self.world.clock.advance(601))

    def test_nothing_is_promised_for_a_time_that_is_over(self):
        """Not even with 201: who believes it deploys, and is refused."""
        self.assertRaises(
            errors.InvalidValue, self.world.reserve, self.node,
            expires_at=self.world.clock() + datetime.timedelta(seconds=600))
        self.assertEqual({}, self.world.reservations())

    def test_time_to_live_begins_with_the_promise(self):
        """Whoever asks for a minute gets a minute."""
        for wanted in ({'ttl': 60}, {}):
            held = self.world.reserve(self.node, **wanted)
            self.assertEqual(self.world.clock(), held.created_at)
            self.assertEqual(
                wanted.get('ttl', 600),
                (held.expires_at - self.world.clock()).total_seconds())
            self.world.clock.advance(3600)


@servers.also
class TestLateRenewal(timelines.TestCase):
    """A renewal reads the time, and comes to its row after the expiry."""

    def setUp(self):
        super().setUp()
        (self.node,) = self.world.enrol()
        self.takers = {
            'deploy': lambda: admission.admit(self.engine, self.node),
            'allocation': lambda: allocation_requests.hold(
                self.engine, pick.NodeRequest(
                    world.new_uuid(), (self.node,)), world.ALL_NODES),
            'reservation': lambda: self.world.reserve(self.node)}

    def test_renewal_does_not_bring_back_what_another_took_for_void(self):
        for name, take in self.takers.items():
            held = self.world.reserve(self.node, ttl=10)
            taken = []

            def come_first(take=take, taken=taken):
                self.world.clock.advance(10)
                taken.append(take())
            self.world.before_next_write(come_first)
            self.assertRaises(errors.ReservationNotFound, renew.renew,
                              self.engine, held.uuid, ttl=600)
            self.assertNotIn(held.uuid, self.world.reservations(), name)
            self._undo(*taken)

    def test_taker_that_comes_second_is_refused(self):
        for name, take in self.takers.items():
            began = self.world.clock.now
            held = self.world.reserve(self.node, ttl=10)

            def come_first(began=began, held=held):
                # NOTE: the clock of a process that has been slow.
                expired, self.world.clock.now = self.world.clock.now, began
                renew.renew(self.engine, held.uuid, ttl=600)
                self.world.clock.now = expired
            self.world.clock.advance(10)
            self.world.before_next_write(come_first)
            self.assertRaises((errors.ProofRequired, errors.NoNodeAvailable),
                              take)
            self.assertEqual([], self.world.in_flight(), name)
            release.release(self.engine, held.uuid)

    def _undo(self, taken):
        if isinstance(taken, node_reservation.Reservation):
            release.release(self.engine, taken.uuid)
        else:
            admission.close(self.engine, taken, False)
