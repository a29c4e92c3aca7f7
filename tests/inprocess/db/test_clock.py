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

"""The database's time, carried on by a process between two looks at it."""

import contextlib
import datetime
import logging
import os
import re
import threading

import fixtures
import sqlalchemy as sa
import testtools

from ironic_reservations import clock
from ironic_reservations import errors
from ironic_reservations.db import clock as db_clock
from ironic_reservations.db import connection
from tests import world

SECOND = datetime.timedelta(seconds=1)
#: SQLite cuts off what is less than that, and a clock may be slewed.
SLIGHTLY = datetime.timedelta(seconds=0.01)


class Timer:
    """Goes on when told."""

    def __init__(self):
        self.ahead = 100.0

    def __call__(self):
        return self.ahead


class Looked(connection.Database):
    """A database that counts how often it is asked for the time."""

    looks = 0
    down = False
    gate: threading.Event | None = None

    def alone(self):
        return self

    @contextlib.contextmanager
    def read(self):
        self.looks += 1
        if self.gate is not None:
            self.gate.wait(300)
        if self.down:
            raise errors.DatabaseUnavailable('It is down.')
        with super().read() as opened:
            yield opened


class TestDatabaseClock(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        folder = self.useFixture(fixtures.TempDir()).path
        self.database = Looked(world.configured(
            f'sqlite:///{folder}/time.sqlite'))
        self.addCleanup(self.database.close)
        self.timer = Timer()

    def clock(self, max_skew=5.0, ahead=0.0):
        """Return the clock of a host that is ahead by so many seconds."""
        return db_clock.DatabaseClock(
            self.database, max_skew, self.timer,
            lambda: clock.utc_now() + ahead * SECOND)

    def looked(self, told):
        told._measuring.join(300)

    def assert_right(self, now, begun, late=0.0):
        """It is a time since then, less what an answer may be late."""
        self.assertGreaterEqual(now, begun - late * SECOND - SLIGHTLY)
        self.assertLessEqual(now, clock.utc_now())

    def test_time_is_that_of_the_database_whatever_the_host_says(self):
        for ahead in (0, 30, -30, 600, -600):
            begun = clock.utc_now()
            told = self.clock(0, ahead)()
            self.assertEqual(datetime.timedelta(0), told.utcoffset())
            self.assert_right(told, begun)

    def test_host_that_is_off_judges_nothing(self):
        for ahead in (30, -30, 600, -600):
            off = self.clock(5, ahead)
            told = self.assertRaises(errors.ClockSkewed, off)
            self.assertEqual((503, 'service.clock_skewed'),
                             (told.status, told.code))
            by = re.search(r'off by (\d+) s', str(told))
            self.assertAlmostEqual(abs(ahead), int(by[1]), delta=10)
            known, silent = off.answered(1, 300)
            self.assertAlmostEqual(ahead, known.skew, delta=10)
            self.assertIsNone(silent)
        self.assertIn('serves no request that depends on the time',
                      self.log.output)

    def test_host_that_is_slightly_off_judges(self):
        begun = clock.utc_now()
        self.assert_right(self.clock(5, 3)(), begun)

    def test_clock_that_is_put_right_judges_again(self):
        ahead = [60.0]
        told = db_clock.DatabaseClock(
            self.database, 5, self.timer,
            lambda: clock.utc_now() + ahead[0] * SECOND)
        self.assertRaises(errors.ClockSkewed, told)
        ahead[0] = 0.0
        self.timer.ahead += db_clock.OLDEST + 1
        told()
        self.assertIn('agrees with', self.log.output)

    def test_time_is_measured_again_by_whoever_asks_later(self):
        told = self.clock()
        for _ in range(100):
            told()
        self.assertEqual(1, self.database.looks)
        self.timer.ahead += db_clock.REFRESH + 1
        told()
        self.looked(told)
        self.assertEqual(2, self.database.looks)

    def test_one_looks_and_the_others_do_not_wait(self):
        told = self.clock()
        told()
        self.timer.ahead += db_clock.REFRESH + 1
        self.database.gate = threading.Event()
        for _ in range(10):
            self.assertGreater(told(), world.NOON)
        self.assertEqual(2, self.database.looks)
        self.database.gate.set()
        self.looked(told)

    def test_time_that_is_too_old_tells_nobody(self):
        """Fail closed: without the database nothing can be promised."""
        told = self.clock()
        told()
        self.database.down = True
        self.timer.ahead += db_clock.OLDEST - 1
        told()
        self.looked(told)
        self.timer.ahead += 2
        self.assertRaises(errors.DatabaseUnavailable, told)
        known, silent = told.answered(1, 300)
        self.assertGreater(silent, db_clock.OLDEST)
        self.database.down = False
        told()
        self.assertIsNone(told.answered(1, 300)[1])

    def test_database_that_was_never_there(self):
        self.database.down = True
        told = self.clock()
        self.assertRaises(errors.DatabaseUnavailable, told)
        self.assertIsNone(told.answered(1, 300)[0])

    def test_database_that_is_down_for_long_is_one_line_a_minute(self):
        """Two lines a second were written."""
        self.database.down = True
        told = self.clock()
        for _ in range(3):
            self.assertRaises(errors.DatabaseUnavailable, told)
            self.looked(told)
            self.timer.ahead += 5
        self.assertEqual(3, self.database.looks)
        self.assertEqual(
            1, self.log.output.count('does not return the time'))

    def test_database_clock_that_moves_is_logged_and_followed(self):
        told = self.clock()
        told()
        # NOTE: as if the database had been set back by that much.
        self.timer.ahead += db_clock.OLDEST + 100
        begun = clock.utc_now()
        self.assert_right(told(), begun)
        self.assertIn('has moved by -1', self.log.output)

    def test_slow_answer_is_asked_for_again(self):
        steps = iter([0.0, 0.5, 0.5, 0.51])

        class Slow(Timer):
            def __call__(self):
                self.ahead = next(steps, 0.51)
                return self.ahead
        told = db_clock.DatabaseClock(self.database, 0, Slow())
        known, _ = told.answered(100, 300)
        self.assertLess(known.error, 0.01)

    def test_answer_that_is_too_slow_tells_nothing(self):
        class Slower(Timer):
            def __call__(self):
                self.ahead += 2
                return self.ahead
        told = db_clock.DatabaseClock(self.database, 0, Slower())
        self.assertIsNone(told.answered(1, 300)[0])
        self.assertIn('too long', self.log.output)

    def test_promise_does_not_end_before_its_time(self):
        """Whether the question or the answer was long on its way."""
        # NOTE: the database's clock does not go on with the timer meanwhile.
        self.useFixture(fixtures.MonkeyPatch(
            'ironic_reservations.db.clock._TRIES', 1))

        def late(*_):
            self.timer.ahead += 0.05

        for way in ('before_cursor_execute', 'after_cursor_execute'):
            sa.event.listen(self.database.engine, way, late)
            told, begun = self.clock(), clock.utc_now()
            told()
            sa.event.remove(self.database.engine, way, late)
            self.assert_right(told(), begun, late=0.05)

    def test_time_that_is_more_exact_is_kept(self):
        """As far as the clocks cannot have drifted since."""
        told = self.clock()
        told._take(100.0, 100.01, 1000.01, 1000.01, 0.0)
        self.assertEqual(900.0, told.known(1e9, 0).offset)
        told._take(110.0, 110.4, 1010.2, 1010.2, 0.0)
        self.assertAlmostEqual(899.995, told.known(1e9, 0).offset, delta=0.001)
        told._take(120.0, 120.01, 1020.1, 1020.1, 0.0)
        self.assertAlmostEqual(900.09, told.known(1e9, 0).offset)
        told._take(130.0, 130.4, 1025.0, 1025.0, 0.0)
        self.assertAlmostEqual(894.6, told.known(1e9, 0).offset)

    def test_error_is_half_of_the_way_and_back(self):
        def late(*_):
            self.timer.ahead += 0.2
        for way in ('before_cursor_execute', 'after_cursor_execute'):
            sa.event.listen(self.database.engine, way, late)
        known, _ = self.clock().answered(100, 300)
        self.assertAlmostEqual(0.2, known.error, delta=0.001)

    def test_child_of_a_server_that_forks_goes_on(self):
        """Even where it was forked in the middle of a look."""
        told = self.clock()
        told()
        self.timer.ahead += db_clock.REFRESH + 1
        self.database.gate = threading.Event()
        told()
        child = os.fork()
        if not child:
            try:
                self.database.gate.set()
                self.timer.ahead += db_clock.OLDEST
                told()
                os._exit(0)
            except BaseException:
                os._exit(1)
        self.assertEqual(0, os.waitpid(child, 0)[1])
        self.database.gate.set()
        self.looked(told)
