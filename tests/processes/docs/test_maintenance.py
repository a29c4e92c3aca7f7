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

"""The page on maintenance windows does what it shows, on a real Ironic."""

from __future__ import annotations

import re

from tests import waiting
from tests.inprocess.client import base

SCRIPT = base.EXAMPLES / 'maintenance.sh'


class MaintenanceTest(base.ClientTestCase):
    """Each example is run as a reader would run it."""

    def test_a_class_is_in_maintenance_for_a_while(self):
        """Ironic shows the reason while it lasts, and nothing of it then."""
        self.enroll(2, 'copper')
        done = self.command(SCRIPT)
        self.assertRegex(done.stdout, r'accepted +\| True')
        self.assertEqual(1, len(re.findall(r'maintenance +\| True',
                                           done.stdout)), done.stdout)
        self.assertEqual(1, len(re.findall(r'maintenance +\| False',
                                           done.stdout)), done.stdout)
        self.assertRegex(done.stdout,
                         r'New firmware \[maintenance window [0-9a-f-]{36}\]')

    def test_what_somebody_else_has_set_stays(self):
        """Of the reasons in Ironic, the window clears its own alone."""
        one, other = self.enroll(2, 'zinc')
        self.command('baremetal', 'node', 'maintenance', 'set', 'zinc-0',
                     '--reason', 'broken fan')
        window = self.json_of(
            'baremetal', 'reservation', 'maintenance', 'create', 'firmware',
            '--resource-class', 'zinc', '--duration', '4h')['uuid']
        self.wait_for(window, {one.uuid: 'foreign', other.uuid: 'active'})
        self.command('baremetal', 'reservation', 'maintenance', 'delete',
                     window)
        self.wait_for(window, {one.uuid: 'over', other.uuid: 'over'})
        for name, shown in (('zinc-0', [True, 'broken fan']),
                            ('zinc-1', [False, None])):
            node = self.json_of('baremetal', 'node', 'show', name)
            self.assertEqual(shown, [node['maintenance'],
                                     node['maintenance_reason']])

    def enroll(self, count, resource_class):
        """Enroll nodes, and wait until a window would have all of them."""
        nodes = self.ironic.enroll(count, prefix=resource_class,
                                   resource_class=resource_class)

        def tried():
            return self.ironic.session.post(
                f'{self.ironic.url}/v1/maintenances?dry_run=true',
                json={'name': 'firmware', 'resource_class': resource_class,
                      'ends_at': '2999-01-01T00:00:00Z'},
                headers={'OpenStack-API-Version':
                         'baremetal-reservation latest'},
                timeout=base.TIMEOUT).json()
        # NOTE: it is refused while no node of the class is known.
        waiting.until(lambda: count == len(tried().get(
            'maintenance', {}).get('nodes', ())), tried, within=base.TIMEOUT)
        return nodes

    def wait_for(self, window, states):
        """Wait until the nodes of a window are in some states."""
        def found():
            return {each['node_uuid']: each['state'] for each in self.json_of(
                'baremetal', 'reservation', 'maintenance', 'show',
                window)['nodes']}
        waiting.until(lambda: found() == states, found, within=base.TIMEOUT)
