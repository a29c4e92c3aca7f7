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

"""A server proves by Placement that the node is its lease's."""

from unittest import mock

from keystoneauth1 import exceptions as ksa_exc
import requests
import sqlalchemy as sa

from ironic_reservations import errors
from ironic_reservations.db import tables
from ironic_reservations.engine import hosts
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.lifecycle import admit
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests import world
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import reserved


class TestCase(reserved.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.leasing = leasing.Leasing(self.world, self.engine)
        self.node = self.leased()
        self.lease = self.leasing.create(1, 4)
        self.world.clock.now = leasing.at(1)
        lease_workers.LeaseWorkers(self.engine).one_pass()
        self.had = self.brought(self.wanted(
            {self.node: 1}, reservation_id=self.lease.reservations[0].id))
        self.network.calls.clear()

    def leased(self) -> str:
        """Return a host that is open to leases."""
        node = self.host()
        hosts.add(self.engine, node, {})
        return node

    def server(self) -> str:
        """Return a server of the lease, as Nova has scheduled it."""
        server = self.boot(self.had, self.node)
        self.network.calls.clear()
        return server

    def admit(self, instance: str | None, node: str | None = None,
              **more: object) -> admission.InFlightRequest:
        """Have the guard look at a deploy by Nova."""
        return admission.admit(self.engine, node or self.node,
                             placed_instance=instance,
                             **more)  # type: ignore[arg-type]

    def refused(self, instance: str | None, **more: object) -> None:
        """It is, for want of a proof."""
        self.assertRaises(errors.ProofRequired, self.admit, instance, **more)
        self.assertEqual(0, self.in_flight())

    def in_flight(self) -> int:
        """Count the requests that were let through."""
        with self.engine.database.read() as opened:
            return opened.scalar(sa.select(sa.func.count()).select_from(
                tables.in_flight_requests)) or 0


class TestProof(TestCase):

    def test_server_of_the_lease_is_let_through(self) -> None:
        """However its uuid is spelled."""
        server = self.server()
        self.assertEqual(self.node, self.admit(server).node_uuid)
        self.assertEqual([f'GET /allocations/{server}'], self.network.calls)
        self.assertEqual(1, self.in_flight())

    def test_spelling_of_the_uuid_does_not_matter(self) -> None:
        self.admit(self.server().upper())

    def test_rebuild_is_let_through(self) -> None:
        self.admit(self.server(), act=admit.Act.STAY)

    def test_server_that_has_nothing_is_refused(self) -> None:
        for instance in (world.new_uuid(), None, 'name', '../x', ''):
            self.refused(instance)

    def test_server_of_the_lease_on_another_node_is_refused(self) -> None:
        other = self.host()
        self.brought(machine.Desired(
            self.had.reservation_id, reserved.PROJECT,
            {self.node: 1, other: 1}, True))
        self.refused(self.boot(self.had, other))

    def test_server_of_another_lease_on_that_node_is_refused(self) -> None:
        another = self.brought(self.wanted({self.node: 1}))
        self.refused(self.boot(another, self.node))

    def test_server_that_has_the_class_elsewhere_is_refused(self) -> None:
        """Whoever may write providers could offer the class on his own."""
        forged, server = self.host(), world.new_uuid()
        self.nodes.offer(forged, {self.had.class_name: in_memory.ONE})
        self.nodes.claim(forged, server, self.had.class_name)
        self.refused(server)

    def test_server_on_the_node_itself_is_not_one_of_the_lease(self) -> None:
        server = world.new_uuid()
        self.nodes.claim(self.node, server, reserved.SLOT)
        self.refused(server)

    def test_lease_that_is_over_lets_nobody_in(self) -> None:
        server = self.server()
        self.world.clock.now = leasing.at(4)
        self.refused(server)

    def test_reservation_for_somebody_else_comes_first(self) -> None:
        free = self.host()
        self.world.reserve(free)
        another = self.brought(self.wanted({free: 1}))
        server = self.boot(another, free)
        self.network.calls.clear()
        self.refused(server, node=free)
        self.assertEqual([], self.network.calls)

    def test_placement_is_asked_only_where_it_decides(self) -> None:
        server = self.server()
        free = self.host()
        self.network.calls.clear()
        self.admit(server, free)
        self.admit(server, proof=self.had.reservation_id)
        self.assertRaises(errors.ProofInvalid, self.admit, server,
                          proof=world.new_uuid())
        self.assertRaises(errors.ProofRequired, self.admit, None)
        self.assertEqual([], self.network.calls)

    def test_booking_that_nobody_came_by_for_is_bound(self) -> None:
        """From its first use on the node is not exchanged for another."""
        self.leased()
        lease = self.leasing.create(1.5, 4)
        self.world.clock.now = leasing.at(1.5)
        node, = self.leasing.nodes(lease)
        had = self.brought(self.wanted(
            {node: 1}, reservation_id=lease.reservations[0].id))
        self.admit(self.boot(had, node), node)
        with self.engine.database.read() as opened:
            self.assertEqual('bound', opened.scalar(sa.select(
                tables.reservations.c.state).where(
                    tables.reservations.c.node_uuid == node)))


class TestTrouble(TestCase):

    def test_placement_that_does_not_answer_or_fails_lets_nobody_in(
            self) -> None:
        server = self.server()
        failed = requests.Response()
        failed.status_code = 500

        def no_answer(*_: object, **__: object) -> requests.Response:
            raise ksa_exc.ConnectFailure('down')
        for request in (no_answer, lambda *_, **__: failed):
            with mock.patch.object(self.network, 'request', request):
                raised = self.assertRaises(errors.ProofUnknown, self.admit,
                                           server)
            self.assertEqual(('guard.proof_unknown', 503),
                             (raised.code, raised.status))
            self.assertEqual(0, self.in_flight())
        self.admit(server)

    def test_lease_that_ends_while_placement_is_asked(self) -> None:
        """What was read before is not what is committed on."""
        server = self.server()
        request = self.network.request

        def slow(url: str, method: str, **kwargs: object) -> object:
            answer = request(url, method, **kwargs)
            if url == f'/allocations/{server}':
                self.network.request = request  # type: ignore[method-assign]
                self.leasing.end(self.lease)
            return answer
        self.network.request = slow  # type: ignore[method-assign]
        self.refused(server)
