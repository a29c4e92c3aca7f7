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

"""A node that was acted on is put back at each end that it can have."""

from ironic_reservations import errors
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.lease_cycle import handover as lease_handover
from ironic_reservations.model import handovers
from ironic_reservations.model import leases as leases_model
from tests import leasing
from tests.inprocess.reconciler import leases
from tests.inprocess.reconciler import no_shows


class EndsTestCase(leases.TestCase):
    """One of the nodes of a lease of two, changed by its holder."""

    def setUp(self) -> None:
        super().setUp()
        self.made = self.started(2)
        self.node, self.other = sorted(self.leasing.nodes(self.made))
        self.ironic.fields[self.node] = {'power_state': 'power off'}
        self.before = self.ironic.document(self.node)
        acted.write(self.engine, self.node, ('power', '/description'))
        self.ironic.fields[self.node] = {'power_state': 'power on',
                                         'description': 'his'}
        self.ironic.changed.clear()

    def _put_back(self) -> None:
        """Check that the node is as it was, cleaned, and free."""
        self.soon(times=6)
        self.assertEqual(self.before, self.ironic.document(self.node))
        self.assertEqual(['manage', 'provide'], [
            call for call, node in self.ironic.changed
            if node == self.node and call in ('manage', 'provide')])
        self.world.refresh()
        self.world.reserve(self.node)

    def test_planned_end(self) -> None:
        self.work_at(4)
        self._put_back()

    def test_early_end(self) -> None:
        self.leasing.end(self.made)
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                          self.node)
        self._put_back()

    def test_shortened(self) -> None:
        self.leasing.change(self.made, end=2)
        self.work_at(2)
        self._put_back()

    def test_given_back(self) -> None:
        self.leasing.change(self.made, reservations=(
            leases_model.LeaseReservationChange(
                self.made.reservations[0].id, least=1, most=1,
                give_back=(self.node,)),))
        self._put_back()
        self.assertEqual({self.other}, self.leasing.nodes(self.made))

    def test_moved_to_another_node(self) -> None:
        """Its holder asks for another one, since it is broken."""
        (third,) = self.leasing.hosts(1)
        self.ironic.change(self.node, maintenance=True)
        self.watch()
        self.leasing.change(self.made, heal=True)
        self.assertEqual({self.other, third}, self.leasing.nodes(self.made))
        self.soon()
        # NOTE: an operator's maintenance, after which it is put back.
        self.assertNotEqual(self.before, self.ironic.document(self.node))
        self.ironic.change(self.node, maintenance=False)
        self._put_back()

    def test_node_beside_it_is_given_back_as_it_is(self) -> None:
        self.work_at(4)
        self._put_back()
        self.assertNotIn(('manage', self.other), self.ironic.changed)


class CleanUnusedTestCase(leases.TestCase):
    """The operator has nodes cleaned also if nobody acted on them."""

    options = {'leases__clean_unused': True}

    def test_unused_node_is_cleaned(self) -> None:
        made = self.started()
        node = self.node_of(made)
        self.work_at(4)
        self.soon(times=4)
        self.assertEqual(['manage', 'provide'], [
            call for call, changed in self.ironic.changed
            if changed == node and call in ('manage', 'provide')])
        self.assert_status(leases.STATUS.TERMINATED, made)

    def test_row_that_a_holder_before_left_is_replaced(self) -> None:
        """The node was never freed."""
        made = self.started()
        node = self.node_of(made)
        with self.engine.database.write() as connection:
            db_handovers.insert(connection, handovers.first(
                node, 'somebody-before', None, (), self.engine.clock()))
        self.work_at(4)
        self.soon(times=4)
        self.assert_status(leases.STATUS.TERMINATED, made)

    def test_worker_that_stands_still_forgets_no_act_of_the_next_holder(
            self) -> None:
        """Its row replaced that of the next lease, whose acts then stayed."""
        made = self.started()
        following = self.leasing.create(5, 9)
        crew, written = self.another_crew(), []
        real = lease_handover.begin

        def begin(*args):
            self.patch(lease_handover, 'begin', real)
            for _ in range(6):
                self.world.clock.advance(400)
                self.work(crew)
            self.assert_status(leases.STATUS.TERMINATED, made)
            self.work_at(5, crew)
            written.append(acted.write(self.engine, self.node_of(following),
                                       ('/description',)))
            return real(*args)
        self.patch(lease_handover, 'begin', begin)
        self.work_at(4)
        (handover,) = written
        with self.engine.database.read() as connection:
            self.assertEqual(handover, db_handovers.read_one(
                connection, handover.node_uuid))


class NoShowTestCase(no_shows.TestCase):

    def test_acted_on_and_never_deployed(self) -> None:
        """A node is released although its holder has switched it on."""
        node, other = self.mine
        self.ironic.fields[node] = {'power_state': 'power off'}
        before = self.ironic.document(node)
        acted.write(self.engine, node, ('power',))
        self.ironic.fields[node] = {'power_state': 'power on'}
        for hours in (2, 3, 3.1):
            self.run_at(hours)
        self.assertEqual([node, other], self.released())
        self.soon(times=6)
        self.assertEqual(before, self.ironic.document(node))
        self.assertEqual([('manage', node), ('provide', node)], [
            call for call in self.ironic.changed
            if call[0] in ('manage', 'provide')])
        self.leasing.refresh()
        self.leasing.create(None, 9, leasing.wish(2))
