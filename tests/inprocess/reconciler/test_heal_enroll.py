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

"""Flags of leases whose nodes are in any state: stable, and told once.

A bound node in enroll, manageable, inspect failed or adopt failed was flagged
by one predicate; asked to heal the lease, another one replaced nothing and
took both flags away, and the next pass flagged it again.
"""

import itertools

from ironic_reservations import errors
from ironic_reservations.model import node_condition
from tests import leasing
from tests.inprocess.reconciler import leases

HANDS_OF_AN_OPERATOR = ('enroll', 'manageable', 'inspect failed',
                        'adopt failed', 'error', 'clean failed')


class TestHealEnroll(leases.TestCase):

    def setUp(self):
        super().setUp()
        (self.node,) = self.leasing.hosts()
        self.made = self.leasing.create(0, 10)
        self.work()
        (booking,) = self.lease(self.made).bookings
        self.assertEqual(leasing.BOUND, booking.state)

    def assert_told(self, told, flags, message=''):
        """Check how much has been told by now, and what is flagged."""
        self.assertEqual((told, flags), (
            len(self.heard.told), self.all_flags()), message)

    def becomes(self, state, node=None, **known):
        """Have a node be in a state, and the leases be watched."""
        self.ironic.change(node or self.node, provision_state=state, **known)
        self.watch()

    def all_flags(self):
        lease = self.lease(self.made)
        (reservation,) = lease.reservations
        return (lease.degraded, reservation.missing_resources,
                reservation.resources_changed)

    def test_nothing_is_written_where_nothing_changes(self):
        """Two passes in a row, in every state, in maintenance and not."""
        for state, maintenance in itertools.product(
                sorted(node_condition.known() - {None, node_condition.GONE}),
                (False, True)):
            self.becomes(state, maintenance=maintenance)
            written = self.world.lease_rows()
            told, flags = len(self.heard.told), self.all_flags()
            self.watch()
            self.watch()
            self.assertEqual(written, self.world.lease_rows(), state)
            self.assert_told(told, flags, state)

    def test_each_change_of_a_flag_is_told_once(self):
        told = len(self.heard.told)
        for state, flagged in (('active', False), ('enroll', True),
                               ('manageable', True), ('error', True),
                               ('cleaning', False), ('available', False)):
            told += self.all_flags()[0] is not flagged
            self.becomes(state)
            self.assert_told(told, (flagged, flagged, False), state)

    def test_node_in_the_hands_of_an_operator_is_replaced_on_request(self):
        for state in HANDS_OF_AN_OPERATOR:
            self.leasing.hosts()
            (old,) = self.leasing.nodes(self.made)
            self.becomes(state, old)
            self.assertEqual((True, True), self.all_flags()[:2], state)
            self.leasing.change(self.made, heal=True)
            self.assertNotIn(old, self.leasing.nodes(self.made), state)
            told = len(self.heard.told)
            for _ in range(2):
                self.watch()
                self.assert_told(told, (False, False, True), state)
            self.soon()
            self.becomes('available', old)
            self.soon()

    def test_flags_stay_where_nothing_else_is_found(self):
        for state in HANDS_OF_AN_OPERATOR:
            self.becomes(state)
            told = len(self.heard.told)
            self.assertRaises(errors.LeaseRefused, self.leasing.change,
                              self.made, heal=True)
            self.watch()
            self.assert_told(told, (True, True, False), state)

    def test_replacement_is_told_once(self):
        """That the lease has all of its nodes again is part of it."""
        (node,) = self.leasing.hosts()
        planned = self.leasing.create(1, 3)
        (there,) = self.leasing.nodes(planned)
        self.assertEqual(node, there)
        self.ironic.change(node, maintenance=True)
        self.watch()
        told = len(self.heard.told)
        self.leasing.hosts()
        self.watch()
        self.watch()
        ((event, lease, reason),) = self.heard.told[told:]
        self.assertEqual(('lease.update', 'replaced', False), (
            event, reason, lease.degraded))
        self.assertFalse(self.lease(planned).degraded)
