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


"""Leases of instances on compute hosts, which ordinary servers share.

Two nova-computes with Nova's fake virt driver, of ten VCPUs each.
"""

from __future__ import annotations

import collections
from typing import Any
import uuid as uuid_module

from keystoneauth1 import exceptions as ksa_exc
import sqlalchemy as sa

from tests.stack import base
from tests.stack import shared

_HOSTS = ('compute-one', 'compute-two')
#: How long it may take until all services count as down, or up again.
_OUTAGE = 240
_ONCE = {'DEFAULT': {'cpu_allocation_ratio': 1.0, 'ram_allocation_ratio': 1.0,
                     'disk_allocation_ratio': 1.0}}


class TestComputeHosts(base.TestCase):

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cloud = shared.running(cls.setup)
        computes = [cloud.new_compute(
            host, 'fake.MediumFakeDriver', slots=10, options=_ONCE)
            for host in _HOSTS]
        for compute in computes:
            cls.addClassCleanup(compute.kill)
            compute.start()
        for compute in computes:
            cloud.wait_for_start(compute)

    def setUp(self) -> None:
        super().setUp()
        self.until('Nova has found the compute hosts', lambda: {
            each['hypervisor_hostname'] for each in self.cloud.compute_api(
                base.ADMIN, 'GET', '/os-hypervisors')['hypervisors']
        } >= set(_HOSTS))
        self.open_hosts(*_HOSTS)
        self.plain = str(uuid_module.uuid4())
        self.cloud.compute_api(base.ADMIN, 'POST', '/flavors', {'flavor': {
            'name': self.plain, 'id': self.plain, 'ram': 512, 'vcpus': 4,
            'disk': 1}})
        self.addCleanup(self.cloud.compute_api, base.ADMIN, 'DELETE',
                        f'/flavors/{self.plain}')

    def instances_of(self, count: int, affinity: bool | None
                     ) -> dict[str, Any]:
        """Return what a lease asks for: two of them fit on a host."""
        return self.instances(count, affinity, vcpus=4, memory_mb=512,
                              disk_gb=1)

    def spread(self, lease: dict[str, Any], count: int) -> list[int]:
        """Boot all servers of a lease, and return how many each host has."""
        flavor = lease['reservations'][0]['id']
        servers = [self.booted(flavor) for _ in range(count)]
        self.assert_no_valid_host(self.boot(flavor))
        return sorted(collections.Counter(map(self.where,
                                              servers)).values())

    def test_without_affinity_they_are_where_there_is_room(self) -> None:
        lease = self.lease(self.instances_of(3, None))
        self.assertEqual([1, 2], self.spread(lease, 3))
        self.assert_clean()

    def test_with_affinity_they_are_on_one_host(self) -> None:
        lease = self.lease(self.instances_of(2, True))
        self.assertEqual([2], self.spread(lease, 2))
        self.assert_clean()

    def test_against_affinity_they_are_on_different_hosts(self) -> None:
        lease = self.lease(self.instances_of(2, False))
        self.assertEqual([1, 1], self.spread(lease, 2))
        self.assert_clean()

    def test_ordinary_servers_have_what_is_not_reserved(self) -> None:
        """Holds alone keep them off: no filter, no aggregate."""
        lease = self.lease(self.instances_of(3, None))
        ordinary = self.booted(self.plain, base.OTHER)
        self.assert_no_valid_host(self.boot(self.plain, base.OTHER))
        self.assert_no_valid_host(self.boot(self.plain))
        self.assertEqual([1, 2], self.spread(lease, 3))
        self.ended(lease)
        self.assertEqual('ACTIVE', self.settled(ordinary)['status'])
        for _ in range(3):
            self.booted(self.plain, base.OTHER)
        self.assert_no_valid_host(self.boot(self.plain, base.OTHER))
        self.assert_clean()

    def test_end_evicts_its_servers_and_no_others(self) -> None:
        lease = self.lease(self.instances_of(2, None))
        ordinary = self.booted(self.plain, base.OTHER)
        evicted = self.booted(lease['reservations'][0]['id'])
        self.ended(lease)
        self.assertIsNone(self.server(evicted))
        self.assertEqual('ACTIVE', self.settled(ordinary)['status'])
        self.assert_clean()

    def states(self) -> set[str]:
        """Return the states of the compute hosts in Nova."""
        return {each['state'] for each in self.cloud.compute_api(
            base.ADMIN, 'GET', '/os-hypervisors')['hypervisors']
            if each['hypervisor_hostname'] in _HOSTS}

    def test_leases_stay_where_they_are_without_rabbitmq(self) -> None:
        """Nova shows all services as down; none of them is."""
        broker = self.cloud.own_broker
        assert broker is not None, (
            'This test restarts RabbitMQ: name none in the environment.')
        lease = self.lease(self.instances_of(3, None))
        nodes = self.nodes_of(lease)
        broker.kill()
        try:
            self.until('Nova shows all compute hosts as down',
                       lambda: self.states() == {'down'}, _OUTAGE)
            log_file = self.cloud.ground.logs / 'ironic.log'
            self.until('the service has read it', lambda: (
                'The reason may be one that they share'
                in log_file.read_text(errors='replace')))
            there = self.shown(lease)
            self.assertEqual(('ACTIVE', False, None), (
                there['status'], there['degraded'],
                there.get('degraded_reason')))
            self.assertEqual(nodes, self.nodes_of(lease))
            # The hosts take new leases, too.
            tried = self.ask_leases(base.MEMBER, 'POST', '?dry_run=true', {
                'name': 'another', 'start_date': 'now',
                'end_date': there['end_date'], 'events': [],
                'reservations': [self.instances_of(1, None)]})['lease']
            self.assertEqual(1, len(tried['reservations'][0]['nodes']))
        finally:
            broker.start()
        self.until('Nova shows all compute hosts as up',
                   lambda: self.states() == {'up'}, _OUTAGE)
        self.assertEqual([1, 2], self.spread(lease, 3))
        self.assertFalse(self.shown(lease)['degraded'])
        self.assertEqual(nodes, self.nodes_of(lease))
        self.assert_clean()

    def test_resize_is_confirmed_when_the_lease_ends(self) -> None:
        """Reverted, the server had the flavor of a lease that was over."""
        lease = self.lease(self.instances_of(2, None))
        server = self.resized(lease)
        self.ended(lease)
        self.assertEqual('ACTIVE', self.settled(server)['status'])
        self.assertEqual(4, sum(there.get('VCPU', 0) for there
                                in self.allocations(server).values()))
        self.assertRaises(ksa_exc.Conflict, self.act, server, 'revertResize')
        self.assert_clean()

    def test_resize_that_failed_keeps_nothing_of_the_lease(self) -> None:
        """Nova keeps what such a migration has, and reverts it no more."""
        lease = self.lease(self.instances_of(2, None))
        server = self.resized(lease)
        migration = self.fail_migration(server)
        self.act(server, 'os-resetState', {'state': 'active'})
        self.until('the audit tells of it', lambda: [
            each['consumer'] for each in self.audit('--everything')[1][
                'differences'] if each['kind'] == 'failed_migration'
        ] == [migration])
        self.ended(lease)
        self.assertEqual('ACTIVE', self.settled(server)['status'])
        self.assertEqual([{'CUSTOM_LEASE_SLOT': 1}],
                         [*self.allocations(migration).values()])
        self.cloud.placement_api('DELETE', f'/allocations/{migration}')
        self.assert_clean()

    def resized(self, lease: dict[str, Any]) -> str:
        """Resize a server of a lease to the plain flavor; do not confirm."""
        server = self.booted(lease['reservations'][0]['id'])
        self.act(server, 'resize', {'flavorRef': self.plain})
        self.until('the server is resized', lambda: (
            self.server(server) or {}).get('status') == 'VERIFY_RESIZE',
            base.SERVER_TIMEOUT)
        return server

    def fail_migration(self, server: str) -> str:
        """Have the resize of a server have failed, and return its uuid."""
        migration: str = self.cloud.compute_api(
            base.ADMIN, 'GET', f'/os-migrations?instance_uuid={server}'
        )['migrations'][0]['uuid']
        engine = sa.create_engine(self.cloud.nova_database,
                                  poolclass=sa.pool.NullPool)
        with engine.begin() as connection:
            connection.execute(sa.text(
                "UPDATE migrations SET status = 'error' WHERE uuid = :uuid"),
                {'uuid': migration})
        return migration

    def act(self, server: str, action: str, of: Any = None) -> None:
        """Have Nova do something with a server."""
        self.cloud.compute_api(base.ADMIN, 'POST',
                               f'/servers/{server}/action', {action: of})
