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

"""The loop: one process works for all, and another takes over."""

import dataclasses
import subprocess
import sys
import time
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.db import claims
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import uncertain
from ironic_reservations.reconciler import loops
from tests import servers
from tests import world


@servers.also
class TestLoop(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world(ironic__claim_ttl=30)
        self.one = loops.Reconciler(self.world.engine)
        self.other = loops.Reconciler(self.world.engine)
        self.outcomes = uncertain.Uncertain(self.world.engine,
                                            self.world.ironic)

    def _questions(self, working):
        self.world.ironic.asked.clear()
        working.nodes.one_pass()
        return list(self.world.ironic.asked)

    def test_first_pass_reads_everything(self):
        (node,) = self.world.enrol(mirrored=False)
        self.one.nodes.one_pass()
        self.assertIn(node, self.world.mirrored())

    def test_what_is_not_due_is_not_done_again(self):
        self.one.nodes.one_pass()
        self.assertEqual([], self._questions(self.one))

    def test_other_takes_over_when_the_first_is_silent(self):
        self.one.nodes.one_pass()
        self.world.clock.advance(29)
        self.assertEqual([], self._questions(self.other))
        self.world.clock.advance(1)
        self.assertIn('nodes', self._questions(self.other))
        self.assertEqual([], self._questions(self.one))

    def test_working_loop_keeps_its_claim(self):
        for _ in range(5):
            self.one.nodes.one_pass()
            self.world.clock.advance(20)
            self.assertEqual([], self._questions(self.other))

    def test_loop_that_stops_hands_over_at_once(self):
        self.one.start()
        self._wait_for(lambda: 'mirror' in self.world.claims())
        self.one.stop()
        self.assertEqual({}, self.world.claims())
        self.assertIn('nodes', self._questions(self.other))

    def test_claim_of_another_is_not_given_back(self):
        self.other.nodes.one_pass()
        held = self.world.claims()
        self.one.nodes.end()
        self.one.nodes.run()
        self.assertEqual(held, self.world.claims())

    def test_full_poll_that_failed_is_tried_again_at_the_next_pass(self):
        (node,) = self.world.enrol(mirrored=False)
        self.world.ironic.down = True
        self.assertRaises(errors.IronicUnavailable, self.one.nodes.one_pass)
        self.world.ironic.down = False
        self.one.nodes.one_pass()
        self.assertIn(node, self.world.mirrored())
        self.assertEqual(2, self.world.ironic.asked.count('nodes'))

    def test_loop_without_an_ironic_sweeps(self):
        (node,) = self.world.enrol()
        self.world.reserve(node, ttl=10)
        self.world.clock.advance(10)
        loops.Reconciler(dataclasses.replace(
            self.world.engine, ironic=None)).nodes.one_pass()
        self.assertEqual({}, self.world.reservations())

    def test_in_flight_request_left_behind_is_settled_by_the_loop(self):
        (node,) = self.world.enrol()
        held = self.world.reserve(node)
        admission.admit(self.world.engine, node, held.uuid)
        self.world.ironic.deploy(node)
        self.world.clock.advance(180)
        self.one.nodes.one_pass()
        self.outcomes.settle_overdue()
        self.assertEqual('starting', self.world.state_of(held))
        self.world.clock.advance(10)
        self.outcomes.settle_overdue()
        self.assertEqual('in_use', self.world.state_of(held))

    def test_poked_node_is_read_even_by_one_without_the_claim(self):
        (node,) = self.world.enrol()
        self.one.nodes.one_pass()
        self.world.ironic.change(node, resource_class='gold')
        self.other.request_refresh(node)
        self.other.request_refresh(node)
        self.assertEqual(['node'], self._questions(self.other))
        self.assertEqual('gold',
                         self.world.mirrored()[node]['resource_class'])

    def test_task_that_always_fails_starves_no_other(self):
        """A row that could not be purged kept all nodes from being read."""
        (node,) = self.world.enrol(mirrored=False)
        failing = mock.Mock(side_effect=ZeroDivisionError)
        with (mock.patch('ironic_reservations.engine.sweep.sweep', failing),
              mock.patch('ironic_reservations.engine.mirror.refresh_all',
                         mock.Mock(side_effect=errors.IronicUnavailable(
                             'A page of the list takes too long.')))):
            self.assertRaises(errors.IronicUnavailable,
                              self.one.nodes.one_pass)
            self.assertRaises(errors.IronicUnavailable,
                              self.one.nodes.one_pass)
        self.assertEqual(2, failing.call_count)
        self.assertIn(node, self.world.mirrored())

    def test_feature_that_always_fails_starves_no_other(self):
        """Usage that could not be recorded kept leases from being checked."""
        failing = mock.Mock(side_effect=ZeroDivisionError)
        checked, cleaned = mock.Mock(), mock.Mock()
        features = 'ironic_reservations.features.'
        with (mock.patch(features + 'usage.feature.Usage.follow_nodes',
                         failing),
              mock.patch('ironic_reservations.engine.outbox.clean_up.clean_up',
                         failing),
              mock.patch(features + 'maintenance.feature.Maintenance.clean_up',
                         cleaned),
              mock.patch('ironic_reservations.engine.lease_cycle.health.check',
                         checked)):
            nodes = loops.Reconciler(self.world.engine).nodes
            self.assertRaises(ZeroDivisionError, nodes.one_pass)
        self.assertEqual((2, 1, 1), (failing.call_count, cleaned.call_count,
                                     checked.call_count))

    def _wait_for(self, what):
        until = time.monotonic() + 60
        while not what():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)


@servers.also
class TestClaims(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world()

    def _take(self, owner, seconds=0):
        self.world.clock.now = world.NOON
        self.world.clock.advance(seconds)
        now = self.world.clock.now
        self.world.clock.advance(30)
        with self.world.engine.database.write() as connection:
            return claims.take(connection, 'work', owner, now,
                               self.world.clock.now)

    def test_one_owner_at_a_time(self):
        self.assertEqual([True, False, True, False, True, False], [
            self._take('a'), self._take('b', 1), self._take('a', 29),
            self._take('b', 58), self._take('b', 59), self._take('a', 60)])

    def test_only_the_owner_gives_it_back(self):
        self._take('a')
        for owner, there in (('b', {'work': 'a'}), ('a', {})):
            with self.world.engine.database.write() as connection:
                claims.drop(connection, 'work', owner)
            self.assertEqual(there, {name: row['owner'] for name, row
                                     in self.world.claims().items()})


_FORKS = '''
import os, sys, time
from tests import world
from ironic_reservations.reconciler import loops
fixture = world.World()
fixture.setUp()
first = loops.start(fixture.engine)
assert loops.start(fixture.engine) is first
child = os.fork()
if not child:
    # Not before it serves: most children of a process run another program.
    quiet = not first.nodes.alive and loops.current() is first
    second = loops.start(fixture.engine)
    alive = quiet and second is not first and second.nodes.alive
    os._exit(0 if alive else 1)
status = os.waitpid(child, 0)[1]
first.stop()
fixture.cleanUp()
sys.exit(os.waitstatus_to_exitcode(status))
'''


class TestForks(world.TestCase):

    def test_child_of_a_server_that_forks_has_a_loop_of_its_own(self):
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _FORKS],
            capture_output=True, text=True, timeout=240)
        self.assertEqual(0, done.returncode, done.stderr)
