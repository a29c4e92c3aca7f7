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

"""The driver of Nova, in a process of its own, against a real Ironic."""

from __future__ import annotations

from concurrent import futures
import datetime
import os
from typing import Any
from urllib import parse
import uuid

import fixtures
from nova import exception
from nova.network import model
from nova.virt.ironic import driver as stock
import requests

from tests import nova_process
from tests.inprocess.guard import base
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import with_keystone

URL = os.environ['IRONIC_URL']
ONE = keystone_ironic.PROJECTS['one']
TWO = keystone_ironic.PROJECTS['two']
_TENANT = with_keystone.token('one')


class _There:
    """The Ironic that the test of the same name has started."""

    url = URL
    port = int(URL.rpartition(':')[2])

    def __enter__(self) -> _There:
        return self

    def __exit__(self, *_args: object) -> None:
        pass

    def session(self) -> requests.Session:
        """Return a session without credentials."""
        return requests.Session()

    def log_tail(self) -> str:
        """Leave the log to the other process."""
        return ''


class DriverTestCase(base.GuardTestCase):
    """Each test has nodes of its own."""

    identity = with_keystone.token('the-system')

    @classmethod
    def make(cls, folder: str) -> Any:
        """Return the service that is there."""
        return _There()

    def setUp(self) -> None:
        """Load the driver as nova-compute does."""
        super().setUp()
        self.nova = self.useFixture(nova_process.Nova(URL, 'token-of-nova'))
        self.driver = nova_process.driver()

    def make_node(self, **fields: Any) -> str:
        """Make a node of project one for Nova to take, and return its uuid."""
        node, = self.enroll(powered=True, owner=ONE, **fields)
        return node.uuid

    def reservations(self, **query: str) -> list[dict[str, Any]]:
        """List what is reserved."""
        return self.send(
            'GET', f'/v1/reservations?{parse.urlencode(query)}',
            headers=base.OURS).document['reservations']

    def reserve_as_tenant(self, node: str) -> str:
        """Reserve a node for project one, and return the uuid."""
        reply = self.send(
            'POST', '/v1/reservations', {
                'instance_uuid': str(uuid.uuid4()), 'node_uuid': [node]},
            headers={**base.OURS, **_TENANT})
        self.assertEqual(201, reply.status, reply)
        return reply.document['reservation']['uuid']

    def lease(self) -> tuple[str, str]:
        """Lease a node to project one, and return it, and the reservation."""
        name = f'class-{uuid.uuid4().hex}'
        node = self.make_node(resource_class=name)
        self.assertEqual(201, self.send('POST', '/v1/os-hosts',
                                        {'name': node}).status)
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(1)
        reply = self.send('POST', '/v1/leases', {
            'name': name, 'start_date': 'now',
            'end_date': f'{end:%Y-%m-%d %H:%M}', 'events': [],
            'reservations': [{
                'resource_type': 'physical:host', 'min': 1, 'max': 1,
                'hypervisor_properties': '', 'resource_properties':
                    f'["==", "$resource_class", "{name}"]'}]},
            headers=_TENANT)
        self.assertEqual(201, reply.status, reply)
        lease = reply.document['lease']
        self.wait_for(lambda: self.send(
            'GET', f'/v1/leases/{lease["id"]}').document['lease']['status']
            == 'ACTIVE')
        return node, lease['reservations'][0]['id']

    def boot(self, server: Any) -> None:
        """Do what the compute manager does."""
        try:
            self.driver.prepare_for_spawn(server)
        except Exception:
            self.driver.failed_spawn_cleanup(server)
            raise
        try:
            self.driver.spawn(server._context, server, nova_process.image(),
                              [], None, {}, model.NetworkInfo())
        except Exception:
            self.delete(server)
            raise

    def rebuild(self, server: Any) -> None:
        """Deploy a server again."""
        server.task_state = 'rebuilding'
        self.driver.rebuild(
            context=server._context, instance=server,
            image_meta=nova_process.image(), injected_files=[],
            admin_password=None, allocations={}, bdms=[],
            detach_block_devices=None, attach_block_devices=None,
            network_info=model.NetworkInfo())

    def delete(self, server: Any) -> None:
        """Delete a server."""
        self.driver.destroy(server._context, server, model.NetworkInfo())

    def named(self, node: str, ident: str, project: str = ONE) -> Any:
        """Return a server with the hint."""
        server = nova_process.server(node, project)
        self.nova.hints[server.uuid] = {'reservation': [ident]}
        return server

    def assert_refused(self, server: Any, *words: str) -> None:
        """Nova tries the next node, is told why, and leaves this one alone."""
        refused = self.assertRaises(exception.ComputeResourcesUnavailable,
                                    self.boot, server)
        for each in words:
            self.assertIn(each, str(refused))
        self.assert_untouched(server.node)

    def is_free(self, node: str) -> bool:
        """Tell whether nothing is left of a server."""
        self.wait_for(
            lambda: self.node(node)['provision_state'] == 'available')
        seen = self.node(node)
        return (seen['instance_uuid'], seen['instance_info']) == (None, {})


class ReservedTest(DriverTestCase):
    """A node is reserved for each server, with [guard] require = always."""

    def test_boot_rebuild_and_delete(self) -> None:
        """With one reservation from the beginning to the end."""
        node = self.make_node()
        server = nova_process.server(node)
        self.boot(server)
        seen = self.node(node)
        self.assertEqual(('active', server.uuid),
                         (seen['provision_state'], seen['instance_uuid']))
        made, = self.reservations(node=node)
        self.assertEqual((server.uuid, 'in_use'),
                         (made['instance_uuid'], made['state']))
        self.rebuild(server)
        self.assertEqual('active', self.node(node)['provision_state'])
        self.assertEqual([made['uuid']], [
            each['uuid'] for each in self.reservations(node=node)])
        self.delete(server)
        self.assertEqual([], self.reservations(instance=server.uuid))
        self.assertTrue(self.is_free(node))

    def test_stock_driver_is_refused(self) -> None:
        """It is the proof that lets this driver in, and nothing else."""
        node = self.make_node()
        self.driver = stock.IronicDriver(None)
        self.assertRaises(exception.InstanceDeployFailure, self.boot,
                          nova_process.server(node))
        self.assertIsNone(self.node(node)['instance_uuid'])

    def test_node_of_somebody_else_is_left_alone(self) -> None:
        """Nova tries the next one, and is told why."""
        node = self.make_node()
        theirs = self.reserve_as_tenant(node)
        server = nova_process.server(node)
        self.assert_refused(server, node, 'is reserved until')
        self.assertEqual([theirs], [each['uuid'] for each
                                    in self.reservations(node=node)])
        self.assertEqual([], self.reservations(instance=server.uuid))

    def test_node_reserved_between_the_look_and_the_claim(self) -> None:
        """The guard refuses what nobody could know before."""
        node = self.make_node()
        server = nova_process.server(node)
        found = self.driver._find_or_make

        def released_and_taken(instance: Any) -> str:
            proof = found(instance)
            self.send('DELETE', f'/v1/reservations/{proof}',
                      headers=base.OURS)
            self.reserve_as_tenant(node)
            return proof
        self.useFixture(fixtures.MockPatchObject(
            self.driver, '_find_or_make', released_and_taken))
        self.assert_refused(server, 'reservation.proof_invalid')

    def test_nova_compute_died_before_the_node_was_bound(self) -> None:
        """The next attempt has the same reservation."""
        server = nova_process.server(self.make_node())
        before = self.driver._reserved(server).ident
        self.driver = nova_process.driver()
        self.boot(server)
        made, = self.reservations(instance=server.uuid)
        self.assertEqual((before, 'in_use'), (made['uuid'], made['state']))

    def test_nova_compute_died_before_the_deploy(self) -> None:
        """One that comes to spawn alone finds what there is."""
        node = self.make_node()
        server = nova_process.server(node)
        self.driver.prepare_for_spawn(server)
        self.driver = nova_process.driver()
        self.driver.spawn(server._context, server, nova_process.image(), [],
                          None, {}, model.NetworkInfo())
        self.assertEqual('active', self.node(node)['provision_state'])
        self.assertEqual(1, len(self.reservations(instance=server.uuid)))

    def test_server_that_moved_on_leaves_no_node_behind(self) -> None:
        """What an attempt that died has left is released for the next."""
        first, second = self.make_node(), self.make_node()
        server = nova_process.server(first)
        self.driver._reserved(server)
        server.node = second
        self.boot(server)
        made, = self.reservations(instance=server.uuid)
        self.assertEqual(second, made['node_uuid'])
        self.assertEqual([], self.reservations(node=first))

    def test_deleted_before_it_was_built(self) -> None:
        """A server that never had its node keeps none."""
        server = nova_process.server(self.make_node())
        self.driver._reserved(server)
        self.delete(server)
        self.assertEqual([], self.reservations(instance=server.uuid))

    def test_failure_between_the_binding_and_the_deploy(self) -> None:
        """Taking the server off takes the proof, too; nothing leaks."""
        node = self.make_node()
        server = nova_process.server(node)
        with fixtures.MockPatchObject(
                self.driver, '_add_instance_info_to_node',
                side_effect=exception.InstanceDeployFailure('no')):
            self.assertRaises(exception.InstanceDeployFailure, self.boot,
                              server)
        self.assertTrue(self.is_free(node))
        self.assertEqual([], self.reservations(node=node))

    def test_failure_before_the_network_is_there(self) -> None:
        """As the compute manager cleans up between its two calls."""
        node = self.make_node()
        server = nova_process.server(node)
        self.driver.prepare_for_spawn(server)
        self.driver.failed_spawn_cleanup(server)
        self.assertTrue(self.is_free(node))
        self.assertEqual([], self.reservations(node=node))

    def test_failed_deploy_frees_the_node(self) -> None:
        """And another server gets it."""
        node = self.make_node()
        server = nova_process.server(node)

        def failed(_instance: Any) -> None:
            self.wait_for(
                lambda: self.node(node)['provision_state'] == 'active')
            raise exception.InstanceDeployFailure('no')
        with fixtures.MockPatchObject(self.driver, '_wait_for_active',
                                      failed):
            self.assertRaises(exception.InstanceDeployFailure, self.boot,
                              server)
        self.assertTrue(self.is_free(node))
        self.assertEqual([], self.reservations(node=node))
        self.boot(nova_process.server(node))

    def test_one_of_two_servers_gets_the_node(self) -> None:
        """Two nova-computes at once; the other one leaves nothing."""
        node = self.make_node()
        servers = [nova_process.server(node) for _ in range(2)]

        def attempt(server: Any) -> str | None:
            driver = nova_process.driver()
            try:
                driver.prepare_for_spawn(server)
            except exception.ComputeResourcesUnavailable:
                driver.failed_spawn_cleanup(server)
                return None
            return server.uuid
        with futures.ThreadPoolExecutor(2) as pool:
            won = [each for each in pool.map(attempt, servers) if each]
        self.assertEqual([self.node(node)['instance_uuid']], won)
        self.assertEqual(won, [each['instance_uuid'] for each
                               in self.reservations(node=node)])

    def test_each_thread_shows_its_own(self) -> None:
        """One nova-compute builds several servers at a time."""
        servers = [nova_process.server(self.make_node()) for _ in range(3)]
        with futures.ThreadPoolExecutor(3) as pool:
            list(pool.map(self.boot, servers))
        for server in servers:
            self.assertEqual(
                ('active', server.uuid),
                (self.node(server.node)['provision_state'],
                 self.node(server.node)['instance_uuid']))

    def test_server_from_before_this_driver(self) -> None:
        """It is rebuilt and deleted as it always was."""
        node = self.make_node()
        server = nova_process.server(node)
        self.boot(server)
        made, = self.reservations(node=node)
        self.assertEqual(204, self.send(
            'DELETE', f'/v1/reservations/{made["uuid"]}',
            headers=base.OURS).status)
        self.rebuild(server)
        self.delete(server)
        self.assertTrue(self.is_free(node))


class NamedTest(DriverTestCase):
    """A server shows what its request has named."""

    def test_boots_into_the_reservation_that_it_names(self) -> None:
        """That is used, and over with the server; no other is made."""
        node = self.make_node()
        theirs = self.reserve_as_tenant(node)
        server = self.named(node, theirs)
        self.boot(server)
        self.assertEqual('in_use', self.reservation(
            theirs).document['reservation']['state'])
        self.rebuild(server)
        self.assertEqual([], self.reservations(instance=server.uuid))
        self.delete(server)
        self.assertTrue(self.is_free(node))
        self.wait_for(lambda: self.reservation(theirs).status == 404)

    def test_reservation_of_another_node_is_refused(self) -> None:
        """The scheduler tries the next one."""
        named, node = self.make_node(), self.make_node()
        self.assert_refused(self.named(node, self.reserve_as_tenant(named)))

    def test_hint_that_is_no_uuid_is_refused(self) -> None:
        """Nobody gets another node than the one that was asked for."""
        self.assert_refused(self.named(
            self.make_node(), 'mine\r\nX-Roles: admin'), 'not a uuid')

    def test_reservation_of_another_project_is_refused(self) -> None:
        """Nova may use the proofs of all projects, its tenants may not."""
        node = self.make_node()
        self.assert_refused(
            self.named(node, self.reserve_as_tenant(node), TWO),
            'reservation.proof_invalid')

    def test_failure_takes_the_server_off_again(self) -> None:
        """With the proof that was named."""
        node = self.make_node()
        server = self.named(node, self.reserve_as_tenant(node))
        self.driver.prepare_for_spawn(server)
        self.driver.failed_spawn_cleanup(server)
        self.assertTrue(self.is_free(node))

    def test_named_reservation_that_is_gone_meanwhile(self) -> None:
        """A server is rebuilt and deleted without it."""
        node = self.make_node()
        theirs = self.reserve_as_tenant(node)
        server = self.named(node, theirs)
        self.boot(server)
        self.send('DELETE', f'/v1/reservations/{theirs}', headers=base.OURS)
        self.rebuild(server)
        self.delete(server)
        self.assertTrue(self.is_free(node))


class LeasedTest(DriverTestCase):
    """A lease's node is for the servers of the lease."""

    def of_flavor(self, node: str, ident: str) -> Any:
        """Return a server of the flavor of a lease."""
        name = 'CUSTOM_RESERVATION_' + ident.upper().replace('-', '_')
        return nova_process.server(
            node, ONE, **{f'resources__{name}': '1'})

    def check_life(self, server: Any, ident: str) -> None:
        """The server needs no reservation; the lease has its node still."""
        node = server.node
        self.boot(server)
        self.assertEqual('active', self.node(node)['provision_state'])
        self.rebuild(server)
        self.assertEqual([], self.reservations(instance=server.uuid))
        self.delete(server)
        self.assertTrue(self.is_free(node))
        allocation = self.send(
            'GET', f'/v1/os-hosts/{node}/allocation').document['allocation']
        self.assertEqual([ident], [
            each['id'] for each in allocation['reservations']])

    def test_server_of_the_flavor_of_a_lease(self) -> None:
        """Shows the lease from the beginning to the end, and keeps it."""
        node, ident = self.lease()
        self.check_life(self.of_flavor(node, ident), ident)

    def test_server_of_the_project_of_the_lease(self) -> None:
        """With any flavor."""
        node, ident = self.lease()
        self.check_life(nova_process.server(node, ONE), ident)

    def test_server_that_names_the_lease(self) -> None:
        """By the hint that a reservation has, too."""
        node, ident = self.lease()
        self.boot(self.named(node, ident))
        self.assertEqual('active', self.node(node)['provision_state'])

    def test_server_of_another_project_that_names_the_lease(self) -> None:
        """Nova may use the proofs of all projects, its tenants may not."""
        self.assert_refused(self.named(*self.lease(), TWO),
                            'reservation.proof_invalid')

    def test_server_of_another_project_is_refused(self) -> None:
        """With the reason."""
        node, _ = self.lease()
        self.assert_refused(nova_process.server(node, TWO), 'is leased until')

    def test_flavor_of_another_lease_is_refused(self) -> None:
        """Nova may have scheduled it there all the same."""
        (node, _), (_, other) = self.lease(), self.lease()
        self.assert_refused(self.of_flavor(node, other),
                            'reservation.proof_invalid')

    def test_second_server_on_the_node_is_refused(self) -> None:
        """The lease has it once."""
        node, ident = self.lease()
        self.boot(self.of_flavor(node, ident))
        for second in (self.of_flavor(node, ident),
                       nova_process.server(node, ONE)):
            self.assertRaises(exception.ComputeResourcesUnavailable,
                              self.boot, second)
        self.assertEqual('active', self.node(node)['provision_state'])
