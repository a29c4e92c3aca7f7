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

"""Reservations whose holders acted on their nodes, and their ends."""

from unittest import mock

from ironic_reservations import errors
from ironic_reservations.db import handovers as db_handovers
from ironic_reservations.db import tables
from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import acted
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.in_flight import protect
from ironic_reservations.engine.reservations import find
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.lifecycle import admit
from ironic_reservations.lifecycle import protect as protection
from tests import leasing
from tests import servers
from tests import world
from tests.inprocess.reconciler import leases


@servers.also
class TestPutBack(leases.TestCase):

    def setUp(self) -> None:
        super().setUp()
        (self.node,) = self.world.enrol()
        self.ironic.fields[self.node] = {'power_state': 'power off'}
        self.before = self.ironic.document(self.node)
        self.held = self.world.reserve(self.node, ttl=600)

    def _act(self) -> None:
        acted.write(self.engine, self.node, ('power', '/description'))
        self.ironic.fields[self.node] = {'power_state': 'power on',
                                         'description': 'his'}

    def _put_back(self) -> None:
        """Check that others get the node as it was, once it has been."""
        (lease,) = self.leasing.all()
        self.assertEqual((leases.STATUS.DELETING, (), 1), (
            lease.status, lease.events, len(lease.bookings)))
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                          self.node)
        self.soon(times=6)
        self.assertEqual([], self.leasing.all())
        self.assertEqual(self.before, self.ironic.document(self.node))
        self.assertEqual(['manage', 'provide'], [
            call for call, _ in self.ironic.changed
            if call in ('manage', 'provide')])
        self.world.refresh()
        self.world.reserve(self.node)

    def test_expired(self) -> None:
        self._act()
        self.world.clock.advance(601)
        self.assertRaises(errors.NoNodeAvailable, self.world.reserve,
                          self.node)
        sweep.sweep(self.engine)
        self._put_back()

    def test_deleted(self) -> None:
        self._act()
        release.release(self.engine, self.held.uuid)
        self._put_back()

    def test_undeployed(self) -> None:
        self._act()
        self.world.use(self.held)
        self.world.refresh()
        self.assertRaises(errors.ReservationInUse, release.release,
                          self.engine, self.held.uuid)
        self.world.change(self.node, provision_state='available',
                          instance_uuid=None)
        self._put_back()

    def test_deployed_with_nothing_that_outlives_it(self) -> None:
        acted.write(self.engine, self.node, (
            '/instance_info/configdrive', '/instance_name', 'power'))
        self.world.use(self.held)
        self.world.refresh()
        release.release(self.engine, self.held.uuid)
        self.assertEqual([], self.leasing.all())
        with self.engine.database.read() as connection:
            self.assertEqual({}, db_handovers.read(connection, (self.node,)))

    def test_deleted_while_a_deploy_is_sent_that_ironic_refuses(self) -> None:
        self._act_before_deploy()
        opened = admission.admit(self.engine, self.node, self.held.uuid)
        self._refuses()
        admission.close(self.engine, opened, False)
        release.release(self.engine, self.held.uuid)
        self._put_back()

    def test_deleted_after_the_process_of_a_deploy_has_died(self) -> None:
        self._act_before_deploy()
        admission.admit(self.engine, self.node, self.held.uuid)
        with self.engine.database.write() as connection:
            connection.execute(tables.in_flight_requests.delete())
        self._refuses()

    def test_deleted_while_a_deployed_node_is_changed(self) -> None:
        self._act_before_deploy()
        self.world.use(self.held)
        self.world.refresh()
        opened = admission.admit(self.engine, self.node, self.held.uuid)
        self._refuses()
        admission.close(self.engine, opened, False)
        release.release(self.engine, self.held.uuid)
        self.assertEqual([], self.leasing.all())

    def test_deleted_after_an_undeploy_that_the_mirror_has_not_seen(
            self) -> None:
        self._act_before_deploy()
        self.world.use(self.held)
        self.world.refresh()
        self.ironic.free(self.node)
        self._act_before_deploy()
        release.release(self.engine, self.held.uuid)
        self._put_back()

    def test_deleted_beside_an_undeploy_and_an_act(self) -> None:
        self._act_before_deploy()
        self.world.use(self.held)
        self.world.refresh()

        def undeploy() -> None:
            self.ironic.free(self.node)
            self._act_before_deploy()
        self.world.before_next_write(undeploy)
        release.release(self.engine, self.held.uuid)
        self._put_back()

    def test_deleted_while_ironic_does_not_answer(self) -> None:
        self._act_before_deploy()
        self.world.use(self.held)
        self.patch(self.ironic, 'node', mock.Mock(
            side_effect=errors.IronicUnavailable('no')))
        self.assertRaises(errors.IronicUnavailable, release.release,
                          self.engine, self.held.uuid)
        find.get(self.engine, self.held.uuid)

    def _act_before_deploy(self) -> None:
        acted.write(self.engine, self.node, ('power', '/instance_info'))
        self.ironic.fields[self.node] = {'power_state': 'power on'}

    def _refuses(self) -> None:
        self.assertRaises(errors.ReservationInUse, release.release,
                          self.engine, self.held.uuid)
        find.get(self.engine, self.held.uuid)

    def test_renewed_in_time(self) -> None:
        self._act()
        self.world.clock.advance(590)
        renew.renew(self.engine, self.held.uuid, ttl=600)
        self.world.clock.advance(20)
        sweep.sweep(self.engine)
        self.assertEqual([], self.leasing.all())

    def test_renewal_that_stood_still_past_the_end_brings_nothing_back(
            self) -> None:
        self._act()

        def pass_by() -> None:
            self.world.clock.advance(601)
            self.assertRaises(errors.ReservationNotFound, find.get,
                              self.engine, self.held.uuid)
        self.world.before_next_write(pass_by)
        self.assertRaises(errors.ReservationNotFound, renew.renew,
                          self.engine, self.held.uuid, ttl=600)
        sweep.sweep(self.engine)
        self._put_back()

    def test_nobody_acted(self) -> None:
        self.world.clock.advance(601)
        self.world.reserve(self.node)
        self.assertEqual([], self.leasing.all())

    def test_act_that_an_end_overtakes_is_refused(self) -> None:
        self.engine.database.interruptions.append(
            lambda: release.release(self.engine, self.held.uuid))
        self.assertRaises(errors.Contention, self._act)
        self.assertEqual([], self.leasing.all())

    def _handed_on(self) -> None:
        release.release(self.engine, self.held.uuid)
        self.ironic.fields[self.node] = {'description': 'put back'}
        self.world.reserve(self.node)

    def test_act_of_a_holder_before_was_that_of_the_next(self) -> None:
        """The next one had to be put back, who had done nothing."""
        self._handed_on()
        self.assertRaises(errors.Contention, acted.write, self.engine,
                          self.node, ('power',), judged=self.held.uuid)
        self._assert_unacted()

    def test_node_that_passes_on_while_an_act_is_written(self) -> None:
        """The next one was to get what the node was like before it."""
        self.ironic.fields[self.node] = {'description': 'of the first'}
        self.engine.database.interruptions.append(self._handed_on)
        self.assertRaises(errors.Contention, acted.write, self.engine,
                          self.node, ('/description',))
        self._assert_unacted()

    def _assert_unacted(self) -> None:
        with self.engine.database.read() as connection:
            self.assertEqual({}, db_handovers.read(connection, (self.node,)))
        self.assertEqual([False], [bool(row['acted']) for row in
                                   self.world.reservations().values()])

    def test_end_that_an_act_overtakes_puts_back(self) -> None:
        self.engine.database.interruptions.append(self._act)
        release.release(self.engine, self.held.uuid)
        self._put_back()

    def test_same_instance_gets_another_node_meanwhile(self) -> None:
        self._act()
        release.release(self.engine, self.held.uuid)
        (other,) = self.world.enrol()
        again = self.world.reserve(
            self.node, other, instance_uuid=self.held.instance_uuid)
        self.assertEqual(other, again.node_uuid)

    def test_same_instance_while_its_old_node_waits_to_be_put_back(
            self) -> None:
        self._act()
        self.world.clock.advance(601)
        (other,) = self.world.enrol()
        again = self.world.reserve(
            self.node, other, instance_uuid=self.held.instance_uuid)
        self.assertEqual(other, again.node_uuid)
        self.assertEqual(1, len(self.leasing.all()))

    def test_uuid_stays_in_use(self) -> None:
        self._act()
        release.release(self.engine, self.held.uuid)
        (other,) = self.world.enrol()
        self.assertRaises(errors.UuidInUse, self.world.reserve, other,
                          uuid=self.held.uuid)

    def test_holder_can_do_nothing_after_its_end(self) -> None:
        self._act()
        self.world.clock.advance(601)
        for attempt in (
                lambda: release.release(self.engine, self.held.uuid),
                lambda: renew.renew(self.engine, self.held.uuid, ttl=600),
                lambda: find.get(self.engine, self.held.uuid)):
            self.assertRaises(errors.ReservationNotFound, attempt)
        self.assertEqual([], find.page(self.engine, find.Query()))
        self.assertRaises(errors.Contention, self._act)
        for proof, refused in ((self.held.uuid, errors.ProofInvalid),
                               (None, errors.ProofRequired)):
            self.assertRaises(refused, admission.admit, self.engine,
                              self.node, proof)
        actor = protection.Actor(admit.Claim(self.held.uuid))
        self.assertRaises(errors.ProofInvalid, protect.keep, self.engine,
                          self.node, protect.ChangeRequest(actor))

    def test_no_lease_starts_on_a_node_that_waits_to_be_put_back(
            self) -> None:
        (host,) = self.leasing.hosts(1)
        self.world.reserve(host, ttl=600)
        acted.write(self.engine, host, ('power',))
        self.world.clock.advance(601)
        self.leasing.refused(None, 3, leasing.wish(1))
        sweep.sweep(self.engine)
        self.leasing.refused(None, 3, leasing.wish(1))
        self.soon(times=6)
        self.leasing.create(None, 3, leasing.wish(1))

    def test_nobody_else_undeploys_what_was_deployed_beside(self) -> None:
        self._act()
        release.release(self.engine, self.held.uuid)
        self.ironic.deploy(self.node, world.new_uuid())
        self.soon()
        (lease,) = self.leasing.all()
        self.assertIn('when it is undeployed', str(lease.waiting))
        self.assertNotIn(('undeploy', self.node), self.ironic.changed)
