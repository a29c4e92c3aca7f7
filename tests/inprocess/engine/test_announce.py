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

"""Who listens learns what became of a reservation, and why."""

import dataclasses
import logging
import pathlib
from unittest import mock

import fixtures
from oslo_messaging.notify import _impl_test

from ironic_reservations import conf as project_conf
from ironic_reservations.engine import announce
from ironic_reservations.engine import audit_trail
from ironic_reservations.engine import mirror
from ironic_reservations.engine import sweep
from ironic_reservations.engine.in_flight import admission
from ironic_reservations.engine.leases import create as lease_create
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import renew
from ironic_reservations.reconciler import lease_workers
from tests import leasing
from tests.inprocess.engine import timelines


class _Announced(timelines.TestCase):

    def setUp(self):
        super().setUp()
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'conf')
        path.write_text('[DEFAULT]\ntransport_url = fake://\n'
                        '[oslo_messaging_notifications]\ndriver = test\n')
        self.announce(project_conf.load(config_files=[str(path)]))
        self.addCleanup(_impl_test.reset)
        _impl_test.reset()

    def announce(self, conf):
        self.world.engine = self.engine = dataclasses.replace(
            self.engine, announcer=announce.Announcer(
                announce.notifier_of(conf), self.engine.audit))
        self.leasing = leasing.Leasing(self.world)

    def _told(self):
        """Return what was told since the last look: event, payload."""
        told = [(message['event_type'], message['payload'])
                for _, message, _, _ in _impl_test.NOTIFICATIONS]
        _impl_test.reset()
        return told


class TestAnnouncements(_Announced):

    def setUp(self):
        super().setUp()
        (self.node,) = self.world.enrol()

    def _changes(self):
        """Return what was told since the last look: event, uuid, reason."""
        return [(event, data['uuid'], data['reason'])
                for event, payload in self._told()
                for data in [payload['ironic_reservations_object.data']]]

    def test_each_request_is_told(self):
        held = self.world.reserve(self.node)
        renew.renew(self.engine, held.uuid, ttl=60)
        release.release(self.engine, held.uuid)
        self.assertEqual([('reservation.create', held.uuid, None),
                          ('reservation.update', held.uuid, None),
                          ('reservation.delete', held.uuid, None)],
                         self._changes())

    def test_request_that_was_served_before_is_not_told_again(self):
        held = self.world.reserve(self.node)
        self.world.reserve(self.node, instance_uuid=held.instance_uuid)
        self.assertEqual([('reservation.create', held.uuid, None)],
                         self._changes())

    def test_expiry_is_told_by_whoever_notices(self):
        for notices in (lambda: sweep.sweep(self.engine),
                        lambda: self.world.reserve(self.node),
                        lambda: admission.admit(self.engine, self.node)):
            held = self.world.reserve(self.node)
            self.world.clock.advance(3600)
            self._changes()
            notices()
            self.assertIn(('reservation.delete', held.uuid, 'expired'),
                          self._changes())
            self.world.clock.advance(3600)

    def test_reason_says_what_happened_to_the_node(self):
        self.engine.conf.set_override('end_on_maintenance', True,
                                      'reservations')
        for reason, happens in (
                ('node_broken', lambda: self.world.ironic.change(
                    self.node, maintenance=True)),
                ('node_taken', lambda: self.world.ironic.change(
                    self.node, maintenance=False,
                    provision_state='active')),
                ('node_deleted', lambda: self.world.ironic.remove(
                    self.node))):
            self.world.ironic.undeploy(self.node)
            self.world.change(self.node, maintenance=False)
            held = self.world.reserve(self.node)
            self._changes()
            happens()
            # NOTE: an empty list of nodes is not believed.
            self.world.enrol()
            self.world.refresh()
            self.world.clock.advance(mirror.TAKEN_FOR)
            self.world.refresh()
            self.assertEqual([('reservation.delete', held.uuid, reason)],
                             self._changes())

    def test_broken_bus_does_not_break_the_promise(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        with mock.patch.object(_impl_test.TestDriver, 'notify',
                               side_effect=ConnectionError('no bus')):
            held = self.world.reserve(self.node)
        self.assertIn(held.uuid, self.world.reservations())
        self.assertIn('no bus', log.output)

    def test_nobody_is_told_by_default(self):
        self.announce(self.world.conf)
        self.world.reserve(self.node)
        self.assertEqual([], self._changes())


class TestLeases(_Announced):
    """What is told of a lease, in Blazar's words."""

    def setUp(self):
        super().setUp()
        (self.node,) = self.leasing.hosts()

    def test_payload_has_blazar_s_keys_and_the_nodes(self):
        lease = self.leasing.create(1, 4, user_id='me')
        ((event, payload),) = self._told()
        self.assertEqual(
            ('lease.create', 'NodeLeasePayload', '1.0'),
            (event, payload['ironic_reservations_object.name'],
             payload['ironic_reservations_object.version']))
        data = payload['ironic_reservations_object.data']
        (reservation,) = data.pop('reservations')
        self.assertEqual({
            'lease_id': lease.id, 'name': lease.name, 'user_id': 'me',
            'project_id': leasing.PROJECT, 'status': 'PENDING',
            'start_date': '2026-03-01T13:00:00Z',
            'end_date': '2026-03-01T16:00:00Z', 'degraded': False,
            'reason': None}, data)
        self.assertEqual({
            'id': lease.reservations[0].id, 'status': 'pending',
            'resource_type': 'physical:host', 'missing_resources': False,
            'resources_changed': False, 'node_uuids': [self.node]},
            reservation['ironic_reservations_object.data'])

    def test_each_request_is_told_once(self):
        asked = leasing.ask(1, 4, key='a')
        lease = lease_create.create(self.engine, asked)
        lease_create.create(self.engine, asked)
        self.leasing.create(5, 6, dry_run=True)
        self.leasing.change(lease, name='other')
        self.leasing.end(lease)
        self.assertEqual(['lease.create', 'lease.update', 'lease.delete'],
                         [event for event, _ in self._told()])

    def test_life_of_a_lease_is_told(self):
        lease = self.leasing.create(1, 4)
        crew = lease_workers.LeaseWorkers(self.engine)
        for hours in (1, 3, 4):
            self.world.clock.now = leasing.at(hours)
            crew.one_pass()
        told = [(event, payload['ironic_reservations_object.data']['status'])
                for event, payload in self._told()]
        self.assertEqual([
            ('lease.create', 'PENDING'),
            ('lease.event.start_lease', 'ACTIVE'),
            ('lease.event.before_end_lease', 'ACTIVE'),
            ('lease.event.end_lease', 'TERMINATED')], told)
        self.assertEqual('TERMINATED', self.leasing.reload(lease).status)


class TestRecordedWithoutBus(timelines.TestCase):
    """The audit has the changes that nobody requested."""

    options = {'leases__without_reservation': 'allow'}

    def setUp(self):
        super().setUp()
        (self.node,) = self.leasing.hosts()
        self.recorded = []
        vars(self.engine.audit)['record'] = (
            lambda way, action, kind, ident, who=None, status=None, code=None,
            **more: self.recorded.append((way, action, kind, ident, code)))

    def test_requests_are_recorded_elsewhere(self):
        self.leasing.create(1, 4)
        self.world.reserve(self.node, ttl=600)
        self.assertEqual([], self.recorded)

    def test_lease_that_loses_its_node_to_a_request(self):
        lease = self.leasing.create(1, 4)
        admission.admit(self.engine, self.node, None)
        self.assertEqual([(audit_trail.Way.SERVICE, 'update', 'lease',
                           lease.id, announce.DEGRADED)], self.recorded)

    def test_reservation_that_is_over_when_another_is_made(self):
        held = self.world.reserve(self.node, ttl=60)
        self.world.clock.advance(61)
        self.world.reserve(self.node, ttl=60)
        self.assertEqual([(audit_trail.Way.SERVICE, 'delete', 'reservation',
                           audit_trail.digest(held.uuid), announce.EXPIRED)],
                         self.recorded)
