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

"""A lease leaves its nodes as they were before."""

from unittest import mock

from ironic_reservations import errors
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.features.enforcement import client as enforcement
from ironic_reservations.model import leases as values
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.reconciler import leases

ACTIVE, TERMINATING, TERMINATED = (
    leases.STATUS.ACTIVE, leases.STATUS.TERMINATING, leases.STATUS.TERMINATED)


class _Running(leases.TestCase):
    """A lease from one until four, on one of two nodes, in use."""

    before: str | None = None

    def setUp(self):
        super().setUp()
        self.made = self.started(lessee=self.before)
        self.node = self.node_of(self.made)
        self.ironic.deploy(self.node, world.new_uuid())
        self.ironic.cleaning = 'cleaning'
        self.leasing.refresh()
        self.work()
        self.ironic.changed.clear()
        self.heard.told.clear()

    def status(self):
        return self.lease(self.made).status

    def goes_free(self, state='available'):
        """Have the node be clean, and all be worked on."""
        self.ironic.change(self.node, provision_state=state)
        self.soon()

    def there(self):
        """Return the node as Ironic has it."""
        return self.ironic.there[self.node]


@servers.also_postgresql
class TestEnd(_Running):

    before = 'operators'

    def test_end_is_told_when_it_is_near(self):
        self.assertEqual([0, 1, 0], [self.work_at(hours)
                                     for hours in (2.9, 3, 3.1)])
        self.assertEqual({'lease.event.before_end_lease': 1},
                         self.heard.count())

    def test_end_is_told_again_after_an_extension(self):
        self.work_at(3)
        self.leasing.change(self.made, end=8)
        self.work_at(7)
        self.assertEqual(2, self.heard.count()['lease.event.before_end_lease'])

    def test_node_is_undeployed_cleaned_and_given_back(self):
        self.work_at(4)
        self.assertEqual(TERMINATING, self.status())
        self.assertIn('cleaning', self.lease(self.made).waiting)
        self.assertEqual('IN_PROGRESS', self.happened(self.made)['end_lease'])
        self.assertEqual(1, len(self.leasing.rows()))
        self.goes_free()
        over = self.lease(self.made)
        self.assertEqual((TERMINATED, None, False),
                         (over.status, over.waiting, over.degraded))
        self.assertEqual('deleted', over.reservations[0].status)
        self.assertEqual({'start_lease': 'DONE', 'before_end_lease': 'DONE',
                          'end_lease': 'DONE'}, self.happened(self.made))
        self.assertEqual([], self.leasing.rows())
        self.assertIsNone(self.due(self.made))
        self.assertEqual('operators', self.there().lessee)
        self.assertEqual([('write_lessee', self.node),
                          ('undeploy', self.node)], self.ironic.changed)
        self.assertEqual(1, self.heard.count()['lease.event.end_lease'])
        self.assertEqual({}, self.leasing.stale())

    def test_freed_node_can_be_leased_before_the_next_poll(self):
        """The mirror still showed it while it was put back."""
        self.work_at(4)
        self.world.change(self.node, provision_state='manageable')
        self.goes_free()
        now = (self.world.clock.now - leasing.at(0)).total_seconds() / 3600
        again = self.leasing.create(now, 8)
        self.assertEqual([self.node], [
            row.node_uuid for row in again.bookings])

    def test_lessee_that_somebody_else_wrote_stays(self):
        self.ironic.change(self.node, lessee='other')
        self.work_at(4)
        self.assertEqual('other', self.there().lessee)

    def test_lessee_that_is_written_after_the_end_stays(self):
        self.work_at(4)
        self.ironic.change(self.node, lessee=leasing.PROJECT)
        self.goes_free()
        self.assertEqual(TERMINATED, self.status())
        self.assertEqual(leasing.PROJECT, self.there().lessee)

    def test_node_that_is_not_used_is_not_undeployed(self):
        self.ironic.free(self.node)
        self.work_at(4)
        self.assertEqual(TERMINATED, self.status())
        self.assertEqual([('write_lessee', self.node)], self.ironic.changed)

    def test_instance_that_was_not_deployed_is_taken_off(self):
        self.ironic.change(self.node, provision_state='available')
        self.work_at(4)
        self.assertEqual(TERMINATED, self.status())
        self.assertIsNone(self.there().instance_uuid)

    def test_node_that_is_held_does_not_outlive_the_lease(self):
        self.ironic.change(self.node, provision_state='deploy hold')
        self.work_at(4)
        self.soon()
        self.assertEqual('cleaning', self.there().provision_state)

    def test_node_that_is_gone_holds_nothing_up(self):
        self.ironic.remove(self.node)
        self.work_at(4)
        self.assertEqual(TERMINATED, self.status())

    def test_node_that_fails_cleaning_is_flagged_and_waited_for(self):
        self.ironic.cleaning = 'clean failed'
        self.work_at(4)
        over = self.lease(self.made)
        self.assertEqual((TERMINATING, True), (over.status, over.degraded))
        self.assertIn('clean failed', over.waiting)
        self.assertIn(('lease.update', 'degraded'), [
            (event, reason) for event, _, reason in self.heard.told])
        self.soon(times=3)
        self.assertEqual(TERMINATING, self.status())
        self.assertEqual(1, self.heard.count()['lease.update'])
        self.goes_free()
        self.assertEqual(TERMINATED, self.status())

    def test_node_that_fails_cleaning_is_not_leased_again(self):
        """esi-leap: leases in error are no conflict, so that a node in use is
        leased again.
        """
        self.ironic.cleaning = 'clean failed'
        self.work_at(4)
        self.assertTrue(self.lease(self.made).degraded)
        self.leasing.refused(None, 6)
        self.leasing.refresh()
        for start in (None, 4.5, 8):
            self.leasing.refused(start, 9)
        self.assertEqual([], self.leasing.overlaps())
        self.goes_free()
        self.leasing.refresh()
        self.leasing.create(None, 9)

    def test_node_in_maintenance_is_left_to_the_operator(self):
        self.ironic.change(self.node, maintenance=True)
        self.work_at(4)
        self.assertEqual((TERMINATING, True),
                         (self.status(), self.lease(self.made).degraded))
        self.assertNotIn(('undeploy', self.node), self.ironic.changed)
        self.ironic.change(self.node, maintenance=False)
        self.soon()
        self.assertIn(('undeploy', self.node), self.ironic.changed)

    def test_node_that_refuses_is_tried_again(self):
        self.ironic.refuses.add(self.node)
        self.work_at(4)
        self.assertIn('locked', self.lease(self.made).waiting)
        self.assertEqual('active', self.there().provision_state)
        self.ironic.refuses.clear()
        self.soon()
        self.goes_free()
        self.assertEqual(TERMINATED, self.status())
        self.assertEqual('operators', self.there().lessee)

    def test_extension_in_the_last_second_keeps_the_node(self):
        self.at(3.999)
        self.leasing.change(self.made, end=6)
        self.work_at(4)
        self.assertEqual(ACTIVE, self.status())
        self.assertEqual('active', self.there().provision_state)

    def test_deleted_lease_is_gone_when_its_node_is_back(self):
        self.at(2)
        self.leasing.end(self.made)
        self.work()
        self.assertEqual(leases.STATUS.DELETING, self.status())
        self.goes_free()
        self.assertRaises(errors.LeaseNotFound, self.lease, self.made)
        self.assertEqual({}, self.world.lease_rows())
        self.assertEqual([], self.leasing.rows())
        self.assertEqual('operators', self.there().lessee)


class TestEndOfPermitted(_Running):

    options = {'leases__enforcement_commit_url': 'http://127.0.0.1:1/'}

    def test_end_is_told_to_the_service_of_the_operator(self):
        with mock.patch.object(enforcement, 'on_end') as told:
            self.work_at(4)
            self.assertEqual(0, told.call_count)
            self.goes_free()
            self.assertEqual(1, told.call_count)


@servers.also
class TestRequestsUnderWay(leases.TestCase):
    """A deploy was let through, and Ironic has not answered it yet."""

    def setUp(self):
        super().setUp()
        (self.node,) = self.leasing.hosts(lessee='operators')
        self.made = self.leasing.create(1, 4)
        self.work_at(3.999)
        self.through = admission.admit(self.engine, self.node,
                                     self.made.reservations[0].id)

    def is_deployed(self):
        """Have the deploy go through, and all be worked on."""
        self.ironic.deploy(self.node, world.new_uuid())
        admission.close(self.engine, self.through, True)
        self.soon()
        self.soon()
        self.assertIn(('undeploy', self.node), self.ironic.changed)

    def test_node_that_is_deployed_at_the_last_moment_is_undeployed(self):
        self.work_at(4)
        self.assertIn('under way', self.lease(self.made).waiting)
        self.is_deployed()
        self.assert_status(TERMINATED, self.made)
        there = self.ironic.there[self.node]
        self.assertEqual(('available', None, 'operators'), (
            there.provision_state, there.instance_uuid, there.lessee))

    def test_node_that_is_given_back_at_the_last_moment_likewise(self):
        self.leasing.end(self.made)
        self.work()
        self.is_deployed()
        self.assertEqual({}, self.world.lease_rows())

    def test_request_whose_process_died_is_found_out_about(self):
        self.work_at(4)
        self.assert_status(TERMINATING, self.made)
        self.world.find_out()
        self.soon()
        self.assert_status(TERMINATED, self.made)
        self.assertEqual('operators', self.ironic.there[self.node].lessee)


@servers.also
class TestLeave(_Running):

    options = {'leases__end_action': 'leave'}

    def test_what_is_deployed_stays_and_the_lease_is_flagged(self):
        self.assert_over(degraded=True)
        self.assertEqual(('active', None), (self.there().provision_state,
                                            self.there().lessee))

    def assert_over(self, degraded):
        self.work_at(4)
        over = self.lease(self.made)
        self.assertEqual((TERMINATED, degraded), (over.status, over.degraded))

    def test_node_that_is_free_flags_nothing(self):
        self.ironic.free(self.node)
        self.assert_over(degraded=False)


@servers.also
class TestGivenBack(leases.TestCase):

    def setUp(self):
        super().setUp()
        self.made = self.started(2)
        self.gone, self.kept = self.leasing.nodes(self.made)

    def nodes(self):
        return [each.node_uuid for each in self.lease(self.made).bookings]

    def test_one_node_goes_and_the_lease_goes_on(self):
        for node in (self.gone, self.kept):
            self.ironic.deploy(node, world.new_uuid())
        self.ironic.cleaning = 'cleaning'
        self.leasing.resize(self.made, give_back=[self.gone])
        self.work()
        self.assert_status(ACTIVE, self.made)
        self.assertIn('cleaning', self.lease(self.made).waiting)
        self.assertIsNone(self.ironic.there[self.gone].lessee)
        self.ironic.change(self.gone, provision_state='available')
        self.soon()
        self.assertEqual([self.kept], self.nodes())
        self.assertIsNone(self.lease(self.made).waiting)
        kept = self.ironic.there[self.kept]
        self.assertEqual((leasing.PROJECT, 'active'),
                         (kept.lessee, kept.provision_state))

    def test_node_that_is_stuck_keeps_no_other_step_from_being_taken(self):
        self.ironic.change(self.gone, provision_state='clean failed')
        self.leasing.resize(self.made, give_back=[self.gone])
        self.work()
        self.assertIn('clean failed', self.lease(self.made).waiting)
        self.work_at(3)
        self.assertEqual(1, self.heard.count()['lease.event.before_end_lease'])
        self.work_at(4)
        self.assertEqual([self.gone], self.nodes())


@servers.also_mysql
class TestBreaking(_Running):

    def test_lease_is_flagged_and_keeps_its_node(self):
        self.leasing.hosts()
        self.ironic.change(self.node, maintenance=True)
        self.watch()
        self.watch()
        flagged = self.lease(self.made)
        self.assertEqual((ACTIVE, True, True), (
            flagged.status, flagged.degraded,
            flagged.reservations[0].missing_resources))
        self.assertEqual(self.node, self.node_of(self.made))
        self.assertEqual({'lease.update': 1}, self.heard.count())

    def test_node_that_is_gone_from_ironic_flags_its_lease(self):
        self.world.enrol()
        self.ironic.remove(self.node)
        self.watch()
        self.assertTrue(self.lease(self.made).degraded)
        self.assertEqual('gone', self.world.mirrored()[self.node][
            'provision_state'])

    def test_owner_gets_another_node_on_request(self):
        (other,) = self.leasing.hosts()
        self.ironic.change(self.node, maintenance=True)
        self.watch()
        self.at(2)
        self.leasing.change(self.made, heal=True)
        self.work()
        self.watch()
        (there,) = [booking for booking in self.lease(self.made).bookings
                    if booking.state is values.BookingState.BOUND]
        self.assertEqual(other, there.node_uuid)
        self.assertFalse(self.lease(self.made).degraded)
        self.assertEqual(leasing.PROJECT, self.ironic.there[other].lessee)
