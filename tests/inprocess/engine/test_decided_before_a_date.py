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

"""A process stands still between a decision about a node and its commit.

Meanwhile a promise begins or ends by the clock, which changes no generation.
"""

import testscenarios

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import allocation_requests
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.engine.reservations import find
from ironic_reservations.features.maintenance import create
from ironic_reservations.lifecycle import admit
from ironic_reservations.lifecycle import protect as judge
from ironic_reservations.planner import pick
from tests import leasing
from tests import world
from tests.inprocess.engine import timelines

_NOBODY = admit.Claim()


class _StandsStill(timelines.TestCase):

    def setUp(self):
        super().setUp()
        (self.node,) = self.leasing.hosts()

    def stand_still(self, decided, written):
        """Let the clock pass right before the next write, in hours."""
        def pass_by():
            self.world.clock.now = leasing.at(written)
        self.world.clock.now = leasing.at(decided)
        self.world.before_next_write(pass_by)

    def one_after_the_other(self):
        """Return the proofs of two leases of the node: from 1 to 3, to 5."""
        return [self.leasing.create(start, end).reservations[0].id
                for start, end in ((1, 3), (3, 5))]

    def admit(self, proof=None, act=admit.Act.USE):
        return admission.admit(self.engine, self.node, proof, act=act)

    def keep(self, claim):
        return protect.keep(
            self.engine, self.node,
            protect.ChangeRequest(judge.Actor(claim, None, False)))

    def hold(self, proof):
        return allocation_requests.hold(
            self.engine, pick.NodeRequest(world.new_uuid()), world.ALL_NODES,
            proof)


class TestProofs(testscenarios.WithScenarios, _StandsStill):
    """What is proved is over by the time that it is written."""

    scenarios = [(name, {'act': act}) for name, act in (
        ('deploy', lambda test, proof: test.admit(proof)),
        ('another_act', lambda test, proof: test.admit(proof, admit.Act.STAY)),
        ('allocation', lambda test, proof: test.hold(proof)),
        ('change', lambda test, proof: test.keep(admit.Claim(proof))))]

    def test_lease_that_is_over(self):
        first, _second = self.one_after_the_other()
        self.leasing.clock_passes(1)
        self.stand_still(2.999, 3.001)
        self.assertRaises(errors.ProofInvalid, self.act, self, first)

    def test_lease_that_is_over_and_was_never_bound(self):
        first, _second = self.one_after_the_other()
        self.stand_still(2.999, 3.001)
        self.assertRaises(errors.ProofInvalid, self.act, self, first)


class TestDeploys(_StandsStill):

    def test_reservation_that_has_expired(self):
        for end, act in ((1, self.admit), (2, self.hold)):
            held = self.world.reserve(self.node, expires_at=leasing.at(end))
            self.stand_still(end - 0.001, end + 0.001)
            self.assertRaises(errors.ProofInvalid, act, held.uuid)
            self.assertRaises(errors.ReservationNotFound, find.get,
                              self.engine, held.uuid)

    def test_maintenance_that_has_begun(self):
        create.create(self.engine, create.WindowRequest(
            'm', 'r', leasing.at(5), leasing.at(3), (self.node,)))
        self.stand_still(2.999, 3.001)
        self.assertRaises(errors.NodeInMaintenance, self.admit)

    def test_dates_of_others_change_nothing(self):
        first, _second = self.one_after_the_other()
        self.stand_still(1.5, 1.51)
        self.assertEqual(first, self.admit(first).lease_reservation_id)


class TestChanges(_StandsStill):

    def test_lease_that_has_begun(self):
        self.leasing.create(3, 5)
        self.stand_still(2.999, 3.001)
        self.assertRaises(errors.ProofRequired, self.keep, _NOBODY)

    def test_not_handed_over_after_a_lease_has_begun(self):
        self.leasing.create(3, 5)
        self.world.clock.now = leasing.at(2.999)
        opened = self.keep(_NOBODY)
        self.world.clock.now = leasing.at(3.001)
        self.assertRaises(errors.HandedOverLate, admission.check_in_time,
                          self.engine, opened)
