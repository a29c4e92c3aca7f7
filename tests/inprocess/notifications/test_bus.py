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

"""Notifications over a real RabbitMQ."""

import pathlib
import queue
import uuid

import fixtures
import oslo_messaging
import testtools

from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations.db import migrate
from ironic_reservations.db import nodes
from ironic_reservations.engine.reservations import release
from ironic_reservations.engine.reservations import reserve
from ironic_reservations.model import mirrored_node
from ironic_reservations.model import visibility
from ironic_reservations.planner import pick
from tests.real import broker

_PATIENCE = 120


class _Endpoint:

    def __init__(self):
        self.told = queue.Queue()

    def info(self, context, publisher_id, event_type, payload, metadata):
        self.told.put((publisher_id, event_type, payload))


class BusTest(testtools.TestCase):

    def setUp(self):
        self._url = broker.rabbitmq()
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        topic = f'ironic_reservations_{uuid.uuid4().hex[:12]}'
        config = folder / 'ironic-reservations.conf'
        config.write_text(
            f'[DEFAULT]\nstate_path = {folder}\ntransport_url = {self._url}\n'
            '[oslo_messaging_notifications]\ndriver = messagingv2\n'
            f'topics = {topic}\n'
            # RabbitMQ deletes the queue with its listener.
            '[oslo_messaging_rabbit]\namqp_auto_delete = true\n')
        self.conf = project_conf.load(config_files=[str(config)])
        self.engine = build.engine(self.conf)
        migrate.at_start(self.engine.database)
        self.addCleanup(self.engine.database.close)
        self.endpoint = _Endpoint()
        transport = oslo_messaging.get_notification_transport(self.conf)
        self.addCleanup(transport.cleanup)
        listener = oslo_messaging.get_notification_listener(
            transport, [oslo_messaging.Target(topic=topic)],
            [self.endpoint], executor='threading')
        listener.start()
        self.addCleanup(listener.wait)
        self.addCleanup(listener.stop)

    def _next(self):
        publisher, event, payload = self.endpoint.told.get(timeout=_PATIENCE)
        self.assertTrue(publisher.startswith('ironic-reservations'))
        self.assertEqual('NodeReservationPayload',
                         payload['ironic_reservations_object.name'])
        self.assertEqual('1.0', payload['ironic_reservations_object.version'])
        return event, payload['ironic_reservations_object.data']

    def test_listener_learns_of_a_reservation_and_of_its_end(self):
        node = mirrored_node.Node(str(uuid.uuid4()))
        with self.engine.database.write() as connection:
            nodes.insert_node(connection, node, self.engine.clock())
        held = reserve.reserve(
            self.engine, pick.NodeRequest(str(uuid.uuid4()), (node.uuid,),
                                  project_id='red'),
            visibility.Visibility(everything=True))
        event, data = self._next()
        self.assertEqual(
            ('reservation.create', held.uuid, node.uuid, held.instance_uuid,
             'red', 'reserved', None),
            (event, data['uuid'], data['node_uuid'], data['instance_uuid'],
             data['project_id'], data['state'], data['reason']))
        release.release(self.engine, held.uuid)
        event, data = self._next()
        self.assertEqual(('reservation.delete', held.uuid),
                         (event, data['uuid']))
