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

"""Guarded requests: let in, answered, refused, racing, left behind."""

import datetime

from ironic_reservations import errors
from ironic_reservations.db import connection as db_connection
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import release
from ironic_reservations.model import node_condition
from ironic_reservations.model import reasons
from tests import servers
from tests import world
from tests.inprocess.engine import timelines

TIMEOUT = 120


class InFlightTestCase(timelines.TestCase):

    options = {'guard__in_flight_timeout': TIMEOUT}

    def setUp(self):
        super().setUp()
        (self.node,) = self.world.enrol()

    def admit(self, proof=None, **known):
        return admission.admit(self.engine, self.node, proof, **known)

    def close(self, opened, succeeded, **known):
        admission.close(self.engine, opened, succeeded, **known)

    def generation(self):
        return self.world.mirrored()[self.node]['generation']


@servers.also
class TestAdmission(InFlightTestCase):

    def test_node_that_nobody_holds_lets_anybody_in(self):
        opened = self.admit()
        in_flight = self.world.in_flight()
        for row in in_flight:
            del row['id']
        self.assertEqual(
            [{'token': opened.token, 'node_uuid': self.node,
              'reservation_uuid': None, 'instance_uuid': None,
              'state': 'sent', 'act': None, 'lease_id': None,
              'seen': None, 'seen_at': None,
              'expires_at': world.NOON + datetime.timedelta(
                  seconds=TIMEOUT)}], in_flight)

    def test_proof_opens_and_the_reservation_starts(self):
        held = self.world.reserve(self.node)
        opened = self.admit(held.uuid)
        self.assertEqual(held.uuid, opened.reservation_uuid)
        self.assertEqual('starting', self.world.state_of(held))

    def test_no_proof_and_wrong_proof_change_nothing(self):
        held = self.world.reserve(self.node)
        generation = self.generation()
        for proof, error in ((None, errors.ProofRequired),
                             (world.new_uuid(), errors.ProofInvalid)):
            refused = self.assertRaises(error, self.admit, proof)
            self.assertNotIn(held.uuid, str(refused))
            self.assertNotIn(held.uuid, str(refused.details))
        self.assertEqual(([], 'reserved', generation), (
            self.world.in_flight(), self.world.state_of(held),
            self.generation()))

    def test_proof_of_another_node_is_invalid(self):
        (other,) = self.world.enrol()
        elsewhere = self.world.reserve(other)
        self.assertRaises(errors.ProofInvalid, self.admit, elsewhere.uuid)
        self.world.reserve(self.node)
        self.assertRaises(errors.ProofInvalid, self.admit, elsewhere.uuid)

    def test_proof_that_is_over_is_invalid_even_on_a_free_node(self):
        """Expired or released."""
        held = self.world.reserve(self.node, ttl=10)
        self.world.clock.advance(10)
        refused = self.assertRaises(errors.ProofInvalid, self.admit, held.uuid)
        self.assertIn('expired', str(refused))
        held = self.world.reserve(self.node)
        release.release(self.engine, held.uuid)
        self.assertRaises(errors.ProofInvalid, self.admit, held.uuid)
        self.admit()

    def test_trusted_service_is_let_in_for_the_right_instance(self):
        held = self.world.reserve(self.node)
        self.assertRaises(errors.ProofRequired, self.admit,
                          vouched_instance=world.new_uuid())
        opened = self.admit(vouched_instance=held.instance_uuid)
        self.assertEqual(held.uuid, opened.reservation_uuid)

    def test_reservation_is_required_where_the_operator_says_so(self):
        self.assertRaises(errors.ReservationRequired, self.admit,
                          required=True)
        self.admit(self.world.reserve(self.node).uuid, required=True)

    def test_unknown_node_is_noted_as_nobodys(self):
        self.node = world.new_uuid()
        self.admit()
        self.assertIsNone(self.world.mirrored()[self.node]['provision_state'])

    def test_unreachable_database_lets_nobody_in(self):
        with self.engine.database.write() as connection:
            connection.exec_driver_sql('DROP TABLE in_flight_requests')
        self.assertRaises(errors.DatabaseUnavailable, self.admit)

    def test_admission_does_not_touch_what_is_known_of_the_node(self):
        self.world.ironic.change(self.node, resource_class='gold')
        self.world.before_next_write(self.world.refresh)
        self.admit()
        self.assertEqual('gold', self.world.mirrored()[self.node][
            'resource_class'])


@servers.also
class TestAnswer(InFlightTestCase):

    def test_accepted_request_puts_the_reservation_in_use(self):
        held = self.world.reserve(self.node)
        self.close(self.admit(held.uuid), True)
        self.assertEqual(('in_use', []), (self.world.state_of(held),
                                          self.world.in_flight()))

    def test_refused_request_gives_the_promise_back(self):
        held = self.world.reserve(self.node, ttl=60)
        self.close(self.admit(held.uuid), False)
        row = self.world.reservations()[held.uuid]
        self.assertEqual(('reserved', held.expires_at, []), (
            row['state'], row['expires_at'], self.world.in_flight()))

    def test_reservation_does_not_expire_under_a_request(self):
        held = self.world.reserve(self.node, ttl=10)
        opened = self.admit(held.uuid)
        self.world.clock.advance(60)
        self.assertEqual([reasons.RESERVED], self.codes(self.node))
        self.close(opened, True)
        self.world.clock.advance(86400)
        sweep.sweep(self.engine)
        self.assertEqual('in_use', self.world.state_of(held))

    def test_promise_that_ran_out_under_a_refused_request_is_void(self):
        held = self.world.reserve(self.node, ttl=10)
        opened = self.admit(held.uuid)
        self.world.clock.advance(10)
        self.close(opened, False)
        self.assertRaises(errors.ReservationNotFound, find.get,
                          self.engine, held.uuid)
        self.assertEqual(self.node, self.world.reserve(self.node).node_uuid)

    def test_node_is_busy_while_anybodys_request_is_under_way(self):
        opened = self.admit()
        self.assertEqual([reasons.BUSY], self.codes(self.node))
        self.close(opened, False)
        self.assertEqual(self.node, self.world.reserve(self.node).node_uuid)

    def test_node_that_was_deployed_without_reservation_is_not_promised(self):
        opened = self.admit()
        self.world.ironic.deploy(self.node)
        self.close(opened, True)
        self.assertEqual([reasons.WRONG_STATE], self.codes(self.node))

    def test_what_ironic_shows_afterwards_is_written_down(self):
        held = self.world.reserve(self.node)
        opened = self.admit(held.uuid)
        self.world.ironic.deploy(self.node, held.instance_uuid)
        self.close(opened, True, shown=self.world.shown(self.node))
        row = self.world.mirrored()[self.node]
        self.assertEqual(('active', held.instance_uuid),
                         (row['provision_state'], row['instance_uuid']))

    def test_answer_without_facts_leaves_those_of_a_poll(self):
        opened = self.admit()
        self.world.ironic.deploy(self.node)
        self.world.before_next_write(self.world.refresh)
        self.close(opened, True)
        self.assertEqual('active', self.world.mirrored()[self.node][
            'provision_state'])

    def test_second_request_of_a_deployer_in_use_changes_nothing(self):
        held = self.world.reserve(self.node)
        self.close(self.admit(held.uuid), True)
        self.close(self.admit(held.uuid), False)
        self.assertEqual('in_use', self.world.state_of(held))

    def test_answer_after_the_node_was_forgotten_is_no_error(self):
        opened = self.admit()
        self.world.ironic.remove(self.node)
        self.world.find_out()
        mirror.refresh_node(self.engine, self.node)
        self.assertEqual({}, self.world.mirrored())
        self.close(opened, True)
        self.assertEqual([], self.world.in_flight())

    def test_outcome_marked_unknown_in_a_conflict_is_marked_at_once(self):
        """If the process died now, nobody could mark it for minutes."""
        def conflict():
            raise db_connection.Conflict('deadlock')
        opened = self.admit()
        self.world.before_next_write(conflict)
        admission.mark_uncertain(self.engine, opened)
        self.assertEqual(['uncertain'], [
            row['state'] for row in self.world.in_flight()])

    def test_mark_of_an_unknown_outcome_waited_for_a_lock_again(self):
        """The sender of the request waited for up to 15 seconds."""
        def locked():
            raise db_connection.Locked('lock wait timeout')
        opened = self.admit()
        before = self.world.in_flight()
        self.world.before_next_write(locked)
        admission.mark_uncertain(self.engine, opened)
        self.assertEqual(before, self.world.in_flight())
        self.engine.pending_outcomes.write(self.engine.timer)
        self.assertEqual(['uncertain'], [
            row['state'] for row in self.world.in_flight()])

    def test_answer_after_a_release_brings_nothing_back(self):
        held = self.world.reserve(self.node)
        opened = self.admit(held.uuid)
        release.release(self.engine, held.uuid)
        self.close(opened, True)
        self.assertEqual(({}, []), (self.world.reservations(),
                                    self.world.in_flight()))


@servers.also
class TestTwoRequestsWithOneProof(InFlightTestCase):

    def setUp(self):
        super().setUp()
        self.held = self.world.reserve(self.node, ttl=60)

    def test_one_that_succeeds_decides_and_so_do_both_that_fail(self):
        """Whichever ends first."""
        for first_ends, second_ends, between, after in (
                (False, True, 'starting', 'in_use'),
                (True, False, 'in_use', 'in_use'),
                (False, False, 'starting', 'reserved')):
            (self.node,) = self.world.enrol()
            held = self.world.reserve(self.node, ttl=60)
            requests = self.admit(held.uuid), self.admit(held.uuid)
            for opened, ends, state in zip(
                    reversed(requests) if first_ends == second_ends
                    else requests, (first_ends, second_ends),
                    (between, after), strict=True):
                self.close(opened, ends)
                self.assertEqual(state, self.world.state_of(held))

    def test_retry_that_fails_does_not_settle_one_that_died(self):
        """The process of the first died after Ironic had accepted it.

        The retry is refused by Ironic, which deploys already.
        """
        self.admit(self.held.uuid)
        self.world.ironic.deploy(self.node)
        self.world.clock.advance(TIMEOUT)
        retry = self.admit(self.held.uuid)
        self.close(retry, False)
        self.assertEqual('starting', self.world.state_of(self.held))
        self.world.find_out()
        self.assertEqual('in_use', self.world.state_of(self.held))


@servers.also
class TestUuidOfAnotherNode(InFlightTestCase):
    """The proof was deleted under a request, and its uuid used again."""

    def setUp(self):
        super().setUp()
        self.first = self.admit(self._reserve(ttl=60).uuid)
        release.release(self.engine, self.first.reservation_uuid)
        (self.node,) = self.world.enrol()
        self.again = self._reserve(uuid=self.first.reservation_uuid, ttl=60)
        self.second = self.admit(self.again.uuid)

    def _reserve(self, **known):
        return self.world.reserve(self.node, **known)

    def test_late_answer_leaves_it_as_it_is(self):
        """It was in use, and ended as soon as a poll saw its node free."""
        self.close(self.first, True)
        self.assertEqual('starting', self.world.state_of(self.again))
        self.close(self.second, False)
        self.assertEqual('reserved', self.world.state_of(self.again))
        self.world.refresh()
        self.assertEqual([self.again.uuid], [*self.world.reservations()])

    def test_late_outcome_leaves_it_as_it_is(self):
        self.world.ironic.deploy(self.first.node_uuid)
        self.world.clock.advance(TIMEOUT)
        self.close(self.second, False)
        self.world.find_out()
        self.assertEqual('reserved', self.world.state_of(self.again))

    def test_earlier_request_does_not_keep_it_starting(self):
        self.close(self.second, False)
        self.assertEqual('reserved', self.world.state_of(self.again))


@servers.also
class TestLeftBehind(InFlightTestCase):
    """The process that carried a request died on the way."""

    def setUp(self):
        super().setUp()
        self.held = self.world.reserve(self.node, ttl=10)
        self.admit(self.held.uuid)

    def test_node_is_kept_until_it_is_known_what_became_of_it(self):
        self.assertEqual('starting', self.world.state_of(self.held))
        self.world.clock.advance(TIMEOUT * 100)
        sweep.sweep(self.engine)
        mirror.settle_starting(self.engine)
        self.assertEqual(('starting', 1), (
            self.world.state_of(self.held), len(self.world.in_flight())))
        self.world.find_out()
        self.assertEqual([], self.world.in_flight())

    def test_ironic_had_accepted_it(self):
        """Nothing is settled while it may still be under way."""
        self.world.ironic.deploy(self.node)
        mirror.settle_starting(self.engine)
        self.world.refresh()
        self.assertEqual('starting', self.world.state_of(self.held))
        self.world.find_out()
        self.assertEqual('in_use', self.world.state_of(self.held))

    def test_ironic_never_got_it(self):
        self.world.find_out()
        self.assertEqual('reserved', self.world.state_of(self.held))
        self.assertEqual(self.node, self.world.reserve(self.node).node_uuid)

    def test_node_stays_reserved_until_it_is_settled(self):
        self.world.clock.advance(TIMEOUT * 100)
        self.assertEqual([reasons.RESERVED], self.codes(self.node))
        self.assertRaises(errors.ProofRequired, self.admit)


@servers.also
class TestReads(InFlightTestCase):
    """What becomes of a decision between its look and its commit."""

    def test_proof_released_meanwhile_is_invalid(self):
        held = self.world.reserve(self.node)
        self.world.before_next_write(
            lambda: release.release(self.engine, held.uuid))
        self.assertRaises(errors.ProofInvalid, self.admit, held.uuid)
        self.assertEqual([], self.world.in_flight())

    def test_proof_expired_and_swept_meanwhile_is_invalid(self):
        held = self.world.reserve(self.node, ttl=10)

        def expires():
            self.world.clock.advance(10)
            sweep.sweep(self.engine)
        self.world.before_next_write(expires)
        self.assertRaises(errors.ProofInvalid, self.admit, held.uuid)
        self.assertEqual([], self.world.in_flight())

    def test_node_reserved_meanwhile_wants_its_proof(self):
        self.world.before_next_write(lambda: self.world.reserve(self.node))
        self.assertRaises(errors.ProofRequired, self.admit)
        self.assertEqual([], self.world.in_flight())

    def test_facts_of_nobodys_node_are_filled_in_by_the_next_poll(self):
        (self.node,) = self.world.enrol(mirrored=False,
                                        resource_class='gold')
        self.close(self.admit(), False)
        self.world.refresh()
        self.assertEqual(
            node_condition.AVAILABLE,
            self.world.mirrored()[self.node]['provision_state'])
