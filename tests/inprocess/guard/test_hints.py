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

"""A server that names a reservation in a scheduler hint, with Nova as it is.

A real Ironic with the guard; the tests send the requests of Nova's ironic
driver, which knows no hints.
"""

from typing import Any
from unittest import mock
import uuid

from ironic_reservations.clouds import placement
from ironic_reservations.model import flavors
from tests import small_nova
from tests.inprocess.guard import base
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import with_keystone
from tests.inprocess.placement import in_memory
from tests.inprocess.placement import served

#: The project that has chosen the proof that is shown.
_PROJECT = 'OpenStack-Baremetal-Reservation-Project'


class HintTestCase(base.GuardTestCase):

    identity = with_keystone.token('the-system')
    nova: small_nova.SmallNova
    placed: served.Served
    any_project = True

    @classmethod
    def make(cls, folder: str) -> with_keystone.WithKeystone:
        placed = cls.placed = served.Served('mysql')
        cls.nova = small_nova.SmallNova()
        for each in (placed, cls.nova):
            try:
                each.setUp()
            finally:
                cls.addClassCleanup(each.cleanUp)
        return with_keystone.make(
            folder, guard={'proof_of_any_project': cls.any_project},
            placement={'enabled': True, 'timeout': 5,
                       'endpoint_override': placed.endpoint},
            nova={'enabled': True, 'timeout': 5,
                  'endpoint_override': cls.nova.endpoint})

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(setattr, self.nova, 'answer', None)
        self.addCleanup(setattr, self.nova, 'versions', self.nova.versions)

    def server(self, project: str = 'one', **hints: Any) -> str:
        """Return a server that a project has created with hints."""
        ident = str(uuid.uuid4())
        self.nova.servers[ident] = small_nova.Server(
            '1', keystone_ironic.PROJECTS[project], '', status='BUILD',
            hints=hints)
        self.identity = with_keystone.token('nova')
        return ident

    def leased(self, holder: str | None = None) -> tuple[str, str]:
        """Return a leased node and its proof."""
        name = f'class-{uuid.uuid4().hex}'
        node, = self.enroll(resource_class=name)
        in_memory.Nodes(placement.Placement(in_memory.sender_to(
            self.placed.endpoint), placement.ADMIN)).add(
                node.uuid, flavors.class_of_node(name))
        lease = self.make_lease(
            node.uuid, f'["==", "$resource_class", "{name}"]',
            None if holder is None else with_keystone.token(holder))
        return node.uuid, lease['reservations'][0]['id']

    def test_server_of_the_lease_is_deployed(self) -> None:
        node, proof = self.leased()
        server = self.server(reservation=proof)
        self.assert_says(200, None, self.bind(node, server))
        self.assert_says(202, None, self.deploy(node))
        self.wait_until(node, 'active')

    def test_node_of_nobody_is_refused(self) -> None:
        """Before, the hint was ignored."""
        _, proof = self.leased()
        free, = self.enroll()
        server = self.server(reservation=proof)
        self.assert_says(403, 'reservation.proof_invalid',
                         self.bind(free.uuid, server))
        self.assert_untouched(free.uuid)

    def test_hint_that_is_no_uuid_is_refused(self) -> None:
        free, = self.enroll()
        for hint in ('mine', ['a', 'b'], ''):
            reply = self.bind(free.uuid, self.server(reservation=hint))
            self.assertEqual(400, reply.status)
            self.assertIn('scheduler hint',
                          reply.document['errors'][0]['detail'])
        self.assert_untouched(free.uuid)

    def test_other_servers_are_deployed(self) -> None:
        for server in (self.server(), self.server(group='x'),
                       str(uuid.uuid4())):
            free, = self.enroll()
            self.assert_says(200, None, self.bind(free.uuid, server))

    def test_nova_without_hints_or_without_an_answer_changes_nothing(
            self) -> None:
        _, proof = self.leased()
        server = self.server(reservation=proof)
        self.nova.versions = ['compute 2.61']
        free, other = self.enroll(2)
        self.assert_says(200, None, self.bind(free.uuid, server))
        self.nova.answer = 500
        self.assert_says(200, None, self.bind(other.uuid, self.server(
            reservation=proof)))

    def test_answer_that_is_not_novas_changes_nothing(self) -> None:
        """It was an unexpected error, with status 500."""
        for status, document in (
                (200, {}), (200, {'server': None}), (404, 5), (200, []),
                (200, {'server': {'scheduler_hints': ['reservation']}}),
                (200, {'server': {'scheduler_hints': {'reservation': 'x'}}})):
            free, = self.enroll()
            server = self.server()
            with mock.patch.object(self.nova, 'serve',
                                   lambda *_, said=(status, document): said):
                self.assert_says(200, None, self.bind(free.uuid, server))

    def test_others_may_not_name_a_server(self) -> None:
        node, proof = self.leased()
        server = self.server(reservation=proof)
        self.identity = with_keystone.token('one')
        self.nova.asked.clear()
        self.assertEqual(404, self.bind(node, server).status)
        self.assertEqual([], self.nova.asked)


class HintOfProjectTestCase(HintTestCase):
    """A proof is accepted from its project alone, which is the default."""

    any_project = False

    def test_server_of_another_project_does_not_get_the_node(self) -> None:
        """Nova may use any proof, but the server's project chose this one."""
        node, proof = self.leased('one')
        self.assert_says(403, 'reservation.proof_invalid', self.bind(
            node, self.server('two', reservation=proof)))
        self.assert_untouched(node)
        self.assert_says(200, None, self.bind(
            node, self.server('one', reservation=proof)))

    def named(self, project: str) -> None:
        """Show proofs as the driver does for a server of a project."""
        self.identity = {**with_keystone.token('nova'), _PROJECT: project}

    def test_driver_that_names_the_project_of_the_server(self) -> None:
        """It sends the hint as a proof, and gets the same answer."""
        node, proof = self.leased('one')
        one, two = (keystone_ironic.PROJECTS[each] for each in ('one', 'two'))
        for project in (two, 'nobody', '', f'{one},{two}'):
            self.named(project)
            self.assert_says(403, 'reservation.proof_invalid', self.bind(
                node, str(uuid.uuid4()), proof))
            self.assert_says(403, 'reservation.proof_invalid', self.deploy(
                node, proof))
        self.assert_untouched(node)
        self.named(one)
        self.assert_says(200, None, self.bind(
            node, str(uuid.uuid4()), proof))
        self.assert_says(202, None, self.deploy(node, proof))
        self.wait_until(node, 'active')

    def test_server_is_rebuilt_and_its_node_freed(self) -> None:
        """It was deployed by its hint, and neither of these was let through.
        """
        node, proof = self.leased('one')
        server = self.server('one', reservation=proof)
        self.assert_says(200, None, self.bind(node, server))
        self.assert_says(200, None, self.send(
            'PATCH', f'/v1/nodes/{node}', [base.remove('/instance_uuid')]))
        self.assert_says(200, None, self.bind(node, server))
        self.assert_says(202, None, self.deploy(node))
        self.wait_until(node, 'active')
        self.identity = with_keystone.token('one')
        self.assertNotEqual(202, self.provision(
            node, 'rebuild', str(uuid.uuid4())).status)
        self.identity = with_keystone.token('nova')
        # NOTE: it has no image, so Ironic itself answers 500.
        self.assert_says(500, None, self.provision(node, 'rebuild'))

    def test_instance_that_is_no_uuid_is_no_path_in_nova(self) -> None:
        free, = self.enroll()
        self.server()
        for ident in ('detail', f'{uuid.uuid4()}/../detail', '', '?x'):
            self.nova.asked.clear()
            self.assertEqual(400, self.bind(free.uuid, ident).status)
            self.assertEqual([], self.nova.asked)
