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


"""The commands for maintenance windows, against a real Ironic."""

import uuid

from tests.inprocess.client import base
from tools import enrolment

MAINTENANCE = ('baremetal', 'reservation', 'maintenance')


class MaintenanceCommandsTest(base.ClientTestCase):
    """An operator at the terminal."""

    def setUp(self) -> None:
        """Enroll a node, which is a host."""
        super().setUp()
        self.node, = self.nodes()
        self.command('baremetal', 'reservation', 'host', 'import',
                     self.node.name)
        self.name = f'window-{uuid.uuid4().hex[:8]}'

    def book(self, begin: str, end: str) -> str:
        """Book the node, and return the window's UUID."""
        made = self.json_of(
            *MAINTENANCE, 'create', self.name, '--node', self.node.name,
            '--start-date', begin, '--end-date', end)
        self.assertEqual(
            (begin, end),
            tuple(made[key][:16].replace('T', ' ')
                  for key in ('starts_at', 'ends_at')))
        return str(made['uuid'])

    def test_a_window_is_shown_and_ended_by_its_name(self) -> None:
        """Its times are those of the options, which the shell leaves us."""
        made = self.book('2050-01-01 10:00', '2050-01-01 12:00')
        for ident in (self.name, made):
            shown = self.json_of(*MAINTENANCE, 'show', ident)
            self.assertEqual((made, self.name, []), (
                shown['uuid'], shown['name'], shown['waiting']))
            self.assertNotIn('waiting', shown['nodes'][0])
        gone = self.command(*MAINTENANCE, 'delete', self.name)
        self.assertEqual(f'Ended maintenance {self.name}\n', gone.stdout)

    def test_a_table_names_the_nodes(self) -> None:
        """What would move, and where to, is a line each."""
        other, = self.nodes()
        self.command('baremetal', 'reservation', 'host', 'import', other.name)
        kind = self.kind_of(self.node, other)
        self.command('baremetal', 'reservation', 'lease', 'create', self.name,
                     '--property', f'kind={kind}', '--start-date',
                     '2050-03-01 10:00', '--duration', '2h')
        window = '2050-03-01 10:00:00 UTC until 2050-03-01 12:00:00 UTC'
        tried = [(node, self.command(
            *MAINTENANCE, 'create', self.name, '--node', node.name,
            '--start-date', '2050-03-01 10:00', '--duration', '2h',
            '--dry-run').stdout) for node in (self.node, other)]
        for node, table in tried:
            self.assertIn(f'{node.name}: planned, {window} ', table)
        self.assertEqual(1, sum(
            f'{node.name} to {to.name}: lease ' in table
            for (node, table), to in zip(tried, (other, self.node),
                                         strict=True)))
        self.command('baremetal', 'reservation', 'lease', 'delete', self.name)

    def test_a_table_shows_leases_that_slide(self) -> None:
        """By name, with their new dates."""
        kind = self.kind_of(self.node)
        self.command('baremetal', 'reservation', 'lease', 'create', self.name,
                     '--property', f'kind={kind}', '--between',
                     '2050-04-01 10:00', '2050-04-01 20:00', '--duration',
                     '2h')
        table = self.command(
            *MAINTENANCE, 'create', self.name, '--node', self.node.name,
            '--start-date', '2050-04-01 10:00', '--duration', '3h',
            '--dry-run', '--max-width', '0').stdout
        self.assertIn(f'lease {self.name} (', table)
        self.assertIn('): 2050-04-01 13:00:00 UTC until 2050-04-01 15:00:00 '
                      'UTC, 3h later ', table)
        self.command('baremetal', 'reservation', 'lease', 'delete', self.name)

    def kind_of(self, *nodes: enrolment.Enrolled) -> str:
        """Return a property that nodes have, and no other host."""
        kind = uuid.uuid4().hex
        for node in nodes:
            self.command('baremetal', 'reservation', 'host', 'set', node.name,
                         '--property', f'kind={kind}')
        return kind

    def test_a_name_that_several_have_or_none(self) -> None:
        """It is said, with what to do."""
        made = [self.book(f'2050-02-0{day} 10:00', f'2050-02-0{day} 12:00')
                for day in (1, 2)]
        several = self.command(*MAINTENANCE, 'show', self.name, status=1)
        self.assertIn('Use the UUID of one of them.', several.stderr)
        for each in made:
            self.assertIn(each, several.stderr)
        failed = self.command(*MAINTENANCE, 'delete', self.name,
                              'no-such-window', status=1)
        self.assertIn('2 maintenance windows have the name', failed.stderr)
        self.assertIn("no maintenance window 'no-such-window'",
                      failed.stderr)
        self.command(*MAINTENANCE, 'delete', *made)
