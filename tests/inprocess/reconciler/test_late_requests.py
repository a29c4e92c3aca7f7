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


"""What the reconciler asks of Ironic does nothing when it comes late.

Each of these was seen: a balancer kept a request that its client had given up,
and delivered it when the node had become the next lease's.
"""

import dataclasses
from unittest import mock

from ironic_reservations.clouds import in_process
from ironic_reservations.clouds import ironic as ironic_client
from ironic_reservations.db import in_flight_requests as db_in_flight
from ironic_reservations.engine import seen
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.in_flight import tickets
from ironic_reservations.engine.lease_cycle import context as lease_context
from ironic_reservations.guard import tickets as guard_tickets
from ironic_reservations.model import in_flight
from ironic_reservations.model import leases as planner_leases
from ironic_reservations.model import mirrored_node
from ironic_reservations.reconciler import lease_workers
from tests import guarded
from tests import servers
from tests import world
from tests.inprocess.reconciler import balancer
from tests.inprocess.reconciler import leases

ACTIVE = leases.STATUS.ACTIVE
TERMINATED = leases.STATUS.TERMINATED


class LateTestCase(leases.TestCase):

    def setUp(self):
        super().setUp()
        self.small = guarded.SmallIronic(self.ironic)
        gate = guard_tickets.Gate(self.small)
        gate.engine = self.engine
        self.transport = in_process.InProcess(gate)
        self.balancer = balancer.Balancer(self.transport)
        self.crew = self.crew_through(self.balancer)
        self.other = self.crew_through(self.transport)
        (self.node,) = self.leasing.hosts(lessee='operators')

    def crew_through(self, transport):
        return lease_workers.LeaseWorkers(dataclasses.replace(
            self.engine, ironic=ironic_client.Ironic(transport)))

    def later(self, crew, seconds=400):
        self.world.clock.advance(seconds)
        return self.work(crew)

    def second_begins(self):
        """Have the lease of another project begin, after the first one."""
        self.at(6)
        self.leasing.refresh()
        self.work(self.other)
        self.assert_status(ACTIVE, self.second)

    def there(self):
        node = self.ironic.there[self.node]
        return node.provision_state, node.lessee

    def changes(self):
        return [method for method, _ in self.small.done]

    def client_dies(self):
        """Have whoever sends a request be killed while it waits."""
        return mock.patch.object(tickets, '_void',
                                 side_effect=lease_context.Lost('killed'))


@servers.also
class TestUndeployInFlight(LateTestCase):

    def setUp(self):
        super().setUp()
        self.first = self.leasing.create(1, 4)
        self.second = self.leasing.create(6, 9, project_id='theirs')
        self.work_at(1, self.other)
        self.ironic.deploy(self.node, world.new_uuid())
        self.at(4)
        self.small.done.clear()

    def undeploy_is_held_up(self):
        self.balancer.holding = True
        # NOTE: lessee is written back first.
        self.ironic.change(self.node, lessee=None)
        self.work(self.crew)
        self.assertEqual([], self.changes())

    def late_one_is_refused(self):
        self.later(self.other)
        self.later(self.other)
        self.assert_status(TERMINATED, self.first)
        self.second_begins()
        self.ironic.deploy(self.node, world.new_uuid())
        self.assertEqual({403}, set(self.balancer.deliver()))
        self.assertEqual(('active', 'theirs'), self.there())
        self.assertEqual([], self.world.in_flight())

    def test_late_one_is_refused(self):
        self.undeploy_is_held_up()
        self.late_one_is_refused()

    def test_late_one_of_a_dead_client_is_refused(self):
        with self.client_dies():
            self.undeploy_is_held_up()
        self.assertEqual(['issued'], [row['state'] for row in
                                      self.world.in_flight()])
        self.late_one_is_refused()

    def test_one_inside_of_ironic_is_waited_for(self):
        """The node is nobody's while the API that was asked stands still."""
        waiting = []

        def meanwhile():
            self.later(self.other, 60)
            waiting.append(self.lease(self.first).waiting)
            self.later(self.other, 600)
            waiting.append(self.lease(self.first).waiting)
        self.ironic.change(self.node, lessee=None)
        self.small.before['PUT'] = [meanwhile]
        self.work(self.crew)
        self.assertIn('under way', waiting[0])
        self.assertIn('not known yet', waiting[1])
        self.assertEqual(['PUT'], self.changes())
        self.later(self.other)
        self.assert_status(TERMINATED, self.first)

    def test_unknown_outcome_keeps_the_node(self):
        self.ironic.change(self.node, lessee=None)
        self.small.answers['PUT'] = [500]
        self.work(self.crew)
        self.later(self.other)
        self.assertIn('not known yet', self.lease(self.first).waiting)
        self.small.late.pop()()
        self.world.find_out()
        self.later(self.other)
        self.assert_status(TERMINATED, self.first)

    def test_worker_that_has_lost_the_lease_sends_nothing(self):
        """It stood still between its look at its claim and the ticket."""
        real = tickets.issue

        def issue(*args):
            with mock.patch.object(tickets, 'issue', real):
                self.later(self.other)
                self.later(self.other)
            self.assert_status(TERMINATED, self.first)
            self.small.done.clear()
            return real(*args)
        self.ironic.change(self.node, lessee=None)
        with mock.patch.object(tickets, 'issue', issue):
            self.work(self.crew)
        self.assertEqual([], self.changes())


@servers.also
class TestLesseeInFlight(LateTestCase):

    def setUp(self):
        super().setUp()
        self.first = self.leasing.create(1, 4)
        self.second = self.leasing.create(6, 9, project_id='theirs')

    def both_go_on(self):
        self.later(self.other)
        self.work_at(4, self.other)
        self.later(self.other)
        self.assert_status(TERMINATED, self.first)
        self.second_begins()
        self.assertEqual(('available', 'theirs'), self.there())

    def late_one_is_refused(self):
        self.both_go_on()
        self.assertEqual({403}, set(self.balancer.deliver()))
        self.assertEqual(('available', 'theirs'), self.there())

    def test_late_one_is_refused(self):
        self.balancer.holding = True
        self.work_at(1, self.crew)
        self.assertEqual(('available', 'operators'), self.there())
        self.late_one_is_refused()

    def test_late_one_of_a_dead_client_is_refused(self):
        self.balancer.holding = True
        with self.client_dies():
            self.work_at(1, self.crew)
        self.late_one_is_refused()

    def test_overwritten_one_is_put_right_within_a_pass(self):
        self.work_at(1, self.other)
        self.assertEqual(('available', 'ours'), self.there())
        self.ironic.change(self.node, lessee='strangers')
        self.watch()
        self.work(self.other)
        self.assertEqual(('available', 'ours'), self.there())
        self.work_at(4, self.other)
        self.assertEqual(('available', 'operators'), self.there())

    def test_overwritten_one_of_a_node_that_is_locked_is_tried_again(self):
        self.work_at(1, self.other)
        self.ironic.change(self.node, lessee='strangers')
        self.small.answers['PATCH'] = [409]
        self.watch()
        self.work(self.other)
        self.assertIn('has lost its lessee', self.lease(self.first).waiting)
        self.later(self.other)
        self.assertEqual(('available', 'ours'), self.there())
        self.assertIsNone(self.lease(self.first).waiting)


@servers.also
class TestPutBackInFlight(LateTestCase):
    """Ports and volumes keep their uuids when a node gets its next holder."""

    def setUp(self):
        super().setUp()
        self.first = self.leasing.create(1, 4)
        self.second = self.leasing.create(6, 9, project_id='theirs')
        self.work_at(1, self.other)
        self.ports = self.small.below['ports']
        self.port = self.add('ports', extra={})
        self.target = self.add('volume/targets', volume_id='lent')
        acted.write(dataclasses.replace(
            self.engine, ironic=ironic_client.Ironic(self.transport)),
            self.node, ('port', 'volume'), within=6)

    def add(self, kind, **known):
        uuid = world.new_uuid()
        self.small.below[kind][uuid] = {
            'uuid': uuid, 'node_uuid': self.node, **known}
        return uuid

    def assert_late_one_is_refused(self):
        """Check that a correction comes to nothing in the next lease."""
        self.work_at(4, self.other)
        self.balancer.holding = True
        self.balancer.only = ('/v1/ports', '/v1/volume')
        self.later(self.crew)
        for _ in range(4):
            self.later(self.other)
        self.assert_status(TERMINATED, self.first)
        self.second_begins()
        self.ports[self.port]['extra'] = {'of': 'second'}
        targets = self.small.below['volume/targets']
        targets.pop(self.target)
        self.assertEqual([403], self.balancer.deliver())
        self.assertEqual(({'of': 'second'}, {}), (
            self.ports[self.port]['extra'], targets))
        self.assertEqual([], self.world.in_flight())

    def test_late_change_of_a_port_is_refused(self):
        """It overwrote what the next holder had made of the port."""
        self.ports[self.port]['extra'] = {'of': 'first'}
        self.assert_late_one_is_refused()

    def test_late_target_is_refused(self):
        """It came back after the next holder had deleted it."""
        self.small.below['volume/targets'].pop(self.target)
        self.assert_late_one_is_refused()


@servers.also
class TestTickets(LateTestCase):

    def setUp(self):
        super().setUp()
        self.lease_now = self.leasing.create(1, 4)
        self.work_at(1, self.other)
        self.small.done.clear()

    def issue(self, act=in_flight.Act.LESSEE):
        node = mirrored_node.Node(self.node, generation=self.world.mirrored()[
            self.node]['generation'])
        with self.engine.database.write() as connection:
            seen.advance(connection, seen.of_nodes([node]),
                         self.world.clock())
            ticket = tickets.new(self.node, act)
            tickets.write(self.engine, ticket, connection)
        return ticket.token

    def send(self, token, method='PATCH', path=None, body=None):
        return self.transport.send(
            method, path or f'/v1/nodes/{self.node}',
            {ironic_client.TICKET_HEADER: token},
            body or [{'op': 'add', 'path': '/lessee', 'value': 'x'}])[0]

    def test_unknown_one_is_refused(self):
        self.assertEqual(403, self.send(world.new_uuid()))
        self.assertEqual([], self.changes())

    def test_good_one_is_good_once(self):
        token = self.issue()
        self.assertEqual(200, self.send(token))
        self.assertEqual(403, self.send(token))
        self.assertEqual((['PATCH'], []), (self.changes(),
                                           self.world.in_flight()))

    def test_it_is_good_for_one_act_and_one_node(self):
        token, (other,) = self.issue(), self.world.enrol()
        provision = f'/v1/nodes/{self.node}/states/provision'
        for method, path, body in (
                ('PUT', provision, {'target': 'deleted'}),
                ('PUT', provision, {'target': 'active'}),
                ('PATCH', f'/v1/nodes/{other}', None),
                ('PATCH', f'/v1/nodes/{self.node}/', None),
                ('PATCH', None, [{'op': 'remove',
                                  'path': '/instance_uuid'}]),
                ('PATCH', None, [
                    {'op': 'add', 'path': '/lessee', 'value': 'x'},
                    {'op': 'add', 'path': '/owner', 'value': 'x'}]),
                ('DELETE', None, None)):
            self.assertEqual(403, self.send(token, method, path, body), path)
        self.assertEqual([], self.changes())
        self.assertEqual(200, self.send(token))

    def test_one_for_an_object_below_the_node(self):
        path = f'/v1/ports/{world.new_uuid()}'
        good = self.issue(in_flight.Act.PUT_BACK)
        for token, method, asked in (
                (self.issue(), 'PATCH', path),
                (good, 'PUT', path),
                (good, 'POST', path), (good, 'DELETE', '/v1/ports'),
                (good, 'DELETE', f'{path}/vifs')):
            self.assertEqual(403, self.send(token, method, asked), asked)
        self.small.below['ports'][path.rpartition('/')[2]] = {}
        self.assertEqual(204, self.send(good, 'DELETE', path))
        self.assertEqual(403, self.send(good, 'DELETE', path))

    def test_old_one_is_refused_and_goes(self):
        token = self.issue()
        self.world.clock.advance(self.world.conf.guard.in_flight_timeout)
        self.assertEqual(403, self.send(token))
        self.world.find_out()
        self.assertEqual([], self.world.in_flight())

    def test_one_that_stands_still_after_it_was_taken_is_not_sent(self):
        token = self.issue()
        real = db_in_flight.take_ticket

        def take(*args):
            taken = real(*args)
            self.world.clock.advance(self.world.conf.guard.in_flight_timeout)
            return taken
        with mock.patch.object(db_in_flight, 'take_ticket', take):
            self.assertEqual(503, self.send(token))
        self.assertEqual([], self.changes())

    def test_requests_without_one_pass_by(self):
        status, _ = self.transport.send(
            'PATCH', f'/v1/nodes/{self.node}', {},
            [{'op': 'add', 'path': '/lessee', 'value': 'x'}])
        self.assertEqual(200, status)

    def test_it_takes_the_claim_and_the_booking_as_they_are(self):
        lease = self.lease(self.lease_now)
        (booking,) = lease.bookings
        with self.engine.database.write() as connection:
            connection.exec_driver_sql("UPDATE leases SET claimed_by = 'me'")

        def issue(claimed_by='me', **changed):
            with self.engine.database.write() as connection:
                return db_in_flight.insert_ticket(
                    connection, dataclasses.replace(booking, **changed),
                    lease.id, claimed_by, world.new_uuid(), 'lessee',
                    self.world.clock())
        self.assertTrue(issue())
        self.assertFalse(issue('somebody'))
        self.assertFalse(issue(state=planner_leases.BookingState.ENDING))
        self.assertFalse(issue(uuid=world.new_uuid()))
        self.assertFalse(issue(node_uuid=world.new_uuid()))
