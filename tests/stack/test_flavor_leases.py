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


"""Leases of a flavor that Nova has: found, kept, and booted from."""

from __future__ import annotations

import datetime
from typing import Any

from keystoneauth1 import exceptions as ksa_exc

from tests.stack import base
from tools.stack import cloud
from tools.stack import people

_EXTRA = 'hw:boot_menu'

_TIME = '%Y-%m-%d %H:%M'


class TestFlavors(base.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.open_hosts(*self.nodes)

    def wanted(self, flavor: str, count: int = 1) -> dict[str, Any]:
        """Return what a lease asks for."""
        return {'resource_type': 'flavor:instance', 'flavor_id': flavor,
                'amount': count, 'affinity': 'None'}

    def make(self, ident: str, name: str, public: bool = True) -> None:
        """Make a flavor of bare metal, until the test ends."""
        self.compute('POST', '/flavors', {'flavor': {
            'id': ident, 'name': name, 'ram': 8192, 'vcpus': 4, 'disk': 60,
            'OS-FLV-EXT-DATA:ephemeral': 30, 'swap': 1024,
            'os-flavor-access:is_public': public}})
        self.addCleanup(self.compute, 'DELETE', f'/flavors/{ident}')
        self.compute('POST', f'/flavors/{ident}/os-extra_specs', {
            'extra_specs': {
                'resources:VCPU': '0', 'resources:MEMORY_MB': '0',
                'resources:DISK_GB': '0', 'resources:CUSTOM_GOLD': '1',
                _EXTRA: 'true'}})

    def compute(self, method: str, path: str, body: Any = None) -> Any:
        """Ask Nova as an administrator."""
        return self.cloud.compute_api(base.ADMIN, method, path, body)

    def try_lease(self, flavor: str, person: people.Person) -> Any:
        """Ask whether there could be a lease."""
        # NOTE: projects may lease so far ahead, and no farther.
        start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(30)
        end = start + datetime.timedelta(1)
        return self.ask_leases(person, 'POST', '?dry_run=true', {
            'name': 'a-lease', 'start_date': start.strftime(_TIME),
            'end_date': end.strftime(_TIME),
            'reservations': [self.wanted(flavor)]})['lease']

    def assert_not_found(self, flavor: str, person: people.Person) -> None:
        """Somebody has no such flavor."""
        refused = self.assertRaises(ksa_exc.BadRequest, self.try_lease,
                                    flavor, person)
        self.assertEqual('lease.flavor_not_found',
                         refused.response.json()['code'])

    def test_servers_are_made_as_the_flavor_says(self) -> None:
        self.make('bm-1', 'bm one')
        lease = self.lease(self.wanted('bm one', 2))
        reservation, = lease['reservations']
        self.assertEqual(('bm one', 4, 8192, 60), (
            reservation['source_flavor_id'], reservation['vcpus'],
            reservation['memory_mb'], reservation['disk_gb']))
        made = self.compute('GET', f'/flavors/{reservation["id"]}')['flavor']
        self.assertEqual((4, 8192, 60, 30, 1024, 'true'), (
            made['vcpus'], made['ram'], made['disk'],
            made['OS-FLV-EXT-DATA:ephemeral'], made['swap'],
            made['extra_specs'][_EXTRA]))
        self.assertNotIn('resources:CUSTOM_GOLD', made['extra_specs'])
        servers = [self.booted(reservation['id']) for _ in range(2)]
        self.assertEqual(self.nodes_of(lease),
                         sorted(map(self.where, servers)))
        self.assert_no_valid_host(self.boot(reservation['id']))
        self.assert_clean()

    def test_flavor_is_found_by_its_id_and_by_its_name(self) -> None:
        for flavor in ('bm-1', 'bm one'):
            self.assert_not_found(flavor, base.MEMBER)
        self.make('bm-1', 'bm one')
        for flavor in ('bm-1', 'bm one', cloud.FLAVOR):
            reservation, = self.try_lease(flavor, base.MEMBER)['reservations']
            self.assertEqual(flavor, reservation['source_flavor_id'])
        for flavor in ('detail', '..', 'bm-1/', 'bm-1?', 'a b', '\u00e9'):
            self.assert_not_found(flavor, base.MEMBER)

    def test_private_flavor_is_for_the_projects_that_may_use_it(
            self) -> None:
        self.make('bm-2', 'bm two', public=False)
        self.compute('POST', '/flavors/bm-2/action', {'addTenantAccess': {
            'tenant': self.cloud.session(base.OTHER).get_project_id()}})
        for flavor in ('bm-2', 'bm two'):
            self.assert_not_found(flavor, base.MEMBER)
            self.assert_not_found(flavor, base.ADMIN)
            self.assertTrue(self.try_lease(flavor, base.OTHER))
