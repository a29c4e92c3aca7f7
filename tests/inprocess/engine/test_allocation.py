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

"""Allocations of Ironic: they get a free node of our choice, or the proven."""

from unittest import mock

import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.engine import mirror
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import allocation_requests
from ironic_reservations.engine.reservations import plan
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.lifecycle import admit
from ironic_reservations.model import reasons
from ironic_reservations.planner import pick
from tests import servers
from tests import world
from tests.inprocess.engine import timelines


@servers.also
class TestAllocation(timelines.TestCase):

    def setUp(self):
        super().setUp()
        self.first, self.second = self.world.enrol(2, resource_class='gold')
        self.allocation = world.new_uuid()

    def _hold(self, *nodes, **given):
        return allocation_requests.hold(
            self.engine, pick.NodeRequest(self.allocation, nodes or None,
                                        'gold'), world.ALL_NODES, **given)

    def test_reserved_node_is_not_chosen(self):
        self.world.reserve(self.first)
        self.assertEqual(self.second,
                         self._hold(self.first, self.second).node_uuid)
        refused = self.assertRaises(errors.NoNodeAvailable, self._hold,
                                    self.first, self.second)
        self.assertEqual(
            [reasons.RESERVED, reasons.BUSY],
            [reason['code'] for reason in refused.details['reasons']])

    def test_chosen_node_is_kept_until_it_carries_the_instance(self):
        opened = self._hold(self.first)
        self.assertEqual(
            [(opened.token, self.first, self.allocation, None)],
            [(row['token'], row['node_uuid'], row['instance_uuid'],
              row['reservation_uuid']) for row in self.world.in_flight()])
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                          self.first)
        self.world.change(self.first, instance_uuid=self.allocation)
        self.assertEqual([], self.world.in_flight())
        self.assertEqual([reasons.INSTANCE_BOUND], self.codes(self.first))

    def test_change_poll_closes_it_as_well(self):
        self._hold(self.first)
        self.world.ironic.change(self.first, instance_uuid=self.allocation)
        mirror.refresh_changed(self.engine)
        self.assertEqual([], self.world.in_flight())

    def test_old_page_closes_no_later_one_of_the_same_uuid(self):
        """Clients choose it; the node was then promised to others."""
        self._hold(self.first)
        self.world.ironic.change(self.first, instance_uuid=self.allocation)
        real, again = mirror._read_rows, []

        def read_rows(*asked):
            self.patch(mirror, '_read_rows', real)
            self.world.refresh()
            self.world.change(self.first, instance_uuid=None)
            again.append(self._hold(self.first).token)
            return real(*asked)
        self.patch(mirror, '_read_rows', read_rows)
        mirror.refresh_changed(self.engine)
        self.assertEqual(again, [row['token'] for row in
                                 self.world.in_flight()])

    def test_allocation_that_ironic_refused_frees_the_node(self):
        admission.close(self.engine, self._hold(self.first), False)
        self.assertEqual(self.first, self.world.reserve(self.first).node_uuid)

    def test_allocation_that_came_to_nothing_frees_the_node_in_time(self):
        self._hold(self.first)
        self.world.find_out()
        self.assertEqual(self.first, self.world.reserve(self.first).node_uuid)

    def test_choice_by_class_avoids_what_others_hold(self):
        self.world.reserve(self.first)
        self.assertEqual(self.second, self._hold().node_uuid)

    def test_proof_gives_its_own_node(self):
        held = self.world.reserve(self.second)
        opened = self._hold(proof=held.uuid)
        self.assertEqual((self.second, held.uuid), (
            opened.node_uuid, opened.reservation_uuid))
        self.assertEqual('starting', self.world.state_of(held))

    def test_proven_allocation_is_in_use_once_it_is_bound(self):
        held = self.world.reserve(self.second)
        self._hold(proof=held.uuid)
        self.world.change(self.second, instance_uuid=self.allocation)
        self.assertEqual([], self.world.in_flight())
        mirror.settle_starting(self.engine)
        self.assertEqual('in_use', self.world.state_of(held))

    def test_proof_outside_the_candidates_is_invalid(self):
        held = self.world.reserve(self.second)
        self.assertRaises(errors.ProofInvalid, self._hold, self.first,
                          proof=held.uuid)

    def test_stale_proof_is_invalid(self):
        held = self.world.reserve(self.second, ttl=10)
        self.world.clock.advance(10)
        for proof in (held.uuid, world.new_uuid()):
            self.assertRaises(errors.ProofInvalid, self._hold, proof=proof)
        self.assertEqual([], self.world.in_flight())

    def test_proof_whose_node_waits_to_be_put_back_is_invalid(self):
        """It was in use again, after its end."""
        held = self.world.reserve(self.first, ttl=10)
        acted.write(self.engine, self.first, ('power',))
        self.world.clock.advance(10)
        self.assertRaises(errors.ProofInvalid, self._hold, proof=held.uuid)
        self.assertEqual('reserved', self.world.state_of(held))

    def test_proof_released_in_the_middle_is_invalid(self):
        held = self.world.reserve(self.second)
        self.world.before_next_write(
            lambda: release.release(self.engine, held.uuid))
        self.assertRaises(errors.ProofInvalid, self._hold, proof=held.uuid)
        self.assertEqual([], self.world.in_flight())

    def test_proof_whose_node_went_to_another_between_reads_is_invalid(self):
        held = self.world.reserve(self.second)
        self.world.use(held)
        self.world.ironic.undeploy(self.second)
        rival = self.world.another_engine()
        came = []

        def come_between(connection, cursor, statement, *rest):
            if 'FROM reservations' in statement and not came:
                release.release(rival, held.uuid)
                came.append(reserve.reserve(rival, pick.NodeRequest(
                    world.new_uuid(), (self.second,)), world.ALL_NODES))
        sa.event.listen(self.engine.database.engine,
                        'after_cursor_execute', come_between)
        self.assertRaises(errors.ProofInvalid, self._hold, proof=held.uuid)
        self.assertEqual([], self.world.in_flight())
        self.assertEqual([came[0].uuid], list(self.world.reservations()))

    def test_reservation_is_required_where_the_operator_says_so(self):
        self.assertRaises(errors.ReservationRequired, self._hold,
                          required=True)
        held = self.world.reserve(self.second)
        self.assertEqual(self.second, self._hold(
            proof=held.uuid, required=True).node_uuid)

    def test_node_reserved_in_the_middle_is_passed_over(self):
        self.world.before_next_write(lambda: self.world.reserve(self.first))
        self.assertEqual(self.second,
                         self._hold(self.first, self.second).node_uuid)

    def test_project_gets_leased_candidates_without_a_proof(self):
        """One of each lease; others get none, and nobody gets one unnamed."""
        self.leasing.hosts(2, resource_class='gold')
        mine = [self.leasing.create(1, 3, project_id='mine') for _ in range(2)]
        self.leasing.clock_passes(1)
        nodes = [each.bookings[0].node_uuid for each in mine]
        theirs = admit.Bearer('theirs', uses_leases=True)
        self.assertRaises(errors.NoNodeAvailable, self._hold, *nodes,
                          bearer=theirs)
        holder = admit.Bearer('mine', uses_leases=True)
        self.assertRaises(errors.NoNodeAvailable, self._hold, *nodes,
                          bearer=admit.Bearer('mine'))
        found = {}
        for _ in range(2):
            opened = self._hold(*nodes, bearer=holder, required=True)
            found[opened.node_uuid] = opened.lease_reservation_id
            self.allocation = world.new_uuid()
        self.assertEqual(dict(zip(nodes, (
            each.reservations[0].id for each in mine), strict=True)), found)
        self.assertRaises(errors.ReservationRequired, self._hold, *nodes,
                          bearer=holder, required=True)
        self.assertIn(self._hold(bearer=holder).node_uuid,
                      (self.first, self.second))

    def _own(self, leases, begin=1):
        """Return leases of a project that have begun, and their nodes."""
        self.leasing.hosts(leases, resource_class='gold')
        made = [self.leasing.create(begin, begin + 2, project_id='mine')
                for _ in range(leases)]
        self.leasing.clock_passes(begin)
        return made, [self.home(each) for each in made]

    def _ends_in_the_middle(self, begin, refusal, shown):
        """Assert that a lease that ends after it was read lends nothing."""
        (lease,), (node,) = self._own(1, begin)
        real = plan.read_view

        def read_view(*given):
            reading.stop()
            self.leasing.end(lease)
            self.leasing.clean_up()
            return real(*given)
        reading = mock.patch.object(plan, 'read_view', read_view)
        reading.start()
        self.assertRaises(
            refusal, self._hold, node, required=True,
            bearer=admit.Bearer('mine', uses_leases=True),
            proof=lease.reservations[0].id if shown else None)
        self.assertEqual([], self.world.in_flight())

    def test_lease_that_ends_in_the_middle_lends_nothing(self):
        """Its node was used as if the lease still had it."""
        self._ends_in_the_middle(1, errors.ReservationRequired, shown=False)
        self._ends_in_the_middle(4, errors.ProofInvalid, shown=True)

    def test_leases_of_a_project_cost_no_statements_each(self):
        bearer = admit.Bearer('mine', uses_leases=True)
        _, nodes = self._own(4)
        for _ in nodes:
            self._hold(*nodes, bearer=bearer, required=True)
            self.allocation = world.new_uuid()
        counted = set()
        for candidates in (nodes[:1], nodes):
            with self.statements() as sent:
                self.assertRaises(errors.ReservationRequired, self._hold,
                                  *candidates, bearer=bearer, required=True)
            counted.add(len(sent))
        self.assertEqual(1, len(counted), counted)
