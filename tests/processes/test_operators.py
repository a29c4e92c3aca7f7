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

"""What operators do for nodes that have failed, by Ironic's own states."""

from __future__ import annotations

import random
from typing import Any

from ironic.common import state_machine
from ironic.common import states
import testtools

from tests.processes import exchange
from tests.processes import operators


class _Ironic(exchange.Asker):
    """One node, whose state goes where Ironic's own machine takes it."""

    def __init__(self, state: str) -> None:
        self.choice = random.Random(1)
        self.node: dict[str, Any] = {
            'uuid': 'n', 'provision_state': state, 'maintenance': False,
            'maintenance_reason': None}

    def ask(self, op: str, method: str, path: str, body: Any = None,
            **_: Any) -> exchange.Reply:
        if (method, path) == ('DELETE', '/v1/nodes/n/maintenance'):
            self.node.update(maintenance=False, maintenance_reason=None)
            return exchange.Reply(202)
        assert (method, path) == ('PUT', '/v1/nodes/n/states/provision')
        machine = state_machine.machine.copy()
        machine.initialize(start_state=self.node['provision_state'])
        machine.process_event(states.VERBS.get(body['target'],
                                               body['target']))
        while machine.current_state in states.UNSTABLE_STATES:
            machine.process_event('done')
        self.node['provision_state'] = machine.current_state
        return exchange.Reply(202)


class BringBackTest(testtools.TestCase):
    def test_cleaning_that_died_with_its_conductor(self) -> None:
        """A storm that killed one found a node that nobody looked after."""
        ironic = _Ironic(states.CLEANFAIL)
        for _ in range(2):
            operators.bring_back(ironic, ironic.node)
        self.assertEqual(states.AVAILABLE, ironic.node['provision_state'])

    def test_the_end_of_a_lease_leads_its_node_back_itself(self) -> None:
        """Both did, and each undid what the other had done."""
        ironic = _Ironic(states.MANAGEABLE)
        operators.bring_back(ironic, ironic.node, leased=True)
        self.assertEqual(states.MANAGEABLE,
                         ironic.node['provision_state'])
        operators.bring_back(ironic, ironic.node)
        self.assertEqual(states.AVAILABLE, ironic.node['provision_state'])


    def test_all_others_are_left_alone(self) -> None:
        for state in (states.AVAILABLE, states.ACTIVE, states.CLEANING,
                      states.DEPLOYFAIL):
            ironic = _Ironic(state)
            operators.bring_back(ironic, ironic.node)
            self.assertEqual(state, ironic.node['provision_state'])

    def test_a_tenant_whose_way_back_failed(self) -> None:
        """A storm found a deployed node in maintenance at a lease's end."""
        ironic = _Ironic(states.ACTIVE)
        ironic.node.update(maintenance=True)
        operators.bring_back(ironic, ironic.node)
        self.assertFalse(ironic.node['maintenance'])
        self.assertEqual(states.ACTIVE, ironic.node['provision_state'])

    def test_the_maintenance_of_others_is_left_alone(self) -> None:
        """Of a holder, and of a window."""
        for reason in ('[by the holder of the node, b] his',
                       'fan [maintenance window '
                       '00000000-0000-4000-8000-000000000000]'):
            ironic = _Ironic(states.AVAILABLE)
            ironic.node.update(maintenance=True, maintenance_reason=reason)
            operators.bring_back(ironic, ironic.node)
            self.assertTrue(ironic.node['maintenance'], reason)
