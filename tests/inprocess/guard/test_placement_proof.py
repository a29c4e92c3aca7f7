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

"""Nova deploys on a leased node without any change of Nova.

A real Ironic with the guard, and a real Placement in processes of its own; the
tests send the requests of Nova's scheduler and of its ironic driver.
"""

from typing import Any
import uuid

import testtools

from ironic_reservations import build
from ironic_reservations import conf as project_conf
from ironic_reservations.clouds import placement
from ironic_reservations.features.placement.lease_providers import converge
from ironic_reservations.features.placement.lease_providers import machine
from ironic_reservations.features.placement.lease_providers import names
from ironic_reservations.guard import middleware
from ironic_reservations.model import flavors
from tests import world
from tests.inprocess.guard import base
from tests.inprocess.guard import with_keystone
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import served


class PlacementProofTestCase(base.GuardTestCase):

    identity = with_keystone.token('the-system')
    placed: served.Served

    @classmethod
    def make(cls, folder: str) -> with_keystone.WithKeystone:
        cls.placed = served.Served('mysql')
        try:
            cls.placed.setUp()
        finally:
            cls.addClassCleanup(cls.placed.cleanUp)
        return with_keystone.make(
            folder, guard={'proof_by_placement': True},
            placement={'enabled': True, 'timeout': 5,
                       'endpoint_override': cls.placed.endpoint})

    def setUp(self) -> None:
        super().setUp()
        self.client = placement.Placement(
            in_memory.sender_to(self.placed.endpoint), placement.ADMIN)

    def leased(self) -> tuple[str, str, str]:
        """Return a leased node, a server of the lease there, and the proof.

        The server has claimed the resources of its flavor.
        """
        name = f'class-{uuid.uuid4().hex}'
        node, = self.enroll(resource_class=name)
        in_memory.Nodes(self.client).add(node.uuid,
                                         flavors.class_of_node(name))
        lease = self.make_lease(
            node.uuid, f'["==", "$resource_class", "{name}"]')
        wanted = machine.Desired(lease['reservations'][0]['id'], None,
                                {node.uuid: 1}, True)
        conf = world.configured(
            'sqlite://', placement__enabled=True,
            placement__endpoint_override=self.placed.endpoint)
        self.assertEqual((), converge.bring(build.engine(conf), wanted))
        server = str(uuid.uuid4())
        answer = self.client.put_allocations(server, in_memory.wanted({
            names.child_of(node.uuid): {
                wanted.class_name: 1}}))
        self.assertTrue(answer.done, answer)
        return node.uuid, server, wanted.reservation_id

    def as_nova(self) -> None:
        """Continue with the token of Nova."""
        self.identity = with_keystone.token('nova')

    def test_server_of_the_lease_is_deployed_without_a_header(self) -> None:
        node, server, _ = self.leased()
        self.as_nova()
        self.assert_needs_proof(self.bind(node, str(uuid.uuid4())))
        self.assert_needs_proof(self.deploy(node))
        self.assert_untouched(node)
        self.assert_says(200, None, self.bind(node, server))
        self.assert_says(202, None, self.deploy(node))
        self.wait_until(node, 'active')

    def test_role_is_what_counts(self) -> None:
        node, server, _ = self.leased()
        self.assert_needs_proof(self.bind(node, server))
        self.assert_untouched(node)

    def test_placement_that_is_stopped_lets_nobody_in(self) -> None:
        """Other requests are not delayed."""
        node, server, proof = self.leased()
        free, = self.enroll()
        self.as_nova()
        self.placed.pause()
        self.addCleanup(self.placed.go_on)
        self.assert_says(503, 'guard.proof_unknown', self.bind(node, server))
        self.assert_untouched(node)
        self.assert_says(200, None, self.bind(free.uuid, str(uuid.uuid4())))
        self.assert_says(200, None, self.bind(node, server, proof))
        self.placed.go_on()
        self.assert_says(202, None, self.deploy(node))


class ConfigurationTestCase(testtools.TestCase):

    def test_proofs_need_holds(self) -> None:
        conf = project_conf.load(config_files=[])
        conf.set_override('proof_by_placement', True, 'guard')
        raised = self.assertRaises(RuntimeError, middleware.make, _no_app,
                                   conf, 'keystone')
        self.assertIn('[placement]', str(raised))


def _no_app(*_: Any) -> Any:
    raise AssertionError
