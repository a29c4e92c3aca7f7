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

"""Loops: which there are, under which claims, and what each of them does."""

import logging
import pathlib
import sys
import threading
from unittest import mock

import fixtures

import ironic_reservations
from ironic_reservations import errors
from ironic_reservations.features.maintenance import feature as maintenance
from ironic_reservations.features.notices import loops as notices_loops
from ironic_reservations.features.placement import feature as placement
from ironic_reservations.reconciler import claim
from ironic_reservations.reconciler import loop
from ironic_reservations.reconciler import loops
from tests import world

_DOCS = pathlib.Path(ironic_reservations.__file__).parents[1] / 'doc/source'


class TestWhich(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world(
            ironic__claim_ttl=10, guard__claim_ttl=20,
            placement__claim_ttl=40, notices__claim_ttl=50,
            leases__claim_ttl=70, notices__mail_timeout=5)
        engine = self.world.engine
        (windows,) = maintenance.Maintenance().loops(engine)
        (holds,) = placement.Placement().loops(engine)
        self.claimed = {
            'mirror': loops.Reconciler(engine).nodes,
            'outcomes': loops.outcomes(engine, engine.ironic),
            'maintenance': windows,
            'holds': holds,
            'dates': loops.dates(engine),
            'notices': notices_loops.soon(engine),
            'mail': notices_loops.mail(engine)}

    def test_each_claim_has_a_time_to_live_of_its_own(self):
        begun = self.world.clock.now
        for each in self.claimed.values():
            each.claim.holds()
        self.assertEqual({'mirror': 10, 'outcomes': 20, 'maintenance': 10,
                          'holds': 40, 'notices': 50, 'mail': 60,
                          'dates': 70}, {
            name: (row['expires_at'].replace(tzinfo=begun.tzinfo)
                   - begun).total_seconds()
            for name, row in self.world.claims().items()})

    def test_documentation_names_each_with_its_claim(self):
        """An operator reads there what runs, and what a dead process holds.
        """
        text = (_DOCS / 'admin/how-it-works.rst').read_text()
        for name, each in self.claimed.items():
            self.assertIn(f'``{each.name}``', text)
            self.assertIn(f'``{name}``', text)
        self.assertIn('``leases``', text)


class TestLoop(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world()
        self.done = []
        self.now = 1000.0

    def _task(self, name, **kwargs):
        return loop.Task(lambda _: self.done.append(name), **kwargs)

    def _claim(self, owner):
        return claim.Claim(self.world.engine, 'work', 30, owner)

    def _failing(self, error=ZeroDivisionError):
        def fail(_):
            self.done.append('failed')
            raise error
        return fail

    def test_tasks_are_done_in_their_order_when_they_are_due(self):
        made = loop.Loop('work', [self._task('a'), self._task('b', every=60)])
        made.one_pass()
        made.one_pass()
        self.assertEqual(['a', 'b', 'a'], self.done)

    def test_without_the_claim_only_what_needs_none_is_done(self):
        self.assertTrue(self._claim('other').holds())
        loop.Loop('work', [self._task('a'), self._task('b', claimed=False)],
                  self._claim('this')).one_pass()
        self.assertEqual(['b'], self.done)

    def test_claim_that_ends_during_a_task_ends_the_pass(self):
        held = self._claim('this')

        def dawdle(_):
            self.world.clock.advance(30)
            self.assertTrue(self._claim('other').holds())
        loop.Loop('work', [loop.Task(dawdle), self._task('b')],
                  held).one_pass()
        self.assertEqual([], self.done)

    def test_claim_is_kept_while_nothing_is_due(self):
        made = loop.Loop('work', [self._task('a', every=3600)],
                         self._claim('this'))
        for _ in range(5):
            made.one_pass()
            self.world.clock.advance(20)
            self.assertFalse(self._claim('other').holds())

    def test_task_that_fails_is_done_again_at_once_or_after_its_time(self):
        for again, times in ((True, 2), (False, 1)):
            self.done.clear()
            made = loop.Loop('work', [loop.Task(self._failing(), 60,
                                                again=again)])
            for _ in range(2):
                made._run_pass()
            self.assertEqual(['failed'] * times, self.done)

    def test_trouble_is_waited_out_and_quicker_ones_are_not(self):
        for error, pause in ((errors.IronicUnavailable(''),
                              loop._AFTER_FAILURE),
                             (errors.DatabaseUnavailable(''),
                              loop._AFTER_FAILURE),
                             (ZeroDivisionError, loop._AFTER_FAILURE),
                             (errors.Contention(''), loop._TICK)):
            made = loop.Loop('work', [loop.Task(self._failing(error))])
            self.assertEqual(pause, made._run_pass())

    def test_failure_that_stays_the_same_is_logged_once_a_minute(self):
        """Three tasks wrote it each five seconds, twice in each line."""
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        handled = set()
        logging.getLogger().handlers[0].addFilter(
            lambda record: handled.add(sys.exc_info()[0]) or True)
        made = loop.Loop('work', [
            loop.Task(self._failing(errors.IronicUnavailable(text)))
            for text in ('It is down.', 'It is down.', 'It is slow.')])
        for passed, times in ((0, 1), (59, 1), (1, 2), (5, 2)):
            self.now += passed
            with mock.patch.object(made._repeats, '_timer', lambda: self.now):
                made._run_pass()
            self.assertEqual(
                [f'The reconciler waits (work): {text}'
                 for text in ('It is down.', 'It is slow.')] * times,
                log.output.splitlines())
        # oslo.log adds the text of an exception that is being handled.
        self.assertEqual({None}, handled)

    def test_failure_is_logged_although_the_database_is_gone_after_it(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        loop.Loop('work', [
            loop.Task(self._failing(error)) for error in (
                errors.IronicUnavailable('It is down.'),
                errors.DatabaseUnavailable('It is gone.'),
                errors.IronicUnavailable('It was not asked.'))])._run_pass()
        self.assertEqual(
            [f'The reconciler waits (work): {text}'
             for text in ('It is down.', 'It is gone.')],
            log.output.splitlines())

    def test_long_task_is_told_to_end(self):
        begun, ended = threading.Event(), threading.Event()

        def act(continues):
            begun.set()
            while continues():
                pass
            ended.set()
        made = loop.Loop('work', [loop.Task(act), self._task('b')])
        made.start()
        self.addCleanup(made.stop)
        self.assertTrue(begun.wait(60))
        made.stop()
        self.assertTrue(ended.is_set())
        self.assertEqual([], self.done)

    def test_loop_that_is_woken_looks_at_once(self):
        looked = threading.Semaphore(0)
        made = loop.Loop('work', [loop.Task(lambda _: looked.release())])
        with mock.patch.object(loop, '_TICK', 3600):
            made.start()
            self.addCleanup(made.stop)
            for _ in range(3):
                self.assertTrue(looked.acquire(timeout=60))
                made.wake()
