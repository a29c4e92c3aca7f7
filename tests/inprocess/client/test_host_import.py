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

"""Nodes are opened to leases, those that exist."""

from tests.inprocess.client import base


class HostImportTest(base.ClientTestCase):
    """An operator with a list of names."""

    def test_name_that_no_node_has_does_not_stop_the_others(self) -> None:
        node, = self.nodes()
        done = self.command('baremetal', 'reservation', 'host', 'import',
                            'nowhere', node.name, '-f', 'value', status=1)
        self.assertEqual('1\n0\n1\n', done.stdout)
        self.assertIn('nowhere: Node nowhere could not be found', done.stderr)
        self.assertIn('"baremetal node list" lists the nodes', done.stderr)
