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

"""Admission: all cases of proof, voucher, reservation and configuration."""

import dataclasses
import datetime
import itertools

import testtools

from ironic_reservations.lifecycle import admit
from ironic_reservations.model import host_view
from ironic_reservations.model import leases
from ironic_reservations.model import node_reservation
from ironic_reservations.model import node_window
from tests import strategies

NOW = strategies.NOW
MINUTE = datetime.timedelta(minutes=1)
Verdict = admit.Verdict

PROOFS = {'none': None, 'right': 'reservation', 'wrong': 'another'}
VOUCHERS = {'none': None, 'right': 'instance', 'wrong': 'another'}
MAINTAINED = node_window.NodeWindow('window', 'node', NOW, NOW + MINUTE)
LIVE = ('reserved', 'starting', 'in_use', 'starting, past its end',
        'in_use, past its end')
VOID = ('nothing', 'expired', 'expires now')


def _held(what):
    if what == 'nothing':
        return None
    state = (node_reservation.State.RESERVED
             if what in ('expired', 'expires now')
             else node_reservation.State(what.partition(',')[0]))
    end = (NOW if what == 'expires now'
           else NOW - MINUTE if what == 'expired' or 'past' in what
           else NOW + MINUTE)
    return node_reservation.Reservation('reservation', 'node', 'instance',
                                        NOW - MINUTE, None, end, state)


def _view(held=None, *bookings, windows=()):
    return host_view.HostView('node', NOW, held, bookings, windows)


def _booked(state, starts_at=NOW - MINUTE, **changed):
    return leases.NodeBooking(0, 'lease', 0, 'node', starts_at,
                              starts_at + 2 * MINUTE, state, **changed)


#: (proof, voucher): the verdict, if the node is reserved.
RESERVED_TABLE = {
    ('none', 'none'): Verdict.PROOF_REQUIRED,
    ('none', 'right'): Verdict.PROVEN,
    ('none', 'wrong'): Verdict.PROOF_REQUIRED,
    ('right', 'none'): Verdict.PROVEN,
    ('right', 'right'): Verdict.PROVEN,
    ('right', 'wrong'): Verdict.PROVEN,
    ('wrong', 'none'): Verdict.PROOF_INVALID,
    ('wrong', 'right'): Verdict.PROOF_INVALID,
    ('wrong', 'wrong'): Verdict.PROOF_INVALID,
}


class TestDecisionTable(testtools.TestCase):

    def _admit(self, proof, voucher, held, required):
        return admit.admit(
            admit.Claim(PROOFS[proof], VOUCHERS[voucher]),
            _view(_held(held)), required)

    def test_table_is_complete(self):
        self.assertEqual(set(itertools.product(PROOFS, VOUCHERS)),
                         set(RESERVED_TABLE))

    def test_reserved_node_wants_its_own_proof(self):
        for held, required in itertools.product(LIVE, (False, True)):
            for (proof, voucher), verdict in RESERVED_TABLE.items():
                self.assertEqual(
                    verdict, self._admit(proof, voucher, held, required),
                    (held, required, proof, voucher))

    def test_node_that_nobody_holds_is_free_unless_required(self):
        for held, voucher in itertools.product(VOID, VOUCHERS):
            self.assertEqual(Verdict.FREE,
                             self._admit('none', voucher, held, False))
            self.assertEqual(Verdict.RESERVATION_REQUIRED,
                             self._admit('none', voucher, held, True))

    def test_node_in_its_maintenance_is_used_by_nobody_new(self):
        """A present holder keeps the node; maintenance requests pass."""
        for required, act in itertools.product((True, False), admit.Act):
            verdict = admit.admit(admit.Claim(), _view(windows=(MAINTAINED,)),
                                  required, act)
            self.assertIs(
                Verdict.IN_MAINTENANCE if act is admit.Act.USE else
                Verdict.RESERVATION_REQUIRED if required else Verdict.FREE,
                verdict)
        self.assertIs(Verdict.PROVEN, admit.admit(
            admit.Claim('reservation'),
            _view(_held('in_use'), windows=(MAINTAINED,))))
        self.assertIs(Verdict.LEASE_PROVEN, admit.admit(
            admit.Claim('lease'),
            _view(None, *LEASES['live'], windows=(MAINTAINED,))))

    def test_proof_without_a_live_reservation_is_invalid(self):
        for held, proof, voucher, required in itertools.product(
                VOID, ('right', 'wrong'), VOUCHERS, (False, True)):
            self.assertEqual(Verdict.PROOF_INVALID,
                             self._admit(proof, voucher, held, required))


#: The holder of the node, by its relation to the caller.
LEASES = {'nobody': (),
          'to come': (_booked(leases.BookingState.PLANNED, NOW + MINUTE),),
          'live': (_booked(leases.BookingState.BOUND),),
          'over': (_booked(leases.BookingState.ENDING),)}
#: (lease, proof): the verdict, if there is no other holder.
LEASED_TABLE = {
    ('nobody', None): Verdict.FREE,
    ('nobody', 'lease'): Verdict.PROOF_INVALID,
    ('nobody', 'another'): Verdict.PROOF_INVALID,
    ('to come', None): Verdict.FREE,
    ('to come', 'lease'): Verdict.PROOF_INVALID,
    ('to come', 'another'): Verdict.PROOF_INVALID,
    ('live', None): Verdict.PROOF_REQUIRED,
    ('live', 'lease'): Verdict.LEASE_PROVEN,
    ('live', 'another'): Verdict.PROOF_INVALID,
    ('over', None): Verdict.LEASE_OVER,
    ('over', 'lease'): Verdict.LEASE_OVER,
    ('over', 'another'): Verdict.LEASE_OVER,
}


class TestLeases(testtools.TestCase):

    def test_leased_node_wants_the_proof_of_its_lease(self):
        for (lease, proof), verdict in LEASED_TABLE.items():
            for act, held in itertools.product(admit.Act, VOID):
                freed = (lease, proof, act) == ('over', None, admit.Act.FREE)
                wanted = Verdict.FREE if freed else verdict
                self.assertEqual(wanted, admit.admit(
                    admit.Claim(proof), _view(_held(held), *LEASES[lease]),
                    False, act), (lease, proof, act))

    def test_project_needs_no_proof_where_its_policy_says_so(self):
        """The rule concerns one kind of promise, of the own project only."""
        for proof, project, of_leases, of_reservations in itertools.product(
                (None, 'another'), ('mine', 'theirs', None), (True, False),
                (True, False)):
            claim = admit.Claim(proof, bearer=admit.Bearer(
                'mine', uses_leases=of_leases,
                uses_reservations=of_reservations))
            refused = (Verdict.PROOF_REQUIRED if proof is None
                       else Verdict.PROOF_INVALID)
            mine = proof is None and project == 'mine'
            leased = _booked(leases.BookingState.BOUND, project_id=project)
            self.assertIs(
                Verdict.LEASE_PROVEN if mine and of_leases else refused,
                admit.admit(claim, _view(None, leased)))
            held = dataclasses.replace(_held('in_use'), project_id=project)
            self.assertIs(
                Verdict.PROVEN if mine and of_reservations else refused,
                admit.admit(claim, _view(held, leased)))
        nobody = admit.Claim(bearer=admit.Bearer(None, True, True, True))
        self.assertIs(Verdict.PROOF_REQUIRED, admit.admit(
            nobody, _view(_held('in_use'), *LEASES['live'])))
        self.assertIs(Verdict.PROOF_REQUIRED, admit.admit(
            nobody, _view(None, *LEASES['live'])))

    def test_reservation_is_not_enough_for_a_leased_node(self):
        """Nor is an instance that a service vouches for."""
        for held in VOID:
            self.assertEqual(Verdict.PROOF_INVALID, admit.admit(
                admit.Claim('reservation'),
                _view(_held(held), *LEASES['live'])))
            self.assertEqual(Verdict.PROOF_REQUIRED, admit.admit(
                admit.Claim(None, 'instance'),
                _view(_held(held), *LEASES['live'])))

    def test_what_is_deployed_with_a_reservation_is_nobody_elses(self):
        """The deploy was admitted although a lease was planned."""
        for held, lease in itertools.product(LIVE, LEASES.values()):
            self.assertEqual(Verdict.PROOF_INVALID, admit.admit(
                admit.Claim('lease'), _view(_held(held), *lease)))
            self.assertEqual(Verdict.PROVEN, admit.admit(
                admit.Claim('reservation'), _view(_held(held), *lease)))

    def test_what_lasts_is_told_from_what_does_not(self):
        self.assertEqual({admit.Act.USE, admit.Act.TAKE},
                         {act for act in admit.Act if act.lasts})

    def test_what_passes_is_told_from_what_does_not(self):
        self.assertEqual(
            {Verdict.FREE, Verdict.PROVEN, Verdict.LEASE_PROVEN},
            {verdict for verdict in Verdict if verdict.passes})
