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

from collections.abc import Iterator
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
from typing import Any

from keystoneauth1 import discover
from keystoneauth1 import session
from keystoneauth1 import token_endpoint
import requests
import testtools
import yaml

from ironic_reservations.api import identity
from tests import small_nova
from tests.inprocess.api import world
from tests.inprocess.client import base
from tests.inprocess.client import loaded
from tests.inprocess.client import served
from tests.inprocess.placement import in_memory

_HERE = pathlib.Path(__file__).parent
_TIMEOUT = 600
_NODES = ('compute-1', 'compute-2', 'compute-3')


class Story(testtools.TestCase):
    """Runs the steps of a story, one after the other.

    :ivar kept: what stands for $names in the steps.
    """

    def setUp(self) -> None:
        super().setUp()
        self.kept: dict[str, str] = {}
        self.world = self.useFixture(world.World(
            identity.administrator, 'noauth', **self.options()))
        for number, name in enumerate(_NODES, 1):
            self.kept[f'node{number}'] = self.world.ironic.add(
                name=name, resource_class='gold', properties=(
                    ('cpus', '64'), ('cpu_arch', 'x86_64'),
                    ('local_gb', '2000'), ('memory_mb', '262144'))).uuid
        self.server = self.useFixture(served.Served(self.world))

    def options(self) -> dict[str, Any]:
        """Return options of the service, as ``group__name``."""
        return {}

    def tell(self, story: str, *command: str, **environment: str) -> None:
        """Tell a story.

        :param command: what each step's arguments are given to.
        """
        steps = yaml.safe_load((_HERE / story).read_text())
        # NOTE: not where a clouds.yaml of somebody's may lie.
        home = self.enterContext(tempfile.TemporaryDirectory())
        known = {name: value for name, value in os.environ.items()
                 if not name.startswith('OS_')}
        known.update(HOME=home, NO_PROXY='127.0.0.1', **environment)
        for step in steps:
            done = loaded.commands().run(
                [*command, *shlex.split(self._filled(step['run']))], known,
                _TIMEOUT, home)
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
            [self._filled(each) for each in step['sends']],
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
            self.assertEqual([], list(differences(
                self._filled(step['told']), said[-1].answer)), told)
        for text in step.get('prints', ()):
            self.assertIn(self._filled(text), done.stdout, told)
        for name, path in step.get('keep', {}).items():
            value: Any = said[-1].answer
            for key in path:
                value = value[key]
            self.kept[name] = value

    def _filled(self, value: Any) -> Any:
        """Put what was kept where $names stand."""
        if isinstance(value, dict):
            return {key: self._filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if isinstance(value, str):
            for name, kept in self.kept.items():
                value = value.replace(f'${name}', kept)
        return value


def differences(wanted: Any, got: Any, where: str = '') -> Iterator[str]:
    """Tell where an answer is not as wanted; it may say more.

    :param wanted: ``/text/`` stands for what a regular expression finds.
    """
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key, value in wanted.items():
            if key not in got:
                yield f'{where}.{key} is missing'
            else:
                yield from differences(value, got[key], f'{where}.{key}')
    elif isinstance(wanted, list) and isinstance(got, list) and (
            len(wanted) == len(got)):
        for index, value in enumerate(wanted):
            yield from differences(value, got[index], f'{where}[{index}]')
    elif isinstance(wanted, str) and isinstance(got, str) and (
            wanted[:1] == wanted[-1:] == '/'):
        if not re.search(wanted[1:-1], got):
            yield f'{where} is {got!r}, which is not {wanted}'
    elif wanted != got:
        yield f'{where} is {got!r} and not {wanted!r}'


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
        self.kept = {'uuid': nodes.add_host('hypervisor-1', vcpus=16)}
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
        home = self.enterContext(tempfile.TemporaryDirectory())
        known = {name: value for name, value in os.environ.items()
                 if not name.startswith('OS_')}
        known.update(HOME=home, NO_PROXY='127.0.0.1', OS_AUTH_TYPE='none',
                     OS_ENDPOINT=self.server.url)

        def baremetal(*words: str) -> str:
            done = loaded.commands().run(
                ['baremetal', '--os-baremetal-api-version', '1.95',
                 'reservation', *words], known, _TIMEOUT, home)
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
        zeros = {f'resources:{name}': '0'
                 for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
        nova.flavor('3', 'bm.gold', 64, 262144, 2000, extra_specs={
            **zeros, 'resources:CUSTOM_GOLD': '1'})
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
