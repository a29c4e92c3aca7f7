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

"""Leases of instances have what they are to have, while they last."""

import dataclasses
from typing import Any
from unittest import mock

from ironic_reservations.engine import mirror
from ironic_reservations.engine.lease_cycle import claims as lease_claims
from ironic_reservations.engine.lease_cycle import start as lease_start
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.model import leases
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import instance_leases

FLAVOR = instance_leases.FLAVOR
STATUS = instance_leases.STATUS
WISH = instance_leases.WISH
PLANNED, BOUND, ENDING = leasing.PLANNED, leasing.BOUND, leasing.ENDING


class TestStart(instance_leases.TestCase):

    def test_flavor_is_named_from_the_first_answer_on(self) -> None:
        """As Blazar does; its id is that of the reservation."""
        lease = self.planned(2, WISH)
        self.work(1)
        ident = lease.reservations[0].id
        self.assertEqual([ident] * 2, [self.flavor_of(lease), self.flavor_of(
            self.leasing.reload(lease))])
        self.assertEqual([ident], [*self.nova.flavors])

    def flavor_of(self, lease: leases.Lease) -> str | None:
        """Return the flavor that a lease names."""
        wanted = lease.reservations[0].instances
        assert wanted is not None
        return wanted.flavor_id

    def test_flavor_is_named_where_nova_came_after_the_lease(self) -> None:
        self.host(), self.host()
        lease = leasing.Leasing(self.world).create(1, 4, WISH)
        self.assertIsNone(self.flavor_of(lease))
        self.work(1)
        self.assertEqual(lease.reservations[0].id,
                         self.flavor_of(self.leasing.reload(lease)))

    def test_hosts_are_held_first_and_bound_last(self) -> None:
        lease = self.planned(2, WISH)
        seen: list[Any] = []
        self.ironic.interrupt('write_lessee', lambda: seen.append(
            (len(self.held_nodes()), len(self.offers()),
             [*self.nova.flavors], self.states(lease))))
        self.work(1)
        self.assertEqual((2, 2, [lease.reservations[0].id], [PLANNED] * 2),
                         seen[0])

    def test_nova_that_is_down_is_waited_for_and_said(self) -> None:
        lease = self.planned(3, WISH, leasing.wish(1))
        self.to_nova.down = True
        self.work(1)
        self.assertIn('Nova', self.waiting(lease))
        self.assertIn(lease.reservations[0].id, self.waiting(lease))
        self.assertIsNot(STATUS.ACTIVE, self.status(lease))
        instances, of_hosts = self.leasing.reload(lease).reservations
        self.assertEqual(
            ([PLANNED] * 2, [BOUND]),
            ([each.state for each in instances.bookings],
             [each.state for each in of_hosts.bookings]))
        self.to_nova.down = False
        self.soon()
        self.assertIs(STATUS.ACTIVE, self.status(lease))
        self.assertEqual('', self.waiting(lease))
        self.assert_active(
            self.had(lease, {each.node_uuid: 1
                             for each in instances.bookings}),
            dataclasses.replace(
                self.had(lease, {each.node_uuid: 1
                                 for each in of_hosts.bookings}),
                reservation_id=of_hosts.id,
                flavor=machine.DesiredFlavor(4, 4096, 40)))
        self.assert_clean()

    def test_refusal_of_nova_is_said(self) -> None:
        lease = self.planned(2, WISH)
        self.nova.answer = 403
        self.work(1)
        self.assertIn('403', self.waiting(lease))
        self.nova.answer = None
        self.soon()
        self.assert_active(self.had(lease))

    def test_without_nova_the_classes_are_there_all_the_same(self) -> None:
        self.go_on(nova=None)
        lease = self.started()
        self.assert_active(dataclasses.replace(self.had(lease), flavor=None))
        self.assertIsNone(self.flavor_of(lease))
        self.work(4)
        self.assert_over(lease)

    def test_without_placement_nothing_is_called(self) -> None:
        self.go_on(placement=None)
        self.network.calls.clear()
        lease = self.started()
        self.work(4)
        self.assertIs(STATUS.TERMINATED, self.status(lease))
        self.assertEqual(([], []), (self.network.calls, self.nova.asked))


class TestHosts(instance_leases.TestCase):
    """A lease of hosts is used through Nova, too, where Nova is told."""

    def of_hosts(self, count: int = 2) -> leases.Lease:
        """Return a lease of hosts that has started, unless Nova is down."""
        lease = self.planned(count, leasing.wish(count))
        self.work(1)
        return lease

    def test_each_host_is_one_server_of_the_private_flavor(self) -> None:
        lease = self.of_hosts()
        self.assert_whole(lease)

    def test_flavor_is_as_large_as_the_smallest_host(self) -> None:
        lease = self.planned(2, leasing.wish(2))
        for node, cpus in zip(self.leasing.nodes(lease), ('8', '6'),
                              strict=True):
            self.ironic.change(node, properties=(
                ('cpus', cpus), ('memory_mb', 'unknown')))
        mirror.refresh_all(self.engine)
        self.work(1)
        flavor, = self.nova.flavors.values()
        self.assertEqual((6, 1, 1), (
            flavor.shown['vcpus'], flavor.shown['ram'],
            flavor.shown['disk']))

    def test_other_hosts_later_are_no_reason_for_another_flavor(self) -> None:
        lease = self.of_hosts()
        before, = self.nova.flavors.values()
        self.ironic.change(min(self.leasing.nodes(lease)), maintenance=True,
                           properties=(('cpus', '1'),))
        self.host()
        mirror.refresh_all(self.engine)
        self.work(2)
        after, = self.nova.flavors.values()
        self.assertEqual(before.shown, after.shown)

    def test_nova_that_is_down_keeps_no_host_from_its_lease(self) -> None:
        """It can be used through Ironic, and through Nova later."""
        self.to_nova.down = True
        lease = self.of_hosts()
        self.assertEqual([BOUND] * 2, self.states(lease))
        self.assertIn('Nova', self.waiting(lease))
        self.to_nova.down = False
        self.soon()
        self.assert_whole(lease)

    def test_nova_that_is_down_keeps_hosts_with_servers_only(self) -> None:
        lease = self.of_hosts()
        used, free = self.leasing.nodes(lease)
        self.ironic.deploy(used, self.boot(self.had(lease), used))
        self.to_nova.down = True
        self.work(4)
        self.assertEqual([used], [each.node_uuid for each in
                                  self.leasing.reload(lease).bookings])
        self.assertEqual(set(), self.undeployed())
        self.to_nova.down = False
        self.soon()
        self.assert_over(lease)


class TestChanges(instance_leases.TestCase):

    def test_lease_that_grows_is_offered_on_the_new_host(self) -> None:
        lease = self.started(1)
        self.host()
        self.leasing.resize_instances(lease, 2)
        self.to_nova.down = True
        self.soon()
        self.assertEqual([BOUND, PLANNED], self.states(lease))
        self.assertIn('Nova', self.waiting(lease))
        self.to_nova.down = False
        self.soon()
        self.assertEqual([BOUND] * 2, self.states(lease))
        self.assert_whole(lease)

    def test_lease_that_shrinks_is_offered_there_no_more(self) -> None:
        lease = self.started(2)
        self.leasing.resize_instances(lease, 1)
        self.network.down = True
        self.soon()
        self.assertEqual({BOUND, ENDING}, {*self.states(lease)})
        self.network.down = False
        self.soon()
        self.assertEqual([BOUND], self.states(lease))
        self.recover()
        self.assert_whole(lease)

    def test_host_that_is_replaced_is_offered_no_more(self) -> None:
        lease = self.started(2)
        broken = min(self.leasing.nodes(lease))
        new = self.host()
        self.leasing.break_node(broken)
        self.leasing.change(lease, heal=True)
        self.soon()
        self.assertIn(new, self.leasing.nodes(lease))
        self.assertNotIn(broken, self.leasing.nodes(lease))
        self.assert_whole(lease)


class TestEnd(instance_leases.TestCase):

    def test_nova_takes_its_servers_down_before_any_undeploying(
            self) -> None:
        for wish in (WISH, leasing.wish(2)):
            self.world.clock.now = world.NOON
            self.ironic.changed.clear()
            self.nova.deleting = False
            lease = self.planned(2, wish)
            self.work(1)
            node = min(self.leasing.nodes(lease))
            running = self.boot(self.had(lease), node)
            self.ironic.deploy(node, running)
            self.nova.deleting = True
            self.work(4)
            self.assertIn('1 server of the reservation', self.waiting(lease))
            self.assertEqual(set(), self.undeployed())
            self.nova.go(running)
            self.soon()
            self.assertEqual({node}, self.undeployed())
            self.soon()
            self.assert_over(lease)

    def test_nova_that_is_down_holds_up_the_instances_only(self) -> None:
        lease = self.planned(3, WISH, leasing.wish(1))
        self.work(1)
        self.to_nova.down = True
        self.work(4)
        self.assertIn('Nova', self.waiting(lease))
        instances, of_hosts = self.leasing.reload(lease).reservations
        self.assertEqual(([ENDING] * 2, ()),
                         ([each.state for each in instances.bookings],
                          of_hosts.bookings))
        self.to_nova.down = False
        self.soon()
        self.assert_over(lease)

    def offered_only(self) -> leases.Lease:
        """Return a lease that is offered, and has nothing that is bound."""
        lease = self.planned(2, WISH)
        self.to_nova.faults = [faults.Fault.ERROR]
        self.work(1)
        self.assertIn('make flavor', self.waiting(lease))
        self.assertEqual([PLANNED] * 2, self.states(lease))
        self.assertEqual(2, len(self.offers()))
        return lease

    def test_what_no_booking_tells_of_is_taken_back(self) -> None:
        lease = self.offered_only()
        self.to_nova.down = True
        self.work(4)
        self.assertEqual([], self.states(lease))
        self.assertIn('Nova', self.waiting(lease))
        self.assertIs(STATUS.TERMINATING, self.status(lease))
        self.to_nova.down = False
        self.soon()
        self.assert_over(lease)

    def test_what_no_booking_tells_of_goes_with_the_lease(self) -> None:
        lease = self.offered_only()
        self.leasing.end(lease)
        self.assertIs(STATUS.DELETING, self.status(lease))
        self.soon()
        self.assert_gone(lease)
        placement_sync.recover(self.engine)
        self.assert_clean()

    def test_lease_that_never_started_is_gone_at_once(self) -> None:
        lease = self.planned(2, WISH)
        self.network.calls.clear()
        self.leasing.end(lease)
        self.assertNotIn(lease.id, self.world.lease_rows())
        self.assertEqual(([], []), (self.network.calls, self.nova.asked))


    def test_lease_that_begins_while_it_is_ended_leaves_nothing(self) -> None:
        """Who ends it stands still, and who starts it has come half-way."""
        self.begins_while_it_is_ended(WISH)

    def test_lease_of_hosts_that_begins_while_it_is_ended(self) -> None:
        """Where Nova is told of them."""
        self.begins_while_it_is_ended(leasing.wish(2))

    def begins_while_it_is_ended(self,
                                 wish: leases.LeaseReservationRequest) -> None:
        lease = self.planned(2, wish)
        self.world.before_next_write(self.dies_when_it_is_offered)
        self.leasing.end(lease)
        self.assertIs(STATUS.DELETING, self.status(lease))
        self.soon()
        self.assert_gone(lease)

    def test_what_hosts_offered_half_way_goes_with_the_lease(self) -> None:
        """As that of instances; no booking tells of it, either."""
        lease = self.planned(2, leasing.wish(2))
        self.dies_when_it_is_offered()
        self.assertEqual([PLANNED] * 2, self.states(lease))
        self.leasing.end(lease)
        self.assertIs(STATUS.DELETING, self.status(lease))
        self.soon()
        self.assert_gone(lease)

    def test_lease_that_a_worker_has_just_taken_is_left_to_it(self) -> None:
        """By whoever ends it right before its start."""
        lease = self.planned(2, WISH)
        self.world.clock.now = leasing.at(1)
        task, = lease_claims.take(self.engine, [lease.id], 'worker')
        before = dataclasses.replace(self.engine,
                                     clock=lambda: leasing.at(0.9999))
        leasing.Leasing(self.world, before).end(lease)
        self.assertIs(STATUS.DELETING, self.status(lease))
        lease_claims.drop(self.engine, [task.claim])
        self.soon()
        self.assert_gone(lease)

    def dies_when_it_is_offered(self) -> None:
        """Have a worker die after Placement and Nova, before the database."""
        def die(*_: object, **__: object) -> None:
            raise faults.Died
        self.world.clock.now = leasing.at(1)
        other = lease_workers.LeaseWorkers(dataclasses.replace(self.engine))
        with mock.patch.object(lease_start, '_starting', die), (
                mock.patch.object(lease_start, '_commit', die)):
            self.assertRaises(faults.Died, other.one_pass)
        self.assertEqual(2, len(self.offers()))
