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

    def _rows(self):
        return {key: value for key, value
                in self.world.lease_rows().items()}, self.flags()

    def flags(self):
        lease = self.lease(self.made)
        (reservation,) = lease.reservations
        return (lease.degraded, reservation.missing_resources,
                reservation.resources_changed)

    def test_nothing_is_written_where_nothing_changes(self):
        """Two passes in a row, in every state, in maintenance and not."""
        for state in sorted(node_condition.known() - {None,
                                                      node_condition.GONE}):
            for maintenance in (False, True):
                self.ironic.change(self.node, provision_state=state,
                                   maintenance=maintenance)
                self.watch()
                written, told = self._rows(), len(self.heard.told)
                self.watch()
                self.watch()
                self.assertEqual(written, self._rows(), state)
                self.assertEqual(told, len(self.heard.told), state)

    def test_each_change_of_a_flag_is_told_once(self):
        told = len(self.heard.told)
        for state, flagged in (('active', False), ('enroll', True),
                               ('manageable', True), ('error', True),
                               ('cleaning', False), ('available', False)):
            before = self.flags()[0]
            self.ironic.change(self.node, provision_state=state)
            self.watch()
            self.assertEqual((flagged, flagged, False), self.flags(), state)
            told += before is not flagged
            self.assertEqual(told, len(self.heard.told), state)

    def test_node_in_the_hands_of_an_operator_is_replaced_on_request(self):
        for state in HANDS_OF_AN_OPERATOR:
            self.leasing.hosts()
            (old,) = self.leasing.nodes(self.made)
            self.ironic.change(old, provision_state=state)
            self.watch()
            self.assertEqual((True, True), self.flags()[:2], state)
            self.leasing.change(self.made, heal=True)
            self.assertNotIn(old, self.leasing.nodes(self.made), state)
            told = len(self.heard.told)
            for _ in range(2):
                self.watch()
                self.assertEqual((False, False, True), self.flags(), state)
                self.assertEqual(told, len(self.heard.told), state)
            self.soon()
            self.ironic.change(old, provision_state='available')
            self.watch()
            self.soon()

    def test_flags_stay_where_nothing_else_is_found(self):
        for state in HANDS_OF_AN_OPERATOR:
            self.ironic.change(self.node, provision_state=state)
            self.watch()
            told = len(self.heard.told)
            self.assertRaises(errors.LeaseRefused, self.leasing.change,
                              self.made, heal=True)
            self.watch()
            self.assertEqual((True, True, False), self.flags(), state)
            self.assertEqual(told, len(self.heard.told), state)

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
