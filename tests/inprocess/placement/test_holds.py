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

"""Holding nodes, and taking them back, while everything works."""

from typing import Any

from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.engine import sweep
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import handover
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import releasing
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from tests import world
from tests.inprocess.placement import ground
from tests.inprocess.placement import in_memory

Verdict = holding.Verdict
GOLD = in_memory.GOLD


class TestHold(ground.TestCase):

    def assert_verdict(self, verdict: Verdict, node: str, **more: Any
                       ) -> holding.Result:
        """Check what becomes of a hold, after which all agrees."""
        result = self.hold(node, **more)
        self.assertIs(verdict, result.verdict)
        self.assert_clean()
        return result

    def test_scheduler_of_nova_passes_by(self) -> None:
        node = self.enrol()
        self.held(node)
        self.assertEqual([], self.client.candidates(
            [('resources', f'{GOLD}:1')]))
        self.assertIs(answers.Outcome.FULL, self.nodes.try_claim(
            node, world.new_uuid()).outcome)

    def test_who_holds_it_already_writes_nothing(self) -> None:
        node = self.enrol()
        held = self.held(node, 'me')
        self.network.calls.clear()
        self.assertEqual(held, self.held(node, 'me'))
        self.assertEqual([], self.network.calls)

    def test_what_another_promise_holds_is_left_alone(self) -> None:
        node = self.enrol()
        held = self.held(node)
        self.network.calls.clear()
        self.assertIs(Verdict.BUSY, self.hold(node).verdict)
        self.assertEqual([], self.network.calls)
        self.assertEqual([held], self.rows())

    def test_claim_of_somebody_else_is_respected(self) -> None:
        node = self.enrol()
        theirs = self.nodes.claim(node)
        result = self.assert_verdict(Verdict.TAKEN, node,
                                     instance_uuid=world.new_uuid())
        self.assertEqual((theirs,), result.consumers)
        self.assertEqual([theirs], self.consumers(node))

    def test_node_of_another_class_is_unknown(self) -> None:
        """Also where there is such a class."""
        node = self.enrol()
        for resource_class in ('', None, 'iron', 'iron'):
            result = holding.hold_node(self.engine, ground.promise(node),
                                       resource_class)
            self.assertIs(Verdict.UNKNOWN, result.verdict)
            if resource_class:
                self.client.ensure_class('CUSTOM_IRON')
        self.assertEqual([], self.rows())

    def test_promise_in_a_transaction_takes_the_node_over(self) -> None:
        node = self.enrol()
        before = self.held(node)
        intended = self.intended(node, promising=True)
        self.assertIs(Verdict.HELD, holding.complete(
            self.engine, intended).verdict)
        self.assertEqual([intended.consumer_uuid], self.consumers(node))
        self.assertNotEqual(before.consumer_uuid, intended.consumer_uuid)
        self.assert_clean()


class TestRelease(ground.TestCase):

    def test_release_takes_only_what_is_the_owners(self) -> None:
        one, other, third = (self.enrol() for _ in range(3))
        self.held(one, 'one')
        kept = self.held(other, 'other')
        theirs = self.nodes.claim(third)
        self.assertTrue(releasing.release(self.engine, ['one', 'nobody']))
        self.assertTrue(releasing.release(self.engine, ['one']))
        self.assertTrue(releasing.release(self.engine, []))
        self.assertEqual([kept], self.rows())
        self.assertEqual([theirs], self.consumers(third))

    def test_hold_that_somebody_has_deleted_is_released(self) -> None:
        node = self.enrol()
        self.client.delete_allocations(self.held(node, 'me').consumer_uuid)
        self.assertTrue(releasing.release(self.engine, ['me']))
        self.assert_clean()

    def test_hold_that_is_released_while_it_is_written_is_gone(self) -> None:
        node = self.enrol()
        intended = self.intended(node)
        self.assertFalse(releasing.release(self.engine, ['me']))
        self.assertIs(Verdict.BUSY, holding.complete(
            self.engine, intended).verdict)
        self.assertEqual(([], []), (self.consumers(node), self.rows()))


class TestMove(ground.TestCase):

    def move(self, node: str, instance: str, owner: str = 'me') -> Verdict:
        return handover.move(self.engine, values.Promise(
            owner, node, instance, 'theirs', 'them'))

    def test_instance_gets_the_node_in_one_write(self) -> None:
        node, instance = self.enrol(), world.new_uuid()
        held = self.held(node, 'me')
        # NOTE: as Nova does once the node is in use.
        self.nodes.offer(node, {GOLD: {**in_memory.ONE, 'reserved': 1}})
        self.network.calls.clear()
        self.assert_moved(Verdict.INSTANCE, node, instance, instance)
        self.assertEqual(['POST'], self.network.writes())
        there = self.client.consumer(instance)
        self.assertEqual(('theirs', 'them', consumers.INSTANCE),
                         (there.project_id, there.user_id,
                          there.consumer_type))
        self.assertEqual({}, self.client.consumer(
            held.consumer_uuid).allocations)

    def test_instance_that_has_something_else_keeps_that(self) -> None:
        node, other = self.enrol(), self.enrol()
        instance = self.nodes.claim(other)
        held = self.held(node, 'me')
        self.assert_moved(Verdict.HELD, node, instance, held.consumer_uuid)
        self.assertEqual([instance], self.consumers(other))

    def assert_moved(self, verdict: Verdict, node: str, instance: str,
                     consumer: str) -> None:
        """Check what becomes of a move, and who has the node then."""
        self.assertIs(verdict, self.move(node, instance))
        self.assertEqual([consumer], self.consumers(node))
        self.assert_clean()

    def test_instance_that_shares_the_node_by_mistake_gets_it(self) -> None:
        node = self.enrol(total=2)
        instance = self.nodes.claim(node)
        self.held(node, 'me')
        self.assert_moved(Verdict.INSTANCE, node, instance, instance)

    def test_of_two_holds_that_of_the_used_node_is_moved(self) -> None:
        """A client used the uuid of a reservation again after it had ended.

        The hold of its first node was still there, and was moved instead.
        """
        self.world.conf.set_override('on_deploy', 'move', 'placement')
        first, second = self.enrol(), self.enrol()
        uuid = world.new_uuid()
        self.world.reserve(first, uuid=uuid, ttl=60)
        old = self.held(first, uuid)
        self.world.clock.advance(60)
        sweep.sweep(self.engine)
        again = self.world.reserve(second, uuid=uuid)
        self.held(second, uuid)
        handover.hand_over(self.engine, again)
        self.assertEqual([again.instance_uuid], self.consumers(second))
        self.assertEqual([old.consumer_uuid], self.consumers(first))

    def test_what_is_not_held_is_not_moved(self) -> None:
        node = self.enrol()
        self.assertIs(Verdict.UNKNOWN, self.move(node, world.new_uuid()))
        self.client.delete_allocations(self.held(node, 'me').consumer_uuid)
        self.assertIs(Verdict.UNKNOWN, self.move(node, world.new_uuid()))
        self.assertEqual(([], []), (self.consumers(node), self.rows()))


class TestOldPlacement(TestHold, TestRelease):
    """The same with one from before consumers had types."""

    newest = '1.29'


class TestRows(ground.TestCase):

    def test_of_two_that_change_a_row_one_does(self) -> None:
        held = self.held(self.enrol())
        with self.engine.database.write() as opened:
            first, second = (db_holds.change(
                opened, held, self.world.clock(),
                state=values.HoldState.RELEASING) for _ in range(2))
        self.assertIsNotNone(first)
        self.assertNotEqual(held.generation, first.generation)
        self.assertIsNone(second)

    def test_consumers_of_ours_are_told_from_others(self) -> None:
        for _ in range(100):
            self.assertTrue(consumers.is_ours(consumers.fresh()))
            self.assertFalse(consumers.is_ours(world.new_uuid()))
        self.assertFalse(consumers.is_ours('no uuid'))
