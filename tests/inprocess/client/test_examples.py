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


"""The documentation's examples do what it says, on a real Ironic."""

import pathlib
import re
import shlex
import sys
import uuid

from tests.inprocess.client import base

README = base.ROOT / 'README.rst'


class ExamplesTest(base.ClientTestCase):
    """Each example is run as a reader would run it."""

    def test_commands(self):
        """The node is active in the end, and not reserved."""
        nodes = self.nodes(2)
        done = self.command(base.EXAMPLES / 'reserve_with_commands.sh',
                            *(node.name for node in nodes))
        self.assertIn('refused, as it should be', done.stdout)
        self.assertIn('Deleted reservation', done.stdout)
        self.assertEqual('active', self.provision_state(nodes[0]))
        self.assertEqual('available', self.provision_state(nodes[1]))

    def test_ironicclient(self):
        """The refusal's reason is printed."""
        nodes = self.nodes(2)
        done = self.command(
            base.EXAMPLES / 'reserve_with_ironicclient.py',
            *(node.name for node in nodes))
        lines = done.stdout.splitlines()
        self.assertEqual('reservation.no_node_available', lines[1])
        self.assertIn(f'{nodes[0].uuid} reserved is reserved', lines[2])
        self.assertEqual('active', lines[-1])
        self.assertIsNone(self.held(lines[0].split()[0]))

    def test_openstacksdk(self):
        """The reservation is in use once the node is deployed."""
        wanted = f'class-{uuid.uuid4().hex[:8]}'
        node, = self.nodes(resource_class=wanted)
        done = self.command(
            base.EXAMPLES / 'reserve_with_openstacksdk.py', wanted)
        ident = done.stdout.split()[0]
        self.assertIn(f'{ident} {node.uuid} in_use\n', done.stdout)
        self.assertIn('[reservation.no_node_available]', done.stdout)
        self.assertEqual('active', self.provision_state(node))
        self.assertIsNone(self.held(ident))

    def test_first_page(self):
        """The refusal in README is the real one, but for times and ids."""
        gold = ('--resource-class', 'gold')
        self.nodes(2, resource_class='gold')
        self.command('baremetal', 'reservation', 'host', 'import', *gold)
        self.command('baremetal', 'reservation', 'lease', 'create',
                     'training', '--hosts', '2', *gold, '--duration', '4h')
        command, shown = re.findall(
            r'^    \$ (.+)\n((?:    .+\n)*.*\[lease\.refused\].*\n'
            r'(?:    .+\n)*)', README.read_text(), re.MULTILINE)[-1]
        done = self.command(*shlex.split(command), status=1)
        self.assertEqual(base.masked(shown), base.masked(done.stderr))
        self.command(*shlex.split(command), '--accept', 'later')

    def test_command_as_it_is_installed(self):
        """In a process of its own, which loads all that it needs itself."""
        node, = self.nodes()
        self.assertIsNotNone(self.held(self.command(
            pathlib.Path(sys.executable).with_name('baremetal'), 'reservation',
            'create', node.uuid, '-f', 'value', '-c', 'uuid').stdout.strip()))
