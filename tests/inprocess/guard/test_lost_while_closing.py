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

"""A node is not kept for minutes because its answer could not be written.

The database was lost for a moment while the guard wrote Ironic's answer; the
node was then busy for 190 s, though the answer was known.
"""

from collections.abc import Callable
from typing import Any
from unittest import mock

from ironic_reservations import errors
from ironic_reservations.api import wsgi
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.db import nodes as db_nodes
from ironic_reservations.engine import seen
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import tickets
from ironic_reservations.model import in_flight
from ironic_reservations.model import node_reservation
from ironic_reservations.model import reasons
from ironic_reservations.reconciler import loop
from ironic_reservations.reconciler import loops
from tests import guarded
from tests import servers
from tests import world

TIMEOUT = 120
#: The seconds after the return of the database within which it is over.
SOON = 30.0


class LostTestCase(guarded.TestCase):

    options = {'guard__in_flight_timeout': TIMEOUT}

    def setUp(self) -> None:
        super().setUp()
        self.lost = mock.patch.object(
            self.engine.database, 'write',
            side_effect=errors.DatabaseUnavailable('lost'))
        self.answers = loops.answers(self.engine)

    def lost_while(self, method: str, ask: Callable[..., wsgi.Answer],
                   *known: Any) -> wsgi.Answer:
        """Send a request; the database is lost once Ironic has it."""
        self.ironic.before[method] = [self.lost.start]
        try:
            return ask(*known)
        finally:
            self.lost.stop()

    def back(self) -> list[str]:
        """Let that time pass, and return the requests that are left."""
        self.world.clock.advance(SOON)
        self.answers.one_pass()
        return self.states()

    def busy(self) -> bool:
        """Return whether the request blocks another reservation."""
        try:
            self.world.reserve(self.node)
        except errors.NoNodeAvailable as exc:
            return reasons.BUSY in [
                reason['code'] for reason in exc.details['reasons']]
        return False

    def states(self) -> list[str]:
        return [row['state'] for row in self.world.in_flight()]


@servers.also
class TestAnswered(LostTestCase):

    def test_deploy_that_ironic_has_accepted_or_refused(self) -> None:
        for answers, status, state in (([], 202, 'in_use'),
                                       ([409], 409, 'reserved')):
            (self.node,) = self.world.enrol(resource_class='gold')
            self.world.refresh()
            held = self.world.reserve(self.node)
            self.ironic.answers['PUT'] = answers
            self.assertEqual(status, self.lost_while('PUT', self.deploy,
                                                     held.uuid).status)
            self.assertEqual(['sent'], self.states())
            self.assertEqual(([], state), (
                self.back(), self.world.state_of(held)))

    def test_free_node_that_ironic_has_refused_is_free(self) -> None:
        self.ironic.answers['PUT'] = [409]
        self.lost_while('PUT', self.deploy)
        self.assertTrue(self.busy())
        self.back()
        self.assertFalse(self.busy())

    def test_node_that_was_deployed_is_not_free(self) -> None:
        """The mirror has not read the node since."""
        self.lost_while('PUT', self.deploy)
        self.assertEqual([], self.back())
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                          self.node)

    def test_maintenance(self) -> None:
        guard = self.guard_of(self.ironic, 'keystone')
        request = guarded.environ(
            'PATCH', f'/v1/nodes/{self.node}',
            [{'op': 'add', 'path': '/maintenance', 'value': True}],
            token='owner')
        self.assertEqual(200, self.lost_while(
            'PATCH', guard.patch, request, self.node).status)
        self.assertEqual([], self.back())

    def test_allocation_is_accepted_and_then_found_out_about(self) -> None:
        self.lost_while('POST', self.allocate, world.new_uuid())
        self.assertEqual(['sent'], self.states())
        self.assertEqual(['accepted'], self.back())

    def test_ticket_of_a_request_that_did_not_arrive(self) -> None:
        """The ticket of the reconciler kept the node until it had expired."""
        with self.engine.database.read() as connection:
            node = db_nodes.read_nodes(connection, (self.node,))[self.node]
        with self.engine.database.write() as connection:
            seen.advance(connection, seen.of_nodes([node]),
                         self.world.clock())
            ticket = tickets.new(self.node, in_flight.Act.UNDEPLOY)
            tickets.write(self.engine, ticket, connection)

        def call(token: str) -> None:
            self.lost.start()
            raise errors.IronicUnavailable('no answer')
        self.assertRaises(errors.IronicUnavailable, tickets.send,
                          self.engine, ticket, call)
        self.lost.stop()
        self.assertEqual(['issued'], self.states())
        self.assertEqual([], self.back())

    def test_request_that_came_too_late_to_be_sent(self) -> None:
        real = admission.admit

        def admit(*known: Any, **more: Any) -> admission.InFlightRequest:
            through = real(*known, **more)
            self.world.clock.advance(TIMEOUT / 2)
            self.lost.start()
            return through
        with mock.patch.object(admission, 'admit', admit):
            self.assertRaises(errors.HandedOverLate, self.deploy)
        self.lost.stop()
        self.assertEqual([], self.back())

    def test_no_answer_is_uncertain_and_nothing_less(self) -> None:
        """An unknown outcome stays unknown, but is examined sooner."""
        self.ironic.answers['PUT'] = [503]
        self.lost_while('PUT', self.deploy)
        self.assertEqual(['uncertain'], self.back())
        self.assertTrue(self.busy())
        timeout = self.world.conf.guard.rpc_timeout
        self.world.clock.advance(timeout - 1 + 0.001)
        with self.engine.database.read() as connection:
            (row,) = db_in_flight.read_overdue(connection,
                                               self.world.clock(), 10)
        for due in (False, True):
            self.assertIs(due, row.due(self.world.clock(), timeout, 10))
            self.world.clock.advance(1)


@servers.also
class TestStaysAway(LostTestCase):

    def fail(self) -> node_reservation.Reservation:
        held = self.world.reserve(self.node, ttl=9999)
        self.lost_while('PUT', self.deploy, held.uuid)
        return held

    def test_it_is_tried_until_the_database_is_back(self) -> None:
        held = self.fail()
        with self.lost:
            for _ in range(3):
                self.assertRaises(errors.DatabaseUnavailable,
                                  self.answers.one_pass)
        self.back()
        self.assertEqual('in_use', self.world.state_of(held))

    def test_one_in_the_way_of_another_is_tried_again(self) -> None:
        """The request that waits behind it has its turn, too."""
        held = self.fail()
        (self.node,) = self.world.enrol()
        self.world.refresh()
        self.fail()
        self.world.before_next_write(self.outrun)
        for _ in range(2):
            try:
                self.answers.one_pass()
            except errors.Contention:
                pass
        self.assertEqual(([], 'in_use'), (
            self.states(), self.world.state_of(held)))

    @staticmethod
    def outrun() -> None:
        raise errors.Contention('outrun')

    def test_reconciler_finds_out_what_is_too_old(self) -> None:
        """The reconciler then has a newer answer."""
        held = self.fail()
        self.world.clock.advance(TIMEOUT)
        self.answers.one_pass()
        self.assertEqual(['sent'], self.states())
        self.world.find_out()
        self.assertEqual(([], 'in_use'), (
            self.states(), self.world.state_of(held)))

    def test_answer_whose_commit_was_lost_is_written_once(self) -> None:
        held = self.world.reserve(self.node, ttl=9999)
        real = admission.close

        def close(*known: Any) -> bool:
            real(*known)
            raise errors.OutcomeUnknown
        with mock.patch.object(admission, 'close', close):
            self.assertEqual(202, self.deploy(held.uuid).status)
        self.assertEqual('in_use', self.world.state_of(held))
        self.back()
        self.assertEqual('in_use', self.world.state_of(held))


class TestLoop(LostTestCase):

    def test_each_process_writes_its_own(self) -> None:
        """A process writes its own answers even without any claim."""
        self.assertIn('answers', [each.name for each in loops.Reconciler(
            self.engine)._all if isinstance(each, loop.Loop)])
        self.assertIsNone(self.answers.claim)
