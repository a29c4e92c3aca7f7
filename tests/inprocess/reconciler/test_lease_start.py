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

"""A lease gets its nodes when its time has come."""

from unittest import mock

from ironic_reservations import errors
from ironic_reservations.db import host_views as db_host_views
from ironic_reservations.db import lease_work as db_lease_work
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.model import leases as values
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.reconciler import leases

ACTIVE, STARTING, PENDING = (leases.STATUS.ACTIVE, leases.STATUS.STARTING,
                             leases.STATUS.PENDING)
BOUND, PLANNED = values.BookingState.BOUND, values.BookingState.PLANNED


class _TestCase(leases.TestCase):

    def planned(self, **known):
        """Return a lease from one to four, and its node, which is new."""
        (node,) = self.leasing.hosts(**known)
        return self.leasing.create(1, 4), node

    def status(self, lease):
        return self.lease(lease).status

    def use_of(self, lease, node, succeeds=True):
        """Have the guard let a deploy through, and Ironic answer it."""
        through = admission.admit(self.engine, node, lease.reservations[0].id)
        if succeeds:
            self.ironic.deploy(node, world.new_uuid())
        admission.close(self.engine, through, succeeds)


@servers.also
class TestStart(_TestCase):

    def test_nothing_happens_before_the_start(self):
        lease, _ = self.planned()
        self.assertEqual(0, self.work_at(0.99))
        self.assertEqual(PENDING, self.status(lease))

    def test_ready_node_becomes_the_lease_s(self):
        lease, node = self.planned()
        self.work_at(1)
        started = self.lease(lease)
        self.assertEqual(ACTIVE, started.status)
        self.assertEqual('active', started.reservations[0].status)
        self.assertEqual(BOUND, started.bookings[0].state)
        self.assertEqual(leasing.PROJECT, self.ironic.there[node].lessee)
        self.assertEqual({'start_lease': 'DONE',
                          'before_end_lease': 'UNDONE',
                          'end_lease': 'UNDONE'}, self.happened(lease))
        self.assertEqual(leasing.at(3), self.due(lease))
        self.assertEqual([], self.leasing.overlaps())
        self.assertEqual({}, self.leasing.stale())

    def test_each_instance_gets_a_node_of_its_size(self):
        self.leasing.hosts(1, properties=leasing.sizes(2))
        large = set(self.leasing.hosts(2, properties=leasing.sizes(8)))
        lease = self.leasing.create(1, 4, leasing.instances(2, 4))
        self.work_at(1)
        started = self.lease(lease)
        self.assertEqual(ACTIVE, started.status)
        self.assertEqual('active', started.reservations[0].status)
        self.assertEqual(large, {each.node_uuid for each in started.bookings
                                 if each.state is BOUND})
        self.assertEqual({leasing.PROJECT}, {
            self.ironic.there[each].lessee for each in large})
        self.work_at(4)
        self.assertEqual(leases.STATUS.TERMINATED, self.status(lease))
        self.assertEqual({None}, {self.ironic.there[each].lessee
                                  for each in large})
        self.assertEqual([], self.leasing.overlaps())
        self.assertEqual({}, self.leasing.stale())

    def test_instance_whose_node_broke_starts_on_one_of_its_size(self):
        self.leasing.hosts(1, properties=leasing.sizes(2))
        large = set(self.leasing.hosts(2, properties=leasing.sizes(8)))
        lease = self.leasing.create(1, 4, leasing.instances(1, 4))
        (node,) = self.leasing.nodes(lease)
        self.ironic.change(node, maintenance=True)
        self.work_at(1)
        self.work()
        self.assertEqual(ACTIVE, self.status(lease))
        self.assertEqual(large - {node}, self.leasing.nodes(lease))

    def test_start_is_told(self):
        lease = self.started()
        event, told, _ = self.heard.told[-1]
        self.assertEqual(('lease.event.start_lease', lease.id, ACTIVE),
                         (event, told.id, told.status))

    def test_lease_without_a_project_writes_nothing(self):
        (node,) = self.leasing.hosts(lessee='operators')
        lease = self.leasing.create(1, 4, project_id=None)
        self.work_at(1)
        self.assertEqual(ACTIVE, self.status(lease))
        self.assertEqual([], self.ironic.changed)
        self.assertEqual('operators', self.ironic.there[node].lessee)

    def test_node_that_is_the_project_s_already_is_not_written_to(self):
        self.started(lessee=leasing.PROJECT)
        self.assertEqual([], self.ironic.changed)

    def test_lease_that_starts_at_once_is_not_waited_for(self):
        self.leasing.hosts()
        lease = self.leasing.create(None, 4)
        self.work()
        self.assertEqual(ACTIVE, self.status(lease))

    def test_node_that_a_running_lease_gets_is_bound(self):
        lease = self.started()
        self.leasing.hosts()
        self.leasing.resize(lease, 2, 2)
        self.assertEqual(1, self.work())
        self.assertEqual([(BOUND, leasing.PROJECT)] * 2, [
            (booking.state, self.ironic.there[booking.node_uuid].lessee)
            for booking in self.lease(lease).bookings])

    def test_node_that_was_used_before_anybody_came_by_gets_its_lessee(self):
        lease, node = self.planned()
        self.at(1)
        self.use_of(lease, node)
        self.work()
        self.assertEqual(ACTIVE, self.status(lease))
        self.assertEqual(leasing.PROJECT, self.ironic.there[node].lessee)

    def test_node_that_was_used_gets_its_lessee_where_ironic_refuses_first(
            self):
        """What is written down is not taken for what was written."""
        lease, node = self.planned(lessee='operators')
        self.at(1)
        self.use_of(lease, node, succeeds=False)
        self.ironic.refuses.add(node)
        for _ in range(2):
            self.work()
            self.soon()
            self.assertEqual(leases.STATUS.STARTING, self.status(lease))
        self.assertIn('cannot be given', self.lease(lease).waiting)
        self.ironic.refuses.clear()
        self.soon()
        self.assertEqual(ACTIVE, self.status(lease))
        self.assertEqual([BOUND], [
            booking.state for booking in self.lease(lease).bookings])
        self.assertEqual(leasing.PROJECT, self.ironic.there[node].lessee)
        self.work_at(4)
        self.assertEqual('operators', self.ironic.there[node].lessee)
        self.assertEqual([], self.leasing.rows())

    def test_node_that_is_used_while_its_lessee_is_written_gets_it(self):
        """What is about to be written stands in the row already."""
        lease, node = self.planned(lessee='operators')
        self.ironic.refuses.add(node)
        self.work_at(1)
        self.use_of(lease, node, succeeds=False)
        self.assertEqual('operators', self.ironic.there[node].lessee)
        self.ironic.refuses.clear()
        self.soon()
        self.assertEqual(ACTIVE, self.status(lease))
        self.assertEqual(leasing.PROJECT, self.ironic.there[node].lessee)
        self.work_at(5)
        self.soon()
        self.assertEqual('operators', self.ironic.there[node].lessee)

    def test_lease_that_is_over_before_it_could_start_takes_no_node(self):
        lease, _ = self.planned()
        self.work_at(5)
        self.assertEqual(leases.STATUS.TERMINATED, self.status(lease))
        self.assertEqual([], self.ironic.changed)
        self.assertEqual({'start_lease': 'ERROR',
                          'before_end_lease': 'ERROR',
                          'end_lease': 'DONE'}, self.happened(lease))


@servers.also
class TestNotReady(_TestCase):

    def of_two(self):
        """Return a lease, its node, and another one that it may have."""
        nodes = {*self.leasing.hosts(2)}
        lease = self.leasing.create(1, 4)
        first = self.node_of(lease)
        return lease, first, *(nodes - {first})

    def test_ready_node_is_taken_instead(self):
        lease, slow, ready = self.of_two()
        # NOTE: the mirror has not seen it yet.
        self.ironic.change(slow, provision_state='cleaning')
        self.work_at(1)
        self.assertEqual(ready, self.node_of(lease))
        self.assertEqual(ACTIVE, self.status(lease))
        self.assertIsNone(self.ironic.there[slow].lessee)
        self.assertEqual({}, self.leasing.stale())

    def test_node_is_waited_for_where_there_is_no_other(self):
        lease, node = self.planned(name='rack-1')
        self.ironic.change(node, provision_state='cleaning')
        self.work_at(1)
        self.assertEqual(STARTING, self.status(lease))
        self.assertEqual('Node rack-1 is in the state cleaning.',
                         self.lease(lease).waiting)
        self.assertEqual('IN_PROGRESS', self.happened(lease)['start_lease'])
        self.ironic.change(node, provision_state='available')
        self.soon()
        self.assertEqual(ACTIVE, self.status(lease))
        self.assertIsNone(self.lease(lease).waiting)
        self.assertEqual(leasing.PROJECT, self.ironic.there[node].lessee)

    def test_node_that_is_waited_for_never_moves(self):
        lease, first, other = self.of_two()
        for node in (first, other):
            self.ironic.change(node, provision_state='cleaning')
        self.leasing.refresh()
        self.work_at(1)
        self.ironic.change(other, provision_state='available')
        self.watch()
        self.soon()
        self.assertEqual(first, self.node_of(lease))

    def test_lease_is_looked_at_as_soon_as_the_node_changes(self):
        lease, node = self.planned()
        self.ironic.change(node, provision_state='cleaning')
        self.work_at(1)
        self.soon(times=8)
        self.assertEqual(0, self.work())
        self.world.change(node, provision_state='available')
        self.assertEqual(1, self.work())
        self.assertEqual(ACTIVE, self.status(lease))

    def test_node_that_is_still_another_s_is_waited_for(self):
        (node,) = self.leasing.hosts()
        first = self.leasing.create(1, 4, project_id='theirs')
        second = self.leasing.create(4, 6)
        self.work_at(1)
        self.ironic.deploy(node, world.new_uuid())
        self.ironic.cleaning = 'cleaning'
        self.work_at(4)
        self.assertEqual(PLANNED, self.lease(second).bookings[0].state)
        self.assertIn('taken back', self.lease(second).waiting)
        self.ironic.change(node, provision_state='available')
        self.soon()
        self.soon()
        self.assertEqual(leases.STATUS.TERMINATED, self.status(first))
        self.assertEqual(ACTIVE, self.status(second))
        self.assertEqual(leasing.PROJECT, self.ironic.there[node].lessee)
        self.work_at(6)
        self.ironic.change(node, provision_state='available')
        self.soon()
        self.assertIsNone(self.ironic.there[node].lessee)

    def test_node_whose_start_was_cut_short_is_waited_for(self):
        """What may be written there is taken back before the next begins."""
        (node,) = self.leasing.hosts(lessee='operators')
        first = self.leasing.create(1, 4, project_id='theirs')
        second = self.leasing.create(4, 6)
        self.at(1)
        self._cut_short(first, node)
        self.at(4)
        with self.engine.database.write() as connection:
            db_lease_work.take(connection, [first.id], 'slow', leasing.at(4),
                               leasing.at(4.5))
        self.work()
        self.assertEqual('theirs', self.ironic.there[node].lessee)
        self.assertIn('taken back', self.lease(second).waiting)
        self.work_at(4.5)
        self.soon()
        self.assertEqual(leases.STATUS.TERMINATED, self.status(first))
        self.assertEqual(leasing.PROJECT, self.ironic.there[node].lessee)
        self.work_at(6)
        self.assertEqual('operators', self.ironic.there[node].lessee)

    def test_node_whose_start_was_cut_short_is_nobody_else_s(self):
        """A deploy would be undone when what is written is taken back."""
        (node,) = self.leasing.hosts(lessee='operators')
        first = self.leasing.create(1, 4)
        self.at(1)
        self._cut_short(first, node)
        self.at(4)
        for proof in (None, first.reservations[0].id):
            self.assertRaises(
                (errors.ProofRequired, errors.ProofInvalid), admission.admit,
                self.engine, node, proof)
        with self.engine.database.read() as connection:
            self.assertTrue(db_host_views.read(
                connection, [node], leasing.at(4))[node].being_put_back)
        self.work()
        admission.admit(self.engine, node)

    def _cut_short(self, lease, node):
        """Have Ironic do what it is asked for, and go down."""
        def write_lessee(uuid, lessee, ticket=None):
            world.StandInIronic.write_lessee(self.ironic, uuid, lessee)
            self.ironic.down = True
            raise errors.IronicUnavailable('The answer is lost.')
        with mock.patch.object(self.ironic, 'write_lessee', write_lessee):
            self.work()
        self.ironic.down = False
        self.assertEqual(lease.project_id, self.ironic.there[node].lessee)
        (booking,) = self.lease(lease).bookings
        self.assertEqual((PLANNED, True), (booking.state, booking.begun))

    def test_stranger_s_node_is_not_bound_and_not_undeployed(self):
        lease, node = self.planned()
        self.ironic.deploy(node, world.new_uuid())
        self.work_at(1)
        self.assertEqual((ACTIVE, True), (self.status(lease),
                                          self.lease(lease).degraded))
        self.assertIn('without the lease', self.lease(lease).waiting)
        self.work_at(4)
        self.assertEqual('active', self.ironic.there[node].provision_state)
        self.assertEqual([], self.ironic.changed)

    def test_node_that_refuses_or_an_ironic_that_is_down_is_waited_for(self):
        for down, told in ((False, 'locked'), (True, 'Ironic is down.')):
            self.at(0)
            lease, node = self.planned()
            self.ironic.down = down
            self.ironic.refuses.add(node)
            self.work_at(1)
            self.assertEqual(PENDING if down else STARTING, self.status(lease))
            self.assertIn(told, self.lease(lease).waiting)
            self.ironic.down = False
            self.ironic.refuses.clear()
            self.soon()
            self.assertEqual(ACTIVE, self.status(lease))
            self.assertIsNone(self.lease(lease).waiting)

    def test_what_an_operator_writes_meanwhile_is_given_back_at_the_end(self):
        lease, node = self.planned(lessee='first')
        self.ironic.refuses.add(node)
        self.work_at(1)
        self.ironic.change(node, lessee='second')
        self.ironic.refuses.clear()
        self.soon()
        self.assertEqual(ACTIVE, self.status(lease))
        self.work_at(4)
        self.assertEqual('second', self.ironic.there[node].lessee)


@servers.also
class TestBroken(_TestCase):

    def breaks(self):
        """Return a lease whose node breaks, and the other one it may have."""
        nodes = {*self.leasing.hosts(2)}
        lease = self.leasing.create(1, 4)
        broken = self.node_of(lease)
        self.ironic.change(broken, maintenance=True)
        return lease, *(nodes - {broken})

    def test_node_that_breaks_before_the_start_is_replaced(self):
        lease, other = self.breaks()
        self.watch()
        self.assertEqual(other, self.node_of(lease))
        self.assertTrue(self.lease(lease).reservations[0].resources_changed)
        self.assertEqual((False, False), self.flags(lease))
        self.assertIn(('lease.update', 'replaced'), [
            (event, reason) for event, _, reason in self.heard.told])

    def test_node_that_breaks_right_at_the_start_is_replaced(self):
        lease, other = self.breaks()
        self.work_at(1)
        self.assertEqual(other, self.node_of(lease))
        self.assertEqual(ACTIVE, self.status(lease))

    def test_lease_starts_degraded_where_nothing_is_left(self):
        lease, node = self.planned()
        self.ironic.change(node, maintenance=True)
        self.work_at(1)
        self.assertEqual(ACTIVE, self.status(lease))
        self.assertEqual((True, True), self.flags(lease))
        self.ironic.change(node, maintenance=False)
        self.watch()
        self.assertEqual((False, False), self.flags(lease))

    def test_node_that_is_gone_is_replaced_when_there_is_one(self):
        (node,) = self.leasing.hosts()
        self.world.enrol()
        lease = self.leasing.create(1, 4)
        self.ironic.remove(node)
        self.work_at(1)
        self.assertEqual((ACTIVE, True), (self.status(lease),
                                          self.lease(lease).degraded))
        (other,) = self.leasing.hosts()
        self.watch()
        self.soon()
        self.assertEqual(other, self.node_of(lease))
        self.assertEqual(BOUND, self.lease(lease).bookings[0].state)
        self.assertFalse(self.lease(lease).degraded)
