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

"""Whatever fails, and whoever dies: after the next passes all agrees."""

import random

import testscenarios
from testtools import content

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.features.placement.holds import calls as hold_calls
from ironic_reservations.features.placement.holds import handover
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import recovery
from ironic_reservations.features.placement.holds import releasing
from ironic_reservations.features.placement.holds import rows as db_holds
from ironic_reservations.features.placement.holds import values
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import ground
from tests.inprocess.placement import in_memory

Fault = faults.Fault
Recovered = recovery.Recovered
Verdict = holding.Verdict


class TestUncertainHold(ground.TestCase):
    """The write of a hold is not answered."""

    def unavailable(self, node: str, *suffered: Fault | None) -> None:
        self.network.faults = [*suffered]
        self.assertRaises(errors.PlacementUnavailable, self.hold, node)

    def test_write_that_is_done_without_an_answer_is_a_hold(self) -> None:
        node = self.enrol()
        for fault in (Fault.UNANSWERED, Fault.ERROR_DONE):
            self.network.faults = [fault]
            held = self.held(node, fault.value)
            self.assertEqual([held.consumer_uuid], self.consumers(node))
            self.assertEqual([held], self.rows())
            releasing.release(self.engine, [fault.value])
        self.assert_clean()

    def test_write_that_fails_is_tried_once_as_another_consumer(
            self) -> None:
        for fault in (Fault.LOST, Fault.ERROR):
            node = self.enrol()
            self.network.faults = [fault]
            held = self.held(node)
            self.assertEqual([held.consumer_uuid], self.consumers(node))
        self.assertEqual({Recovered.RELEASED: 2}, self.recover())
        self.assert_clean()

    def test_write_that_comes_late_is_taken_back(self) -> None:
        node = self.enrol()
        self.unavailable(node, Fault.LATE, Fault.LATE)
        self.assertEqual([], self.consumers(node))
        self.network.deliver()
        self.assertEqual(1, len(self.consumers(node)))
        self.assertEqual({Recovered.RELEASED: 2}, self.recover())
        self.assertEqual([], self.consumers(node))
        self.assert_clean()

    def test_write_that_comes_later_than_that_is_refused(self) -> None:
        node = self.enrol()
        self.unavailable(node, Fault.LATE, Fault.LATE)
        self.assertEqual({Recovered.RELEASED: 2}, self.recover())
        self.network.deliver()
        self.assertEqual([], self.consumers(node))
        self.assert_clean()

    def test_second_try_finds_the_first_one_in_its_way(self) -> None:
        """It came late, and right before the second."""
        node = self.enrol()
        self.network.faults = [Fault.LATE]
        insert = db_holds.insert

        def intend(*arguments, **more):
            made = insert(*arguments, **more)
            self.network.deliver()
            return made
        self.patch(db_holds, 'insert', intend)
        result = self.hold(node)
        self.assertIs(Verdict.TAKEN, result.verdict)
        self.recover()
        self.assertEqual([], self.consumers(node))
        self.assert_clean()

    def test_nobody_settles_before_the_deadline(self) -> None:
        node = self.enrol()
        self.unavailable(node, Fault.LOST, Fault.LOST)
        before = self.rows()
        self.assertEqual(0, sum(recovery.recover(self.engine).values()))
        self.assertEqual(before, self.rows())
        self.held(node)

    def test_placement_that_is_down_is_waited_for(self) -> None:
        node = self.enrol()
        self.network.down = True
        self.unavailable(node)
        self.assertEqual({}, self.recover())
        self.network.down = False
        self.assertEqual({}, {
            end: count for end, count
            in recovery.recover(self.engine).items() if count})
        self.assertEqual({Recovered.RELEASED: 1}, self.recover())
        self.assert_clean()

    def test_consumer_that_a_failed_call_has_left_is_not_used(self) -> None:
        """F3: it is empty, at generation 0, and no PUT with null works."""
        node = self.enrol()
        poisoned: list[str] = []
        put = hold_calls.put

        def poisoned_put(engine, intended):
            if not poisoned:
                poisoned.append(intended.consumer_uuid)
                self.client.post_allocations({
                    intended.consumer_uuid: in_memory.wanted({})})
            return put(engine, intended)
        self.patch(hold_calls, 'put', poisoned_put)
        held = self.held(node)
        self.assertNotEqual(poisoned, [held.consumer_uuid])
        self.recover()
        self.assert_clean()


class TestUncertainRelease(ground.TestCase):

    def test_what_cannot_be_taken_back_now_is_later(self) -> None:
        for fault in Fault:
            node = self.enrol()
            self.held(node, 'me')
            self.network.faults = [fault]
            self.assertFalse(releasing.release(self.engine, ['me']))
            self.assertEqual({Recovered.RELEASED: 1}, self.recover())
            self.network.deliver()
            self.assertEqual([], self.consumers(node))
        self.assert_clean()

    def test_next_promise_takes_back_what_is_in_its_way(self) -> None:
        node = self.enrol()
        self.held(node, 'me')
        self.network.faults = [Fault.LOST]
        self.assertFalse(releasing.release(self.engine, ['me']))
        held = self.held(node, 'you')
        self.assertEqual([held], self.rows())
        self.assert_clean()


class TestUncertainMove(ground.TestCase):

    def test_move_without_an_answer_is_recovered_as_it_was_done(self) -> None:
        for fault in Fault:
            node, instance = self.enrol(), world.new_uuid()
            self.held(node, 'me')
            self.network.faults = [fault]
            self.assertIs(Verdict.BUSY, handover.move(
                self.engine, values.Promise('me', node, instance, None, None)))
            self.assertIs(Verdict.BUSY, self.hold(node).verdict)
            settled = self.recover()
            # NOTE: what comes only now is refused.
            self.network.deliver()
            done = fault in (Fault.UNANSWERED, Fault.ERROR_DONE)
            self.assertEqual({Recovered.MOVED if done
                              else Recovered.CONFIRMED: 1}, settled)
            self.assertEqual(done, self.consumers(node) == [instance])
            self.assert_clean()
            releasing.release(self.engine, ['me'])


class TestDeaths(testscenarios.WithScenarios, ground.TestCase):
    """Our process is killed between each two steps of what it does."""

    scenarios = [
        (f'{use}_after_{prepare}',
         {'prepare': prepare, 'use': use, 'most': most})
        for prepare, use, most in (
            ('nothing', 'begin', 6), ('claim', 'begin', 8),
            ('held', 'release', 6), ('held', 'move', 8),
            ('written', 'settle', 6), ('not_written', 'settle', 10),
            ('half_released', 'settle', 6), ('half_moved', 'settle', 8))]

    def test_next_pass_brings_all_in_order(self) -> None:
        node = self.enrol()
        for steps in faults.each_death():
            for consumer in self.consumers(node):
                self.client.delete_allocations(consumer)
            releasing.release(self.engine, [node])
            getattr(self, self.prepare)(node)
            mortal = faults.mortal(self.world.engine, self.there.sender(),
                                   steps)
            with steps:
                getattr(self, self.use)(mortal, node)
            self.recover()
            report = self.audit()
            self.assertEqual(((), 0), (report.differences, report.in_work))
        self.assertEqual(self.most, steps.taken)
        self.assert_clean()

    def nothing(self, node: str) -> None:
        """Leave a node free."""

    def claim(self, node: str) -> None:
        self.nodes.claim(node)

    def held(self, node: str, owner: str | None = None) -> values.Hold:
        return super().held(node, owner or node)

    def written(self, node: str, fault: Fault = Fault.UNANSWERED) -> None:
        """Leave what a process leaves that dies in the call."""
        intended = self.intended(node, node)
        self.network.faults = [fault]
        hold_calls.put(self.engine, intended)
        self.wait()

    def not_written(self, node: str) -> None:
        self.written(node, Fault.LOST)

    def half_released(self, node: str) -> None:
        self.held(node)
        self.network.faults = [Fault.LOST]
        self.release(self.engine, node)
        self.wait()

    def half_moved(self, node: str) -> None:
        self.held(node)
        self.network.faults = [Fault.LOST]
        self.move(self.engine, node)
        self.wait()

    def begin(self, engine: engine_module.Engine, node: str) -> None:
        """Hold a node."""
        self.hold(node, node, engine=engine)

    def release(self, engine: engine_module.Engine, node: str) -> None:
        releasing.release(engine, [node])

    def move(self, engine: engine_module.Engine, node: str) -> None:
        handover.move(engine, values.Promise(
            node, node, world.new_uuid(), None, None))

    def settle(self, engine: engine_module.Engine, node: str) -> None:
        recovery.recover(engine)


class TestStorm(ground.TestCase):
    """Everything at once, in an order that a seed decides."""

    nodes_there = 3
    operations = 60

    def test_after_many_faults_all_agrees(self) -> None:
        chance = random.Random(f'4 {self.newest}')
        there = [self.enrol() for _ in range(self.nodes_there)]
        owners: dict[str, list[str]] = {node: [] for node in there}
        deaths = 0

        def hold(engine: engine_module.Engine, node: str) -> None:
            owners[node].append(world.new_uuid())
            self.hold(node, owners[node][-1], engine=engine)

        def release(engine: engine_module.Engine, node: str) -> None:
            releasing.release(engine, owners[node])

        def move(engine: engine_module.Engine, node: str) -> None:
            if owners[node]:
                instance = world.new_uuid()
                handover.move(engine, values.Promise(
                    owners[node][-1], node, instance, None, None))

        def pass_by(engine: engine_module.Engine, node: str) -> None:
            """Nova claims, and frees."""
            for consumer in self.consumers(node):
                if not any(row.consumer_uuid == consumer
                           for row in self.rows()):
                    self.client.delete_allocations(consumer)
                    return
            self.nodes.try_claim(node, world.new_uuid())

        def recover(engine: engine_module.Engine, node: str) -> None:
            self.wait()
            recovery.recover(engine)
            if chance.random() < 0.5:
                self.network.deliver()

        steps = (hold, hold, hold, release, move, pass_by, recover)
        for _ in range(self.operations):
            self.network.faults = chance.choices(
                [None, *Fault], weights=[3, 1, 1, 1, 1, 1], k=8)
            self.network.down = chance.random() < 0.1
            engine = self.engine
            if chance.random() < 0.3:
                engine = faults.mortal(self.engine, self.network,
                                       faults.Steps(chance.randrange(9)))
            try:
                chance.choice(steps)(engine, chance.choice(there))
            except errors.PlacementUnavailable:
                pass
            except faults.Died:
                deaths += 1
        self.network.down, self.network.faults = False, []
        for _ in range(3):
            self.recover()
        self.network.deliver()
        self.addDetail('faults', content.text_content(
            f'{self.network.suffered} faults, {deaths} deaths in '
            f'{self.operations} operations'))
        self.assertGreater(self.network.suffered, self.operations / 5)
        self.assertGreater(deaths, 3)
        self.assert_clean()
        self.assertLessEqual(
            {row.state for row in self.rows()}, {values.HoldState.ACTIVE})


class TestStormOnOldPlacement(TestStorm):

    newest = '1.29'
