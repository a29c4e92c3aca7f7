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

"""Rows that many want: who waits, and who is turned away."""

import contextlib
import threading
from unittest import mock

import testtools

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.db import row_queue


class TestTurn(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.stack = self.enterContext(contextlib.ExitStack())
        self.rows = [self.id() + each for each in 'ab']
        self.ahead = 0.0
        self.enterContext(mock.patch.object(
            clock, 'elapsed', lambda: self.ahead))

    def fill(self, *rows):
        for _ in range(row_queue.MOST):
            self.stack.enter_context(row_queue.turn(rows or self.rows[:1]))

    def refused(self, rows):
        """Return how one was told who waited until its time was up."""
        def wait(condition, timeout):
            self.ahead += timeout
        with mock.patch.object(threading.Condition, 'wait', wait):
            return self.assertRaises(errors.Contention,
                                     row_queue.turn(rows).__enter__)

    def test_so_many_wait_for_a_row_and_no_more(self):
        self.fill()
        told = self.refused(self.rows[:1])
        self.assertEqual(1.0, self.ahead)
        self.assertEqual((503, 1), (told.status, told.retry_after))

    def test_row_that_is_not_to_be_had_turns_others_away_at_once(self):
        self.fill()
        self.ahead = 2.0
        with mock.patch.object(threading.Condition, 'wait') as waited:
            self.assertRaises(errors.Contention,
                              row_queue.turn(self.rows[:1]).__enter__)
        self.assertFalse(waited.called)

    def test_another_row_is_free(self):
        self.fill()
        with row_queue.turn(self.rows[1:]):
            pass

    def test_who_wants_several_waits_for_each(self):
        self.fill()
        self.refused(self.rows)
        with row_queue.turn(self.rows[1:]):
            pass

    def test_turn_that_ends_is_somebody_elses(self):
        self.fill()
        let_in = threading.Event()

        def wait():
            with row_queue.turn(self.rows[:1]):
                let_in.set()
        other = threading.Thread(target=wait)
        other.start()
        self.stack.close()
        other.join(300)
        self.assertTrue(let_in.is_set())

    def pass_on(self, times):
        """Let others get the row, and yet others wait for it meanwhile."""
        left = iter(range(times))

        def wait(condition, timeout):
            self.ahead += 0.6
            self.stack.pop_all().close()
            if next(left, None) is not None:
                self.fill()
        self.enterContext(mock.patch.object(threading.Condition, 'wait',
                                            wait))

    def test_who_waits_behind_others_that_get_it_waits_on(self):
        """Eight at once on a busy machine: one was told to try again."""
        self.fill()
        self.pass_on(5)
        with row_queue.turn(self.rows[:1]):
            self.assertGreater(self.ahead, 3.0)

    def test_who_waits_behind_others_does_not_wait_for_ever(self):
        self.fill()
        self.pass_on(1000)
        self.assertRaises(errors.Contention,
                          row_queue.turn(self.rows[:1]).__enter__)
        self.assertGreater(self.ahead, 9.0)
        self.assertLess(self.ahead, 12.0)

    def test_crowd_does_not_take_all_threads_along(self):
        self.fill()
        self.enterContext(
            mock.patch.object(row_queue, '_MANY', row_queue.MOST))
        self.pass_on(1000)
        self.assertRaises(errors.Contention,
                          row_queue.turn(self.rows[:1]).__enter__)
        self.assertLess(self.ahead, 2.0)

    def test_lock_that_could_not_be_had_is_nobodys_turn(self):
        """Each of a dead host's waiters ends with an error of its own."""
        turns = [row_queue.turn(self.rows[:1]) for _ in range(row_queue.MOST)]
        for each in turns:
            each.__enter__()
        self.ahead = 2.0
        fails = ZeroDivisionError()
        with contextlib.suppress(ZeroDivisionError):
            turns.pop().__exit__(type(fails), fails, None)
        self.stack.enter_context(row_queue.turn(self.rows[:1]))
        self.assertRaises(errors.Contention,
                          row_queue.turn(self.rows[:1]).__enter__)
        for each in turns:
            self.stack.push(each.__exit__)

    def test_nothing_is_kept_of_rows_that_nobody_waits_for(self):
        before = dict(row_queue._waiting)
        with contextlib.suppress(ZeroDivisionError), row_queue.turn(self.rows):
            raise ZeroDivisionError
        self.assertEqual(before, row_queue._waiting)
