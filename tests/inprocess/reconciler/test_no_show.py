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

"""Nodes of leases that nobody deploys are told of, then released."""


import testscenarios

from ironic_reservations import errors
from ironic_reservations.db import lease_work
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.features.no_show import no_show
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.reconciler import leases
from tests.inprocess.reconciler import no_shows


class _TestCase(no_shows.TestCase):

    def assert_told_once_more_and_released(self, hours):
        """Check that all begins anew.

        :param hours: when it is told once more, an hour after the break.
        """
        for at, released, told in (
                (-0.1, [], 1), (0.01, [], 2), (0.9, [], 2),
                (1.1, self.mine, 2)):
            self.run_at(hours + at)
            self.assertEqual((released, told), (
                self.released(), len(self.told(no_shows.WARNING))), at)

    def assert_released(self, nodes, *hours):
        """Check which nodes have been released at the last of some hours."""
        for each in hours:
            self.run_at(each)
        self.assertEqual(nodes, self.released())


@servers.also_postgresql
class TestAfterTheWarning(testscenarios.WithScenarios, _TestCase):
    """The owner could not do what the warning asked for, for a while."""

    scenarios = [(name, {'during': during, 'after': after})
                 for name, during, after in (
        ('maintenance', {'maintenance': True}, {'maintenance': False}),
        ('cleaning', {'provision_state': 'cleaning'},
         {'provision_state': 'available'}),
        ('retired', {'retired': True}, {'retired': False}))]

    def test_time_begins_anew(self):
        for hours, known in ((2, self.during), (3.5, self.after)):
            self.run_at(hours)
            for node in self.mine:
                self.ironic.change(node, **known)
            self.leasing.refresh()
        self.assert_released([], 3.6)
        self.assert_told_once_more_and_released(4.61)


@servers.also_postgresql
class TestNode(_TestCase):

    def test_told_and_released(self):
        self.run_at(1.9)
        self.assertEqual([], self.heard.told)
        self.run_at(2)
        (lease, _), = self.told(no_shows.WARNING)
        self.assertEqual(self.mine, sorted(
            booking.node_uuid for booking in lease.bookings))
        self.run_at(2.9)
        self.assertEqual((self.mine, 1), (
            sorted(self.leasing.nodes(self.made)),
            len(self.told(no_shows.WARNING))))
        self.run_at(3)
        over = self.lease(self.made)
        self.assertEqual((leases.STATUS.TERMINATED, (), False),
                         (over.status, over.bookings, over.degraded))
        self.assertLess(over.end, leasing.at(3.01))
        self.assertEqual(['no_show'], [
            reason for _, reason in self.told('lease.update')])
        self.assertEqual(1, self.heard.count()['lease.event.end_lease'])
        self.assertEqual([None] * 3, [
            node.lessee for node in self.ironic.there.values()])
        self.assertEqual({}, self.leasing.stale())
        self.leasing.create(4, 9, leasing.wish(3))

    def test_node_that_is_deployed_stays(self):
        self.run_at(2)
        self.deploy(self.mine[0])
        self.assert_released(self.mine[1:], 3)
        after = self.lease(self.made)
        self.assertEqual((leases.STATUS.ACTIVE, 1, 1, False), (
            after.status, after.reservations[0].least,
            after.reservations[0].most, after.degraded))
        self.assertEqual('active',
                         self.ironic.there[self.mine[0]].provision_state)
        self.assertEqual({}, self.leasing.stale())
        longer = self.leasing.change(self.made, end=12)
        self.assertEqual([self.mine[0]],
                         [each.node_uuid for each in longer.bookings])

    def test_node_that_was_deployed_and_is_no_more_has_been_used(self):
        """Before the mirror has looked even once."""
        self.deploy(self.mine[0])
        self.undeploy(self.mine[0])
        self.assert_released(self.mine[1:], 2, 8)

    def test_what_only_the_mirror_has_seen_counts(self):
        self.ironic.deploy(self.mine[0], world.new_uuid())
        self.run_at(1.5)
        self.ironic.free(self.mine[0])
        self.assert_released(self.mine[1:], 2, 8)

    def test_deploy_that_came_to_nothing_does_not_count(self):
        self.deploy(self.mine[0], succeeds=False)
        self.assert_released(self.mine, 2, 3)

    def test_deploy_that_a_pass_has_seen_and_ironic_refused(self):
        """The owner does not get a new time by that."""
        through = admission.admit(self.engine, self.mine[0], self.proof)
        self.one_pass()
        admission.close(self.engine, through, False)
        self.assert_released(self.mine, 2, 3.01)

    def test_deploy_of_which_nobody_knows_what_became_counts(self):
        admission.mark_uncertain(self.engine, admission.admit(
            self.engine, self.mine[0], self.proof))
        self.assert_released(self.mine[1:], 2, 8)
        self.world.find_out()
        self.assertEqual([], self.world.in_flight())
        self.assert_released(self.mine[1:], 8.5)

    def test_request_to_free_the_node_is_no_use(self):
        self.undeploy(self.mine[0])
        self.assert_released(self.mine, 2, 3)

    def test_deploy_under_way_comes_first(self):
        self.run_at(2)
        through = admission.admit(self.engine, self.mine[0], self.proof)
        self.assert_released(self.mine[1:], 3)
        self.ironic.deploy(self.mine[0], world.new_uuid())
        admission.close(self.engine, through, True)
        self.assert_released(self.mine[1:], 8)

    def test_deploy_between_the_look_and_the_commit_wins(self):
        self.run_at(2)
        self.pass_until(3.01)
        no_show.wake(self.engine)
        self.ironic.interrupt('node', lambda: self.deploy(self.mine[0]))
        self.world.clock.advance(1)
        self.work()
        self.assertEqual(self.mine[1:], self.released())
        self.assertNotIn(('undeploy', self.mine[0]), self.ironic.changed)

    def test_deploy_after_the_release_is_refused(self):
        self.run_at(2)
        self.run_at(3)
        self.assertRaises(errors.ProofInvalid, self.deploy, self.mine[0])

    def test_nothing_is_released_while_ironic_is_silent(self):
        """And its owner has the whole time when it is back."""
        self.run_at(2)
        self.ironic.down = True
        self.pass_until(3.01)
        no_show.wake(self.engine)
        self.world.clock.advance(1)
        self.work()
        self.assertEqual([], self.released())
        self.run_at(5)
        self.ironic.down = False
        self.assert_released([], 5.1)
        self.assert_told_once_more_and_released(6.1)

    def test_ironic_that_is_back_before_the_release_is_due(self):
        """Its silence is not held against the owner, either."""
        self.run_at(2)
        self.ironic.down = True
        self.run_at(2.95)
        self.ironic.down = False
        self.assert_released([], 3.01)
        self.assert_told_once_more_and_released(4.02)

    def test_no_pass_for_a_while(self):
        """The database was away, for one, and nobody was let through."""
        self.run_at(2)
        self.at(3.5)
        self.leasing.refresh()
        self.work()
        self.assertEqual([], self.released())
        self.assert_released([], 3.6)
        self.assert_told_once_more_and_released(4.61)

    def test_worker_that_comes_before_the_first_pass_after_a_break(self):
        self.run_at(2)
        self.at(3.5)
        with self.engine.database.write() as connection:
            lease_work.wake(connection, self.mine, self.world.clock.now)
        self.world.clock.advance(1)
        self.work()
        self.assertEqual([], self.released())

    def look_often(self, hours):
        """Have passes until an hour that find the mirror as it was."""
        clock = self.world.clock
        while clock.now + no_shows.APART < leasing.at(hours):
            clock.now += no_shows.APART
            no_show.wake(self.engine)
        self.at(hours)
        no_show.wake(self.engine)

    def test_mirror_that_is_old_releases_nothing(self):
        self.run_at(2)
        self.ironic.deploy(self.mine[0], world.new_uuid())
        self.look_often(3.01)
        self.world.clock.advance(1)
        self.work()
        self.assertEqual(self.mine[1:], self.released())
        self.assertNotIn(('undeploy', self.mine[0]), self.ironic.changed)

    def test_node_that_cannot_be_deployed_is_kept(self):
        self.leasing.break_node(self.mine[0])
        self.assert_released(self.mine[1:], 2, 8)
        self.leasing.mend_node(self.mine[0])
        self.assert_released(self.mine[1:], 8.1)

    def test_reservation_that_loses_all_leaves_the_others(self):
        """And the lease can be extended with what is left."""
        made = self.gold_and_tin(1)
        self.one_pass()
        gold, tin = (each.bookings[0].node_uuid
                     for each in self.lease(made).reservations)
        self.run_at(4)
        self.run_at(5.01)
        self.assertEqual({tin}, self.leasing.nodes(made))
        self.assertEqual(['deleted', 'active'], [
            each.status.value for each in self.lease(made).reservations])
        longer = self.leasing.change(made, end=12)
        self.assertEqual([tin], [each.node_uuid for each in longer.bookings])
        self.run_at(5.5)
        after = self.lease(made)
        self.assertEqual((leases.STATUS.ACTIVE, False, {tin}), (
            after.status, after.degraded, self.leasing.nodes(made)))
        self.assertNotEqual(gold, tin)

    def test_reservation_that_loses_nothing_is_as_it_was(self):
        """It may grow to its maximum when it is extended."""
        made = self.gold_and_tin(3)
        before = self.lease(made).reservations[1]
        self.run_at(3)
        self.run_at(4)
        self.run_at(5.01)
        self.assertEqual(before, self.lease(made).reservations[1])

    def gold_and_tin(self, most):
        """Return a lease from 3 to 9 of nodes of two classes."""
        self.leasing.hosts(1, resource_class='tin')
        made = self.leasing.create(3, 9, leasing.wish_of('gold'), leasing.wish(
                1, most, properties=leasing.of_class('tin')))
        self.work_at(3)
        return made

    def test_other_worker_finds_nothing_left(self):
        self.run_at(2)
        self.look_often(3.01)
        self.world.clock.advance(1)
        self.assertEqual(1, self.work())
        self.assertEqual(0, self.work(self.another_crew()))
        self.assertEqual(1, len(self.told('lease.update')))

    def test_nothing_left_to_do_wakes_nobody(self):
        self.deploy(self.mine[0])
        self.deploy(self.mine[1])
        self.run_at(3)
        before = self.row(self.made)['due_at']
        no_show.wake(self.engine)
        self.assertEqual(before, self.row(self.made)['due_at'])


@servers.also_mysql
class TestAtStart(testscenarios.WithScenarios, no_shows.Passes):
    """A lease from one until nine; two hours to deploy, told 10 min before.
    """

    options = {'leases__no_show_after': {'gold': 7200},
               'leases__no_show_warn_before': 600, **no_shows.PASSES}

    #: What a node is like at the start, and what two and a half hours later.
    #: With its lessee it was bound at once, but could not be deployed.
    scenarios = [(name, {'change': change, 'back': back})
                 for name, change, back in (
        ('cleaned', {'provision_state': 'cleaning'},
         {'provision_state': 'available'}),
        ('cleaned_with_its_lessee', {'provision_state': 'cleaning',
                                     'lessee': leasing.PROJECT},
         {'provision_state': 'available'}),
        ('in_maintenance', {'maintenance': True}, {'maintenance': False}))]

    def test_time_counts_from_when_a_node_can_be_deployed(self):
        node, = self.leasing.hosts(1, resource_class='gold')
        made = self.leasing.create(1, 9, leasing.wish(1))
        self.at(1)
        self.ironic.change(node, **self.change)
        self.run_at(1)
        self.run_at(3.5)
        self.ironic.change(node, **self.back)
        for hours in (3.51, 3.8, 5.4):
            self.run_at(hours)
            self.assertEqual({node}, self.leasing.nodes(made))
        self.run_at(5.7)
        self.assertEqual(set(), self.leasing.nodes(made))


@servers.also
class TestNoWarning(_TestCase):

    options = {**no_shows.TestCase.options, 'leases__no_show_warn_before': 0}

    def test_not_gone_the_second_that_maintenance_ends(self):
        self.leasing.break_node(self.mine[0])
        self.run_at(4)
        self.leasing.mend_node(self.mine[0])
        self.assert_released(self.mine[1:], 4.1)
        self.assert_released(self.mine, 6.2)


@servers.also
class TestWhole(no_shows.TestCase):

    options = {**no_shows.TestCase.options, 'leases__no_show_release': 'lease'}

    def test_lease_ends_whole(self):
        self.run_at(2)
        self.run_at(3)
        self.assert_status(leases.STATUS.TERMINATED, self.made)

    def test_one_node_that_is_used_keeps_all(self):
        self.run_at(2)
        self.deploy(self.mine[0])
        self.run_at(3)
        before = self.row(self.made)['due_at']
        self.run_at(7)
        self.assertEqual(([], before),
                         (self.released(), self.row(self.made)['due_at']))


@servers.also
class TestInstances(leases.TestCase):

    options = {'leases__no_show_after': {'*': 60},
               'leases__no_show_warn_before': 0}

    def test_lease_of_instances_is_kept(self):
        self.leasing.compute_hosts(2)
        made = self.leasing.create(1, 9, leasing.instances(2))
        self.work_at(1)
        self.at(8)
        no_show.wake(self.engine)
        self.work()
        self.assert_status(leases.STATUS.ACTIVE, made)
