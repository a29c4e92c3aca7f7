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

"""What becomes of a hold when its node is deployed with the proof."""

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.engine import mirror
from ironic_reservations.engine import retry
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import release
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import handover
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import recovery
from ironic_reservations.features.placement.holds import transitions
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import node_reservation
from tests import servers
from tests.inprocess.placement import faults
from tests.inprocess.placement import ground
from tests.inprocess.placement import held_reservations
from tests.inprocess.placement import in_memory

GOLD = in_memory.GOLD


class TestCase(held_reservations.TestCase):

    def on_deploy(self, what: str) -> None:
        """Configure what becomes of the hold."""
        self.world.conf.set_override('on_deploy', what, 'placement')

    def deploy(self, made: node_reservation.Reservation,
               engine: engine_module.Engine | None = None) -> None:
        """Deploy a node with the proof, through the guard."""
        engine = engine or self.engine
        through = admission.admit(engine, made.node_uuid, made.uuid)
        self.world.ironic.deploy(made.node_uuid, made.instance_uuid)
        admission.close(engine, through, True)

    def free(self, made: node_reservation.Reservation) -> None:
        """Undeploy a node, and have that be noticed."""
        self.world.ironic.undeploy(made.node_uuid)
        mirror.refresh_all(self.engine)
        placement_sync.recover(self.engine)


class TestKeep(TestCase):

    def test_hold_stays_until_the_node_is_free(self) -> None:
        made = self.reserve(self.enrol())
        held, = self.rows()
        self.network.calls.clear()
        self.deploy(made)
        placement_sync.audit(self.engine, repair=True)
        self.assertEqual([], self.network.writes())
        self.assertEqual([held.consumer_uuid],
                         self.consumers(made.node_uuid))
        self.assert_clean()
        self.free(made)
        self.assertEqual([], self.consumers(made.node_uuid))
        self.assert_clean()


@servers.also
class TestMove(TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.on_deploy('move')

    def deployed(self) -> node_reservation.Reservation:
        """Return a reservation whose node has been deployed."""
        made = self.reserve(self.enrol())
        self.deploy(made)
        return made

    def assert_moved(self, made: node_reservation.Reservation) -> None:
        """Check that the instance has the node, and all agrees."""
        self.assertEqual([made.instance_uuid],
                         self.consumers(made.node_uuid))
        self.assert_clean()

    def assert_freed(self, made: node_reservation.Reservation) -> None:
        """Have a node be free again, and nobody's."""
        self.free(made)
        self.assertEqual([], self.consumers(made.node_uuid))
        self.assert_clean()

    def test_instance_gets_the_node_and_loses_it_when_it_is_free(
            self) -> None:
        made = self.deployed()
        self.assert_moved(made)
        if self.newest is None:
            there = self.client.consumer(made.instance_uuid)
            self.assertEqual(('ours', 'me', consumers.INSTANCE), (
                there.project_id, there.user_id, there.consumer_type))
        placement_sync.recover(self.engine)
        placement_sync.audit(self.engine, repair=True)
        self.assert_moved(made)
        self.assert_freed(made)

    def test_refused_deploy_moves_nothing(self) -> None:
        made = self.reserve(self.enrol())
        through = admission.admit(self.engine, made.node_uuid, made.uuid)
        admission.close(self.engine, through, False)
        self.assertNotEqual([made.instance_uuid],
                            self.consumers(made.node_uuid))
        self.assert_clean()

    def test_what_cannot_be_moved_now_is_at_the_next_audit(self) -> None:
        made = self.reserve(self.enrol())
        self.network.down = True
        self.deploy(made)
        self.network.down = False
        self.assertNotIn(made.instance_uuid, self.consumers(made.node_uuid))
        placement_sync.audit(self.engine, repair=True)
        self.assert_moved(made)

    def test_what_cannot_be_moved_is_not_in_the_way_of_the_rest(
            self) -> None:
        self.patch(handover, '_BATCH', 2)
        made = [self.reserve(self.enrol()) for _ in range(5)]
        self.network.down = True
        for each in made:
            self.deploy(each)
        self.network.down = False
        for each in made[:4]:
            self.nodes.claim(self.enrol(), each.instance_uuid)
        placement_sync.audit(self.engine, repair=True)
        self.assertEqual([False] * 4 + [True], [
            [each.instance_uuid] == self.consumers(each.node_uuid)
            for each in made])
        self.assert_clean()

    def test_contention_for_one_hold_is_not_in_the_way_of_the_rest(
            self) -> None:
        """One hold with a lock on it ended each pass before the others."""
        made = [self.reserve(self.enrol()) for _ in range(2)]
        self.network.down = True
        for each in made:
            self.deploy(each)
        self.network.down = False
        real = handover.move

        def move(engine: engine_module.Engine,
                 promise: values.Promise) -> holding.Verdict:
            if promise.node_uuid == made[0].node_uuid:
                raise errors.Contention('a lock')
            return real(engine, promise)
        self.patch(handover, 'move', move)
        handover.hand_over_all(self.engine)
        self.assertNotIn(made[0].instance_uuid,
                         self.consumers(made[0].node_uuid))
        self.assert_moved(made[1])

    def test_instance_with_another_hold_gets_the_node_without_delay(
            self) -> None:
        made = self.deployed()
        self.client.delete_allocations(made.instance_uuid)
        other = self.held(self.enrol(), 'owner')
        # Nothing is tried again.
        self.patch(retry, '_LOCKED', 0.0)
        self.assertIs(holding.Verdict.INSTANCE, handover.move(
            self.engine, ground.promise(other.node_uuid, other.owner,
                                        made.instance_uuid)))
        self.assertEqual({}, self.recover())
        release.release(self.engine, made.uuid)
        self.assertEqual({recovery.Recovered.MOVED: 1}, self.recover())
        self.assertEqual([made.instance_uuid],
                         self.consumers(other.node_uuid))
        self.assert_clean()

    def test_instance_that_nova_has_moved_keeps_what_it_has(self) -> None:
        made, other = self.deployed(), self.enrol()
        self.client.delete_allocations(made.instance_uuid)
        self.nodes.claim(other, made.instance_uuid)
        self.free(made)
        self.assertEqual([made.instance_uuid], self.consumers(other))
        self.assertEqual([], self.rows())

    def claimed_anew(self) -> node_reservation.Reservation:
        """Return a reservation whose node Nova has claimed for its instance.

        Nova gives its consumers no type.
        """
        made = self.deployed()
        self.client.delete_allocations(made.instance_uuid)
        self.assertTrue(self.client.put_allocations(
            made.instance_uuid, in_memory.wanted({made.node_uuid: {GOLD: 1}})
        ).done)
        self.free(made)
        self.assertEqual([], self.rows())
        return made

    def test_node_that_nova_has_claimed_anew_is_left_to_it(self) -> None:
        made = self.claimed_anew()
        self.assertEqual([made.instance_uuid],
                         self.consumers(made.node_uuid))

    def test_instance_that_nova_scheduled_is_left_alone_throughout(
            self) -> None:
        node = self.enrol()
        instance = self.nodes.claim(node)
        made = self.reserve(node, instance_uuid=instance)
        before = self.client.consumer(instance)
        self.deploy(made)
        self.free(made)
        self.assertEqual(before, self.client.consumer(instance))
        self.assertEqual([], self.rows())

    def moving(self, fault: faults.Fault) -> node_reservation.Reservation:
        """Return a reservation whose hold is moved, with a failure."""
        made = self.reserve(self.enrol())
        through = admission.admit(self.engine, made.node_uuid, made.uuid)
        self.world.ironic.deploy(made.node_uuid, made.instance_uuid)
        self.network.faults = [fault]
        admission.close(self.engine, through, True)
        held, = self.rows()
        self.assertIs(values.HoldState.MOVING, held.state)
        return made

    def assert_nothing_of(self, made: node_reservation.Reservation) -> None:
        """Check that a node can be reserved again, once it is free."""
        self.free(made)
        self.recover()
        self.network.deliver()
        self.assertEqual(([], []), (self.consumers(made.node_uuid),
                                    self.rows()))
        release.release(self.engine, self.reserve(made.node_uuid).uuid)

    def test_node_that_is_free_before_its_move_is_known_is_taken_back(
            self) -> None:
        for fault in faults.Fault:
            self.assert_nothing_of(self.moving(fault))

    def test_reservation_deleted_before_its_move_is_known_takes_it_back(
            self) -> None:
        for fault in faults.Fault:
            made = self.moving(fault)
            release.release(self.engine, made.uuid)
            self.assertEqual([], self.rows())
            self.assert_nothing_of(made)

    def test_reservation_deleted_before_its_move_is_written_takes_it_back(
            self) -> None:
        made = self.reserve(self.enrol())
        hand_over = transitions.hand_over

        def late(engine: engine_module.Engine, hold: values.Hold) -> bool:
            release.release(self.engine, made.uuid)
            return hand_over(engine, hold)
        self.patch(transitions, 'hand_over', late)
        self.deploy(made)
        self.assert_nothing_of(made)

    def test_move_that_arrives_while_it_is_taken_back(self) -> None:
        made = self.moving(faults.Fault.LATE)
        held, = self.rows()
        self.network.once_before('PUT', held.consumer_uuid,
                                 self.network.deliver)
        release.release(self.engine, made.uuid)
        self.assertEqual([], self.network.late)
        self.assert_nothing_of(made)

    def test_instance_moved_by_nova_before_its_move_is_known(self) -> None:
        made, other = self.moving(faults.Fault.UNANSWERED), self.enrol()
        self.client.delete_allocations(made.instance_uuid)
        self.nodes.claim(other, made.instance_uuid)
        release.release(self.engine, made.uuid)
        self.assertEqual(([made.instance_uuid], []),
                         (self.consumers(other), self.rows()))

    def test_node_claimed_by_nova_instead_of_its_move_is_left_to_it(
            self) -> None:
        made = self.reserve(self.enrol())
        held, = self.rows()

        def claim() -> None:
            self.client.delete_allocations(held.consumer_uuid)
            self.nodes.claim(made.node_uuid, made.instance_uuid)
        self.network.once_before('POST', '/allocations', claim)
        self.deploy(made)
        self.assertEqual(([made.instance_uuid], []),
                         (self.consumers(made.node_uuid), self.rows()))
        self.free(made)
        self.assertEqual([made.instance_uuid],
                         self.consumers(made.node_uuid))

    def test_reservation_that_is_deleted_takes_it_back(self) -> None:
        made = self.deployed()
        release.release(self.engine, made.uuid)
        self.assertEqual(([], []), (self.consumers(made.node_uuid),
                                    self.rows()))

    def test_taking_back_that_fails_is_tried_again(self) -> None:
        for fault in faults.Fault:
            made = self.deployed()
            self.network.faults = [fault]
            release.release(self.engine, made.uuid)
            self.recover()
            self.network.deliver()
            self.assertEqual([], self.consumers(made.node_uuid))
            self.assert_clean()

    def test_process_killed_between_each_two_steps(self) -> None:
        for steps in faults.each_death():
            made = self.reserve(self.enrol())
            mortal = faults.mortal(self.world.engine, self.there.sender(),
                                   steps)
            through = admission.admit(self.engine, made.node_uuid, made.uuid)
            self.world.ironic.deploy(made.node_uuid, made.instance_uuid)
            with steps:
                admission.close(mortal, through, True)
            self.world.find_out()
            mirror.refresh_all(self.engine)
            mirror.settle_starting(self.engine)
            self.recover()
            placement_sync.audit(self.engine, repair=True)
            self.assert_moved(made)
            self.free(made)
            self.assertEqual([], self.consumers(made.node_uuid))
        self.assertGreater(steps.taken, 8)


class TestMoveOnOldPlacement(TestMove):
    """One from before consumers had types."""

    newest = '1.29'

    def test_node_that_nova_has_claimed_anew_is_left_to_it(self) -> None:
        """It cannot be told whose it is, and so it is what we wrote."""
        self.claimed_anew()
