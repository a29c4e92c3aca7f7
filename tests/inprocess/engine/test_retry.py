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

"""How long a request is planned again, and what it may say then."""

import itertools
from unittest import mock

import fixtures
import testtools

from ironic_reservations import clock
from ironic_reservations import conf as project_conf
from ironic_reservations import errors
from ironic_reservations.db import connection
from ironic_reservations.engine import hard_requests
from ironic_reservations.engine import retry
from ironic_reservations.planner import budget


def scripted(*outcomes):
    """Return an attempt that comes to these, one after the other."""
    left = iter(outcomes)

    def attempt():
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome
    return attempt


OUTRUN = connection.Conflict('outrun')


class TestUntilCommitted(testtools.TestCase):

    def test_conflict_is_tried_again(self):
        self.assertEqual(1, retry.until_committed(scripted(OUTRUN, 1)))

    def test_conflicts_leave_a_request_the_work_that_it_may_cause(self):
        """Otherwise those that are outrun are refused for want of work."""
        conf = project_conf.load(config_files=[])

        def attempt():
            work = hard_requests.limits().request
            left.append(work.left)
            work.left //= 2
            if len(left) < 4:
                raise OUTRUN
        left = []
        with hard_requests.HardRequests().bounded(conf, 'red'):
            retry.until_committed(attempt)
        self.assertEqual([budget.REQUEST - budget.OFFERS] * 4, left)

    def attempts(self, *outcomes, seconds):
        """Return how many attempts are made that take so long each."""
        tried = itertools.count(1)
        with mock.patch.object(clock, 'elapsed',
                               lambda: seconds * self.made):
            self.made = 0
            script = scripted(*outcomes)

            def attempt():
                self.made = next(tried)
                return script()
            retry.until_committed(attempt)

    def test_locks_are_waited_for_in_seconds(self):
        """Each may have taken as long as a lock is waited for."""
        self.assertRaises(errors.Contention, self.attempts,
                          *[connection.Locked('locked')] * 9, seconds=5)
        self.assertEqual(3, self.made)

    def test_who_is_outrun_for_twenty_seconds_is_served(self):
        """Of 200 clients on a busy machine one lost every race for 17 s."""
        self.attempts(*[OUTRUN] * 40, 1, seconds=0.5)
        self.assertEqual(41, self.made)

    def test_many_quick_races_may_be_lost(self):
        self.attempts(*[OUTRUN] * 60, 1, seconds=0.001)
        self.assertEqual(61, self.made)

    def test_races_end(self):
        """And the log says what was in the way."""
        log = self.useFixture(fixtures.FakeLogger())
        self.assertRaises(errors.Contention, self.attempts,
                          *[OUTRUN] * 90, seconds=0.5)
        self.assertEqual(60, self.made)
        self.assertIn('after 60 attempts in 30.0 s', log.output)
        self.assertIn('outrun', log.output)

    def test_what_is_not_to_be_made_twice_is_not(self):
        self.assertRaises(errors.OutcomeUnknown, retry.until_committed,
                          scripted(errors.OutcomeUnknown(), 1))

    def test_what_can_be_made_twice_is(self):
        self.assertEqual(1, retry.until_committed(
            scripted(errors.OutcomeUnknown(), 1), repeatable=True))

    def test_what_is_found_is_not_made_again(self):
        self.assertEqual(2, retry.until_committed(
            scripted(errors.OutcomeUnknown(), 1), lambda: 2))

    def test_what_turns_up_later_is_found(self):
        """The COMMIT of before may come through while this one is made."""
        look = scripted(None, 2)
        self.assertEqual(2, retry.until_committed(
            scripted(errors.OutcomeUnknown(), OUTRUN), look))

    def test_after_that_only_success_is_certain(self):
        for then in (errors.NoNodeAvailable('none'),
                     errors.DatabaseUnavailable('down'),
                     errors.OutcomeUnknown(), errors.Contention('many')):
            self.assertRaises(
                errors.OutcomeUnknown, retry.until_committed,
                scripted(errors.OutcomeUnknown(), then), lambda: None)

    def test_database_that_cannot_be_asked_leaves_it_open(self):
        self.assertRaises(
            errors.OutcomeUnknown, retry.until_committed,
            scripted(errors.OutcomeUnknown()),
            scripted(errors.DatabaseUnavailable('down')))


class TestCommitted(testtools.TestCase):

    def test_what_fails_behind_a_commit_does_not_undo_it(self):
        for lost in (errors.DatabaseUnavailable('down'),
                     errors.Contention('many')):
            with testtools.ExpectedException(errors.OutcomeUnknown), (
                    retry.committed()):
                raise lost
