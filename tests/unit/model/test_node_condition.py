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

"""One table of node conditions: complete, true to Ironic, used everywhere."""

import pathlib
import re

from ironic.common import state_machine
from ironic.common import states as ironic_states
import testtools

from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition
from ironic_reservations.planner import host_states
from ironic_reservations.planner import pick
from tests import world
from tests.unit.model import nodes_of_all_conditions

ROOT = pathlib.Path(__file__).parents[3] / 'ironic_reservations'
Condition = node_condition.Condition
STATES = nodes_of_all_conditions.STATES
nodes = nodes_of_all_conditions.nodes


class TestTable(testtools.TestCase):

    def test_every_state_of_ironic_is_in_the_table(self):
        self.assertEqual(set(), {*STATES} - node_condition.known())

    def test_state_that_nobody_here_knows_is_of_no_use(self):
        node = mirrored_node.Node('node', provision_state='new in ironic')
        self.assertEqual(Condition.BROKEN, node_condition.of(node))
        self.assertEqual('is in the state new in ironic',
                         node_condition.broken(node))

    def test_what_passes_by_itself_is_unstable_in_ironic(self):
        """A state is never awaited unless Ironic leaves it by itself."""
        unstable = {*ironic_states.UNSTABLE_STATES, ironic_states.DELETED,
                    ironic_states.CLEANHOLD, None}
        for node in nodes():
            if node_condition.of(node) is Condition.TRANSITION:
                self.assertIn(node.provision_state, unstable)

    def test_ironic_undeploys_from_where_the_table_says(self):
        """Ironic undeploys from the states with such a transition only."""
        for state in STATES:
            node = mirrored_node.Node('node', provision_state=state)
            if state in (None, node_condition.GONE):
                self.assertFalse(node_condition.undeploys(node))
                continue
            machine = state_machine.machine.copy()
            if state not in machine.states:
                continue
            machine.initialize(start_state=state)
            self.assertEqual(machine.is_actionable_event('delete'),
                             node_condition.undeploys(node), state)

    def test_condition_and_words_agree(self):
        """A broken node has a reason in words, and no other node has one."""
        for node in nodes():
            condition = node_condition.of(node)
            self.assertEqual(condition is Condition.BROKEN,
                             node_condition.broken(node) is not None, node)
            if condition is Condition.DEPLOYED:
                self.assertTrue(node_condition.occupied(node), node)
            if condition is Condition.USABLE:
                self.assertFalse(node_condition.occupied(node), node)
                self.assertFalse(node.retired or node.maintenance
                                 or node.part_of_node)

    def test_failures_of_a_tenant_s_own_are_no_failures_of_the_node(self):
        for state in ('deploy failed', 'rescue failed', 'service failed'):
            self.assertEqual(Condition.DEPLOYED, node_condition.of(
                mirrored_node.Node('node', provision_state=state)))

    def test_compute_hosts_have_no_state(self):
        host = mirrored_node.Node('host', provision_state=None, inventories=())
        self.assertEqual(Condition.USABLE, node_condition.of(host))
        gone = mirrored_node.Node('host', provision_state=node_condition.GONE,
                                  inventories=())
        self.assertEqual('is gone from Placement',
                         node_condition.broken(gone))


class TestEverybodyAgrees(testtools.TestCase):
    """All code that judges a node gives the same result."""

    def _standing(self, node):
        return host_states.HostState(leases.Host(1, node, world.NOON))

    def test_what_is_picked_is_usable_and_nothing_else(self):
        for node in nodes():
            usable = node_condition.of(node) is Condition.USABLE
            self.assertEqual(usable, pick.why_not(
                pick.NodeRequest('instance'), 'node',
                pick.Snapshot({'node': node}, {}, world.NOON),
                world.ALL_NODES) is None, node)
            self.assertEqual(usable, self._standing(node).ready(), node)

    def test_what_is_broken_serves_nothing_new_and_is_flagged(self):
        for node in nodes():
            broken = node_condition.broken(node)
            here = self._standing(node)
            self.assertEqual(broken, here.broken())
            if broken is not None:
                self.assertIsNotNone(here.unfit, node)
            start = lease_cycle.at_start(node, None)
            if start.bind and start.settled:
                self.assertEqual(broken, start.why)
            if start.bind and not start.settled:
                self.assertEqual(Condition.TRANSITION,
                                 node_condition.of(node))

    def test_nobody_keeps_a_list_of_states(self):
        """The names of states are in the table, and nowhere else."""
        names = {state for state in STATES if state and len(state) > 6} - {
            'active', 'available', 'rescue', 'deleted', 'deleting',
            'error', 'servicing'}
        found = []
        for path in sorted(ROOT.rglob('*.py')):
            if path.name == 'node_condition.py' or 'client' in path.parts:
                continue
            for name in re.findall(r"'([a-z -]+)'", path.read_text()):
                if name in names:
                    found.append((str(path.relative_to(ROOT)), name))
        # These facts concern a single state.
        self.assertEqual([], found)
