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


"""The driver of plugins/nova, where nobody deploys without a reservation."""

from __future__ import annotations

import datetime
import functools
import importlib.util
import os
import pathlib
import shutil
import tempfile
import uuid as uuid_module

from ironic_reservations.model import time_text
from tests.real import distribution
from tests.stack import base
from tests.stack import shared
from tools.stack import nova

_FILTERS = """
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = \
nova.virt.ironic_reservations.scheduler_filter.IronicReservationFilter
enabled_filters = ComputeFilter,ComputeCapabilitiesFilter,\
ImagePropertiesFilter,IronicReservationFilter
"""
_PLUGIN = pathlib.Path(__file__).parents[2] / 'plugins' / 'nova'


@functools.cache
def _site() -> str:
    """Return a folder with the Nova that is installed, and the plugin."""
    kept = tempfile.TemporaryDirectory(prefix='ironic-stack-site-')
    # NOTE: it goes with the process.
    _site.kept = kept  # type: ignore[attr-defined]
    site = pathlib.Path(kept.name) / 'site'
    spec = importlib.util.find_spec('nova')
    assert spec is not None and spec.origin is not None
    shutil.copytree(pathlib.Path(spec.origin).parent, site / 'nova',
                    copy_function=os.symlink)
    plugin = pathlib.Path(kept.name) / 'plugin'
    distribution.install(_PLUGIN, plugin)
    shutil.copytree(plugin, site, dirs_exist_ok=True)
    return str(site)


class TestCase(base.TestCase):
    """With a flavor that asks for the slot alone, as nodes are held."""

    def setUp(self) -> None:
        self.setup = shared.Setup(
            guard={'require': 'always'},
            driver='ironic_reservations.ReservingIronicDriver', path=_site())
        super().setUp()
        self.cloud.make_flavor('slot', {'resources:CUSTOM_IRONIC_SLOT': '1'})
        self.addCleanup(self.cloud.compute_api, base.ADMIN, 'DELETE',
                        '/flavors/slot')


class TestDriver(TestCase):

    def test_plain_server_has_a_reservation_as_long_as_it_lives(
            self) -> None:
        server = self.booted()
        node = self.where(server)
        reservation, = self.reservations()
        self.assertEqual((server, node), (reservation['instance_uuid'],
                                          reservation['node_uuid']))
        self.assertEqual([server], self.holders(node))
        self.rebuilt(server)
        self.assertEqual([reservation['uuid']], [
            each['uuid'] for each in self.reservations()])
        self.cycles(2)
        self.assert_clean()
        self.deleted(server, base.MEMBER)
        self.until('the reservation is gone',
                   lambda: not self.reservations())
        self.assert_free(node)
        self.assert_clean()

    def test_node_of_somebody_else_makes_nova_try_the_next(self) -> None:
        """Two lost their holds, so that the scheduler may offer them.

        Nova tries three nodes, of which one is free.
        """
        *reserved, free = self.nodes
        theirs = [self.reserve(node)['uuid'] for node in reserved]
        unheld = reserved[:2]
        for node in unheld:
            self.take_holds(node)
        server = self.booted()
        self.assertEqual(free, self.where(server))
        for node in unheld:
            self.assertIsNone(self.node(node)['instance_uuid'])
            self.assertEqual([], self.holders(node))
        self.assertEqual(set(theirs), {
            each['uuid'] for each in self.reservations()
            if each['instance_uuid'] != server})

    def test_user_is_told_that_nodes_are_somebody_elses(self) -> None:
        """Three lost their holds; after the third one Nova gives up."""
        tried = self.nodes[:3]
        until = {node: self.reserve(node)['expires_at']
                 for node in self.nodes}
        for node in tried:
            self.take_holds(node)
        server = self.boot()
        told = self.assert_user_is_told(
            server, 'Exceeded maximum number of retries.',
            f'Exceeded max scheduling attempts 3 for instance {server}.')
        last, = (node for node in tried if node in told)
        # NOTE: Nova shows 255 characters, so that the zone may be cut off at
        # the end.
        shown = time_text.moment(
            datetime.datetime.fromisoformat(until[last]))
        self.assertIn(f'node {last} is reserved until '
                      + shown.removesuffix(' UTC'), told)
        for node in self.nodes:
            self.assertIsNone(self.node(node)['instance_uuid'])

    def test_server_is_booted_into_a_lease(self) -> None:
        self.open_hosts(*self.nodes)
        lease = self.lease(self.hosts(2))
        flavor = lease['reservations'][0]['id']
        servers = [self.booted(flavor), self.booted(flavor)]
        self.assertEqual(self.nodes_of(lease),
                         sorted(map(self.where, servers)))
        self.assert_no_valid_host(self.boot(flavor))
        self.rebuilt(servers[0])
        self.assert_clean()
        self.ended(lease)
        for server in servers:
            self.assertIsNone(self.server(server))
        for node in self.nodes:
            self.assert_free(node)

    def test_server_names_the_reservation_that_it_is_for(self) -> None:
        node = self.nodes[0]
        reservation = self.reserve(node)
        server = self.booted(
            'slot', base.ADMIN, hints={'reservation': reservation['uuid']},
            availability_zone=f'nova:{self.cloud.compute.host}:{node}')
        self.assertEqual(node, self.where(server))
        self.assertEqual(server, self.node(node)['instance_uuid'])
        self.rebuilt(server, base.ADMIN)

    def test_nova_compute_that_dies_finds_its_reservation_again(
            self) -> None:
        server = self.booted()
        before, = self.reservations()
        self.cloud.compute.kill()
        self.cloud.compute.start()
        self.cloud.wait_for_start(self.cloud.compute)
        self.rebuilt(server)
        after, = self.reservations()
        self.assertEqual(before['uuid'], after['uuid'])


class TestFilter(TestCase):
    """The optional filter of the scheduler, by the hint."""

    def setUp(self) -> None:
        super().setUp()
        options = '\n'.join(f'{key} = {value}' for key, value
                            in nova.ironic_options(
                                self.cloud.keystone_url).items())
        self.addCleanup(nova.start_scheduler, self.cloud.ground)
        nova.start_scheduler(
            self.cloud.ground, {'PYTHONPATH': _site()},
            f'[ironic]\n{options}\n{_FILTERS}')

    def test_server_finds_the_node_that_it_names(self) -> None:
        """One of several that its flavor would fit on."""
        for node in self.nodes[:3]:
            reservation = self.reserve(node)
            server = self.booted(
                'slot', hints={'reservation': reservation['uuid']})
            self.assertEqual(node, self.where(server))

    def test_reservation_that_there_is_not_is_no_host(self) -> None:
        refused = self.boot('slot', hints={
            'reservation': str(uuid_module.uuid4())})
        self.assert_no_valid_host(refused)
