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


"""Reservations that are held in Placement, too."""

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from ironic_reservations import engine as engine_module
from ironic_reservations import errors
from ironic_reservations.clouds import placement
from ironic_reservations.db import tables
from ironic_reservations.engine import sweep
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.holds import consumers
from ironic_reservations.features.placement.holds import holding
from ironic_reservations.features.placement.holds import of_reservations
from ironic_reservations.features.placement.holds import recovery
from ironic_reservations.features.placement.holds import releasing
from ironic_reservations.features.placement.holds import values
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from tests import servers
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import held_reservations
from tests.inprocess.placement import in_memory

GOLD = in_memory.GOLD
Fault = faults.Fault


class TestReserve(held_reservations.TestCase):

    def test_reserved_node_is_held_with_one_write(self) -> None:
        node = self.enrol()
        made = self.reserve(node)
        held, = self.rows()
        self.assertEqual([f'PUT /allocations/{held.consumer_uuid}'],
                         self.network.calls)
        self.assertEqual((made.uuid, node, values.HoldState.ACTIVE),
                         (held.owner, held.node_uuid, held.state))
        there = self.client.consumer(held.consumer_uuid)
        self.assertEqual(
            ({node: {GOLD: 1}}, 'ours', 'me', consumers.TYPE),
            (there.allocations, there.project_id, there.user_id,
             there.consumer_type or consumers.TYPE))
        self.assert_clean()

    def statements(self) -> list[str]:
        """Return where each statement is written from now on."""
        seen: list[str] = []
        sa.event.listen(self.engine.database.engine,
                        'before_cursor_execute',
                        lambda *args: seen.append(args[2]))
        return seen

    def test_hold_costs_one_transaction_and_three_statements_more(
            self) -> None:
        """Two with the promise, and one to confirm, whatever the list."""
        seen = self.statements()
        counts = []
        for engine in (self.world.engine, self.engine):
            for length in (1, 10):
                nodes = [self.enrol() for _ in range(length)]
                seen.clear()
                self.reserve(*nodes, engine=engine)
                begun = sum(one.startswith('BEGIN') for one in seen)
                counts.append((begun, len(seen) - begun))
        without, same, with_hold, again = counts
        self.assertEqual((without, with_hold), (same, again))
        self.assertEqual((1, 3), (with_hold[0] - without[0],
                                  with_hold[1] - without[1]))

    def test_node_that_others_hold_is_skipped_for_the_next(self) -> None:
        taken, closed, free = (self.enrol(), self.enrol(reserved=1),
                               self.enrol())
        unknown, = self.world.enrol(resource_class='gold')
        nameless, = self.world.enrol(resource_class=None)
        self.nodes.claim(taken)
        made = self.reserve(taken, closed, unknown, nameless, free)
        self.assertEqual(free, made.node_uuid)
        self.assertEqual([made.uuid], list(self.world.reservations()))
        self.assertEqual([free], [row.node_uuid for row in self.rows()])
        self.assert_clean_but_for(unknown)

    def assert_clean_but_for(self, *nodes: str) -> None:
        self.assertLessEqual({one.node_uuid for one
                              in self.audit().differences}, {*nodes})

    def test_reason_names_who_has_the_node_in_placement(self) -> None:
        taken, closed = self.enrol(), self.enrol(reserved=1)
        unknown, = self.world.enrol(resource_class='gold')
        nameless, = self.world.enrol(resource_class=None)
        consumer = self.nodes.claim(taken)
        given = self.refused(taken, closed, unknown, nameless)
        self.assertEqual(
            [(taken, reasons.HELD_ELSEWHERE),
             (closed, reasons.CLOSED_IN_PLACEMENT),
             (unknown, reasons.NOT_IN_PLACEMENT),
             (nameless, reasons.NOT_IN_PLACEMENT)],
            [(one['node_uuid'], one['code']) for one in given])
        self.assertIn(consumer, given[0]['detail'])
        self.assert_nothing_left()

    def picks_the_free_one_of(self, count: int) -> None:
        """Check that it is found by its class, and why there is no other."""
        self.taken(count)
        free = self.enrol()
        self.assertEqual(free, self.reserve().node_uuid)
        self.assertEqual([{'code': reasons.HELD_ELSEWHERE, 'nodes': count},
                          {'code': reasons.RESERVED, 'nodes': 1}],
                         self.refused())
        self.assert_clean()

    def test_pick_by_class_goes_on_to_a_node_that_can_be_held(self) -> None:
        self.picks_the_free_one_of(3)

    def test_cost_is_the_same_however_many_nodes_others_hold(self) -> None:
        seen = self.statements()
        costs = {}
        for count in (5, 20):
            nodes = [*self.taken(count), self.enrol()]
            seen.clear()
            self.network.calls.clear()
            self.assertEqual(nodes[-1], self.reserve(*nodes).node_uuid)
            costs[count] = len(seen), len(self.network.calls)
        self.assertEqual(costs[5], costs[20])

    def test_node_that_is_ours_to_take_back_is_not_passed_by(self) -> None:
        """Although there is no room for one more yet."""
        taken, last = self.taken(4), self.enrol()
        made = self.reserve(last)
        self.network.faults = [Fault.LOST]
        release.release(self.engine, made.uuid)
        self.assertEqual(1, len(self.consumers(last)))
        self.assertEqual(last, self.reserve(*taken, last).node_uuid)
        self.assert_clean()

    def test_node_that_the_instance_has_is_not_passed_by(self) -> None:
        taken, last = self.taken(4), self.enrol()
        instance = self.nodes.claim(last)
        self.assertEqual(last, self.reserve(
            *taken, last, instance_uuid=instance).node_uuid)

    def test_pick_by_class_finds_the_one_among_many(self) -> None:
        """More than it looks at in one go, and without asking Ironic."""
        self.world.conf.set_override('confirm', 'mirror', 'ironic')
        self.picks_the_free_one_of(40)

    def test_node_that_the_instance_has_already_is_not_claimed_again(
            self) -> None:
        node = self.enrol()
        instance = self.nodes.claim(node)
        before = self.client.consumer(instance)
        made = self.reserve(node, instance_uuid=instance)
        self.assertEqual(node, made.node_uuid)
        self.assertEqual(before, self.client.consumer(instance))
        self.assertEqual(([instance], []),
                         (self.consumers(node), self.rows()))
        self.assert_clean()

    def test_same_request_again_writes_nothing(self) -> None:
        node, instance = self.enrol(), world.new_uuid()
        made = self.reserve(node, instance_uuid=instance)
        self.network.calls.clear()
        self.assertEqual(made, self.reserve(node, instance_uuid=instance))
        self.assertEqual([], self.network.calls)

    def test_expired_reservation_makes_way_with_its_hold(self) -> None:
        node, other = self.enrol(), self.enrol()
        instance = world.new_uuid()
        self.reserve(node, ttl=10)
        self.reserve(other, ttl=10, instance_uuid=instance)
        self.world.clock.advance(10)
        # NOTE: the row of the instance is on another node.
        made = self.reserve(node, instance_uuid=instance)
        self.assertEqual([made.uuid], [
            row.owner for row in self.rows()
            if row.state is values.HoldState.ACTIVE])
        self.recover()
        self.assertEqual([], self.consumers(other))
        self.assert_clean()

    def test_expired_reservation_leaves_its_node_to_others_at_once(
            self) -> None:
        """Although its instance gets another node."""
        left, node = self.enrol(), self.enrol()
        instance = world.new_uuid()
        self.reserve(left, ttl=10, instance_uuid=instance)
        self.world.clock.advance(10)
        self.reserve(node, instance_uuid=instance)
        placement_sync.recover(self.engine)
        self.assertEqual([], self.consumers(left))
        self.assert_clean()

    def test_uuid_that_a_client_uses_again_is_held_again(self) -> None:
        node, uuid = self.enrol(), world.new_uuid()
        for swept in (False, True):
            self.reserve(node, uuid=uuid, ttl=10)
            self.world.clock.advance(10)
            if swept:
                sweep.sweep(self.engine)
            made = self.reserve(node, uuid=uuid)
            self.assertEqual([(uuid, made.node_uuid)], [
                (row.owner, row.node_uuid) for row in self.rows()])
            self.assert_clean()
            release.release(self.engine, uuid)

    def test_two_at_once_get_two_nodes(self) -> None:
        nodes = [self.enrol(), self.enrol()]
        made: list[node_reservation.Reservation] = []
        self.world.before_next_write(
            lambda: made.append(self.reserve(*nodes)))
        made.append(self.reserve(*nodes))
        self.assertEqual({*nodes}, {one.node_uuid for one in made})
        self.assert_clean()


class TestReserveOnOldPlacement(TestReserve):
    """One from before consumers had types."""

    newest = '1.29'


@servers.also
class TestUnansweredWrites(held_reservations.TestCase):
    """Placement fails while a node is being reserved."""

    def test_placement_that_is_down_leaves_nothing(self) -> None:
        node = self.enrol()
        self.network.down = True
        self.assertRaises(errors.PlacementUnavailable, self.reserve, node)
        self.assert_nothing_left()
        self.network.down = False
        made = self.reserve(node)
        self.recover()
        self.assertEqual([made.uuid], [row.owner for row in self.rows()])
        self.assert_clean()

    def test_write_of_every_fate_leaves_a_held_promise_or_none(self) -> None:
        node = self.enrol()
        for first in Fault:
            for second in (None, *Fault):
                self.network.faults = [first, second]
                try:
                    made = self.reserve(node)
                except (errors.PlacementUnavailable,
                        errors.NoNodeAvailable):
                    self.assert_nothing_left()
                    self.network.faults = []
                else:
                    self.network.faults = []
                    self.assertIn(made.uuid, self.world.reservations())
                    release.release(self.engine, made.uuid)
                self.network.deliver()
                self.recover()
                self.assertEqual([], self.consumers(node))
                self.assert_clean()

    def test_credentials_that_are_refused_leave_nothing(self) -> None:
        node = self.enrol()
        stranger = engine_module.dataclasses.replace(
            self.engine,
            placement=placement.Placement(self.there.sender(), 'nobody'))
        self.assertRaises(errors.PlacementUnavailable, self.reserve, node,
                          engine=stranger)
        self.assert_nothing_left()
        self.assertEqual([], self.rows())

    def test_failure_to_ask_who_has_it_leaves_nothing(self) -> None:
        node, = self.taken(1)
        self.network.before = lambda method, _: setattr(
            self.network, 'down', method == 'GET')
        self.assertRaises(errors.PlacementUnavailable, self.reserve, node)
        self.assert_nothing_left()
        self.assertEqual([], self.rows())

    def test_request_again_while_the_first_is_at_it_waits(self) -> None:
        node, instance = self.enrol(), world.new_uuid()
        self.die(node, instance_uuid=instance)
        self.patch(of_reservations, '_PAUSE', 0.001)
        self.assertRaises(errors.PlacementUnavailable, self.reserve, node,
                          instance_uuid=instance)
        self.wait()
        # NOTE: nobody has been told of the first one, so it has ended.
        made = self.reserve(node, instance_uuid=instance)
        self.assertEqual([made.uuid], list(self.world.reservations()))
        self.assert_clean()

    def before_it_is_held(self, action: Callable[[], object]
                          ) -> Iterator[int]:
        """Have something happen before the first hold; count the holds."""
        real, times = holding.hold_node, iter(range(99))

        def hold_node(*arguments: Any) -> holding.Result:
            if next(times) == 0:
                self.wait()
                self.recover()
                action()
            return real(*arguments)
        self.patch(holding, 'hold_node', hold_node)
        return times

    def assert_nothing_is_forsaken(self) -> None:
        """Check that each hold is of a promise, and all agrees."""
        recovery.release_forsaken(self.engine)
        self.recover()
        self.assert_clean()

    def test_request_again_while_the_first_comes_to_nothing(self) -> None:
        """A node was held, and told to be reserved, for nobody."""
        node, instance = self.enrol(), world.new_uuid()
        self.die(node, instance_uuid=instance)
        times = self.before_it_is_held(lambda: None)
        made = self.reserve(node, instance_uuid=instance)
        self.assertEqual(1, next(times))
        self.assertEqual([made.uuid], list(self.world.reservations()))
        self.assert_nothing_is_forsaken()

    def test_request_again_while_it_is_made_again_elsewhere(self) -> None:
        """It was told to be on the node on which it had been."""
        first, second = self.enrol(), self.enrol()
        ask = {'uuid': world.new_uuid(), 'instance_uuid': world.new_uuid()}
        self.die(first, **ask)
        self.before_it_is_held(lambda: self.reserve(second, **ask))
        made = self.reserve(first, second, **ask)
        self.assertEqual(second, made.node_uuid)
        self.assertEqual(made.node_uuid, self.world.reservations()[
            made.uuid]['node_uuid'])
        self.assert_nothing_is_forsaken()

    def test_key_of_a_request_that_came_to_nothing_can_be_sent_again(
            self) -> None:
        """Its client has got nothing, whoever has found that out."""
        node, instance = self.enrol(), world.new_uuid()
        self.die(node, instance_uuid=instance, key='k')
        [row] = self.rows()
        self.wait()
        self.recover()
        self.assertEqual({}, self.world.reservations())
        made = self.reserve(node, instance_uuid=instance, key='k')
        self.assertNotEqual(row.owner, made.uuid)
        release.release(self.engine, made.uuid)
        self.assertRaises(errors.ReservationEnded, self.reserve, node,
                          instance_uuid=instance, key='k')
        self.assert_clean()

    def test_request_with_a_key_goes_on_to_a_node_that_can_be_held(
            self) -> None:
        """And so does its retry, whose first node others got."""
        held, node, other = self.enrol(), self.enrol(), self.enrol()
        self.nodes.claim(held)
        ask = {'instance_uuid': world.new_uuid(), 'key': 'k'}
        made = self.reserve(held, node, other, **ask)
        self.assertEqual(node, made.node_uuid)
        self.assertEqual(made, self.reserve(held, node, other, **ask))
        releasing.release(self.engine, [made.uuid])
        self.nodes.claim(node)
        again = self.reserve(held, node, other, **ask)
        self.assertEqual(other, again.node_uuid)
        release.release(self.engine, again.uuid)
        self.assertRaises(errors.ReservationEnded, self.reserve, held, node,
                          other, **ask)

    def test_what_may_come_to_nothing_is_not_told(self) -> None:
        node, instance = self.enrol(), world.new_uuid()
        self.die(node, instance_uuid=instance)
        [row] = self.rows()
        self.assertEqual((node, True), self.read_as_made(row.owner))
        self.assertEqual([], find.page(self.engine, find.Query()))
        self.wait()
        self.recover()
        self.assertRaises(errors.ReservationNotFound, find.get_as_made,
                          self.engine, row.owner)
        made = self.reserve(node, instance_uuid=instance)
        self.assertEqual((node, False), self.read_as_made(made.uuid))
        self.assertEqual([made], find.page(self.engine, find.Query()))
        self.assert_clean()

    def read_as_made(self, uuid: str) -> tuple[str, bool]:
        found, being_made = find.get_as_made(self.engine, uuid)
        return found.node_uuid, being_made

    def test_request_again_holds_what_has_lost_its_hold(self) -> None:
        node, instance = self.enrol(), world.new_uuid()
        made = self.reserve(node, instance_uuid=instance)
        releasing.release(self.engine, [made.uuid])
        self.assertEqual(made, self.reserve(node, instance_uuid=instance))
        self.assert_clean()

    def test_request_again_for_a_node_that_others_got_takes_another(
            self) -> None:
        node, other, instance = self.enrol(), self.enrol(), world.new_uuid()
        made = self.reserve(node, instance_uuid=instance)
        releasing.release(self.engine, [made.uuid])
        theirs = self.nodes.claim(node)
        again = self.reserve(node, other, instance_uuid=instance)
        self.assertEqual((other, [again.uuid]),
                         (again.node_uuid, list(self.world.reservations())))
        self.assertEqual([theirs], self.consumers(node))
        self.assert_clean()


class TestRelease(held_reservations.TestCase):

    def test_released_reservation_is_no_hold_any_more(self) -> None:
        node = self.enrol()
        release.release(self.engine, self.reserve(node).uuid)
        self.assertEqual(([], []), (self.consumers(node), self.rows()))
        self.reserve(node)
        self.assert_clean()

    def test_release_works_while_placement_is_down(self) -> None:
        node = self.enrol()
        made = self.reserve(node)
        self.network.down = True
        release.release(self.engine, made.uuid)
        self.assert_nothing_left()
        self.network.down = False
        again = self.reserve(node)
        self.assertEqual([again.uuid], [row.owner for row in self.rows()])
        self.assert_clean()

    def test_renewed_reservation_keeps_its_hold(self) -> None:
        made = self.reserve(self.enrol(), ttl=60)
        before = self.rows()
        self.network.calls.clear()
        renew.renew(self.engine, made.uuid, ttl=600)
        self.world.clock.advance(300)
        self.recover()
        self.assertEqual((before, []), (self.rows(), self.network.calls))

    def test_nothing_is_written_where_holds_are_switched_off(self) -> None:
        made = self.reserve(self.enrol(), engine=self.world.engine)
        release.release(self.world.engine, made.uuid)
        self.assertEqual(([], []), (self.network.calls, self.rows()))


class TestDeaths(held_reservations.TestCase):
    """The process that serves a request is killed between two steps."""

    def deaths(self, most: int, prepare: Any, use: Any) -> None:
        """Die at each step of something, and have others pass by.

        :param most: how many steps there are.
        """
        for steps in faults.each_death():
            node = self.enrol()
            before = prepare(node)
            mortal = faults.mortal(self.world.engine, self.there.sender(),
                                   steps)
            with steps:
                use(mortal, node, before)
            self.recover()
            self.assert_clean()
            self.assertEqual(
                {(row['uuid'], row['node_uuid']) for row
                 in self.world.reservations().values()},
                {(row.owner, row.node_uuid) for row in self.rows()})
        self.assertEqual(most, steps.taken)

    def test_reserve(self) -> None:
        self.deaths(6, lambda node: None,
                    lambda engine, node, _: self.reserve(
                        node, engine=engine))

    def test_reserve_where_others_hold_the_first_node(self) -> None:
        def use(engine: engine_module.Engine, node: str, _: None) -> None:
            self.reserve(node, self.enrol(), engine=engine)
        self.deaths(14, self.nodes.claim, use)

    def test_release(self) -> None:
        self.deaths(6, self.reserve,
                    lambda engine, _, made: release.release(engine,
                                                            made.uuid))

    def test_row_is_as_the_table_says(self) -> None:
        """What a request that died has left says what it was about."""
        node = self.enrol()
        self.die(node)
        with self.engine.database.read() as opened:
            state, = opened.execute(sa.select(
                tables.holds.c.state)).scalars()
        self.assertEqual('promising', state)


class TestDatabaseThatFailsLate(held_reservations.TestCase):

    def test_release_that_is_committed_is_not_told_to_have_failed(
            self) -> None:
        """What is left in Placement goes with the next pass."""
        node = self.enrol()
        made = self.reserve(node)

        failed = []

        def fails(*_: object) -> bool:
            failed.append(made.uuid)
            raise errors.DatabaseUnavailable('It has just gone away.')
        self.patch(releasing, 'take_back', fails)
        release.release(self.engine, made.uuid)
        self.assertEqual([made.uuid], failed)
        self.assert_nothing_left()
        self.recover()
        self.assertEqual([], self.consumers(node))
        self.assert_clean()
