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

"""Ironic's own notifications have a node read again at once."""

from oslo_config import cfg
import oslo_messaging
from stevedore import driver

from ironic_reservations.reconciler import loops
from ironic_reservations.reconciler import notify_driver
from tests import world


class TestNotifyDriver(world.TestCase):

    def setUp(self):
        super().setUp()
        self.world = self.new_world()
        (self.node,) = self.world.enrol()
        self.running = loops.Reconciler(self.world.engine)
        self.running.nodes.one_pass()
        self.patch(loops, '_running', self.running)
        # NOTE: as Ironic's process has it, without a broker.
        conf = cfg.ConfigOpts()
        conf([])
        transport = oslo_messaging.get_notification_transport(
            conf, url='fake://')
        self.notifier = oslo_messaging.Notifier(
            transport, 'ironic-api.host', driver='ironic_reservations',
            topics=['ironic_versioned_notifications'])
        self.world.ironic.asked.clear()

    def _notify(self, event_type, **data):
        self.notifier.info({}, event_type, {
            'ironic_object.name': 'NodePayload',
            'ironic_object.version': '1.17', 'ironic_object.data': data})
        self.running.nodes.one_pass()
        return self.world.ironic.asked

    def test_driver_is_found_under_its_name(self):
        self.assertIs(notify_driver.MirrorDriver, driver.DriverManager(
            'oslo.messaging.notify.drivers', 'ironic_reservations').driver)

    def test_node_is_read_when_something_happens_to_it(self):
        self.world.ironic.change(self.node, maintenance=True)
        self.assertEqual(['node'], self._notify(
            'baremetal.node.maintenance_set.end', uuid=self.node))
        self.assertTrue(self.world.mirrored()[self.node]['maintenance'])

    def test_freed_node_ends_its_reservation_at_once(self):
        held = self.world.reserve(self.node)
        self.world.use(held)
        self.world.ironic.undeploy(self.node)
        self._notify('baremetal.node.provision_set.success', uuid=self.node)
        self.assertIsNone(self.world.state_of(held))

    def test_deleted_node_is_forgotten_at_once(self):
        self.world.ironic.remove(self.node)
        self._notify('baremetal.node.delete.end', uuid=self.node)
        self.assertEqual({}, self.world.mirrored())

    def test_other_events_are_nothing_to_us(self):
        for event in ('baremetal.port.create.end', 'compute.instance.delete',
                      ''):
            self.assertEqual([], self._notify(event, uuid=self.node))

    def test_event_without_a_node_is_no_error(self):
        self.assertEqual([], self._notify('baremetal.node.update.end'))

    def test_process_without_a_loop_ignores_everything(self):
        self.patch(loops, '_running', None)
        self.assertEqual([], self._notify('baremetal.node.update.end',
                                          uuid=self.node))
