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

"""The next steps follow from the rows, the clock and the node."""

import dataclasses
import datetime

from hypothesis import given
from hypothesis import strategies
import testtools

from ironic_reservations.lifecycle import lease_cycle
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import node_condition

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
START, BEFORE_END, END = (NOON + datetime.timedelta(hours=hours)
                          for hours in (1, 3, 4))
Step = lease_cycle.Step
Act, NoAct = in_flight.Act, lease_cycle.NoAct
STATUS = leases.LeaseStatus
#: All states of Ironic, and those of the mirror.
STATES = (
    'active', 'adopt failed', 'adopting', 'available', 'clean failed',
    'clean hold', 'clean wait', 'cleaning', 'deleting', 'deploy failed',
    'deploy hold', 'deploying', 'enroll', 'error', 'inspect failed',
    'inspect wait', 'inspecting', 'manageable', 'rescue', 'rescue failed',
    'rescue wait', 'rescuing', 'service failed', 'service hold',
    'service wait', 'servicing', 'unrescue failed', 'unrescuing',
    'verifying', 'wait call-back', node_condition.GONE, None)


def _lease(status=STATUS.PENDING, *states, done=(), lessee=None):
    bookings = tuple(leases.NodeBooking(
        number, 'r', number, f'node-{number}', START, END,
        leases.BookingState(state), lessee, None, 'project')
        for number, state in enumerate(states))
    return leases.Lease(
        'lease', 'name', START, END, status, NOON,
        reservations=(leases.LeaseReservation(
            'r', leases.ReservationStatus.PENDING, 1, 1, NOON, 'x',
            bookings=bookings),),
        events=tuple(leases.Event(
            kind, leases.EventType(kind), time, leases.EventStatus(
                'DONE' if kind in done else 'UNDONE'), NOON)
            for kind, time in (('start_lease', START),
                               ('before_end_lease', BEFORE_END),
                               ('end_lease', END))))


class TestSteps(testtools.TestCase):

    def _steps(self, lease, now):
        return list(lease_cycle.steps(lease, now))

    def test_before_the_start_there_is_nothing_to_do(self):
        lease = _lease(STATUS.PENDING, 'planned')
        self.assertEqual([], self._steps(lease, NOON))
        self.assertEqual(START, lease_cycle.next_due(lease, NOON))

    def test_lease_starts_at_its_start(self):
        for status in (STATUS.PENDING, STATUS.STARTING):
            lease = _lease(status, 'planned')
            self.assertEqual([Step.START], self._steps(lease, START))
            self.assertEqual(START, lease_cycle.next_due(lease, START))

    def test_running_lease_is_left_alone(self):
        lease = _lease(STATUS.ACTIVE, 'bound', lessee='project')
        self.assertEqual([], self._steps(lease, START))
        self.assertEqual(BEFORE_END, lease_cycle.next_due(lease, START))

    def test_node_that_came_later_is_bound_too(self):
        lease = _lease(STATUS.ACTIVE, 'planned', lessee='project')
        self.assertEqual([Step.START], self._steps(lease, START))

    def test_node_that_was_used_at_once_gets_its_lessee(self):
        lease = _lease(STATUS.ACTIVE, 'bound')
        self.assertEqual([Step.START], self._steps(lease, START))

    def test_end_is_told_when_it_is_near_and_once(self):
        lease = _lease(STATUS.ACTIVE, 'bound', lessee='project')
        self.assertEqual([Step.BEFORE_END], self._steps(lease, BEFORE_END))
        told = _lease(STATUS.ACTIVE, 'bound', lessee='project',
                      done=('before_end_lease',))
        self.assertEqual([], self._steps(told, BEFORE_END))
        self.assertEqual(END, lease_cycle.next_due(told, BEFORE_END))

    def test_event_that_a_dead_process_began_is_done(self):
        """Blazar: never retries what a dead manager left IN_PROGRESS."""
        lease = _lease(STATUS.ACTIVE, 'bound', lessee='project')
        lease = dataclasses.replace(lease, events=tuple(
            dataclasses.replace(event,
                                status=leases.EventStatus.IN_PROGRESS)
            for event in lease.events))
        self.assertEqual([Step.BEFORE_END], self._steps(lease, BEFORE_END))
        self.assertEqual([Step.CLOSE], self._steps(lease, END))

    def test_everything_is_let_go_at_the_end(self):
        for status in (STATUS.PENDING, STATUS.STARTING, STATUS.ACTIVE):
            self.assertEqual([Step.CLOSE], self._steps(
                _lease(status, 'bound', lessee='project'), END))

    def test_nodes_are_taken_back_until_none_is_left(self):
        for status in (STATUS.TERMINATING, STATUS.DELETING):
            self.assertEqual([Step.CLOSE], self._steps(
                _lease(status, 'ending', 'bound'), NOON))
            self.assertEqual([Step.TAKE_BACK], self._steps(
                _lease(status, 'ending'), NOON))
            self.assertEqual([Step.FINISH], self._steps(_lease(status),
                                                        NOON))

    def test_node_that_is_given_back_early_is_taken_back(self):
        lease = _lease(STATUS.ACTIVE, 'ending')
        self.assertEqual([Step.TAKE_BACK], self._steps(lease, START))

    def test_what_is_over_is_never_looked_at_again(self):
        for status in (STATUS.TERMINATED, STATUS.ERROR):
            self.assertIsNone(lease_cycle.next_due(_lease(status), END))

    @given(strategies.sampled_from(STATUS),
           strategies.lists(strategies.sampled_from(leases.BookingState),
                            max_size=3),
           strategies.integers(0, 6),
           strategies.sets(strategies.sampled_from(
               ('start_lease', 'before_end_lease'))))
    def test_no_lease_is_forgotten(self, status, states, hour, done):
        """Each lease is due now or later, or is over."""
        lease = _lease(status, *states, done=done)
        now = NOON + datetime.timedelta(hours=hour)
        due = lease_cycle.next_due(lease, now)
        if status in (STATUS.TERMINATED, STATUS.ERROR):
            self.assertIsNone(due)
        else:
            self.assertGreaterEqual(due, now)
            self.assertEqual(bool(lease_cycle.steps(lease, now)), due == now)


class TestBackoff(testtools.TestCase):

    def test_it_doubles_up_to_the_longest(self):
        self.assertEqual([1, 2, 4, 8, 10, 10], [
            lease_cycle.backoff(attempts, 10, 1)
            for attempts in (0, 1, 2, 3, 4, 100000)])

    @given(strategies.integers(0, 10**6), strategies.integers(1, 1000),
           strategies.floats(0, 1))
    def test_it_is_spread_and_never_longer(self, attempts, longest, chance):
        wait = lease_cycle.backoff(attempts, longest, chance)
        whole = lease_cycle.backoff(attempts, longest, 1)
        self.assertTrue(whole / 2 <= wait <= whole <= longest)

    def test_leases_that_are_polled_are_no_more_than_twenty_a_second(self):
        self.assertEqual([4, 4, 50, 300, 2], [
            lease_cycle.longest_pause(waiting, longest)
            for waiting, longest in ((1, 300), (80, 300), (1000, 300),
                                     (10000, 300), (1, 2))])


def _node(state='available', **known):
    return mirrored_node.Node('node', provision_state=state, **known)


class TestAtStart(testtools.TestCase):

    def _at_start(self, node, taken=None):
        view = lease_cycle.at_start(node, taken)
        self.assertEqual(view.bind and view.settled and not view.why,
                         view.why is None)
        return view.bind, view.settled

    def test_ready_node_is_bound(self):
        self.assertEqual((True, True), self._at_start(_node()))

    def test_node_that_is_being_cleaned_is_bound_and_waited_for(self):
        for state in ('cleaning', 'clean wait', 'deleting', None):
            self.assertEqual((True, False), self._at_start(_node(state)))

    def test_broken_node_is_bound_and_not_waited_for(self):
        for node in (_node(maintenance=True), _node('clean failed'),
                     _node('manageable'), _node('inspecting')):
            self.assertEqual((True, True), self._at_start(node))

    def test_strangers_node_is_not_bound(self):
        for node in (_node(instance_uuid='x'), _node('active'),
                     _node('deploy failed'), _node('rescue')):
            self.assertEqual((False, True), self._at_start(node))

    def test_node_that_is_gone_is_not_bound(self):
        for node in (None, _node(node_condition.GONE)):
            self.assertEqual((False, True), self._at_start(node))

    def test_taken_node_is_waited_for_unless_it_is_broken(self):
        self.assertEqual((False, False), self._at_start(_node(), 'taken'))
        self.assertEqual((False, True), self._at_start(
            _node('clean failed'), 'taken'))


class TestComputeHosts(testtools.TestCase):
    """Compute hosts have no state in Ironic, and are always shared."""

    @staticmethod
    def _host(**known):
        return _node(None, inventories=(), **known)

    def test_share_of_one_that_is_there_is_had_at_once(self):
        for taken in (None, 'by somebody'):
            self.assertEqual(lease_cycle.AtStart(True, True),
                             lease_cycle.at_start(self._host(), taken))
        self.assertIsNone(lease_cycle.unready(self._host()))
        self.assertIsNone(node_condition.broken(self._host()))

    def test_one_in_maintenance_is_had_and_told(self):
        host = self._host(maintenance=True)
        self.assertEqual(
            lease_cycle.AtStart(True, True, 'is down or disabled in Nova'),
            lease_cycle.at_start(host, None))

    def test_one_that_is_gone_is_gone_from_placement(self):
        host = dataclasses.replace(self._host(),
                                   provision_state=node_condition.GONE)
        self.assertEqual(
            lease_cycle.AtStart(False, True, 'is gone from Placement'),
            lease_cycle.at_start(host, None))
        self.assertEqual('is gone from Placement', node_condition.broken(host))


class TestAtEnd(testtools.TestCase):

    def _act(self, node, action='undeploy'):
        return lease_cycle.at_end(node, action).act

    def test_deployed_node_is_undeployed_from_wherever_ironic_can(self):
        for state in ('active', 'error', 'rescue', 'rescue wait',
                      'rescue failed', 'unrescue failed', 'wait call-back',
                      'deploy failed', 'service wait', 'service failed'):
            self.assertEqual(Act.UNDEPLOY, self._act(_node(state)), state)

    def test_held_node_is_not_kept_by_holding_it(self):
        for state in ('deploy hold', 'service hold'):
            self.assertEqual(Act.ABORT, self._act(_node(state)))

    def test_instance_that_was_never_deployed_is_taken_off(self):
        self.assertEqual(Act.CLEAR_INSTANCE,
                         self._act(_node(instance_uuid='x')))

    def test_free_node_is_released(self):
        for node in (None, _node(), _node(node_condition.GONE),
                     _node('manageable'), _node(maintenance=True)):
            self.assertEqual(NoAct.RELEASE, self._act(node))

    def test_node_that_an_operator_has_to_look_at_is_flagged(self):
        for node in (_node('clean failed'), _node('active', maintenance=True),
                     _node('cleaning', maintenance=True)):
            view = lease_cycle.at_end(node, 'undeploy')
            self.assertEqual((NoAct.WAIT, True), (view.act, view.flag))

    def test_deployed_node_that_is_left_is_flagged(self):
        for state in ('active', 'deploying', 'error'):
            view = lease_cycle.at_end(_node(state), 'leave')
            self.assertEqual((NoAct.RELEASE, True), (view.act, view.flag))
        view = lease_cycle.at_end(_node('cleaning'), 'leave')
        self.assertEqual((NoAct.RELEASE, False), (view.act, view.flag))

    def test_each_state_of_ironic_has_an_answer(self):
        for state in STATES:
            for known in ({}, {'maintenance': True}, {'instance_uuid': 'x'}):
                node = _node(state, **known)
                view = lease_cycle.at_end(node, 'undeploy')
                self.assertEqual(view.act is NoAct.RELEASE, view.why is None,
                                 (state, known))
                lease_cycle.at_start(node, None)
                lease_cycle.unready(node)
