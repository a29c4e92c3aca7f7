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
"""Reservations of nodes that leases have, or have been promised."""

import dataclasses
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.leases import end as lease_end
from ironic_reservations.engine.reservations import plan
from ironic_reservations.engine.reservations import renew
from ironic_reservations.model import reasons
from ironic_reservations.planner import budget
from ironic_reservations.planner import planning
from tests import leasing
from tests.inprocess.engine import timelines

HOUR = 3600
GOLD = leasing.of_class('gold')


class _Beside(timelines.TestCase):

    options = {'reservations__max_ttl': 100 * HOUR}

    def stall(self, hours):
        """Have a process stand still between its plan and its commit."""
        def wait():
            self.world.clock.now = leasing.at(hours)
        self.world.before_next_write(wait)


class TestReserve(_Beside):

    def test_tentative_lease_moves_aside(self):
        """Who needs the node now has it, and the lease has another."""
        lease, node = self.promised()
        held = self.world.reserve(node, ttl=2 * HOUR)
        self.assertEqual(node, held.node_uuid)
        self.assertNotEqual(node, self.home(lease))

    def test_reservation_is_not_over_when_it_is_written(self):
        """Who stood still for longer than that was told of a past end."""
        (node,) = self.leasing.hosts()
        self.stall(1.5)
        held = self.world.reserve(node, ttl=HOUR)
        self.assertEqual(leasing.at(2.5), held.expires_at)
        self.stall(4)
        (node,) = self.leasing.hosts()
        self.assertRaises(errors.InvalidValue, self.world.reserve, node,
                          expires_at=leasing.at(3))

    def test_lease_that_begins_before_the_commit_stays(self):
        """A process that stood still does not move it any more."""
        lease, node = self.promised()
        self.stall(1.5)
        self.assertEqual([reasons.LEASED], self.codes(node, ttl=2 * HOUR))
        self.assertEqual(node, self.home(lease))

    def test_lease_after_the_reservation_stays(self):
        lease, node = self.promised()
        self.world.reserve(node, ttl=HOUR)
        self.assertEqual(node, self.home(lease))

    def test_lease_that_cannot_be_kept_elsewhere_refuses(self):
        """With its own code, and the time from which."""
        lease, node = self.promised(1)
        (reason,) = self.unavailable(node, ttl=HOUR + 1)
        self.assertEqual((reasons.PROMISED, leasing.at(1).isoformat(), node),
                         (reason['code'], reason['since'],
                          reason['node_uuid']))
        self.assertNotIn(leasing.PROJECT, str(reason))
        self.assertNotIn(lease.reservations[0].id, str(reason))
        self.world.reserve(node, ttl=HOUR)

    def test_refusal_says_whether_it_is_proved(self):
        """A search that has ended at its limit proves nothing."""
        one, other = self.leasing.hosts(2)
        for _ in range(2):
            self.leasing.create(1, 3)
        for proved in (True, False):
            limits = dataclasses.replace(planning.LIMITS, request=budget.Work(
                budget.REQUEST if proved else 0))
            with mock.patch.object(hard_requests, 'limits',
                                   return_value=limits):
                refused = self.assertRaises(
                    errors.NoNodeAvailable, self.world.reserve, one, other,
                    ttl=HOUR + 1)
            self.assertEqual(not proved, 'search_limit' in str(refused))
            self.assertIs(None if proved else False,
                          refused.details.get('proved'))
            self.assertEqual(
                [reasons.PROMISED] * 2,
                [reason['code'] for reason in refused.details['reasons']])

    def test_started_lease_refuses_until_its_end(self):
        (node,) = self.leasing.hosts()
        lease = self.leasing.create(0, 3)
        for bind in (False, True):
            if bind:
                self.leasing.bind()
            (reason,) = self.unavailable(node)
            self.assertEqual(
                (reasons.LEASED, leasing.at(3).isoformat()),
                (reason['code'], reason['until']))
            self.assertNotIn(lease.reservations[0].id, str(reason))

    def test_node_that_is_being_taken_back_is_not_free(self):
        """However long its lease has been over."""
        (node,) = self.leasing.hosts()
        lease = self.leasing.started(0, 3)
        self.world.clock.now = leasing.at(4)
        (reason,) = self.unavailable(node)
        self.assertEqual(reasons.LEASED, reason['code'])
        self.assertNotIn('until', reason)
        lease_end.end(self.engine, lease.id)
        self.assertEqual([reasons.LEASED], self.codes(node))
        self.leasing.clean_up()
        self.assertEqual(node, self.world.reserve(node).node_uuid)

    def test_lease_that_nobody_started_is_void_at_its_end(self):
        (node,) = self.leasing.hosts()
        self.leasing.create(0, 3)
        self.world.clock.now = leasing.at(3)
        self.assertEqual(node, self.world.reserve(node).node_uuid)

    def test_order_of_the_list_is_honoured_where_leases_can_move(self):
        self.leasing.hosts(3)
        (other,) = self.world.enrol()
        lease = self.leasing.create(1, 3)
        node = self.home(lease)
        self.assertEqual(node, self.world.reserve(
            node, other, ttl=2 * HOUR).node_uuid)

    def test_node_that_cannot_be_had_is_skipped(self):
        promised = self.leasing.hosts(2)
        (other,) = self.world.enrol()
        self.leasing.create(1, 3, leasing.wish(2))
        self.assertEqual(other, self.world.reserve(
            *promised, other, ttl=2 * HOUR).node_uuid)

    def test_first_that_can_be_had_is_taken_in_a_long_list(self):
        """Though those before it cannot, and all are promised."""
        needed = self.leasing.hosts(6, resource_class='gold')
        self.leasing.create(1, 3, leasing.wish(6, properties=GOLD))
        movable = self.leasing.hosts(8, resource_class='silver')
        self.leasing.create(1, 3, leasing.wish_of('silver', 6))
        promised = [row['node_uuid'] for row in self.leasing.rows()
                    if row['node_uuid'] in movable]
        self.assertEqual(6, len(promised))
        given = [self.world.reserve(*needed, *promised,
                                    ttl=2 * HOUR).node_uuid
                 for _ in range(2)]
        # Two more silver hosts were free, so two leases could move.
        self.assertEqual(promised[:2], given)
        self.assertEqual([reasons.PROMISED] * 6 + [reasons.RESERVED] * 2
                         + [reasons.PROMISED] * 4, self.codes(
                             *needed, *promised, ttl=2 * HOUR))

    def test_chain_of_leases_makes_room(self):
        """One goes where another one was, which goes elsewhere."""
        nodes = self.leasing.hosts(2, resource_class='gold')
        third = self.leasing.hosts(1, resource_class='silver')
        picky = self.leasing.create(1, 3, leasing.wish(properties=GOLD))
        self.leasing.create(1, 3)
        first = self.home(picky)
        (second,) = set(nodes) - {first}
        for node in nodes:
            self.world.reserve(node, ttl=HOUR // 2)
        held = self.world.reserve(*third, ttl=HOUR // 2)
        self.assertEqual(third[0], held.node_uuid)
        self.world.clock.now = leasing.at(0.5)
        self.world.reserve(first, ttl=2 * HOUR)
        self.assertEqual(second, self.home(picky))

    def test_lease_is_planned_around_a_live_reservation(self):
        first, second = self.leasing.hosts(2)
        self.world.reserve(first, ttl=2 * HOUR)
        self.assertEqual(second, self.home(self.leasing.create(1, 3)))
        later = self.leasing.create(2, 3)
        self.assertEqual(first, self.home(later))
        self.leasing.refused(0, 1, leasing.wish(2))

    def test_used_reservation_takes_a_host_for_ever(self):
        (node,) = self.leasing.hosts()
        self.world.use(self.world.reserve(node))
        self.leasing.refused(100, 101)

    def test_host_that_is_closed_gives_its_lease_away(self):
        """It can serve nothing new, and what it has can go elsewhere."""
        lease, node = self.promised()
        self.leasing.set_reservable(node, False)
        self.world.reserve(node, ttl=2 * HOUR)
        self.assertNotEqual(node, self.home(lease))

    def test_closed_host_that_nothing_can_stand_in_for_is_kept(self):
        _, node = self.promised(1)
        self.leasing.set_reservable(node, False)
        self.assertEqual([reasons.PROMISED], self.codes(node, ttl=2 * HOUR))

    def test_mirror_that_is_behind_is_no_obstacle(self):
        lease, node = self.promised()
        self.world.change(node, provision_state='active')
        self.world.ironic.change(node, provision_state='available')
        self.world.reserve(node, ttl=2 * HOUR)
        self.assertNotEqual(node, self.home(lease))

    def test_node_that_ironic_knows_to_be_taken_moves_nobody(self):
        lease, node = self.promised()
        self.world.ironic.change(node, maintenance=True)
        self.assertEqual([reasons.MAINTENANCE], self.codes(node, ttl=2 * HOUR))
        self.assertEqual(node, self.home(lease))

    def test_lease_that_comes_in_between_is_not_overlooked(self):
        """What was planned on has changed, so it is planned again."""
        (node,) = self.leasing.hosts()
        self.world.before_next_write(lambda: self.leasing.create(0, 1))
        self.assertEqual([reasons.LEASED], self.codes(node))

    def test_lease_that_moves_in_between_is_moved_from_there(self):
        self.leasing.hosts(4)
        lease = self.leasing.create(1, 3)
        node = self.home(lease)
        self.world.before_next_write(
            lambda: self.world.reserve(node, ttl=2 * HOUR))
        self.assertEqual([reasons.RESERVED], self.codes(node, ttl=2 * HOUR))
        self.world.before_next_write(lambda: self.leasing.create(0.5, 1.5))
        self.world.reserve(self.home(lease), ttl=2 * HOUR)

    def test_reservation_that_comes_in_between_keeps_a_lease_off(self):
        first, second = sorted(self.leasing.hosts(2))
        self.world.before_next_write(
            lambda: self.world.reserve(first, ttl=2 * HOUR))
        self.assertEqual(second, self.home(self.leasing.create(1, 3)))

    def test_confirming_takes_its_time_and_no_lease_is_reached_into(self):
        """The end is counted from when it was made."""
        _, node = self.promised(1)
        self.world.ironic.interrupt(
            'node', lambda: self.world.clock.advance(1))
        self.assertEqual([reasons.PROMISED], self.codes(node, ttl=HOUR))
        self.world.reserve(node, ttl=HOUR - 1)


class TestByClass(_Beside):

    def test_promised_nodes_are_avoided(self):
        """Even by a reservation that would be over in time."""
        self.leasing.hosts(3, resource_class='gold')
        lease = self.leasing.create(1, 3, leasing.wish(2))
        free = (set(self.world.mirrored()) - self.leasing.nodes(lease)).pop()
        self.assertEqual(free, self.world.reserve(
            resource_class='gold', ttl=60).node_uuid)

    def test_all_that_seem_free_are_asked_for_before_a_lease_moves(self):
        (host,) = self.leasing.hosts(1, resource_class='gold')
        self.leasing.create(1, 3)
        self.leasing.hosts(1, resource_class='silver')
        nodes = self.world.enrol(20, resource_class='gold')
        for node in nodes[1:]:
            self.world.ironic.change(node, provision_state='active')
        with mock.patch.object(plan, 'FIRST', 1):
            self.assertEqual(nodes[0], self.world.reserve(
                resource_class='gold', ttl=2 * HOUR).node_uuid)
        self.assertEqual(host, self.home(*self.leasing.all()))

    def test_promised_later_comes_before_promised_too_early(self):
        self.leasing.hosts(3, resource_class='gold')
        early, late = self.leasing.create(1, 3), self.leasing.create(5, 6)
        for _ in range(10):
            if self.home(early) != self.home(late):
                break
            self.leasing.end(late)
            late = self.leasing.create(2, 6)
        homes = {self.home(early), self.home(late)}
        if len(homes) < 2:
            self.fail('both leases share a host')
        (third,) = set(self.world.mirrored()) - homes
        self.world.reserve(third, ttl=8 * HOUR)
        self.assertEqual(self.home(late), self.world.reserve(
            resource_class='gold', ttl=2 * HOUR).node_uuid)

    def test_lease_moves_aside_where_no_other_node_is_left(self):
        self.leasing.hosts(2, resource_class='gold')
        spare = self.leasing.hosts(1, resource_class='silver')
        self.leasing.create(1, 3, leasing.wish(2))
        given = {self.world.reserve(resource_class='gold',
                                    ttl=2 * HOUR).node_uuid}
        self.assertEqual([], self.leasing.overlaps())
        self.assertFalse(given & set(spare))
        self.assertEqual({'promised': 1, 'reserved': 1}, {
            reason['code']: reason['nodes'] for reason in self.unavailable(
                resource_class='gold', ttl=2 * HOUR)})

    def test_refusal_counts_leased_nodes(self):
        self.leasing.hosts(2, resource_class='gold')
        self.leasing.started(0, 3, leasing.wish(2))
        self.assertEqual([{'code': 'leased', 'nodes': 2}],
                         self.unavailable(resource_class='gold'))


class TestRenew(_Beside):

    def renew(self, held, **end):
        return renew.renew(self.engine, held.uuid, **end)

    def test_renewal_into_a_lease_moves_it_aside(self):
        lease, node = self.promised()
        held = self.world.reserve(node, ttl=HOUR)
        renewed = self.renew(held, ttl=2 * HOUR)
        self.assertEqual(leasing.at(2), renewed.expires_at)
        self.assertNotEqual(node, self.home(lease))

    def test_moving_leases_aside_is_work_of_the_request(self):
        """Otherwise renewals could occupy all threads of a process."""
        self.leasing.hosts(2)
        held = self.world.reserve(self.home(self.leasing.create(1, 3)),
                                  ttl=HOUR)
        engine = self.engine
        with engine.hard_requests.bounded(engine.conf, None):
            self.renew(held, ttl=2 * HOUR)
            self.assertLess(0, hard_requests.limits().request.spent)

    def test_lease_that_begins_before_the_renewal_is_written_stays(self):
        """The reservation was over by then."""
        lease, node = self.promised()
        held = self.world.reserve(node, ttl=HOUR)
        self.stall(1.5)
        self.assertRaises(errors.ReservationNotFound, self.renew, held,
                          ttl=2 * HOUR)
        self.assertEqual(node, self.home(lease))

    def test_renewal_brings_nothing_back_that_is_over_by_its_commit(self):
        (node,) = self.leasing.hosts()
        held = self.world.reserve(node, ttl=HOUR)
        self.stall(1.5)
        self.assertRaises(errors.ReservationNotFound, self.renew, held,
                          ttl=2 * HOUR)

    def test_renewal_that_a_lease_cannot_make_room_for_is_refused(self):
        _, node = self.promised(1)
        held = self.world.reserve(node, ttl=60)
        refused = self.assertRaises(errors.ExtensionRefused, self.renew,
                                    held, ttl=HOUR + 1)
        (reason,) = refused.details['reasons']
        self.assertEqual((409, reasons.PROMISED, leasing.at(1).isoformat()),
                         (refused.status, reason['code'], reason['since']))
        self.assertEqual(held.expires_at, self.world.reservations()[
            held.uuid]['expires_at'])
        self.assertEqual(leasing.at(1), self.renew(held, ttl=HOUR).expires_at)
        self.renew(held, ttl=30)

    def test_lease_behind_a_renewed_reservation_is_planned_again(self):
        """It was planned behind the old end, and somebody was quicker."""
        (node,) = self.leasing.hosts()
        held = self.world.reserve(node, ttl=HOUR)
        self.world.before_next_write(lambda: self.renew(held, ttl=2 * HOUR))
        self.assertRaises(errors.LeaseRefused, lease_create.create,
                          self.engine, leasing.ask(1, 3))

    def test_renewal_behind_which_a_lease_came_is_refused(self):
        (node,) = self.leasing.hosts()
        held = self.world.reserve(node, ttl=HOUR)
        self.world.before_next_write(lambda: self.leasing.create(1, 3))
        self.assertRaises(errors.ExtensionRefused, self.renew, held,
                          ttl=2 * HOUR)

    def test_reservation_in_use_is_renewed_whatever_is_promised(self):
        """It does not expire, so its end means nothing."""
        (node,) = self.leasing.hosts()
        held = self.world.reserve(node)
        self.world.use(held)
        self.renew(held, ttl=2 * HOUR)


class TestStatements(timelines.TestCase):
    """However many nodes and leases there are."""

    def test_making_room_costs_the_same_for_many(self):
        seen = set()
        for hosts_, leases_ in ((3, 1), (60, 40)):
            there = leasing.Leasing(self.new_world(
                reservations__max_ttl=100 * HOUR))
            there.hosts(hosts_)
            for _ in range(leases_):
                made = there.create(1, 3)
            listed = sorted(there.nodes(made))
            there.world.reserve(there.world.enrol()[0])
            with self.statements(there.engine) as sent:
                there.world.reserve(*listed, ttl=2 * HOUR)
            there.engine.database.close()
            seen.add(len(sent))
        self.assertEqual(1, len(seen), seen)
        self.assertLess(seen.pop(), 25)
