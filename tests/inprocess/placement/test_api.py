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

"""What a client of the API sees where Placement is switched on."""

from typing import Any

import testtools

from ironic_reservations.api import identity
from tests import world as timeline
from tests.inprocess.api import world
from tests.inprocess.placement import in_memory

PATH = '/v1/reservations'


class TestApi(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.placement = self.useFixture(in_memory.InMemory())
        self.nodes = in_memory.Nodes(self.placement.client)
        self.served = self.serve(self.placement.endpoint)

    def serve(self, endpoint: str) -> world.World:
        """Return the API with a Placement, as a configuration file does."""
        return self.useFixture(world.World(
            identity.administrator, 'noauth', placement__enabled=True,
            placement__endpoint_override=endpoint))

    def enrol(self) -> str:
        """Add a node to Ironic and to Placement."""
        node = self.served.ironic.add(resource_class='gold')
        return self.nodes.add(node.uuid)

    def post(self, *nodes: str, **more: Any) -> world.Answer:
        """Ask for a reservation."""
        return world.request(self.served, 'POST', PATH, {
            'instance_uuid': timeline.new_uuid(), 'node_uuid': [*nodes],
            **more})

    def test_node_is_held_when_the_answer_comes(self) -> None:
        node = self.enrol()
        answer = self.post(node)
        self.assertEqual(201, answer.status)
        self.assertEqual(1, len(self.placement.client.consumers_on(node)))
        uuid = answer.json['reservation']['uuid']
        self.assertEqual(204, world.request(
            self.served, 'DELETE', f'{PATH}/{uuid}').status)
        self.assertEqual({}, self.placement.client.consumers_on(node))

    def test_refusal_names_who_has_the_node(self) -> None:
        node = self.enrol()
        consumer = self.nodes.claim(node)
        answer = self.post(node)
        self.assertEqual((409, 'reservation.no_node_available'),
                         (answer.status, answer.code))
        reason, = answer.json['errors'][0]['reasons']
        self.assertEqual((node, 'held_elsewhere'),
                         (reason['node_uuid'], reason['code']))
        self.assertIn(consumer, answer.detail)
        self.assertEqual({'reservations': []},
                         world.request(self.served, 'GET', PATH).json)

    def test_placement_that_is_down_is_503_and_nothing_is_left(self) -> None:
        self.served = self.serve('http://127.0.0.1:1')
        node = self.enrol()
        answer = self.post(node)
        self.assertEqual((503, 'service.placement_unavailable'),
                         (answer.status, answer.code))
        self.assertEqual({'reservations': []},
                         world.request(self.served, 'GET', PATH).json)
