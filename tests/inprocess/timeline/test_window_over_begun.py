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

"""A lease that has begun keeps its nodes, also those that are booked by force.

A storm took it for promised its node anew: it had been flagged, for another
node of it, in between.
"""

from ironic_reservations.engine.in_flight import admission
from ironic_reservations.features.maintenance import find
from tests import leasing
from tests.inprocess.timeline import windows


class TestWindowOverBegun(windows.MaintenanceTestCase):

    def setUp(self):
        super().setUp()
        self.booked, self.broken = self.leasing.hosts(2)
        self.made = self.leasing.create(None, 4, leasing.wish(2))
        self.work()
        self.window = self.book(3, 6, self.booked, force=True).window

    def test_keeps_both_whatever_it_is_flagged_for(self):
        for happens, flagged in (
                (lambda: None, True),
                (lambda: self.leasing.break_node(self.broken), True),
                (lambda: self.leasing.mend_node(self.broken), True),
                (lambda: find.end(self.engine, self.window.id), False)):
            happens()
            self.watch()
            self.assertEqual(flagged, self.lease(self.made).degraded)
            self.assertEqual({self.booked, self.broken},
                             self.leasing.nodes(self.made))

    def test_proof_opens_the_node_in_its_window(self):
        self.at(3.5)
        proof = self.made.reservations[0].id
        self.assertEqual(proof, admission.admit(
            self.engine, self.booked, proof).lease_reservation_id)

    def test_another_lease_is_not_promised_the_node(self):
        self.leasing.refused(4.5, 5.5, leasing.wish(2))
        other = self.leasing.create(4.5, 5.5)
        self.assertEqual({self.broken}, self.leasing.nodes(other))
