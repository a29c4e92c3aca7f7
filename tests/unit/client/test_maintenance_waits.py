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

"""The users that a maintenance window waits for, in a table."""

import testtools

from ironic_reservations_client.osc import maintenance


class TestWaiting(testtools.TestCase):

    def test_each_node_has_lines_of_its_own(self):
        shown = '\n\n'.join(map(maintenance.waiting_lines, [
            {'node_uuid': 'one', 'node_name': None,
             'for': 'The lease has the node.',
             'since': '2026-01-01T10:00:00+00:00',
             'until': '2026-01-01T11:00:00+00:00',
             'latest': '2026-01-01T12:00:00+00:00'},
            {'node_uuid': 'two', 'node_name': 'gold-2',
             'for': 'An instance is on the node.',
             'since': '2026-01-01T10:00:00+00:00', 'until': None,
             'latest': '2026-01-01T12:00:00+00:00'}]))
        self.assertEqual('''\
one: The lease has the node.
since: 2026-01-01T10:00:00+00:00
until: 2026-01-01T11:00:00+00:00
at the latest until: 2026-01-01T12:00:00+00:00

gold-2: An instance is on the node.
since: 2026-01-01T10:00:00+00:00
until: not known
at the latest until: 2026-01-01T12:00:00+00:00''', shown)
