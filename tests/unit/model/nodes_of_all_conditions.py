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

"""Nodes in every state of Ironic, and in every other condition."""

from __future__ import annotations

import itertools

from ironic.common import state_machine
from ironic.common import states as ironic_states

from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

#: All states of a node; Ironic shows some of them only as a target, or only
#: for a moment.
STATES = sorted(ironic_states.ALL_STATES | {
    state for state in state_machine.machine.states if state
} | {node_condition.GONE}) + [None]


def nodes():
    """Yield a node for each combination of facts about its condition."""
    for state, maintenance, retired, instance, parent in itertools.product(
            STATES, (False, True), (False, True), (None, 'instance'),
            (None, 'whole')):
        yield mirrored_node.Node('node', provision_state=state,
                                 retired=retired, maintenance=maintenance,
                                 instance_uuid=instance, parent_node=parent)
