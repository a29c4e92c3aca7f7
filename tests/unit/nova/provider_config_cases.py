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

"""The written provider.yaml, as the installed Nova reads it."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
from typing import Any
import uuid

import fixtures
from nova.compute import provider_config
from nova.compute import provider_tree
from nova.compute import resource_tracker
import os_traits
import testtools

from ironic_reservations.cmd import manage
from tests import nova_process

SLOT = {'total': 1, 'reserved': 0, 'min_unit': 1, 'max_unit': 1,
        'step_size': 1, 'allocation_ratio': 1.0}


class ProviderConfigTest(testtools.TestCase):
    """Nova parses it, and gives each of its nodes a slot."""

    def setUp(self) -> None:
        """Make a folder for the file, and a configuration."""
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.location = self.folder / 'provider_config'
        self.location.mkdir()
        self.path = self.location / 'slots.yaml'
        self.useFixture(nova_process.Nova('http://127.0.0.1:1'))

    def command(self, *words: str, config: str = '') -> tuple[int, str, str]:
        """Run the command, and return its status and both outputs."""
        there = self.folder / 'ironic-reservations.conf'
        there.write_text(config)
        said, complained = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), (
                contextlib.redirect_stderr(complained)):
            status = manage.main(['--config-file', str(there), 'nova',
                                  'provider-config', *words])
        return status, said.getvalue(), complained.getvalue()

    def read(self) -> dict[str, Any]:
        """Read the folder as nova-compute does."""
        return provider_config.get_provider_configs(str(self.location))

    def additional(self) -> list[dict[str, Any]]:
        """Return the inventories that the file adds to each host."""
        entry, = self.read().values()
        return entry['inventories']['additional']

    def test_nova_reads_what_was_written(self) -> None:
        """This needs no database, no Placement and no Nova."""
        self.assertEqual((0, '', ''),
                         self.command('--output', str(self.path)))
        self.assertEqual(['$COMPUTE_NODE'], list(self.read()))
        self.assertEqual([{'CUSTOM_IRONIC_SLOT': SLOT},
                          {'CUSTOM_LEASE_SLOT': SLOT}], self.additional())

    def test_printed_is_what_would_be_written(self) -> None:
        """The output can be piped."""
        self.command('--output', str(self.path))
        self.assertEqual((0, self.path.read_text(), ''), self.command())

    def test_classes_are_as_configured(self) -> None:
        self.command('--output', str(self.path), config='\n'.join((
            '[nova]', 'slot_class = CUSTOM_PLACE',
            'lease_slot_class = CUSTOM_SEAT', '')))
        self.assertEqual([{'CUSTOM_PLACE': SLOT}, {'CUSTOM_SEAT': SLOT}],
                         self.additional())

    def test_compute_host_gives_no_slot_of_nodes(self) -> None:
        """No server with only a node slot in its flavor gets to that host."""
        self.command('--output', str(self.path), '--total', '20')
        self.assertEqual([{'CUSTOM_LEASE_SLOT': {**SLOT, 'total': 20}}],
                         self.additional())

    def test_one_entry_gives_all_nodes_of_a_compute_a_slot(self) -> None:
        """Child providers and shared providers get no slot."""
        self.command('--output', str(self.path))
        tree = provider_tree.ProviderTree()
        nodes = [tree.new_root(f'node-{number}', str(uuid.uuid4()))
                 for number in range(3)]
        child = tree.new_child('reservations', nodes[0])
        shared = tree.new_root('shared', str(uuid.uuid4()))
        for each in nodes:
            tree.update_traits(each, [os_traits.COMPUTE_NODE])
            tree.update_inventory(each, {'CUSTOM_GOLD': dict(SLOT)})
        tracker = resource_tracker.ResourceTracker.__new__(
            resource_tracker.ResourceTracker)
        tracker.absent_providers = set()
        tracker._merge_provider_configs(self.read(), tree)
        for each in nodes:
            self.assertEqual({'CUSTOM_GOLD': SLOT, 'CUSTOM_IRONIC_SLOT': SLOT,
                              'CUSTOM_LEASE_SLOT': SLOT},
                             tree.data(each).inventory)
        for each in (child, shared):
            self.assertEqual({}, tree.data(each).inventory)

    def test_file_that_is_there_is_replaced_whole(self) -> None:
        """Others may read the file, and the folder contains no other one."""
        self.path.write_text('what was there before')
        self.command('--output', str(self.path))
        self.assertEqual(1, len(self.read()))
        self.assertEqual(0o644, self.path.stat().st_mode & 0o777)
        self.assertEqual([self.path.name], os.listdir(self.location))

    def test_folder_that_is_not_there(self) -> None:
        """The command prints one sentence, and fails."""
        status, said, complained = self.command(
            '--output', str(self.folder / 'nowhere' / 'slots.yaml'))
        self.assertEqual((2, ''), (status, said))
        self.assertEqual(1, len(complained.splitlines()))
        self.assertIn('nowhere', complained)

    def test_path_that_is_a_folder_leaves_nothing_behind(self) -> None:
        """The unfinished file is removed."""
        status, _, complained = self.command('--output', str(self.location))
        self.assertEqual(2, status)
        self.assertIn(str(self.location), complained)
        self.assertEqual(['ironic-reservations.conf', 'provider_config'],
                         sorted(os.listdir(self.folder)))

    def test_total_of_nothing_is_refused(self) -> None:
        """A slot of zero would be a mistake."""
        refused = self.assertRaises(SystemExit, self.command, '--total', '0')
        self.assertEqual(2, refused.code)
