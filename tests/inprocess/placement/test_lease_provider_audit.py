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

"""Leases of instances, compared with Placement and Nova both ways."""

import dataclasses

import sqlalchemy as sa

from ironic_reservations.clouds import placement
from ironic_reservations.db import tables
from ironic_reservations.engine import hosts
from ironic_reservations.features.placement import sync as placement_sync
from ironic_reservations.features.placement.audit import auditing
from ironic_reservations.features.placement.audit import differences
from ironic_reservations.features.placement.audit import repairs
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.placement import faults
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import reserved

Kind = differences.Kind


class TestCase(reserved.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.leasing = leasing.Leasing(self.world, self.engine)
        # NOTE: one that leaves it to the tests what is offered.
        self.crew = lease_workers.LeaseWorkers(dataclasses.replace(self.engine,
                                                                   nova=None))

    def started(self, count: int = 1) -> machine.Desired:
        """Return what a lease of instances is to have, which has begun."""
        for _ in range(count):
            hosts.add(self.engine, self.host(), {})
        lease = self.leasing.create(1, 4, leasing.wish(count))
        self.execute(sa.update(tables.lease_reservations).values(
            resource_type='virtual:instance'))
        self.world.clock.now = leasing.at(1)
        self.crew.one_pass()
        nodes = self.leasing.nodes(lease)
        self.assertEqual(count, len(nodes))
        return self.wanted(dict.fromkeys(nodes, 1),
                           reservation_id=lease.reservations[0].id,
                           project_id=leasing.PROJECT)

    def over(self) -> None:
        """Have all rows of leases gone, as after their ends."""
        self.execute(*map(sa.delete, (tables.reservations, tables.holds,
                                      tables.lease_reservations)))

    def started_on(self) -> tuple[machine.Desired, str, str]:
        """Return what a lease has, its host, and the child of that."""
        wanted = self.brought(self.started(1))
        host, = wanted.counts
        return wanted, host, names.child_of(host)

    def is_told(self, difference: differences.Difference) -> bool:
        return bool(difference.reservation_id)


class TestFlavor(TestCase):
    """The private flavor of a lease, deleted by hand while it lasts."""

    def test_flavor_deleted_is_found_and_made_again(self) -> None:
        wanted = self.brought(self.started(1))
        self.assertEqual([], self.found())
        made = self.nova.flavors.pop(wanted.reservation_id)
        self.assertEqual([(Kind.FLAVOR_MISSING, '')], self.found())
        # What the reconciler does at each audit.
        kept = placement_sync.audit(self.engine, repair=True)
        self.assertEqual((), kept.remaining)
        again = self.nova.flavors[wanted.reservation_id]
        self.assertEqual((made.extra_specs, made.projects),
                         (again.extra_specs, again.projects))
        self.assertEqual([], self.found())

    def test_flavor_of_a_lease_that_ends_meanwhile_is_not_made(
            self) -> None:
        wanted = self.brought(self.started(1))
        self.nova.flavors.clear()
        report = auditing.audit(self.engine)
        self.over()
        repairs.repair(self.engine, report.differences)
        self.assertNotIn(wanted.reservation_id, self.nova.flavors)

    def test_nova_that_is_not_asked_lacks_nothing(self) -> None:
        self.started(1)
        self.engine = dataclasses.replace(self.engine, nova=None)
        self.assertNotIn(Kind.FLAVOR_MISSING,
                         [kind for kind, _ in self.found()])


@servers.also
class TestFindings(TestCase):

    def test_lease_that_has_what_it_is_to_have_is_clean(self) -> None:
        wanted = self.brought(self.started(2))
        self.assertEqual([], self.found())
        self.boot(wanted, min(wanted.counts))
        self.assertEqual([], self.found())

    def test_clean_ones_cost_a_constant_number_of_calls(self) -> None:
        self.brought(self.started(1))
        auditing.audit(self.engine)
        auditing.audit(self.engine)
        costs = []
        for more in (0, 3):
            for _ in range(more):
                child = self.host()
                self.client.create_provider(
                    names.child_of(child), f'child {child}',
                    child)
            auditing.audit(self.engine)
            self.network.calls.clear()
            self.to_nova.calls.clear()
            self.assertEqual((), auditing.audit(self.engine).differences)
            costs.append((len(self.network.calls), len(self.to_nova.calls)))
        self.assertEqual(costs[0], costs[1])

    def test_what_is_missing_is_made(self) -> None:
        wanted = self.started(2)
        self.assertEqual(
            [(Kind.FLAVOR_MISSING, ''), *(
                (Kind.RESERVATION_MISSING, host)
                for host in sorted(wanted.counts))], self.found())
        self.assertEqual({Kind.FLAVOR_MISSING: True,
                          Kind.RESERVATION_MISSING: True}, self.repair())
        self.assertEqual(dict.fromkeys(wanted.counts, {
            wanted.class_name: (1, 0)}), self.offers())
        self.assertEqual({wanted.reservation_id}, set(self.nova.flavors))
        self.assertEqual([], self.found())

    def test_what_somebody_changed_is_changed_back(self) -> None:
        wanted, host, child = self.started_on()
        self.assertEqual([], self.found())
        for total, reserved_ in ((5, 0), (1, 1)):
            self.nodes.offer(child, {wanted.class_name: {
                **in_memory.ONE, 'total': total, 'reserved': reserved_}})
            self.assert_mended(Kind.RESERVATION_DIFFERS, host)
            self.assert_active(wanted)

    def test_child_that_somebody_moved_to_another_host_is_found(self) -> None:
        """Nova would start the servers of the lease on the other host."""
        wanted, host, child = self.started_on()
        name = f'reservations_{host}'
        for parent in (self.host(), None):
            with self.subTest(parent):
                self.put_below(parent, child, name)
                self.assertEqual([(Kind.RESERVATION_MISPLACED, host)],
                                 self.found())
                self.assertEqual({Kind.RESERVATION_MISPLACED: False},
                                 self.repair())
        self.put_below(host, child, name)
        self.assertEqual([], self.found())
        self.assert_active(wanted)

    def put_below(self, parent: str | None, child: str, name: str) -> None:
        """Move a provider in Placement, as its administrator can."""
        answer = self.there.sender().request(
            f'/resource_providers/{child}', 'PUT', authenticated=False,
            json={'name': name, 'parent_provider_uuid': parent}, headers={
                'X-Auth-Token': placement.ADMIN,
                placement.VERSION_HEADER: 'placement 1.37'})
        self.assertEqual(200, answer.status_code, answer.text)

    def test_leftovers_of_a_lease_that_is_over_are_taken_back(self) -> None:
        wanted = self.brought(self.started(2))
        self.assertEqual([], self.found())
        self.over()
        self.assert_mended(Kind.RESERVATION_LEFTOVER, *wanted.counts)
        self.assert_nothing()
        self.assertEqual([], self.found())

    def test_leftover_that_servers_use_waits_for_them(self) -> None:
        """No audit deletes a server, nor takes anything from it."""
        wanted = self.brought(self.started(1))
        host, = wanted.counts
        running = self.boot(wanted, host)
        before = self.client.consumer(running)
        self.over()
        self.assertEqual({Kind.RESERVATION_LEFTOVER: False}, self.repair())
        self.assertEqual(before, self.client.consumer(running))
        self.assertIsNone(self.nova.servers[running].task_state)
        self.assertEqual({wanted.class_name: (1, 1)}, self.offers()[host])
        self.nova.go(running)
        self.assertEqual({Kind.RESERVATION_LEFTOVER: True}, self.repair())
        self.assert_nothing()

    def test_flavor_that_is_left_is_deleted_and_no_other(self) -> None:
        wanted = self.brought(self.wanted({}))
        self.client.delete_class(wanted.class_name)
        theirs = world.new_uuid()
        self.nova.client.create_flavor(reserved.nova.Flavor(
            theirs, f'reservation:{theirs}', 1, 1, 1))
        self.assert_mended(Kind.RESERVATION_LEFTOVER, '')
        self.assertEqual({theirs}, self.nova.flavors.keys())

    def test_class_that_may_be_of_others_is_told_and_left(self) -> None:
        """Blazar calls its own the same."""
        self.client.ensure_class(names.class_of(world.new_uuid()))
        self.assert_mended(Kind.RESERVATION_LEFTOVER, '', done=False)
        self.assertEqual(1, len(self.classes()))

    def test_class_of_a_lease_of_ours_that_is_over_is_deleted(self) -> None:
        wanted = self.started(1)
        self.execute(sa.delete(tables.reservations))
        self.client.ensure_class(wanted.class_name)
        self.assert_mended(Kind.RESERVATION_LEFTOVER, '')
        self.assert_nothing()

    def test_lease_that_is_worked_on_is_left_alone(self) -> None:
        wanted = self.brought(self.started(1))
        for state, starts_at in (('ending', leasing.at(1)),
                                 ('planned', leasing.at(1))):
            self.execute(sa.update(tables.reservations).values(
                state=state, starts_at=starts_at))
            self.assertEqual([], self.found())
            self.brought(dataclasses.replace(wanted, active=False))
            self.assertEqual([], self.found())
            self.brought(wanted)

    def test_leftover_of_a_lease_that_starts_meanwhile_is_left_to_it(
            self) -> None:
        wanted = self.brought(self.started(1))

        def begin_at(hour: int) -> None:
            self.execute(sa.update(tables.reservations).values(
                state='planned', starts_at=leasing.at(hour)))
        begin_at(2)
        report = auditing.audit(self.engine)
        self.to_nova.once_before('GET', wanted.reservation_id,
                                 lambda: begin_at(1))
        said = repairs.repair(self.engine, report.differences)
        self.assertEqual([(Kind.RESERVATION_LEFTOVER, False)], [
            (each.kind, not why) for each, why in said.items()
            if self.is_told(each)])
        self.assert_active(wanted)

    def test_what_was_worked_on_is_looked_at_once_more(self) -> None:
        """Also where nothing has changed when its rows are gone."""
        self.brought(self.started(1))
        self.execute(sa.update(tables.reservations).values(state='ending'))
        self.assertEqual([], self.found())
        auditing.audit(self.engine)
        self.over()
        self.assertEqual([Kind.RESERVATION_LEFTOVER],
                         [kind for kind, _ in self.found()])

    def test_others_are_remembered_while_one_is_worked_on(self) -> None:
        wanted = self.brought(self.started(2))
        one, two = sorted(wanted.counts)
        self.assertEqual([], self.found())
        self.execute(sa.update(tables.reservations).values(state='ending'))
        child = names.child_of(two)
        self.nodes.offer(child, {})
        auditing.audit(self.engine)
        self.network.calls.clear()
        auditing.audit(self.engine)
        looked_at = [uuid for uuid in map(names.child_of,
                                          (one, two))
                     if any(uuid in call for call in self.network.calls)]
        self.assertEqual([names.child_of(one)], looked_at)

    def test_write_that_comes_late_is_found(self) -> None:
        """After the lease is over, and its rows are gone."""
        wanted = self.started(1)
        self.network.faults = [faults.Fault.LATE]
        self.assertNotEqual((), self.bring(wanted))
        self.brought(dataclasses.replace(wanted, active=False))
        self.execute(sa.delete(tables.reservations))
        self.network.deliver()
        self.assert_mended(Kind.RESERVATION_LEFTOVER, '')
        self.assert_nothing()

    def test_more_servers_than_were_reserved_are_told(self) -> None:
        """F1: Placement gives more than it has, if it is asked at once."""
        wanted, host, child = self.started_on()
        self.nodes.offer(child, {wanted.class_name: {**in_memory.ONE,
                                                     'total': 2}})
        for _ in range(2):
            self.boot(wanted, host)
        self.nodes.offer(child, {wanted.class_name: in_memory.ONE})
        self.assert_mended(Kind.OVERALLOCATED, host, done=False)

    def test_inventory_of_others_on_a_child_is_nobodys_business(self) -> None:
        _, _, child = self.started_on()
        self.client.ensure_class('CUSTOM_OTHER')
        self.nodes.offer_also(child, 'CUSTOM_OTHER')
        self.assertEqual([], self.found())

    def test_nova_that_is_down_holds_up_no_audit(self) -> None:
        self.brought(self.started(1))
        self.to_nova.down = True
        self.assertEqual([], self.found())
        self.over()
        self.assertEqual({Kind.RESERVATION_LEFTOVER: False}, self.repair())
        self.to_nova.down = False
        self.assertEqual({Kind.RESERVATION_LEFTOVER: True}, self.repair())
        self.assert_nothing()


    def test_lease_that_cannot_be_repaired_now_holds_up_no_other(
            self) -> None:
        leases = [self.brought(self.wanted({self.host(): 1}))
                  for _ in range(2)]
        first = min(each.reservation_id for each in leases)

        def answers(_: str, url: str) -> None:
            self.to_nova.down = first in url
        report = auditing.audit(self.engine)
        self.to_nova.before = answers
        said = repairs.repair(self.engine, report.differences)
        self.assertEqual({each.reservation_id: each.reservation_id == first
                          for each in leases},
                         {each.reservation_id: bool(why)
                          for each, why in said.items()})


class TestKeeping(TestCase):

    def test_provider_of_a_node_that_is_gone_goes_with_its_child(
            self) -> None:
        """Trap 2: where Nova has failed to delete it."""
        wanted = self.brought(self.wanted({self.host(): 1}))
        host, = wanted.counts
        self.brought(dataclasses.replace(wanted, active=False))
        self.world.ironic.remove(host)
        self.audit()
        self.execute(sa.delete(tables.nodes))
        kept = placement_sync.audit(self.engine, repair=True, everything=True)
        self.assertEqual([Kind.PROVIDER_LEFTOVER],
                         [each.kind for each in kept.differences])
        self.assertEqual((), kept.remaining)
        self.assertEqual([], self.client.providers())
