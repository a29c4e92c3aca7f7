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

"""The scheduler filter, as the scheduler of Nova runs it."""

from __future__ import annotations

from typing import Any
import uuid

import fixtures
from nova import objects
from nova.scheduler import filters
from nova.scheduler import host_manager
import testtools

from ironic_reservations import errors
from tests import nova_process
from tests.unit.client import fake

FILTER = ('nova.virt.ironic_reservations.scheduler_filter.'
          'IronicReservationFilter')


class FilterTest(testtools.TestCase):
    """Three nodes, one of which is reserved."""

    def setUp(self) -> None:
        """Load the filter by its path in nova.conf."""
        super().setUp()
        self.ironic = self.useFixture(fake.FakeService())
        self.useFixture(nova_process.Nova(self.ironic.url)).option(
            'retries', 0, 'ironic_reservations')
        self.hosts = [self.host(self.ironic.node(name))
                      for name in ('one', 'two', 'three')]
        self.reserved = self.hosts[1].nodename
        self.ident = self.ironic._made({
            'instance_uuid': str(uuid.uuid4()),
            'node_uuid': [self.reserved]})['uuid']
        self.handler = filters.HostFilterHandler()
        self.filters = [kind() for kind in
                        self.handler.get_matching_classes([FILTER])]
        self.log = self.useFixture(fixtures.FakeLogger())

    def host(self, node: str) -> Any:
        """Return a host in the form of the scheduler."""
        state = host_manager.HostState('compute', node, 'cell')
        state.uuid = str(uuid.uuid4())
        return state

    def left(self, **hints: Any) -> list[str]:
        """Return the nodes that pass."""
        return [host.nodename for host in self.handler.get_filtered_objects(
            self.filters, self.hosts, objects.RequestSpec(
                instance_uuid=str(uuid.uuid4()), project_id='red',
                scheduler_hints={key: [value] for key, value
                                 in hints.items()}))]

    def test_only_the_node_of_the_reservation(self) -> None:
        """One request serves all hosts."""
        self.assertEqual([self.reserved], self.left(reservation=self.ident))
        self.assertEqual(1, len(self.ironic.sent('GET', 'reservations')))

    def test_without_the_hint_nobody_is_asked(self) -> None:
        """All hosts pass."""
        for hints in ({}, {'group': 'one'}):
            self.assertEqual(3, len(self.left(**hints)))
        self.assertEqual([], self.ironic.requests)

    def test_rebuild_stays_where_it_is(self) -> None:
        """The scheduler runs only because of the images."""
        self.assertEqual(3, len(self.left(
            reservation=self.ident, _nova_check_type='rebuild')))
        self.assertEqual([], self.ironic.requests)

    def test_reservation_that_there_is_not(self) -> None:
        """No host passes; the log has the reason."""
        self.lease('active')
        self.assertEqual([], self.left(reservation=str(uuid.uuid4())))
        self.assertIn('there is no live reservation', self.log.output)

    def test_hint_that_is_no_uuid(self) -> None:
        """No host passes, and no request contains the text of the hint."""
        self.assertEqual([], self.left(reservation='../nodes'))
        self.assertEqual([], self.ironic.requests)
        self.assertIn('not a uuid', self.log.output)

    def test_service_that_does_not_answer(self) -> None:
        """All hosts pass, with a warning: the guard decides."""
        self.ironic.answers = [errors.DatabaseUnavailable('It is down.')]
        self.assertEqual(3, len(self.left(reservation=self.ident)))
        self.assertIn('Hosts are not filtered', self.log.output)

    def test_ironic_without_reservations(self) -> None:
        """This is the same as a service that does not answer."""
        self.ironic.served = False
        self.assertEqual(3, len(self.left(reservation=self.ident)))

    def test_nodes_of_a_lease_that_has_begun(self) -> None:
        """Nodes that the lease is giving back do not pass."""
        ident = self.lease('active')
        self.assertEqual([self.hosts[0].nodename],
                         self.left(reservation=ident))

    def test_lease_that_has_not_begun(self) -> None:
        """No host passes."""
        ident = self.lease('pending')
        self.assertEqual([], self.left(reservation=ident))

    def test_compute_host_by_its_uuid(self) -> None:
        """The name of the host is that of a hypervisor."""
        self.ironic.reservations[self.ident]['node_uuid'] = str(
            self.hosts[2].uuid)
        self.assertEqual([self.hosts[2].nodename],
                         self.left(reservation=self.ident))

    def lease(self, status: str) -> str:
        """Add a lease of two nodes to the service, and return its id."""
        ident, lease_id = str(uuid.uuid4()), str(uuid.uuid4())
        nodes = [{'uuid': self.hosts[0].nodename, 'state': 'bound'},
                 {'uuid': self.hosts[2].nodename, 'state': 'ending'}]
        answer = self.ironic._answer

        def with_lease(request: dict[str, Any]) -> Any:
            if request['path'] == '/v1/os-hosts/allocations':
                booked = [{'lease_id': lease_id, 'id': ident}]
                return 200, {'allocations': [
                    {'resource_id': '1', 'reservations': booked}
                ] if request['query']['reservation_id'] == ident else []}
            if request['path'] == f'/v1/leases/{lease_id}':
                return 200, {'lease': {
                    'id': lease_id, 'project_id': 'red', 'reservations': [{
                        'id': ident, 'status': status, 'nodes': nodes}]}}
            return answer(request)
        self.useFixture(fixtures.MockPatchObject(
            self.ironic, '_answer', with_lease))
        return ident
