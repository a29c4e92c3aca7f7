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

"""The user guide's page on leases does what it shows, on a real Ironic."""

from __future__ import annotations

import sys
import uuid

from tests import waiting
from tests.inprocess.client import base

SCRIPT = base.EXAMPLES / 'leases.sh'


class LeasesTest(base.ClientTestCase):
    """Each example is run as a reader would run it."""

    def test_the_life_of_a_lease(self):
        """Refusals are what the page says; in the end the nodes are free."""
        nodes = self.ironic.enroll(3, prefix='gold', resource_class='gold')
        # NOTE: it is twenty commands long.
        done = self.command(SCRIPT)
        self.assertEqual(1, done.stdout.count('exit status 1\n'))
        for told in ('[lease.refused] (HTTP 409)', '[shortage]\n',
                     'in the way: 2 hosts from', 'Taking the offer [later]',
                     'This lease can be made. Nothing was booked:'):
            self.assertIn(told, done.stderr)
        for told in ('training  PENDING', 'training  ACTIVE', 'bound',
                     'Earliest start for 2 hosts for 4h', 'Deleted lease'):
            self.assertIn(told, done.stdout)
        for node in nodes[:2]:
            self.assertIn(f'{node.name} ({node.uuid}) active', done.stdout)
        # NOTE: the end of a lease undeploys; the service does that in the
        # background.
        waiting.until(
            lambda: self.provision_state(nodes[0]) == 'available',
            within=base.TIMEOUT)

    def test_ironicclient(self):
        """An offer is posted unchanged, and accepted."""
        kind = self.opened(2)
        done = self.command(sys.executable,
                            base.EXAMPLES / 'lease_with_ironicclient.py',
                            kind)
        for told in ('2 of 2 free', 'is PENDING, with 2 nodes',
                     'lease.refused\nNot enough hosts', 'rush starts at',
                     'rush ends at'):
            self.assertIn(told, done.stdout)

    def test_openstacksdk(self):
        """The refusal is told whole."""
        kind = self.opened(1)
        done = self.command(sys.executable,
                            base.EXAMPLES / 'lease_with_openstacksdk.py',
                            kind)
        for told in ('is PENDING', '[lease.refused] (HTTP 409)',
                     '[shortage]', 'training from 2050-01-01T10:00'):
            self.assertIn(told, done.stdout)

    def opened(self, count: int) -> str:
        """Return a resource class of its own, with some hosts."""
        kind = f'class-{uuid.uuid4().hex[:8]}'
        self.nodes(count, resource_class=kind)
        self.command('baremetal', 'reservation', 'host', 'import',
                     '--resource-class', kind)
        return kind
