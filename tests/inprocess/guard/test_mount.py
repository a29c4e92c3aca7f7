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
"""The paths that this service serves inside Ironic's API."""

import pathlib

import testtools
import yaml

from ironic_reservations.api import dialects
from ironic_reservations.guard import mount


class TestMounted(testtools.TestCase):
    """Our paths, and none of Ironic's."""

    def test_ours(self):
        """Everything below them, beside Ironic's paths and below the prefix.
        """
        for top in ('/v1/reservations', '/v1/leases', '/v1/os-hosts',
                    '/v1/availability', '/v1/leases.ics', '/v1/calendar',
                    '/reservation'):
            for path in (top, f'{top}/', f'{top}/x', f'{top}/x/y'):
                self.assertTrue(mount.mounted(path), path)

    def test_all_that_the_description_has(self):
        """A new resource is served beside Ironic's paths, too."""
        path = pathlib.Path(dialects.__file__).with_name('openapi.yaml')
        paths = yaml.safe_load(path.read_text('utf-8'))['paths']
        for path in paths.keys() - {'/', '/v1'}:
            self.assertTrue(mount.mounted(path), path)

    def test_not_ours(self):
        """This includes paths that only begin like ours."""
        for path in ('', '/', '/v1', '/v1/', '/v1/nodes', '/v1/allocations',
                     '/v1/lease', '/v1/leasesx', '/v1/os-hostsx/1',
                     '/v1/availabilityzones', '/reservationx', '/v1/ports',
                     '/reservations', '/v1/reservationsx',
                     '/x/v1/reservations',
                     '//v1/leases', '/v2/leases', '/V1/leases'):
            self.assertFalse(mount.mounted(path), path)

    def test_what_speaks_to_clients_of_blazar(self):
        """Leases, hosts and availability, and no other resources."""
        for path in ('/v1/leases', '/v1/leases/x', '/v1/os-hosts/1',
                     '/v1/availability'):
            self.assertIs(dialects.BLAZAR, dialects.of(path), path)
        for path in ('', '/v1', '/v1/reservations', '/v1/leasesx'):
            self.assertIs(dialects.OWN, dialects.of(path), path)
