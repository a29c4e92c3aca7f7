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

"""The effect of a node's state on its reservation, state by state."""

import dataclasses
import datetime
import itertools

import hypothesis
from hypothesis import strategies as st
import testtools

from ironic_reservations.lifecycle import lifecycle
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_reservation
from tests import strategies

NOW = strategies.NOW
End = lifecycle.End
State = node_reservation.State
KEEP, IN_USE = lifecycle.KEEP, lifecycle.Verdict(state=State.IN_USE)
BACK = lifecycle.Verdict(state=State.RESERVED)
FREED = lifecycle.Verdict(end=End.NODE_FREED)
BROKEN = lifecycle.Verdict(end=End.NODE_BROKEN)
TAKEN = lifecycle.Verdict(end=End.NODE_TAKEN)


def _judge(state, provision_state='available', instance=None, **known):
    held = node_reservation.Reservation('reservation', 'node', 'mine', NOW,
                                        None,
                                        NOW + datetime.timedelta(minutes=1),
                                        state)
    return lifecycle.judge(held, mirrored_node.Node(
        'node', provision_state=provision_state, instance_uuid=instance,
        **known))


#: (provision state, instance): the verdicts on reserved, starting, in use.
TABLE = {
    ('available', None): (KEEP, BACK, FREED),
    ('available', 'mine'): (IN_USE, IN_USE, KEEP),
    ('available', 'other'): (TAKEN, IN_USE, KEEP),
    ('deploying', None): (TAKEN, IN_USE, KEEP),
    ('deploying', 'mine'): (IN_USE, IN_USE, KEEP),
    ('deploying', 'other'): (TAKEN, IN_USE, KEEP),
    ('wait call-back', None): (TAKEN, IN_USE, KEEP),
    ('active', None): (TAKEN, IN_USE, KEEP),
    ('active', 'mine'): (IN_USE, IN_USE, KEEP),
    ('active', 'other'): (TAKEN, IN_USE, KEEP),
    ('deploy failed', None): (TAKEN, IN_USE, KEEP),
    ('deploy failed', 'mine'): (IN_USE, IN_USE, KEEP),
    ('deleting', None): (TAKEN, IN_USE, KEEP),
    ('cleaning', None): (TAKEN, IN_USE, KEEP),
    ('manageable', None): (TAKEN, IN_USE, KEEP),
    ('clean failed', None): (TAKEN, IN_USE, BROKEN),
    ('clean failed', 'mine'): (IN_USE, IN_USE, KEEP),
    ('error', None): (TAKEN, IN_USE, BROKEN),
    ('enroll', None): (TAKEN, IN_USE, BROKEN),
    (None, None): (TAKEN, IN_USE, KEEP),
}


class TestLifecycle(testtools.TestCase):

    def test_every_row_of_the_table(self):
        for (provision_state, instance), verdicts in TABLE.items():
            self.assertEqual(
                verdicts,
                tuple(_judge(state, provision_state, instance) for state in (
                    State.RESERVED, State.STARTING, State.IN_USE)),
                (provision_state, instance))

    def test_maintenance_on_off(self):
        """Everybody who set maintenance ended others' reservations by it."""
        for trouble in ({'maintenance': True}, {'retired': True},
                        {'parent_node': 'whole'}):
            self.assertEqual(KEEP, _judge(State.RESERVED, **trouble))

    def test_operator_may_have_maintenance_end_the_promise(self):
        held = node_reservation.Reservation('reservation', 'node', 'mine', NOW,
                                            None, NOW, State.RESERVED)
        for trouble in ({'maintenance': True}, {'retired': True},
                        {'parent_node': 'whole'}):
            self.assertEqual(BROKEN, lifecycle.judge(
                held, mirrored_node.Node('node', **trouble),
                end_on_maintenance=True))

    def test_maintenance_leaves_a_used_node_to_its_user(self):
        for state, provision_state in itertools.product(
                (State.STARTING, State.IN_USE), ('active', 'deploying')):
            self.assertIsNone(_judge(state, provision_state, 'mine',
                                     maintenance=True).end)

    def test_closing_a_node_keeps_promises_that_were_made(self):
        self.assertEqual(KEEP, _judge(State.RESERVED, reservable=False))

    @hypothesis.given(strategies.nodes(), st.data())
    def test_verdict_never_sets_state_and_end_at_once(self, node, data):
        held = data.draw(strategies.reservations(node.uuid))
        verdict = lifecycle.judge(held, node)
        self.assertIn(None, (verdict.state, verdict.end))

    @hypothesis.given(strategies.nodes(), st.data())
    def test_node_with_the_own_instance_never_ends_a_reservation(
            self, node, data):
        held = data.draw(strategies.reservations(node.uuid))
        bound = dataclasses.replace(node, instance_uuid=held.instance_uuid)
        self.assertIsNone(lifecycle.judge(held, bound).end)
