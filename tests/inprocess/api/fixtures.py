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

"""The initial states of the declarative tests."""

from collections.abc import Iterable
import os
from typing import Any

from gabbi import fixture

from ironic_reservations.api import wsgi
from tests import small_nova
from tests.inprocess.api import world as world_module

_world: world_module.World | None = None

#: The nodes of every story, in the order of their environment variables.
NODES: dict[str, dict[str, Any]] = {
    'GOLD_1': {'resource_class': 'gold', 'owner': 'red',
               'traits': frozenset(('CUSTOM_RAID', 'HW_CPU_X86_VMX'))},
    'GOLD_2': {'resource_class': 'gold', 'owner': 'red'},
    'SILVER_1': {'resource_class': 'silver', 'owner': 'blue',
                 'lessee': 'red'},
    'SILVER_2': {'resource_class': 'silver', 'owner': 'blue'},
}


def _application(environ: wsgi.Environ,
                 start_response: wsgi.StartResponse) -> Iterable[bytes]:
    assert _world is not None
    return _world(environ, start_response)


def current_app() -> wsgi.Application:
    """Return the application of the current story.

    It is called while the tests are made, long before a story runs.
    """
    return _application


class FourNodes(fixture.GabbiFixture):
    """Two gold nodes of the project red, two silver ones of blue.

    One of the silver ones is leased to red.  $GOLD_1, $GOLD_2, $SILVER_1
    and $SILVER_2 are their uuids; $HEX_GOLD_1 is one in another spelling.
    """

    options: dict[str, Any] = {}
    nodes = NODES

    def start_fixture(self) -> None:
        """Start with an empty database."""
        global _world
        _world = world_module.World(**self.options)
        _world.setUp()
        for name, what in self.nodes.items():
            node = _world.ironic.add(**what)
            os.environ[name] = node.uuid
            os.environ[f'HEX_{name}'] = node.uuid.replace('-', '').upper()

    def stop_fixture(self) -> None:
        """Remove the application and its database."""
        global _world
        for name in self.nodes:
            for each in (name, f'HEX_{name}'):
                os.environ.pop(each, None)
        assert _world is not None
        _world.cleanUp()
        _world = None


class LargeNodes(FourNodes):
    """The same nodes with sizes: the silver ones are twice as large."""

    def start_fixture(self) -> None:
        """Set the sizes of the nodes."""
        super().start_fixture()
        assert _world is not None
        for name, what in NODES.items():
            times = 2 if what['resource_class'] == 'silver' else 1
            _world.ironic.change(os.environ[name], properties=(
                ('cpus', str(8 * times)), ('local_gb', str(100 * times)),
                ('memory_mb', str(16384 * times))))


class BesideNova(LargeNodes):
    """The same nodes, connected to a Nova with flavors."""

    def start_fixture(self) -> None:
        """Start a Nova with two public flavors and a private one."""
        self._nova = small_nova.SmallNova()
        self._nova.setUp()
        zeros = {f'resources:{name}': '0'
                 for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
        self._nova.flavor('3', 'bm.gold', 8, 16384, 100, extra_specs={
            **zeros, 'resources:CUSTOM_GOLD': '1',
            'trait:CUSTOM_RAID': 'required', 'capabilities:boot_mode': 'uefi'})
        self._nova.flavor('4', 'bm.bad', 8, 16384, 100, extra_specs={
            **zeros, 'resources:CUSTOM_GOLD': 'one'})
        self._nova.flavor('5', 'bm.blue', 8, 16384, 100, public=False)
        self._nova.flavors['5'].projects.add('blue')
        self.options = {
            'placement__enabled': True, 'nova__enabled': True,
            'nova__endpoint_override': self._nova.endpoint}
        super().start_fixture()

    def stop_fixture(self) -> None:
        """Remove the Nova, too."""
        super().stop_fixture()
        self._nova.cleanUp()


class SmallLimits(FourNodes):
    """The same nodes; a page has two rows, and a request may name three nodes.
    """

    options = {'api__max_limit': 2, 'api__max_nodes_per_request': 3}


class PublicEndpoint(FourNodes):
    """The same nodes, behind a proxy that the operator has configured."""

    options = {'api__public_endpoint': 'https://cloud.example/baremetal/'}


class SampleNodes(FourNodes):
    """The two nodes of the samples of the API reference, of the project red.

    $NODE_1 and $NODE_2 are their uuids.
    """

    options = {'api__public_endpoint': 'https://baremetal.example.com'}
    nodes = {f'NODE_{number}': {
        'uuid': uuid, 'name': f'node-{number}', 'resource_class': 'gold',
        'owner': 'red', 'traits': frozenset(('CUSTOM_RAID',)), 'properties': (
            ('cpu_arch', 'x86_64'), ('cpus', '64'), ('local_gb', '2000'),
            ('memory_mb', '262144'))} for number, uuid in (
                (1, '96b3a7ff-df46-4211-94c3-a5570a0881aa'),
                (2, 'f985d47a-c858-48ac-b0ae-4f6f433f0c24'))}
