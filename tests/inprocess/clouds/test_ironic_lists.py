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

"""A real Ironic's list of nodes shows what it shows of each of them."""

import dataclasses

import testtools

from ironic_reservations.clouds import ironic as ironic_client
from tests import world
from tests.real import ironic

_NODES = 5


class TestLists(testtools.TestCase):

    def test_all_nodes_with_their_conductors(self) -> None:
        """Page by page, as of a fleet that is larger than a page.

        A node that has a parent is among them.
        """
        real = self.useFixture(ironic.RealIronic(
            middleware=False, options={'api': {'max_limit': 2}}))
        nodes = {each.uuid for each in real.enroll(_NODES - 1)}
        parent = min(nodes)
        child, = real.enroll(1, prefix='child', parent_node=parent)
        nodes.add(child.uuid)
        client = ironic_client.Ironic.over_http(world.configured(
            'sqlite://', ironic__auth_type='none',
            ironic__endpoint_override=real.url))
        pages = [*client.all_settled()]
        self.assertEqual([2, 2, 1], [len(page) for page in pages])
        listed = {each.node.uuid: each for page in pages for each in page}
        self.assertEqual(nodes, listed.keys())
        for uuid, each in listed.items():
            # The list has the time of enrolment, too.
            self.assertEqual((dataclasses.replace(
                each.node, enrolled_at=None), each.locked),
                client.settled(uuid))
            self.assertEqual(each.conductor, client.conductor_of(uuid))
            self.assertIsNotNone(each.conductor)
        self.assertEqual({child.uuid: parent}, {
            uuid: each.node.parent_node for uuid, each in listed.items()
            if each.node.part_of_node})
        self.assertEqual(nodes, {each.uuid for each in client.nodes()})
        self.assertEqual(nodes, {each.uuid for page in client.lately_changed()
                                 for each in page})
        self.assertEqual({uuid: each.conductor for uuid, each
                          in listed.items()}, client.conductors_of_all())
