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


"""plugins/ironic-cli, installed, against a real Ironic."""

import json
import sys
from typing import Any
import uuid

from tests.inprocess.client import base


class IronicCommandTest(base.ClientTestCase):
    """The specification's four commands."""

    @classmethod
    def setUpClass(cls) -> None:
        """Install the plugin."""
        super().setUpClass()
        cls.install_plugin()

    def test_create_list_show_delete(self):
        """Each does on the server what it says."""
        node, = self.nodes()
        instance = str(uuid.uuid4())
        made = self.json_of('reservation-create', node.uuid, instance)
        ident = made['uuid']
        self.assertEqual((node.uuid, instance),
                         (made['node_uuid'], made['instance_uuid']))
        self.assertEqual(instance, self.held(ident)['instance_uuid'])
        listed = self.command('ironic', 'reservation-list').stdout
        self.assertRegex(listed, r'\| UUID +\| Node UUID +\| Instance UUID')
        self.assertIn(f'| {ident} | {node.uuid} | {instance} |', listed)
        self.assertIn(made, self.json_of('reservation-list'))
        shown = self.command('ironic', 'reservation-show', ident).stdout
        for row in (r'Property +\| Value', rf'node_uuid +\| {node.uuid}',
                    r'updated_at +\| '):
            self.assertRegex(shown, rf'\| {row} +\|')
        self.assertEqual(made, self.json_of('reservation-show', ident))
        gone = self.command('ironic', 'reservation-delete', ident)
        self.assertEqual((f'Deleted reservation {ident}\n', ''),
                         (gone.stdout, gone.stderr))
        self.assertIsNone(self.held(ident))

    def test_example(self):
        """The example of the documentation."""
        node, = self.nodes()
        done = self.command(
            base.EXAMPLES / 'reserve_with_ironic_command.sh', node.uuid)
        self.assertIn('Deleted reservation', done.stdout)

    def json_of(self, *args: str) -> Any:
        """Run the command for scripts."""
        return json.loads(self.command('ironic', '--json', *args).stdout)

    def test_an_error_is_one_line(self):
        """And status 1, under either name of the command."""
        node, = self.nodes()
        self.command('ironic', 'reservation-create', node.uuid,
                     str(uuid.uuid4()))
        for name in (('ironic',),
                     (sys.executable, '-m', 'ironic_reservations_cli')):
            refused = self.command(*name, 'reservation-create', node.uuid,
                                   str(uuid.uuid4()), status=1)
            line, = refused.stderr.splitlines()
            self.assertIn('[reservation.no_node_available]', line)
            self.assertIn(f'; node {node.uuid}: is reserved', line)
            self.assertEqual('', refused.stdout)
