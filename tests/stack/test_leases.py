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


"""From a lease to servers, and back: each kind through an unmodified Nova."""

from __future__ import annotations

import datetime
import json
from typing import Any

from keystoneauth1 import exceptions as ksa_exc

from tests.stack import base
from tools.stack import people


class _Cases:
    """What is the same for leases of hosts and of instances."""

    def wanted(self: Any, count: int) -> dict[str, Any]:
        """Return what the lease asks for."""
        raise NotImplementedError

    def flavors(self: Any, person: people.Person) -> list[str]:
        """Return the ids of the flavors that somebody finds."""
        return [each['ID'] for each in json.loads(self.openstack(
            person, 'flavor', 'list', '--all', '-f', 'json'))]

    def test_project_finds_the_flavor_and_boots_what_it_has(
            self: Any) -> None:
        lease = self.lease(self.wanted(2))
        flavor = lease['reservations'][0]['id']
        self.assertIn(flavor, self.flavors(base.MEMBER))
        self.assertIn(flavor, self.flavors(base.READER))
        self.assertNotIn(flavor, self.flavors(base.OTHER))
        servers = [self.booted(flavor), self.booted(flavor)]
        self.assertEqual(self.nodes_of(lease),
                         sorted(map(self.where, servers)))
        self.assert_no_valid_host(self.boot(flavor))
        self.assertRaises(ksa_exc.HttpError, self.boot, flavor, base.OTHER)
        self.assert_clean()

    def test_others_get_the_nodes_that_are_left(self: Any) -> None:
        lease = self.lease(self.wanted(2))
        left = set(self.nodes) - set(self.nodes_of(lease))
        self.assertEqual(left, {
            self.where(self.booted(person=base.OTHER)),
            self.where(self.booted(person=base.OTHER))})
        self.assert_no_valid_host(self.boot(person=base.OTHER))
        # NOTE: nor does the project itself, but with its flavor.
        self.assert_no_valid_host(self.boot())

    def test_server_is_rebuilt_deleted_and_another_one_booted(
            self: Any) -> None:
        lease = self.lease(self.wanted(1))
        flavor = lease['reservations'][0]['id']
        server = self.booted(flavor)
        node = self.where(server)
        self.rebuilt(server)
        self.assertEqual(node, self.where(server))
        self.deleted(server, base.MEMBER)
        self.until('the node is available again', lambda: self.node(
            node)['provision_state'] == 'available')
        self.assertEqual(node, self.where(self.booted(flavor)))
        self.assert_clean()

    def test_end_evicts_servers_and_anybody_boots_there_at_once(
            self: Any) -> None:
        lease = self.lease(self.wanted(len(self.nodes)))
        flavor = lease['reservations'][0]['id']
        server = self.booted(flavor)
        node = self.where(server)
        now = datetime.datetime.now(datetime.UTC)
        self.ask_leases(base.MEMBER, 'PUT', f'/{lease["id"]}', {
            'end_date': (now + datetime.timedelta(seconds=10)).isoformat(),
            'before_end_date': (
                now + datetime.timedelta(seconds=4)).isoformat()})
        self.until('the lease is over', lambda: self.shown(
            lease)['status'] == 'TERMINATED', base.SERVER_TIMEOUT)
        self.assertEqual(
            {'start_lease': 'DONE', 'before_end_lease': 'DONE',
             'end_lease': 'DONE'},
            {each['event_type']: each['status']
             for each in self.shown(lease)['events']})
        self.assertIsNone(self.server(server))
        self.assertNotIn(flavor, self.flavors(base.MEMBER))
        self.assertEqual(('available', None), (
            self.node(node)['provision_state'], self.node(node)['lessee']))
        self.assertEqual([], self.holders(node))
        self.cloud.wait_for_nodes(len(self.nodes))
        plain = self.booted(person=base.OTHER)
        self.assertIn(self.where(plain), self.nodes)
        self.assert_clean()

    def test_lease_that_is_deleted_evicts_servers_too(self: Any) -> None:
        lease = self.lease(self.wanted(1))
        server = self.booted(lease['reservations'][0]['id'])
        node = self.where(server)
        self.ended(lease)
        self.assertIsNone(self.server(server))
        self.assert_free(node)
        self.assert_clean()

    def test_server_lives_through_the_death_of_nova_compute(
            self: Any) -> None:
        lease = self.lease(self.wanted(1))
        server = self.booted(lease['reservations'][0]['id'])
        before = self.allocations(server)
        self.cloud.compute.kill()
        self.cloud.compute.start()
        self.cloud.wait_for_start(self.cloud.compute)
        self.cycles(2)
        self.assertEqual('ACTIVE', self.settled(server)['status'])
        self.assertEqual(before, self.allocations(server))
        self.rebuilt(server)
        self.assert_clean()
        self.deleted(server, base.MEMBER)
        self.assertEqual('ACTIVE', self.settled(self.boot(
            lease['reservations'][0]['id']))['status'])


class TestHosts(_Cases, base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.open_hosts(*self.nodes)

    def wanted(self, count: int) -> dict[str, Any]:
        return self.hosts(count)

    def test_node_is_used_through_ironic_as_well(self) -> None:
        """The header of the lease's reservation is a proof as ever."""
        lease = self.lease(self.wanted(1))
        node, = self.nodes_of(lease)
        path = f'/v1/nodes/{node}/states/provision'
        refused = self.assertRaises(ksa_exc.Forbidden, self.baremetal, 'PUT',
                                    path, {'target': 'active'})
        self.assertIn('leased', refused.response.text)
        self.baremetal('PUT', path, {
            'target': 'active',
            'reservation_uuid': lease['reservations'][0]['id']})
        self.until('the node is active', lambda: self.node(
            node)['provision_state'] == 'active')
        # NOTE: what has no server is undeployed by us.
        self.ended(lease)
        self.assert_free(node)


class TestInstances(_Cases, base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.open_hosts(*self.nodes)

    def wanted(self, count: int) -> dict[str, Any]:
        return self.instances(count)
