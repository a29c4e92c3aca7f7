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

"""A deploy was on its way to Ironic when the database went back.

The new history has no row of it, so nobody knows that a conductor may still
carry it out.
"""

from unittest import mock

from ironic_reservations import errors
from ironic_reservations.cmd import restored
from ironic_reservations.db import tables
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import uncertain
from tests import gone_back
from tests import servers
from tests.inprocess.engine import timelines


class _TestCase(timelines.TestCase):

    def setUp(self):
        super().setUp()
        (self.node,) = self.leasing.hosts()
        self.other = self.another()
        for each in (self.leasing, self.other):
            each.snapshot()

    def moves(self):
        """Have the rows come from another server, as a dump of one does."""
        with self.engine.database.write() as connection:
            connection.execute(tables.histories.update().values(
                server='another'))

    def rows(self):
        return [(row['node_uuid'], row['state'], row['act'])
                for row in self.world.in_flight()]

    def assert_kept(self, *nodes):
        """Assert that nodes are nobody's until Ironic has shown them."""
        for node in nodes or (self.node,):
            self.assertRaises(errors.NoNodeAvailable, self.world.reserve, node)
            self.assertRaises(errors.Contention, admission.admit,
                              self.engine, node)
        self.assertEqual([(node, 'uncertain', 'change')
                          for node in nodes or (self.node,)], self.rows())

    def assert_settled(self, *nodes):
        self.world.find_out()
        self.assertEqual([], self.rows())
        for node in nodes or (self.node,):
            self.world.reserve(node)
        self.assert_sound()


@servers.also
class TestLostRequest(_TestCase):
    """A process that knew of the lost history keeps all nodes."""

    def test_node_is_not_promised_while_a_lost_deploy_is_on_its_way(self):
        with gone_back.undone(self.engine.database):
            admission.admit(self.other.engine, self.node)
        self.other.snapshot()
        self.assert_kept()
        self.world.ironic.deploy(self.node)
        self.world.find_out()
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                          self.node)

    def test_idle_node_is_promised_again(self):
        with gone_back.undone(self.engine.database):
            self.leasing.create(1, 2)
        self.leasing.snapshot()
        self.assert_kept()
        self.assert_settled()

    def test_second_process_that_finds_out_does_not_begin_again(self):
        """It may find out minutes later, when all is settled."""
        with gone_back.undone(self.engine.database):
            self.leasing.create(1, 2)
            self.other.snapshot()
        self.leasing.snapshot()
        self.world.find_out()
        self.other.snapshot()
        self.assertEqual(1, self.other.engine.snapshots.other_histories)
        self.assertEqual([], self.rows())

    def test_loss_that_could_not_be_written_is_not_forgotten(self):
        """The database that was just restored is slow, or has a deadlock."""
        with gone_back.undone(self.engine.database):
            admission.admit(self.other.engine, self.node)
        self.world.lose_next_write(after=False, engine=self.other.engine)
        self.assertRaises(errors.DatabaseUnavailable, self.other.snapshot)
        self.other.snapshot()
        self.assert_kept()
        self.assertEqual(1, self.other.engine.snapshots.other_histories)
        self.assert_settled()

    def test_history_that_is_lost_again_begins_again(self):
        """Between the two, nothing but the first loss was written."""
        dump = gone_back.Dump(self.engine.database)
        self.leasing.create(1, 2)
        dump.restore()
        self.leasing.snapshot()
        self.world.find_out()
        self.leasing.snapshot()
        dump.restore()
        self.leasing.snapshot()
        self.assertEqual(2, self.engine.snapshots.other_histories)
        self.assert_kept()
        self.assert_settled()

    def test_lost_history_within_the_wait_prolongs_it(self):
        dump = gone_back.Dump(self.engine.database)
        for _ in range(2):
            self.leasing.create(1, 2)
            dump.restore()
            self.leasing.snapshot()
        (row,) = self.world.in_flight()
        self.world.clock.advance(30)
        self.world.restored()
        (later,) = self.world.in_flight()
        self.assertEqual(30, (later['expires_at']
                              - row['expires_at']).total_seconds())
        self.assert_settled()

    def test_node_of_a_dead_conductor_holds_up_no_others(self):
        """All have the same date, and more than are read at once are dead."""
        others = self.leasing.hosts(2)
        self.world.ironic.conductors[self.node] = 'dead'
        self.world.ironic.silent = {'dead'}
        self.world.restored()
        with mock.patch.object(uncertain, '_PAGE', 1):
            self.world.find_out()
        self.assert_kept()
        for each in others:
            self.world.reserve(each)

    def test_plan_of_before_is_not_committed(self):
        """The rows of the node are the same in both histories."""
        planned = []

        def meanwhile():
            planned.append(True)
            self.world.restored()
        self.world.before_next_write(meanwhile)
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                          self.node)
        self.assertEqual([True], planned)

    def test_later_lease_is_promised_meanwhile(self):
        self.world.restored()
        self.leasing.create(1, 2)

    def test_lease_starts_once_its_node_is_known(self):
        lease = self.leasing.create(1, 2)
        self.leasing.clock_passes(1)
        self.world.restored()
        self.world.find_out()
        self.leasing.bind()
        self.assertEqual(self.node, self.home(lease))

    def test_compute_hosts_are_not_in_question(self):
        self.leasing.change_host(self.node, inventories=())
        self.world.restored()
        self.assertEqual([], self.rows())


@servers.also
class TestAnotherServer(_TestCase):
    """A process that knows of nothing finds that the server is another."""

    def test_reservation_is_refused(self):
        self.moves()
        self.assert_kept()
        self.assert_settled()

    def test_deploy_is_refused(self):
        self.moves()
        self.assertRaises(errors.Contention, admission.admit, self.engine,
                          self.node)
        self.assert_kept()

    def test_new_process_finds_out(self):
        self.moves()
        self.another().snapshot()
        self.assert_kept()
        self.leasing.snapshot()
        self.assertEqual(0, self.engine.snapshots.other_histories)

    def test_node_that_the_lost_history_had_enrolled(self):
        self.world.restored()
        (new,) = self.world.enrol(mirrored=False)
        self.assertRaises(errors.Contention, admission.admit, self.engine, new)
        self.world.refresh()
        self.assert_kept(self.node, new)
        self.assert_settled(self.node, new)

    def test_node_that_is_enrolled_later(self):
        self.world.restored()
        self.world.find_out()
        (new,) = self.world.enrol(mirrored=False)
        self.world.refresh()
        self.assertEqual([], self.rows())
        self.world.reserve(new)

    def test_command_says_until_when(self):
        self.assertEqual(0, restored.run(self.engine))
        self.assert_kept()
        self.assert_settled()
