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
from ironic_reservations.engine import passage
from ironic_reservations.engine import release
from ironic_reservations.engine import renew
from ironic_reservations.reconciler import sweep
from tests import world


class TestAnnouncements(world.TestCase):

    def setUp(self):
        super().setUp()
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'conf')
        path.write_text('[DEFAULT]\ntransport_url = fake://\n'
                        '[oslo_messaging_notifications]\ndriver = test\n')
        self.world = self.new_world()
        self.world.engine = dataclasses.replace(
            self.world.engine, announcer=announce.Announcer(
                project_conf.load(config_files=[str(path)])))
        self.addCleanup(_impl_test.reset)
        _impl_test.reset()
        (self.node,) = self.world.enrol()

    def _told(self):
        """Give what was told since the last look: event, uuid, reason."""
        told = [message for _context, message, _priority, _retry
                in _impl_test.NOTIFICATIONS]
        _impl_test.reset()
        data = [message['payload']['ironic_reservations_object.data']
                for message in told]
        return [(message['event_type'], each['uuid'], each['reason'])
                for message, each in zip(told, data, strict=True)]

    def test_each_request_is_told(self):
        held = self.world.reserve(self.node)
        renew.renew(self.world.engine, held.uuid, ttl=60)
        release.release(self.world.engine, held.uuid)
        self.assertEqual([('reservation.create', held.uuid, None),
                          ('reservation.update', held.uuid, None),
                          ('reservation.delete', held.uuid, None)],
                         self._told())

    def test_request_that_was_served_before_is_not_told_again(self):
        held = self.world.reserve(self.node)
        self.world.reserve(self.node, instance_uuid=held.instance_uuid)
        self.assertEqual([('reservation.create', held.uuid, None)],
                         self._told())

    def test_expiry_is_told_by_whoever_notices(self):
        for notices in (lambda: sweep.sweep(self.world.engine),
                        lambda: self.world.reserve(self.node),
                        lambda: passage.admit(self.world.engine, self.node)):
            held = self.world.reserve(self.node)
            self.world.clock.advance(3600)
            self._told()
            notices()
            self.assertIn(('reservation.delete', held.uuid, 'expired'),
                          self._told())
            self.world.clock.advance(3600)

    def test_reason_says_what_happened_to_the_node(self):
        for reason, happens in (
                ('node_broken', lambda: self.world.ironic.change(
                    self.node, maintenance=True)),
                ('node_taken', lambda: self.world.ironic.change(
                    self.node, maintenance=False,
                    provision_state='active')),
                ('node_deleted', lambda: self.world.ironic.remove(
                    self.node))):
            self.world.ironic.undeploy(self.node)
            self.world.ironic.change(self.node, maintenance=False)
            self.world.refresh()
            held = self.world.reserve(self.node)
            self._told()
            happens()
            # NOTE: an empty list of nodes is not believed.
            self.world.enrol()
            self.world.refresh()
            self.assertEqual([('reservation.delete', held.uuid, reason)],
                             self._told())

    def test_broken_bus_does_not_break_the_promise(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.ERROR))
        with mock.patch.object(_impl_test.TestDriver, 'notify',
                               side_effect=ConnectionError('no bus')):
            held = self.world.reserve(self.node)
        self.assertIn(held.uuid, self.world.reservations())
        self.assertIn('no bus', log.output)

    def test_nobody_is_told_by_default(self):
        silent = announce.Announcer(self.world.conf)
        self.world.engine = dataclasses.replace(self.world.engine,
                                                announcer=silent)
        self.world.reserve(self.node)
        self.assertEqual([], self._told())
