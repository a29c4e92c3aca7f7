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

"""What windows write to nodes in Ironic, and take back."""

import contextlib
import logging
from unittest import mock

import fixtures
import testscenarios

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import tickets
from ironic_reservations.engine.in_flight import uncertain
from ironic_reservations.engine.lease_cycle import health
from ironic_reservations.features.maintenance import find
from ironic_reservations.features.maintenance import rows
from ironic_reservations.features.maintenance import waits
from ironic_reservations.guard import inward
from ironic_reservations.lifecycle import admit
from ironic_reservations.model import node_window
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.reconciler import windows

State = node_window.State


class Killed(BaseException):
    """The process dies."""


@servers.also
class TestWindow(windows.KeepTestCase):
    """From its start to its end."""

    def test_node_is_in_maintenance_while_it_lasts(self) -> None:
        """For its reason; later leases stay where they are, unflagged."""
        made = self.book(1, 2, self.node)
        lease = self.leasing.create(3, 4)
        self.assert_kept((False, None))
        self.assert_shown_at(1, self.told(made))
        self.assertIs(State.ACTIVE, self.state(made))
        self.assertIs(State.ACTIVE, find.get(self.engine,
                                             made.window.id).state)
        self.assert_flagged(lease, False)
        # One more can be had after it, and none in it.
        self.leasing.create(4, 5)
        self.leasing.refused(None, 2)
        self.assertEqual({}, self.leasing.stale())
        self.assert_shown_at(2, (False, None))
        self.assertIs(State.OVER, self.state(made))
        self.assert_flagged(lease, False)
        self.assertEqual([], self.world.in_flight())
        self.assertEqual(2, len(self.small.done))
        self.work_at(3)
        self.assert_active(lease)

    def test_nothing_is_sent_twice(self) -> None:
        """A pass that finds all as it should be asks for nothing."""
        self.book(1, 2, self.node)
        self.at(1)
        for _ in range(3):
            self.keep()
        self.assertEqual(['PUT'], [method for method, _ in self.small.done])

    def test_somebody_takes_it_out_of_maintenance(self) -> None:
        """The next pass puts it back."""
        made = self.begun()
        self.ironic.change(self.node, maintenance=False)
        self.assert_kept(self.told(made))

    def test_maintenance_of_others_stays(self) -> None:
        """Whether it was there before, or came in between."""
        made = self.book(1, 2, self.node)
        self.maintain('broken fan')
        self.keep_at(1)
        self.assertIs(State.FOREIGN, self.state(made))
        self.assert_shown_at(2, (True, 'broken fan'))
        self.assertIs(State.OVER, self.state(made))
        self.world.change(self.node, maintenance=False)
        again = self.book(3, 4, self.node)
        self.keep_at(3)
        self.ironic.why[self.node] = 'broken fan'
        self.keep()
        self.assertIs(State.FOREIGN, self.state(again))
        self.assert_shown_at(4, (True, 'broken fan'))

    def test_others_take_theirs_back(self) -> None:
        """Then the window has the node for what is left of it."""
        made = self.book(1, 3, self.node)
        self.ironic.change(self.node, maintenance=True)
        self.keep_at(1)
        self.assertIs(State.FOREIGN, self.state(made))
        self.ironic.change(self.node, maintenance=False)
        self.keep()
        self.assertIs(State.PLANNED, self.state(made))
        self.assert_kept(self.told(made))
        self.assert_shown_at(3, (False, None))

    def test_next_window_waits_for_the_end_of_the_one_before(self) -> None:
        """However often Ironic refuses that: no reason of ours is foreign."""
        before = self.book(1, 2, self.node)
        after = self.book(2, 4, self.node)
        self.keep_at(1)
        self.at(2)
        for _ in range(2):
            self.small.answers['DELETE'] = [409]
            self.assert_kept(self.told(before))
            self.assertIs(State.PLANNED, self.state(after))
        self.keep()
        self.assertIs(State.OVER, self.state(before))
        self.assertEqual(self.told(after), self.shown())
        self.assert_shown_at(4, (False, None))

    def test_reason_of_a_window_that_is_over_is_foreign(self) -> None:
        """Somebody else has written it again."""
        before = self.begun()
        self.keep_at(2)
        made = self.book(3, 4, self.node)
        self.maintain(self.told(before)[1])
        self.keep_at(3)
        self.assertIs(State.FOREIGN, self.state(made))
        self.assert_shown_at(4, self.told(before))

    def test_reason_changed_right_before_the_end(self) -> None:
        """It is looked at when the end has come."""
        self.begun()
        self.at(2)
        self.ironic.why[self.node] = 'broken fan'
        self.assert_kept((True, 'broken fan'))

    def test_running_window_is_ended(self) -> None:
        """And the node is taken out of maintenance."""
        made = self.begun(9)
        find.end(self.engine, made.window.id)
        self.assert_kept((False, None))
        self.assertIs(State.OVER, self.state(made))
        self.leasing.create(None, 9)

    def test_ends_when_nobody_was_there(self) -> None:
        """A window that no process has seen begins no more."""
        made = self.book(1, 2, self.node)
        self.keep_at(3)
        self.assertIs(State.OVER, self.state(made))
        self.assertEqual([], self.small.done)

    def test_late_end_keeps_the_node(self) -> None:
        """Until it is out of maintenance, it is nobody else's."""
        self.book(1, 2, self.node)
        lease = self.leasing.create(2, 4)
        self.keep_at(1)
        self.leasing.refresh()
        self.work_at(2)
        self.assertEqual('STARTING', self.lease(lease).status.value)
        self.assertIn('out of maintenance', self.lease(lease).waiting)
        self.assertFalse(self.lease(lease).degraded)
        self.leasing.refused(None, 2.5)
        self.keep()
        self.soon()
        self.assert_active(lease)
        self.assertFalse(self.lease(lease).degraded)

    def test_lease_that_waits_for_a_late_end_pauses(self) -> None:
        """The end of the window is over, so it is no date to wake up at."""
        self.book(1, 2, self.node)
        lease = self.leasing.create(2, 4)
        self.keep_at(1)
        self.leasing.refresh()
        for _ in range(2):
            self.work_at(2)
            self.assertGreater(self.due(lease), self.world.clock())

    def test_drain_waits_for_who_has_the_node(self) -> None:
        """Also for what nobody knew of when it was booked."""
        made = self.book(1, 3, self.node, drain=True)
        self.ironic.deploy(self.node, world.new_uuid())
        self.leasing.refresh()
        self.keep_at(1)
        self.assertIs(State.PLANNED, self.state(made))
        self.becomes('cleaning')
        self.assertIs(State.PLANNED, self.state(made))
        self.becomes('available')
        self.assertEqual(self.told(made), self.shown())

    def test_node_that_ironic_works_on_is_waited_for(self) -> None:
        """Maintenance would leave it broken; but not for ever."""
        for state, length, most in (
                ('clean wait', 4, 1), ('deploying', 1, 0.5),
                ('wait call-back', 4, 1), ('inspecting', 4, 1)):
            with self.subTest(state=state):
                self.begin_with_a_node()
                made = self.book(1, 1 + length, self.node)
                self.ironic.change(self.node, provision_state=state)
                self.assert_shown_at(1, (False, None))
                self.assertIs(State.PLANNED, self.state(made))
                self.keep_at(1 + most)
                self.assertEqual(self.told(made), self.shown())

    def test_node_is_maintained_when_it_is_clean(self) -> None:
        """Also without drain."""
        made = self.book(1, 4, self.node)
        self.ironic.change(self.node, provision_state='cleaning')
        self.keep_at(1)
        self.ironic.change(self.node, provision_state='available')
        self.assert_kept(self.told(made))

    def test_nobody_new_uses_the_node(self) -> None:
        """From the start, whether or not it shows, until it is over."""
        self.book(1, 2, self.node)
        admission.close(self.engine, admission.admit(self.engine, self.node),
                      False)
        self.at(1)
        for _ in range(2):
            exc = self.assertRaises(errors.NodeInMaintenance, admission.admit,
                                    self.engine, self.node)
            self.assertEqual((403, leasing.at(2).isoformat()),
                             (exc.status, exc.details['until']))
            admission.close(self.engine, admission.admit(
                self.engine, self.node, act=admit.Act.TAKE), False)
            self.keep()
        self.at(2)
        exc = self.assertRaises(errors.NodeInMaintenance, admission.admit,
                                self.engine, self.node)
        self.assertIn('is over', str(exc))
        self.keep()
        admission.close(self.engine, admission.admit(self.engine, self.node),
                      False)

    def waits(self, made):
        """Return for whom, and until when, the window waits."""
        found = waits.read(self.engine, find.get(self.engine, made.window.id))
        with self.engine.database.read() as connection:
            late = rows.count_late(connection, self.world.clock())
        self.assertEqual(len(found), late)
        for wait in found.values():
            self.assertEqual(leasing.at(1), wait.since)
        return {uuid: (wait.reason, wait.until)
                for uuid, wait in found.items()}

    def test_it_shows_who_is_waited_for(self) -> None:
        """And since when, and until when where that is known."""
        made = self.book(1, 3, self.node, drain=True)
        self.assertEqual({}, self.waits(made))
        self.ironic.deploy(self.node, world.new_uuid())
        self.leasing.refresh()
        self.keep_at(1)
        self.assertEqual(
            {self.node: ('The node has an instance, whose end is not known.',
                         None)}, self.waits(made))
        self.becomes('cleaning')
        self.assertEqual({self.node: ('Ironic has the node in cleaning.',
                                      None)}, self.waits(made))
        self.becomes('available')
        self.assertEqual({}, self.waits(made))

    def test_it_shows_which_lease_is_waited_for(self) -> None:
        """One whose node is not given back in time."""
        lease = self.leasing.create(None, 1)
        self.work()
        made = self.book(1, 3, self.node, drain=True)
        self.at(1)
        ((reason, until),) = self.waits(made).values()
        self.assertIn(f'The lease {lease.id} ("from None to 1")', reason)
        self.assertLess(leasing.at(1), until)
        self.at(3)
        self.assertEqual({}, self.waits(made))

    def test_drain_that_never_came_to_an_end(self) -> None:
        """The log tells which node has not been in maintenance."""
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        made = self.book(1, 2, self.node, drain=True)
        done = self.book(3, 4, self.node)
        self.ironic.deploy(self.node, world.new_uuid())
        self.leasing.refresh()
        self.keep_at(1)
        self.assertNotIn(made.window.id, log.output)
        self.at(2)
        for _ in range(2):
            self.keep()
        self.assertIs(State.OVER, self.state(made))
        self.assertEqual((False, None), self.shown())
        (line,) = [line for line in log.output.splitlines()
                   if made.window.id in line]
        self.assertIn(self.node, line)
        for hour in (3, 4):
            self.keep_at(hour)
        self.assertIs(State.OVER, self.state(done))
        self.assertNotIn(done.window.id, log.output)

    def test_forced_window_has_a_leased_node(self) -> None:
        """Which its lease shows, until it is over."""
        lease = self.leasing.create(None, 4)
        self.work()
        made = self.book(1, 2, self.node, force=True)
        self.assert_shown_at(1, self.told(made))
        self.assert_flagged(lease, True)
        self.keep_at(2)
        self.assert_flagged(lease, False)

    def test_lease_does_not_start_in_a_window_that_was_forced_over_it(self):
        """It stays flagged when its start has come, until it has its node."""
        lease = self.leasing.create(1, 4)
        self.book(0.5, 2, self.node, force=True)
        self.assert_flagged(lease, True)
        # NOTE: whoever writes to Ironic is late.
        self.at(1)
        self.assert_flagged(lease, True)
        self.work()
        self.assertIsNone(self.ironic.there[self.node].lessee)
        self.assert_flagged(lease, True)
        self.work_at(2)
        self.watch()
        self.assertEqual(leasing.PROJECT, self.ironic.there[self.node].lessee)
        self.assertFalse(self.lease(lease).degraded)

    def test_lease_that_starts_before_a_forced_window_stays_flagged(self):
        """It was shown as whole until the window took its node."""
        lease = self.leasing.create(1, 4)
        made = self.book(2, 3, self.node, force=True)
        self.watch()
        self.work_at(1)
        started = self.lease(lease)
        self.assertEqual(('ACTIVE', True),
                         (started.status.value, started.degraded))
        self.assertEqual(leasing.PROJECT, self.ironic.there[self.node].lessee)
        self.watch()
        started = self.lease(lease)
        self.assertTrue(started.degraded)
        self.assertIn('is booked for maintenance from',
                      health.reasons(self.engine, [started])[started.id])
        self.assert_shown_at(2, self.told(made))
        self.assert_flagged(lease, True)
        self.keep_at(3)
        self.assert_flagged(lease, False)

    def test_lease_that_has_started_is_flagged_when_its_window_is_forced(self):
        """It was whole until the window began, and its owner unprepared."""
        lease = self.leasing.create(None, 4)
        self.work()
        made = self.book(1, 2, self.node, force=True)
        self.assert_flagged(lease, True)
        find.end(self.engine, made.window.id)
        self.assert_flagged(lease, False)

    def test_drained_window_does_not_wait_for_a_lease_that_waits_for_it(self):
        """Each waited for the other until the window was over."""
        for start in (0.5, 1, 1.5):
            with self.subTest(start=start):
                self.begin_with_a_node()
                lease = self.leasing.create(start, 4)
                made = self.book(0.5, 2, self.node, drain=True, force=True)
                self.work_at(max(start, 1))
                self.assertIsNone(self.ironic.there[self.node].lessee)
                self.assert_kept(self.told(made))
                self.assertEqual({}, waits.read(self.engine, find.get(
                    self.engine, made.window.id)))
                self.at(2)
                self.keep()
                self.work()
                self.assertEqual(leasing.PROJECT,
                                 self.ironic.there[self.node].lessee)
                self.assert_active(lease)

    def test_node_is_gone(self) -> None:
        """Nothing is left to be done."""
        made = self.book(1, 2, self.node)
        self.at(1)
        self.ironic.remove(self.node)
        self.keep()
        self.keep_at(2)
        self.assertIs(State.OVER, self.state(made))

    def test_ironic_shows_no_node_for_a_while(self) -> None:
        """Nothing is taken for somebody else's, or for over."""
        made = self.book(1, 3, self.node)
        self.at(1)
        there = self.ironic.there[self.node]
        self.ironic.remove(self.node)
        self.keep()
        self.assertIs(State.PLANNED, self.state(made))
        self.ironic.put(there)
        self.assert_kept(self.told(made))
        self.at(3)
        there = self.ironic.there[self.node]
        self.ironic.remove(self.node)
        self.keep()
        self.assertIs(State.ACTIVE, self.state(made))
        self.ironic.put(there)
        self.assert_kept((False, None))
        self.assertIs(State.OVER, self.state(made))

    def test_node_is_deleted_while_it_is_in_maintenance(self) -> None:
        """When the mirror has found out, its window is over."""
        made = self.begun()
        self.leasing.hosts()
        self.ironic.remove(self.node)
        self.leasing.refresh()
        self.keep_at(2)
        self.assertIs(State.OVER, self.state(made))


class TestOperatorComesFirst(testscenarios.WithScenarios,
                             windows.KeepTestCase):
    """Somebody puts the node in maintenance when we have looked."""

    OURS = 'dead DIMM, do not use'
    scenarios = [(first, {'first': first}) for first in (
        'before_the_ticket', 'on_the_way', 'in_the_gate')]

    def operator(self):
        """Put the node in maintenance for another reason."""
        self.maintain(self.OURS)

    def before_the_ticket(self):
        """Have an operator be first, before the ticket is written."""
        write = tickets.write

        def stalled(*args):
            self.operator()
            return write(*args)
        return mock.patch.object(tickets, 'write', stalled)

    def on_the_way(self):
        """Have an operator be first, before the request arrives."""
        send = self.transport.send

        def stalled(method, *args, **kwargs):
            if method != 'GET':
                self.operator()
            return send(method, *args, **kwargs)
        return mock.patch.object(self.transport, 'send', stalled)

    def in_the_gate(self):
        """Have the API stand still between its look and the change."""
        call = inward.call

        def stalled(app, request):
            answer = call(app, request)
            self.operator()
            self.world.clock.advance(6)
            return answer
        return mock.patch.object(inward, 'call', stalled)

    def operator_is_first(self):
        """Have a process do what there is to do, as far as it comes."""
        with getattr(self, self.first)(), contextlib.suppress(
                errors.IronicUnavailable):
            self.assert_kept((True, self.OURS))
        self.keep()

    def assert_over(self, made, *done):
        """Check that the window is over, and the reason as it was."""
        self.assertIs(State.OVER, self.state(made))
        self.assertEqual((True, self.OURS), self.shown())
        self.assertEqual([*done], [method for method, _ in self.small.done])
        self.assertEqual([], self.world.in_flight())

    def test_reason_is_not_written_over(self) -> None:
        """And stays when the window is over."""
        made = self.book(1, 2, self.node)
        self.at(1)
        self.operator_is_first()
        self.assertIs(State.FOREIGN, self.state(made))
        self.keep_at(2)
        self.assert_over(made)

    def test_reason_is_not_cleared(self) -> None:
        """At the end of the window."""
        made = self.begun()
        self.at(2)
        self.operator_is_first()
        self.assert_over(made, 'PUT')


@servers.also_postgresql
class TestTrouble(windows.KeepTestCase):
    """Processes that die, and requests that come late."""

    def test_killed_anywhere(self) -> None:
        """The next pass does what is left, and the end takes it back."""
        for step in range(16):
            with self.subTest(step=step):
                self.begin_with_a_node()
                made = self.book(1, 9, self.node)
                self.at(1)
                self.dies_at(step)
                self.until(self.told(made))
                self.at(9)
                self.dies_at(step)
                self.until((False, None))
                self.assertIs(State.OVER, self.state(made))
                self.assertEqual([], self.world.in_flight())

    def dies_at(self, step):
        """Have a process die before some statement or request."""
        left = [step]
        write = type(self.engine.database).write
        send = self.transport.send

        def dies(act):
            def once(*args, **kwargs):
                if not left[0]:
                    raise Killed
                left[0] -= 1
                return act(*args, **kwargs)
            return once
        with mock.patch.object(type(self.engine.database), 'write',
                               dies(write)), \
                mock.patch.object(self.transport, 'send', dies(send)), \
                mock.patch.object(tickets, '_void', lambda *args: False):
            with contextlib.suppress(Killed):
                self.keep()

    def until(self, shown):
        """Have others work until Ironic shows something."""
        outcomes = uncertain.Uncertain(self.engine, self.ironic)
        for _ in range(6):
            outcomes.settle_overdue()
            self.keep()
            self.world.clock.advance(600)
        self.assertEqual(shown, self.shown())

    def test_late_request_does_nothing(self) -> None:
        """One that a balancer delivers when the window is over."""
        made = self.book(1, 2, self.node)
        self.at(1)
        self.balancer.holding = True
        self.assertRaises(errors.IronicUnavailable, self.keep, self.balancer)
        self.keep_at(2)
        self.assertIs(State.OVER, self.state(made))
        self.assertEqual([403], self.balancer.deliver())
        self.assertEqual((False, None), self.shown())

    def test_late_end_does_not_end_the_next_window(self) -> None:
        """Neither by its ticket, nor by its reason."""
        self.book(1, 2, self.node)
        after = self.book(3, 4, self.node)
        self.keep_at(1)
        self.at(2)
        self.balancer.holding = True
        self.assertRaises(errors.IronicUnavailable, self.keep, self.balancer)
        self.keep()
        self.keep_at(3)
        self.assertEqual([403], self.balancer.deliver())
        self.assertEqual(self.told(after), self.shown())

    def test_request_inside_of_ironic_is_waited_for(self) -> None:
        """Nobody decides anything while it may still be carried out."""
        made = self.book(1, 2, self.node)
        self.at(1)
        states = []

        def meanwhile():
            self.keep_at(2)
            states.append(self.state(made))
        self.small.before['PUT'] = [meanwhile]
        self.keep()
        self.assertEqual([State.STARTING], states)
        self.assertEqual(self.told(made), self.shown())
        self.assert_kept((False, None))
        self.assertIs(State.OVER, self.state(made))

    def test_ironic_does_not_show_the_node_to_the_gate(self) -> None:
        """Then nothing is sent, and the next pass tries again."""
        made = self.book(1, 2, self.node)
        self.at(1)
        silent = wsgi.Answer(500, [], b'{}')
        with mock.patch.object(inward, 'call', lambda *args: silent), (
                contextlib.suppress(errors.IronicUnavailable)):
            self.keep()
        self.assertEqual([], self.small.done)
        self.assertEqual([], self.world.in_flight())
        self.assert_kept(self.told(made))

    def test_ironic_refuses(self) -> None:
        """It is tried again."""
        made = self.book(1, 2, self.node)
        self.at(1)
        self.small.answers['PUT'] = [409]
        self.keep()
        self.assertIs(State.STARTING, self.state(made))
        self.assert_kept(self.told(made))
