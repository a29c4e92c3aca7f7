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

"""A process that lives lets go of leases, whatever it was lost in."""

import threading
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.db import leases as db_leases
from ironic_reservations.engine import retry
from ironic_reservations.engine.lease_cycle import claims as lease_claims
from ironic_reservations.engine.lease_cycle import sync as lease_sync
from tests import leasing
from tests import row_waits
from tests import servers
from tests.inprocess.reconciler import leases

ACTIVE = leases.STATUS.ACTIVE


@servers.also
class TestLostConnection(leases.TestCase):
    """Whoever lives lets go of its claims, whatever it was lost in."""

    options = {'leases__claim_ttl': 60}

    def setUp(self):
        super().setUp()
        self.leasing.hosts(2)
        self.made = self.leasing.create(1, 4, leasing.wish(2))
        self.at(1)

    def claimed_by(self):
        return self.row(self.made)['claimed_by']

    def _starts_in(self, seconds):
        waited = 0
        while self.lease(self.made).status is not ACTIVE and waited < 60:
            self.world.clock.advance(3)
            waited += 3
            self.work()
        self.assert_status(ACTIVE, self.made)
        self.assertLessEqual(waited, seconds)

    def test_error_that_nobody_expects_delays_no_start_by_a_claim(self):
        """And one that is always met is met less and less often."""
        failures = []

        def fail(*_):
            failures.append(self.world.clock.elapsed())
            raise KeyError('an odd answer')
        with mock.patch.object(lease_sync, 'sync', fail):
            for _ in range(60):
                self.work()
                self.world.clock.advance(1)
        self.assertTrue(2 < len(failures) < 10, failures)
        self.world.clock.advance(60)
        with mock.patch.object(lease_sync, 'sync'):
            self.work()
        self.world.clock.advance(60)
        with mock.patch.object(lease_sync, 'sync', side_effect=KeyError):
            self.work()
        self._starts_in(3)

    def test_leases_cannot_be_read_after_they_were_taken(self):
        with mock.patch.object(
                db_leases, 'read',
                side_effect=errors.DatabaseUnavailable('down')):
            self.assertRaises(errors.DatabaseUnavailable, self.work)
        self._starts_in(3)

    def test_nobody_knows_what_became_of_the_commit_that_took_them(self):
        self.world.lose_next_write(after=True)
        self.assertRaises(errors.OutcomeUnknown, self.work)
        self.assertIsNotNone(self.claimed_by())
        self._starts_in(3)

    def test_what_was_not_taken_is_not_let_go_of_for_another_process(self):
        self.world.lose_next_write(after=False)
        self.assertRaises(errors.DatabaseUnavailable, self.work)
        with mock.patch.object(lease_sync, 'sync'):
            self.work(self.another_crew())
        taken = self.claimed_by()
        self.assertIsNotNone(taken)
        self.world.clock.advance(3)
        self.work()
        self.assertEqual(taken, self.claimed_by())

    def test_nobody_knows_what_became_of_the_commit_that_extended_it(self):
        """It ends earlier for who has it than it does in the database."""
        real = self.ironic.write_lessee

        def write_lessee(uuid, lessee, ticket=None):
            real(uuid, lessee)
            if len(self.ironic.changed) == 1:
                self.world.clock.advance(25)
                self.world.lose_next_write(after=True)
                self.assertRaises(errors.OutcomeUnknown, self.crew.extend)
                self.world.clock.advance(25)
        self.ironic.write_lessee = write_lessee
        self.work()
        self.assertEqual(1, len(self.ironic.changed))
        self.assertIsNotNone(self.claimed_by())
        self._starts_in(3)

    def test_process_that_is_stopped_right_after(self):
        self.world.before_next_write(
            lambda: self.world.lose_next_write(after=False))
        self.work()
        self.assertIsNotNone(self.claimed_by())
        self.crew.stop()
        self.assertIsNone(self.claimed_by())

    def test_process_that_is_stopped_when_nothing_is_begun(self):
        with mock.patch.object(threading.Thread, 'start'):
            self.crew._fill()
        self.crew._workers.clear()
        self.world.lose_next_write(after=False)
        self.crew.stop()
        self.assertIsNone(self.claimed_by())

    def test_what_cannot_be_let_go_of_does_not_add_up(self):
        """The claims have long ended by themselves."""
        for _ in range(50):
            self.world.lose_next_write(after=False)
            self.assertRaises(errors.DatabaseUnavailable, self.crew._take, 9)
            self.world.lose_next_write(after=False)
            self.crew._release(at_once=True)
            self.world.clock.advance(5)
        self.assertLessEqual(len(self.crew._unfinished), 60 / 5 + 1)

    def test_commit_that_takes_them_is_slow(self):
        """It comes to its end after its process has lost its connection."""
        now = self.world.clock()
        engine = self.world.another_engine()
        taken = lease_claims.Taken(self.made.id, 'slow')
        # NOTE: again, as the loop does, if it has waited for too long.
        dropping = threading.Thread(
            target=lambda: retry.until_committed(
                lambda: lease_claims.drop(engine, [taken])), daemon=True)
        with self.engine.database.write() as connection:
            db_lease_work.take(connection, [self.made.id], 'slow', now,
                               leasing.at(2))
            waits = row_waits.begun(engine.database)
            dropping.start()
            self.assertTrue(waits.wait(300))
        dropping.join()
        self.assertIsNone(self.claimed_by())
