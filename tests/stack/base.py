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


"""What tests on the cloud have in common."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import datetime
import io
import json
from typing import Any
import uuid as uuid_module

from keystoneauth1 import exceptions as ksa_exc
import testtools
from testtools import content

from ironic_reservations.cmd import manage
from tests.stack import shared
from tools.stack import cloud
from tools.stack import people

ADMIN, MEMBER, READER, OTHER = (people.ADMIN, people.MEMBER, people.READER,
                                people.OTHER_MEMBER)
SYSTEM = people.SYSTEM_ADMIN
#: How long Nova may take with one server, in seconds; it takes about four.
SERVER_TIMEOUT = 90
#: How long what follows by itself may take.
SOON = 60

_BAREMETAL = {'X-OpenStack-Ironic-API-Version': 'latest'}
_RESERVATION = 'baremetal-reservation latest'
LATEST = {**_BAREMETAL, 'OpenStack-API-Version': _RESERVATION}


class TestCase(testtools.TestCase):
    """Leaves the cloud as it was: nothing is booted, reserved or leased."""

    cloud: cloud.Cloud
    #: How the cloud is set up.
    setup = shared.Setup()

    def setUp(self) -> None:
        super().setUp()
        self.cloud = shared.running(self.setup)
        self.addOnException(self._add_logs)
        self.addCleanup(self._tidy_up)

    @property
    def nodes(self) -> list[str]:
        """The uuids of the nodes."""
        return [node.uuid for node in self.cloud.nodes]

    def until(self, what: str, ready: Callable[[], Any],
              timeout: float = SOON) -> Any:
        """Ask until the answer is true, and return it."""
        return self.cloud.wait_until(what, ready, timeout)

    # Nova

    def boot(self, flavor: str = cloud.FLAVOR,
             person: people.Person = MEMBER, **more: Any) -> str:
        """Have a server made, and return its uuid."""
        hints = more.pop('hints', None)
        body: dict[str, Any] = {'server': {
            'name': 'a-server', 'flavorRef': flavor, 'networks': 'none',
            'imageRef': self.cloud.image, **more}}
        if hints is not None:
            body['OS-SCH-HNT:scheduler_hints'] = hints
        return self.cloud.compute_api(person, 'POST', '/servers',
                                      body)['server']['id']

    def server(self, uuid: str) -> dict[str, Any] | None:
        """Read a server; ``None`` where there is none."""
        try:
            return self.cloud.compute_api(ADMIN, 'GET',
                                          f'/servers/{uuid}')['server']
        except ksa_exc.NotFound:
            return None

    def settled(self, uuid: str) -> dict[str, Any]:
        """Wait until Nova is done with a server, and return it."""
        def done() -> dict[str, Any] | None:
            server = self.server(uuid)
            assert server is not None
            return (server if server['status'] in ('ACTIVE', 'ERROR')
                    and server['OS-EXT-STS:task_state'] is None else None)
        return self.until(f'the server {uuid} is settled', done,
                          SERVER_TIMEOUT)

    def booted(self, flavor: str = cloud.FLAVOR,
               person: people.Person = MEMBER, **more: Any) -> str:
        """Have a server made that comes up, and return its uuid."""
        uuid = self.boot(flavor, person, **more)
        server = self.settled(uuid)
        self.assertEqual('ACTIVE', server['status'], server.get('fault'))
        return uuid

    def assert_user_is_told(self, server: str, *words: str) -> str:
        """The owner of a server in ERROR reads why, as far as Nova says it.

        NOTE: what administrators see besides is not shown to members.

        :returns: all that is read.
        """
        self.assertEqual('ERROR', self.settled(server)['status'])
        shown = self.cloud.compute_api(MEMBER, 'GET', f'/servers/{server}')
        message = shown['server']['fault']['message']
        for each in words:
            self.assertIn(each, message)
        return str(message)

    def assert_no_valid_host(self, uuid: str) -> None:
        """Nova finds no place for a server."""
        server = self.settled(uuid)
        self.assertEqual('ERROR', server['status'], server)
        self.assertIn('No valid host', server['fault']['message'])

    def where(self, server: str) -> str:
        """Return the node that a server is on."""
        there = self.server(server)
        assert there is not None
        return there['OS-EXT-SRV-ATTR:hypervisor_hostname']

    def deleted(self, server: str, person: people.Person = ADMIN) -> None:
        """Delete a server, and wait until it is gone."""
        self.cloud.compute_api(person, 'DELETE', f'/servers/{server}')
        self.until(f'the server {server} is gone',
                   lambda: self.server(server) is None, SERVER_TIMEOUT)

    def rebuild(self, server: str, person: people.Person = MEMBER) -> None:
        """Have a server rebuilt."""
        self.cloud.compute_api(
            person, 'POST', f'/servers/{server}/action',
            {'rebuild': {'imageRef': self.cloud.image}})

    def rebuilt(self, server: str, person: people.Person = MEMBER) -> None:
        """Rebuild a server, and wait until it is up again."""
        self.rebuild(server, person)
        there = self.settled(server)
        self.assertEqual('ACTIVE', there['status'], there.get('fault'))

    # Ironic

    def baremetal(self, method: str, path: str, body: Any = None,
                  person: people.Person = SYSTEM) -> Any:
        """Ask Ironic."""
        answer = self.cloud.session(person).request(
            f'{self.cloud.ironic.url}{path}', method, json=body,
            headers=_BAREMETAL)
        return answer.json() if answer.content else None

    def node(self, uuid: str) -> dict[str, Any]:
        """Read a node."""
        return self.baremetal('GET', f'/v1/nodes/{uuid}')

    def assert_untouched(self, *nodes: str) -> None:
        """Nodes are available, and have no instance."""
        for node in nodes:
            there = self.node(node)
            self.assertEqual(('available', None), (
                there['provision_state'], there['instance_uuid']))

    def assert_free(self, node: str) -> None:
        """A node is available soon, and nobody has it in Placement."""
        def free() -> bool:
            there = self.node(node)
            return (there['provision_state'] == 'available'
                    and there['instance_uuid'] is None
                    and self.holders(node) == [])
        self.until(f'the node {node} is free', free)

    # Placement

    def holders(self, provider: str) -> list[str]:
        """Read who has something of a provider."""
        return sorted(self.cloud.placement_api(
            'GET', f'/resource_providers/{provider}/allocations'
        )['allocations'])

    def providers(self, uuid: str) -> list[str]:
        """Read whether there is a provider, and return its uuid, if so."""
        return [each['uuid'] for each in self.cloud.placement_api(
            'GET', f'/resource_providers?uuid={uuid}')['resource_providers']]

    def take_holds(self, node: str) -> None:
        """Take what is held of a node, behind everybody's back."""
        for consumer in self.holders(node):
            self.cloud.placement_api('DELETE', f'/allocations/{consumer}')

    def cycles(self, count: int) -> None:
        """Wait until nova-compute has looked at all nodes so many times."""
        log_file = self.cloud.ground.children[self.cloud.compute.name].log_file
        line = 'Running periodic task ComputeManager.update_available_resource'

        def seen() -> int:
            return log_file.read_text(errors='replace').count(line)
        # NOTE: one has begun before, maybe.
        before = seen()
        self.until(f'nova-compute has made {count} cycles',
                   lambda: seen() >= before + count + 1)

    def allocations(self, consumer: str) -> dict[str, dict[str, int]]:
        """Read what a consumer has, by provider."""
        return {provider: there['resources'] for provider, there
                in self.cloud.placement_api(
                    'GET', f'/allocations/{consumer}')['allocations'].items()}

    def audit(self, *options: str) -> tuple[int, dict[str, Any]]:
        """Run ``placement audit``, and return its status and what it found."""
        printed, said = io.StringIO(), io.StringIO()
        with (contextlib.redirect_stdout(printed),
              contextlib.redirect_stderr(said)):
            status = manage.main([
                '--config-file',
                str(self.cloud.ironic.reservations_config_file),
                'placement', 'audit', '-f', 'json', *options])
        self.assertIn(status, (0, manage.DIFFERS), said.getvalue())
        return status, json.loads(printed.getvalue())

    def assert_clean(self) -> None:
        """Placement agrees with the rows, soon."""
        self.until('Placement agrees with the rows',
                   lambda: self.audit('--everything')[0] == 0)

    # Reservations and leases

    def reserve(self, *nodes: str, person: people.Person = SYSTEM,
                instance: str | None = None, **more: Any) -> dict[str, Any]:
        """Reserve the first of some nodes that is free."""
        return self.cloud.ask(
            person, 'POST', f'{self.cloud.ironic.url}/v1/reservations', {
                'instance_uuid': instance or str(uuid_module.uuid4()),
                'node_uuid': list(nodes), **more},
            _RESERVATION)['reservation']

    def reservations(self, person: people.Person = SYSTEM
                     ) -> list[dict[str, Any]]:
        """List the reservations that somebody may see."""
        return self.cloud.ask(
            person, 'GET',
            f'{self.cloud.ironic.url}/v1/reservations',
            version=_RESERVATION)['reservations']

    def release(self, reservation: dict[str, Any],
                person: people.Person = SYSTEM) -> None:
        """Delete a reservation."""
        self.cloud.ask(person, 'DELETE', f'{self.cloud.ironic.url}'
                       f'/v1/reservations/{reservation["uuid"]}')

    def lease(self, *wanted: dict[str, Any], person: people.Person = MEMBER,
              seconds: float = 3600, **more: Any) -> dict[str, Any]:
        """Have a lease from now on that becomes active."""
        end = (datetime.datetime.now(datetime.UTC)
               + datetime.timedelta(seconds=seconds))
        lease = self.ask_leases(person, 'POST', '', {
            'name': 'a-lease', 'start_date': 'now',
            'end_date': end.isoformat(), 'events': [],
            'reservations': [*wanted], **more})['lease']
        return self.until(f'the lease {lease["id"]} is active', lambda: (
            there if (there := self.shown(lease))['status'] == 'ACTIVE'
            else None))

    def ask_leases(self, person: people.Person, method: str, path: str,
                   body: Any = None) -> Any:
        """Ask for leases."""
        return self.cloud.ask(
            person, method, f'{self.cloud.ironic.url}/v1/leases{path}', body)

    def shown(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Read a lease."""
        return self.ask_leases(SYSTEM, 'GET', f'/{lease["id"]}')['lease']

    def ended(self, lease: dict[str, Any],
              person: people.Person = MEMBER) -> None:
        """End a lease, and wait until nothing is left of it."""
        self.ask_leases(person, 'DELETE', f'/{lease["id"]}')

        def gone() -> bool:
            try:
                return self.shown(lease)['status'] == 'TERMINATED'
            except ksa_exc.NotFound:
                return True
        self.until(f'the lease {lease["id"]} is gone', gone, SERVER_TIMEOUT)

    def open_host(self, node: str) -> str:
        """Open a node to leases, and return the id of the host."""
        return self.cloud.ask(
            SYSTEM, 'POST', f'{self.cloud.ironic.url}/v1/os-hosts',
            {'name': node})['host']['id']

    def close_host(self, host: str) -> None:
        """Close a node to leases."""
        self.cloud.ask(SYSTEM, 'DELETE',
                       f'{self.cloud.ironic.url}/v1/os-hosts/{host}')

    def open_hosts(self, *nodes: str) -> None:
        """Open nodes to leases, until the test ends."""
        for node in nodes:
            self.addCleanup(self.close_host, self.open_host(node))
        # NOTE: leases end before, whatever becomes of the test.
        self.addCleanup(self._tidy_up)

    def hosts(self, count: int) -> dict[str, Any]:
        """Return what a lease of so many hosts asks for."""
        return {'resource_type': 'physical:host', 'min': count, 'max': count,
                'hypervisor_properties': '', 'resource_properties': ''}

    def instances(self, count: int, affinity: bool | None = None,
                  **sizes: int) -> dict[str, Any]:
        """Return what a lease of so many instances asks for."""
        return {'resource_type': 'virtual:instance', 'amount': count,
                'vcpus': 2, 'memory_mb': 2048, 'disk_gb': 20,
                'affinity': affinity, 'resource_properties': '', **sizes}

    def nodes_of(self, lease: dict[str, Any]) -> list[str]:
        """Return the nodes that a lease has."""
        return sorted(node['uuid'] for each in
                      self.shown(lease)['reservations']
                      for node in each['nodes'])

    # Before and after

    def openstack(self, person: people.Person, *arguments: str) -> str:
        """Run the ``openstack`` command as somebody, and return its output."""
        return self.cloud.run_openstack(person, *arguments)

    def _add_logs(self, _: object) -> None:
        if 'logs' not in self.getDetails():
            self.addDetail('logs', content.text_content(
                self.cloud.ground.log_tails()))

    def _tidy_up(self) -> None:
        for server in self.cloud.compute_api(
                ADMIN, 'GET', '/servers?all_tenants=1')['servers']:
            self.deleted(server['id'])
        for lease in self.ask_leases(SYSTEM, 'GET', '')['leases']:
            if lease['status'] != 'TERMINATED':
                self.ended(lease, SYSTEM)
        for each in self.reservations():
            # NOTE: what was used ends by itself once its node is free.
            with contextlib.suppress(ksa_exc.NotFound):
                self.release(each)
        self.cloud.wait_for_nodes(len(self.nodes))
