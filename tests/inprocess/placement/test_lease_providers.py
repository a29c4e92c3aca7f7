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

"""What leases of instances have in Placement and in Nova."""

import dataclasses

from ironic_reservations import errors
from ironic_reservations.clouds import placement_answers as answers
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import reserved

Servers = machine.Servers


def ended(wanted: machine.Desired, **more: object) -> machine.Desired:
    """Return a reservation whose lease is over."""
    return dataclasses.replace(wanted, active=False,
                               **more)  # type: ignore[arg-type]


class _TestCase(reserved.TestCase):

    def offered(self, count: int) -> tuple[str, machine.Desired]:
        """Return a host, and what so many instances there have."""
        host = self.host()
        return host, self.brought(self.wanted({host: count}))

    def assert_ends(self, wanted: machine.Desired, **more: object) -> None:
        """End a reservation, which leaves nothing."""
        over = ended(wanted, **more)
        self.brought(over)
        self.assert_nothing()


class TestStart(_TestCase):

    def test_class_children_and_flavor_are_made(self) -> None:
        one, two = self.host(), self.host()
        wanted = self.brought(self.wanted({one: 3, two: 1}))
        self.assert_active(wanted)
        flavor = self.nova.flavors[wanted.reservation_id]
        self.assertEqual(
            (2, 4096, 10, False),
            tuple(flavor.shown[key] for key in (
                'vcpus', 'ram', 'disk', 'os-flavor-access:is_public')))
        self.assertEqual({
            f'resources:{wanted.class_name}': '1', 'resources:VCPU': '0',
            'resources:MEMORY_MB': '0', 'resources:DISK_GB': '0',
            f'resources:{reserved.SLOT}': '1'}, flavor.extra_specs)

    def test_second_pass_writes_nothing(self) -> None:
        wanted = self.brought(self.wanted({self.host(): 2}))
        self.network.calls.clear()
        self.to_nova.calls.clear()
        self.brought(wanted)
        self.assertEqual([], self.network.writes())
        self.assertEqual([], self.to_nova.writes())

    def test_servers_get_as_many_as_were_reserved_and_no_more(self) -> None:
        host, wanted = self.offered(2)
        for _ in range(2):
            self.boot(wanted, host)
        self.assertIs(answers.Outcome.FULL, self.try_boot(
            wanted, host, world.new_uuid()).outcome)

    def test_scheduler_finds_the_hosts_of_the_lease_only(self) -> None:
        one, _ = self.host(), self.host()
        wanted = self.brought(self.wanted({one: 1}))
        found = self.client.candidates([(
            'resources', f'{wanted.class_name}:1,{reserved.SLOT}:1')])
        self.assertEqual([{one, names.child_of(one)}],
                         [set(way) for way in found])

    def test_leases_share_the_provider_of_a_host(self) -> None:
        host = self.host()
        first = self.brought(self.wanted({host: 1}))
        second = self.brought(self.wanted({host: 2}))
        self.assert_active(first, second)
        self.brought(ended(first))
        self.assert_active(second)

    def test_host_that_placement_does_not_know_is_waited_for(self) -> None:
        one, unknown = self.host(), world.new_uuid()
        wanted = self.wanted({one: 1, unknown: 1})
        waits = self.bring(wanted)
        self.assertIn(unknown, waits[0])
        self.assertIn(one, self.offers())
        self.nodes.add(unknown)
        self.brought(wanted)
        self.assert_active(wanted)

    def test_foreign_provider_with_the_name_of_ours_was_not_the_cause(
            self) -> None:
        """The text said that the host has no reservation provider."""
        host, foreign = self.host(), world.new_uuid()
        name = f'reservations_{host}'
        self.assertTrue(self.client.create_provider(foreign, name).done)
        wanted = self.wanted({host: 1})
        for _ in range(2):
            says, = self.bring(wanted)
            self.assertIn(f'the provider {foreign} has the name {name},',
                          says)
        self.assertTrue(self.client.delete_provider(foreign).done)
        self.brought(wanted)
        self.assert_active(wanted)

    def test_nobody_gets_a_flavor_that_asks_for_nothing_yet(self) -> None:
        """Specs come before access, whatever fails in between."""
        wanted = self.wanted({self.host(): 1})
        self.to_nova.faults = [None, faults.Fault.LOST]
        self.assertNotEqual((), self.bring(wanted))
        flavor = self.nova.flavors[wanted.reservation_id]
        self.assertEqual(({}, set()), (flavor.extra_specs, flavor.projects))
        self.brought(wanted)
        self.assert_active(wanted)

    def test_what_an_operator_wrote_stays(self) -> None:
        wanted = self.brought(self.wanted({self.host(): 1}))
        flavor = self.nova.flavors[wanted.reservation_id]
        flavor.extra_specs.update({'hw:boot_menu': 'true',
                                   'resources:VCPU': '4'})
        flavor.projects.add('another')
        self.brought(wanted)
        self.assertEqual(('true', '0', {reserved.PROJECT, 'another'}), (
            flavor.extra_specs['hw:boot_menu'],
            flavor.extra_specs['resources:VCPU'], flavor.projects))

    def test_other_inventory_of_the_child_stays(self) -> None:
        host, wanted = self.offered(1)
        child = names.child_of(host)
        self.client.ensure_class('CUSTOM_OTHER')
        self.nodes.offer_also(child, 'CUSTOM_OTHER')
        self.brought(ended(wanted))
        left = self.client.inventories(child)
        assert left is not None
        self.assertEqual({'CUSTOM_OTHER'}, set(left.by_class))

    def test_without_placement_nothing_is_done(self) -> None:
        off = dataclasses.replace(self.engine, placement=None)
        self.assertEqual((), self.bring(self.wanted({self.host(): 1}), off))
        self.assert_nothing()


class TestChange(_TestCase):

    def test_more_and_fewer_instances_and_other_hosts(self) -> None:
        one, two, three = (self.host() for _ in range(3))
        wanted = self.brought(self.wanted({one: 1, two: 3}))
        later = dataclasses.replace(wanted, counts={one: 2, two: 1, three: 1})
        self.brought(later)
        self.assert_active(later)
        dropped = dataclasses.replace(wanted,
                                      counts={one: 2, two: 0, three: 0})
        self.brought(dropped)
        self.assert_active(dataclasses.replace(wanted, counts={one: 2}))

    def test_host_that_was_dropped_takes_no_more_servers(self) -> None:
        one, two = self.host(), self.host()
        wanted = self.brought(self.wanted({one: 2, two: 2}))
        running = self.boot(wanted, two)
        dropped = dataclasses.replace(wanted, counts={one: 2, two: 0})
        self.bring(dropped)
        self.assertEqual({wanted.class_name: (2, 2)}, self.offers()[two])
        self.assertIs(answers.Outcome.FULL, self.try_boot(
            wanted, two, world.new_uuid()).outcome)
        self.assertIn(running, self.nova.servers)
        self.nova.go(running)
        self.brought(dropped)
        self.assertNotIn(two, self.offers())

    def test_other_sizes_make_another_flavor(self) -> None:
        wanted = self.brought(self.wanted({self.host(): 1}))
        larger = dataclasses.replace(
            wanted, flavor=dataclasses.replace(reserved.FLAVOR, vcpus=8))
        self.brought(larger)
        self.assert_active(larger)
        self.assertEqual(
            8, self.nova.flavors[wanted.reservation_id].shown['vcpus'])


class TestEnd(_TestCase):

    def test_all_is_taken_back_and_the_children_stay(self) -> None:
        """Trap 1: nova-compute may know the children."""
        host, wanted = self.offered(3)
        self.assert_ends(wanted)
        self.assertIsNotNone(self.client.provider(names.child_of(host)))
        again = self.brought(self.wanted({host: 1}))
        self.assert_active(again)

    def test_nobody_gets_in_while_servers_are_deleted(self) -> None:
        host, wanted = self.offered(3)
        running = self.boot(wanted, host)
        self.nova.deleting = True
        waits = self.bring(ended(wanted))
        self.assertIn('1 server of', waits[0])
        self.assertEqual({host: {wanted.class_name: (3, 3)}}, self.offers())
        self.assertIs(answers.Outcome.FULL, self.try_boot(
            wanted, host, world.new_uuid()).outcome)
        self.assertEqual(
            set(), self.nova.flavors[wanted.reservation_id].projects)
        self.assertEqual('deleting', self.nova.servers[running].task_state)
        self.nova.asked.clear()
        self.bring(ended(wanted))
        self.assertNotIn('DELETE', ' '.join(self.nova.asked))
        self.nova.go(running)
        self.assert_ends(wanted)

    def test_servers_are_found_by_flavor_and_by_what_they_have(self) -> None:
        host, wanted = self.offered(3)
        claimed = self.boot(wanted, host)
        self.nova.servers[claimed].flavor = 'resized'
        failed = self.nova.boot(wanted.reservation_id)
        other = self.nova.boot('another flavor')
        self.nova.deleting = True
        self.bring(ended(wanted))
        self.assertEqual(
            {claimed: 'deleting', failed: 'deleting', other: None},
            {uuid: each.task_state
             for uuid, each in self.nova.servers.items()})

    def test_server_that_is_kept_is_deleted_for_good(self) -> None:
        host, wanted = self.offered(1)
        self.boot(wanted, host)
        self.nova.keeps = True
        self.brought(ended(wanted))
        self.assertEqual({}, self.nova.servers)
        self.assert_nothing()

    def test_claim_of_a_server_that_nova_has_forgotten_is_ended(self) -> None:
        host, wanted = self.offered(2)
        forgotten = self.boot(wanted, host, known=False)
        self.assert_ends(wanted)
        # Whatever else it has is not ours.
        self.assertEqual({host: {reserved.SLOT: 1}},
                         self.client.consumer(forgotten).allocations)

    def test_servers_that_may_stay_lose_the_class_only(self) -> None:
        host, wanted = self.offered(2)
        running = self.boot(wanted, host)
        self.assert_ends(wanted, servers=Servers.LEAVE)
        self.assertEqual({host: {reserved.SLOT: 1}},
                         self.client.consumer(running).allocations)
        self.assertIsNone(self.nova.servers[running].task_state)

    def test_servers_that_are_waited_for_are_not_touched(self) -> None:
        host, wanted = self.offered(2)
        running = self.boot(wanted, host)
        before = self.client.consumer(running)
        self.assertNotEqual(
            (), self.bring(ended(wanted, servers=Servers.WAIT)))
        self.assertEqual(before, self.client.consumer(running))
        self.nova.go(running)
        self.assert_ends(wanted, servers=Servers.WAIT)

    def stranger(self, wanted: machine.Desired, host: str, **more: int) -> str:
        """Return a consumer of a lease that is no server."""
        uuid = world.new_uuid()
        self.assertTrue(self.client.put_allocations(uuid, in_memory.wanted({
            names.child_of(host): {wanted.class_name: 1},
            **({host: more} if more else {})})).done)
        return uuid

    def offer_also(self, provider: str, name: str, **more: int) -> None:
        there = self.client.inventories(provider)
        assert there is not None
        self.assertTrue(self.client.put_inventories(
            provider, there.generation, {**there.by_class, name: {
                **machine.offer_of(1), **more}}).done)

    def test_lease_waited_for_ever_for_a_consumer_that_is_no_server(
            self) -> None:
        host, wanted = self.offered(3)
        for _ in range(2):
            self.stranger(wanted, host)
        self.offer_also(names.child_of(host), wanted.class_name)
        self.assert_ends(wanted, servers=Servers.WAIT)

    def test_consumers_in_the_way_were_not_named(self) -> None:
        host, wanted = self.offered(7)
        running = self.boot(wanted, host)
        for _ in range(6):
            self.stranger(wanted, host)
        says, = self.bring(ended(wanted, servers=Servers.WAIT))
        self.assertIn('1 server of', says)
        self.assertTrue(says.endswith(f' is still there: {running}'), says)
        says, = self.bring(ended(wanted), dataclasses.replace(
            self.engine, nova=None))
        self.assertIn(' and 2 more have allocations of ', says)
        self.assertEqual({wanted.class_name: (7, 7)}, self.offers()[host])

    def test_refused_allocation_of_a_stranger_says_the_way_out(self) -> None:
        host, wanted = self.offered(1)
        self.offer_also(host, reserved.SLOT)
        stranger = self.stranger(wanted, host, **{reserved.SLOT: 1})
        self.offer_also(host, reserved.SLOT, total=9, min_unit=2, max_unit=2)
        says, = self.bring(ended(wanted))
        self.assertIn(f'the consumer {stranger} keeps the class', says)
        self.assertIn(f'allocation delete {stranger}"', says)
        self.client.delete_allocations(stranger)
        self.assert_ends(wanted)

    def test_lease_waited_for_ever_for_a_class_that_others_offer(self) -> None:
        host, wanted = self.offered(1)
        other = self.host()
        self.offer_also(other, wanted.class_name)
        says, = self.bring(ended(wanted))
        self.assertIn(f'from {other}, then delete the class', says)
        self.assertEqual({}, self.nova.flavors)
        self.assertEqual((), reserved.converge.bring(
            self.engine, ended(wanted), keeps_class=True))

    def test_hosts_that_nobody_told_of_are_found(self) -> None:
        one, two = self.host(), self.host()
        wanted = self.brought(self.wanted({one: 1, two: 1}))
        self.assert_ends(wanted, counts={})

    def test_locked_server_is_said_and_tried_again(self) -> None:
        host, wanted = self.offered(1)
        running = self.boot(wanted, host)
        self.nova.busy = {running}
        self.assertIn('locked', self.bring(ended(wanted))[0])
        self.nova.busy = set()
        self.assert_ends(wanted)

    def test_nova_or_placement_that_is_down_is_waited_for(self) -> None:
        host, wanted = self.offered(1)
        self.to_nova.down = True
        self.assertRaises(errors.NovaUnavailable, self.bring, ended(wanted))
        self.assert_active(wanted)
        self.to_nova.down, self.network.down = False, True
        self.assertRaises(errors.PlacementUnavailable, self.bring,
                          ended(wanted))
        self.network.down = False
        self.assert_active(wanted)
        self.assert_ends(wanted)


class TestFaults(_TestCase):

    def test_each_write_lost_unanswered_late_or_failed(self) -> None:
        hosts = {self.host(): 1}
        for network, writes in ((self.network, 5), (self.to_nova, 4)):
            for fault in faults.Fault:
                for number in range(writes):
                    wanted = self.wanted(hosts)
                    network.faults = [*[None] * number, fault]
                    self.bring(wanted)
                    self.bring(ended(wanted))
                    network.faults = []
                    network.deliver()
                    self.bring(wanted)
                    self.assert_active(wanted)
                    self.assert_ends(wanted)

    def test_two_that_bring_different_leases_to_one_host(self) -> None:
        """Neither writes over what the other one has written."""
        host = self.host()
        first, second = self.wanted({host: 1}), self.wanted({host: 2})
        brought: list[machine.Desired] = []
        self.network.once_before('PUT', '/inventories', lambda: brought.append(
            self.brought(second)))
        self.brought(first)
        self.assertEqual([second], brought)
        self.assert_active(first, second)

    def test_lease_that_somebody_else_works_on_is_left_to_him(self) -> None:
        class Lost(Exception):
            pass

        def lost() -> None:
            raise Lost
        wanted = self.wanted({self.host(): 1})
        self.assertRaises(Lost, lambda: reserved.converge.bring(
            self.engine, wanted, lost))
        self.assert_nothing()


class TestOnOldPlacement(TestEnd):
    """One from before consumers had types."""

    newest = '1.29'
