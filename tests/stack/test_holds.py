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


"""Nodes that are reserved, which Nova and its servers leave alone."""

from __future__ import annotations

import uuid as uuid_module

from keystoneauth1 import exceptions as ksa_exc

from tests.stack import base


class TestHolds(base.TestCase):

    def test_plain_server_gets_no_reserved_node(self) -> None:
        for node in self.nodes:
            self.reserve(node)
        refused = self.boot()
        self.assert_no_valid_host(refused)
        self.assertEqual({}, self.allocations(refused))
        self.assert_clean()

    def test_plain_server_gets_the_node_that_nobody_reserved(self) -> None:
        *reserved, free = self.nodes
        for node in reserved:
            self.reserve(node)
        self.assertEqual(free, self.where(self.booted()))
        self.assert_no_valid_host(self.boot())

    def test_administrator_cannot_force_a_server_on_a_reserved_node(
            self) -> None:
        """az:host:node goes round the filters, and not round the hold."""
        reservation = self.reserve(self.nodes[0])
        refused = self.boot(
            person=base.ADMIN, availability_zone=(
                f'nova:{self.cloud.compute.host}:{self.nodes[0]}'))
        self.assert_no_valid_host(refused)
        self.assertIsNone(self.node(self.nodes[0])['instance_uuid'])
        self.release(reservation)
        self.deleted(refused)
        forced = self.booted(
            person=base.ADMIN, availability_zone=(
                f'nova:{self.cloud.compute.host}:{self.nodes[0]}'))
        self.assertEqual(self.nodes[0], self.where(forced))

    def test_node_with_a_server_cannot_be_reserved(self) -> None:
        node = self.where(self.booted())
        refused = self.assertRaises(ksa_exc.Conflict, self.reserve, node)
        self.assertIn('reservation.no_node_available',
                      refused.response.text)
        self.assertNotIn('OS-', refused.response.text)
        free = next(each for each in self.nodes if each != node)
        self.assertEqual(free, self.reserve(node, free)['node_uuid'])

    def test_node_that_is_only_claimed_cannot_be_reserved(self) -> None:
        """What Nova has in Placement counts before anything is deployed."""
        claimed, consumer = self.nodes[0], str(uuid_module.uuid4())
        self.cloud.placement_api('PUT', f'/allocations/{consumer}', {
            'allocations': {claimed: {'resources': {'CUSTOM_GOLD': 1}}},
            'project_id': 'a', 'user_id': 'b', 'consumer_generation': None,
            'consumer_type': 'INSTANCE'})
        self.addCleanup(self.cloud.placement_api, 'DELETE',
                        f'/allocations/{consumer}')
        refused = self.assertRaises(ksa_exc.Conflict, self.reserve, claimed)
        self.assertIn('held_elsewhere', refused.response.text)

    def test_hold_lives_through_two_cycles_of_nova_compute(self) -> None:
        """It writes the inventory of the node anew, and leaves ours."""
        reservation = self.reserve(self.nodes[0])
        before = self.holders(self.nodes[0])
        self.assertEqual(1, len(before))
        self.cycles(2)
        self.assertEqual(before, self.holders(self.nodes[0]))
        self.assert_clean()
        self.release(reservation)
        self.assert_free(self.nodes[0])

    def test_node_that_loses_its_hold_is_refused_by_the_guard(self) -> None:
        """The stock driver shows no proof; Nova cleans up after itself."""
        for node in self.nodes:
            self.reserve(node)
            self.take_holds(node)
        refused = self.boot()
        server = self.settled(refused)
        self.assertEqual('ERROR', server['status'])
        self.assertEqual({}, self.allocations(refused))
        self.assert_untouched(*self.nodes)
        self.assertEqual([], [each for node in self.nodes
                              for each in self.holders(node)])
        status, found = self.audit('--everything')
        self.assertEqual((1, {'hold_missing'}), (status, {
            each['kind'] for each in found['differences']}))
        self.assertEqual(0, self.audit('--everything', '--repair')[0])
        self.assertEqual([1] * len(self.nodes), [
            len(self.holders(node)) for node in self.nodes])

    def test_forced_server_on_a_node_that_lost_its_hold_leaks_nothing(
            self) -> None:
        node = self.nodes[0]
        self.reserve(node)
        self.take_holds(node)
        refused = self.boot(
            person=base.ADMIN, availability_zone=(
                f'nova:{self.cloud.compute.host}:{node}'))
        self.assertEqual('ERROR', self.settled(refused)['status'])
        self.assertEqual({}, self.allocations(refused))
        self.assertEqual([], self.holders(node))
        self.assertIsNone(self.node(node)['instance_uuid'])

    def test_reserved_node_that_is_deleted_leaves_nothing(self) -> None:
        """Its reservation ends with it, so that Nova can forget it."""
        doomed, = self.cloud.add_nodes(1, 'doomed')
        # NOTE: an audit tells providers of nodes from those of others by
        # having seen them in order.
        self.assertEqual(0, self.audit()[0])
        self.reserve(doomed.uuid)
        self.baremetal('DELETE', f'/v1/nodes/{doomed.uuid}')
        self.until('its reservation is gone', lambda: not self.reservations())
        self.until('its provider is gone, or told of',
                   lambda: not self.providers(doomed.uuid) or self.audit(
                       '--everything')[0] == 1)
        self.assertEqual(0, self.audit('--everything', '--repair')[0])
        self.assertEqual([], self.providers(doomed.uuid))

    def test_provider_that_nova_leaks_is_deleted(self) -> None:
        """A leased node is deleted: while it is held, Nova cannot."""
        doomed, = self.cloud.add_nodes(1, 'doomed')
        self.assertEqual(0, self.audit()[0])
        host = self.open_host(doomed.uuid)
        lease = self.lease(self.hosts(1))
        self.assertEqual([doomed.uuid], self.nodes_of(lease))
        self.baremetal('DELETE', f'/v1/nodes/{doomed.uuid}')
        self.cycles(3)
        self.assertEqual([doomed.uuid], self.providers(doomed.uuid))
        self.ended(lease)
        self.close_host(host)
        self.until('the node is forgotten', lambda: self.audit(
            '--everything')[0] == 1)
        status, found = self.audit('--everything')
        self.assertEqual(['provider_leftover'], [
            each['kind'] for each in found['differences']])
        self.assertEqual(0, self.audit('--everything', '--repair')[0])
        self.assertEqual([], self.providers(doomed.uuid))
        self.cycles(1)
        self.booted()
