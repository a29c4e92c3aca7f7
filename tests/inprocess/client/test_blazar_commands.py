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
"""python-blazarclient, unmodified, against our application.

The stories beside this file say what each command sends, which is what it
sends to Blazar, and what it must be told.
"""

import pathlib
import shlex
import subprocess
import tempfile
from typing import Any

from keystoneauth1 import discover
from keystoneauth1 import session
from keystoneauth1 import token_endpoint
import requests
import yaml

from ironic_reservations.api import identity
from tests import small_nova
from tests.inprocess.api import blazar_client
from tests.inprocess.api import world
from tests.inprocess.client import base
from tests.inprocess.client import loaded
from tests.inprocess.client import served
from tests.inprocess.placement import in_memory

_HERE = pathlib.Path(__file__).parent
_TIMEOUT = 600


class Story(blazar_client.StoryCase):
    """Runs the steps of a story, one after the other."""

    def setUp(self) -> None:
        super().setUp()
        self.home = self.enterContext(tempfile.TemporaryDirectory())
        self.world = self.useFixture(world.World(
            identity.administrator, 'noauth', **self.options()))
        for number in (1, 2, 3):
            self.kept[f'node{number}'] = self.add_node(number).uuid
        self.server = self.useFixture(served.Served(self.world))

    def options(self) -> dict[str, Any]:
        """Return options of the service, as ``group__name``."""
        return {}

    def tell(self, story: str, *command: str) -> None:
        """Tell a story.

        :param command: what each step's arguments are given to.
        """
        steps = yaml.safe_load((_HERE / story).read_text())
        for step in steps:
            done = loaded.commands().run(
                [*command, *shlex.split(self.filled(step['run']))],
                loaded.environment(self.home), _TIMEOUT, self.home)
            self._check(step, done, self.server.look())

    def tell_blazar(self, story: str) -> None:
        """Tell a story with its own command."""
        self.tell(story, 'blazar', '--os-auth-type', 'none', '--os-endpoint',
                  f'{self.server.url}/v1')

    def tell_openstack(self, story: str) -> None:
        """Tell it with the same manager under the other command."""
        self.tell(story, 'openstack', '--os-auth-type', 'admin_token',
                  '--os-token', 'unused', '--os-endpoint',
                  f'{self.server.url}/v1', 'reservation')

    def _check(self, step: dict[str, Any],
               done: subprocess.CompletedProcess[str],
               said: list[served.Exchange]) -> None:
        told = f'{step["run"]}\n{done.stdout}\n{done.stderr}\n{said}'
        self.assertEqual(
            [self.filled(each) for each in step['sends']],
            [[each.method, each.path,
              *([] if each.body is None else [each.body]), each.status]
             for each in said], told)
        fails = step.get('fails')
        self.assertEqual(fails is not None, done.returncode != 0, told)
        if fails is not None:
            # NOTE: lines are wrapped at the width of the terminal.
            self.assertIn(fails, ' '.join(done.stderr.split()), told)
            self.assertNotIn('Traceback', done.stderr, told)
        if 'told' in step:
            self.assertEqual([], list(blazar_client.differences(
                self.filled(step['told']), said[-1].answer)), told)
        for text in step.get('prints', ()):
            self.assertIn(self.filled(text), done.stdout, told)
        self.keep(step, said[-1].answer if said else None)


class TestCommands(Story):
    """The two commands that there are."""

    def test_blazar(self) -> None:
        """All that was said to Blazar about hosts, and to its leases."""
        self.tell_blazar('blazar.yaml')

    def test_openstack(self) -> None:
        """The same manager under the other command."""
        self.tell_openstack('openstack-reservation.yaml')

    def test_endpoint_of_a_catalog(self) -> None:
        """Clients that look for version 1 before they ask, find it."""
        asking = session.Session(auth=token_endpoint.Token('unused', 'x'))
        for endpoint in (self.server.url, f'{self.server.url}/v1'):
            found = discover.Discover(asking, endpoint)
            self.assertEqual(f'{self.server.url}/v1/', found.url_for('1'))


class TestComputeHosts(Story):
    """Both commands, with a Placement that knows a compute host."""

    def options(self) -> dict[str, Any]:
        there = self.useFixture(in_memory.InMemory())
        nodes = in_memory.Nodes(there.client)
        self.kept['uuid'] = nodes.add_host('hypervisor-1', vcpus=16)
        nodes.serve(self.kept['uuid'], VCPU=4)
        return {'placement__enabled': True,
                'placement__endpoint_override': there.endpoint}

    def test_blazar(self) -> None:
        """Opened, shown, changed and taken back."""
        self.tell_blazar('compute-hosts.yaml')

    def test_openstack(self) -> None:
        """The same manager under the other command."""
        self.tell_openstack('openstack-compute-hosts.yaml')

    def test_the_plan_of_a_lease_names_them(self) -> None:
        """Ironic, which tells the names of nodes, knows none of them."""
        def baremetal(*words: str) -> str:
            done = loaded.commands().run(
                ['baremetal', '--os-baremetal-api-version', '1.95',
                 'reservation', *words], loaded.environment(
                     self.home, OS_AUTH_TYPE='none',
                     OS_ENDPOINT=self.server.url), _TIMEOUT, self.home)
            self.assertEqual((0, ''), (done.returncode, done.stderr), words)
            return done.stdout

        requests.post(f'{self.server.url}/v1/os-hosts', timeout=60, json={
            'name': 'hypervisor-1'}).raise_for_status()
        drawn = baremetal(
            'lease', 'create', 'shares', '--instances', '1', '--vcpus', '4',
            '--start-date', '2050-01-01 10:00', '--duration', '2h')
        self.assertIn('hypervisor-1', drawn)
        self.assertIn('hypervisor-1', baremetal('lease', 'plan', 'shares'))
        self.assertNotIn('hypervisor-1', baremetal('lease', 'show', 'shares'))


class TestFlavors(Story):
    """Both commands, with a Nova that has flavors."""

    def options(self) -> dict[str, Any]:
        nova = self.useFixture(small_nova.SmallNova())
        blazar_client.add_flavor(nova)
        nova.flavor('4', 'bm.bad', extra_specs={
            'resources:CUSTOM_GOLD': 'one'})
        nova.flavor('5', 'bm.theirs', public=False)
        return {'placement__enabled': True, 'nova__enabled': True,
                'nova__endpoint_override': nova.endpoint}

    def test_blazar(self) -> None:
        """By an id and by a name, larger, and refused in each way."""
        self.tell_blazar('flavors.yaml')

    def test_openstack(self) -> None:
        """The same manager under the other command."""
        self.tell_openstack('openstack-flavors.yaml')


class TestInsideIronic(base.ClientTestCase):
    """Beside Ironic's own resources, and below our prefix."""

    def test_both_addresses_are_of_the_same_leases(self) -> None:
        """And Ironic's own are as they were."""
        node, = self.nodes(resource_class='leased')

        def blazar(top: str, *args: str) -> str:
            return self.command(
                'blazar', '--os-auth-type', 'none', '--os-endpoint',
                f'{self.ironic.url}{top}/v1', *args).stdout

        self.assertIn(node.uuid, blazar('', 'host-create', node.name))
        made = blazar(
            '/reservation', 'lease-create', 'ours', '--start-date',
            '2050-01-01 09:00', '--end-date', '2050-01-01 10:00',
            '--physical-reservation', 'min=1,max=1')
        self.assertIn(node.uuid, made)
        self.assertIn('ours', blazar('', 'lease-list'))
        blazar('', 'lease-delete', 'ours')
        self.assertNotIn('ours', blazar('/reservation', 'lease-list'))
        answer = self.ironic.session.get(f'{self.ironic.url}/v1/nodes')
        self.assertIn(node.uuid, [each['uuid'] for each in
                                  answer.json()['nodes']])
        self.assertIn('X-OpenStack-Ironic-API-Version', answer.headers)
