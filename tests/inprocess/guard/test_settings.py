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

"""The owner of a node changes its settings while somebody else has it."""

from typing import Any

from tests.inprocess.guard import acts
from tests.inprocess.guard import keystone_ironic
from tools import enrolment

_REQUIRED = (403, 'reservation.proof_required')
#: Settings, by field, with a value that Ironic accepts.
_SETTINGS: tuple[tuple[str, Any], ...] = (
    ('properties/root_device', {'name': '/dev/other'}),
    ('properties/capabilities', 'boot_mode:bios'),
    ('resource_class', 'other'), ('automated_clean', True),
    ('network_data', {'links': [], 'networks': [], 'services': []}),
    ('driver', 'fake-hardware'), ('power_interface', 'fake'))


class SettingsTestCase(acts.ActsTestCase):

    def test_owner_protects_the_active_node_of_others(self) -> None:
        """Neither the holder nor the end of a lease could undeploy it."""
        node = self.node_of_one(lessee=keystone_ironic.PROJECTS['two'])
        proof = self.reserve(node.uuid)['uuid']
        self.assertEqual(202, self.deploy(node.uuid, proof).status)
        self.wait_until(node.uuid, 'active')
        for name in ('admin-of-one', 'one', 'two'):
            self.as_(name)
            self.assertEqual(_REQUIRED, self._patch(node, 'protected', True),
                             name)
        self.as_('the-system')
        self.assertFalse(self.node(node.uuid)['protected'])
        undeployed = self.provision(node.uuid, 'deleted', proof)
        self.assertEqual(202, undeployed.status, undeployed)

    def test_owner_changes_nothing_of_what_others_hold(self) -> None:
        node = self.node_of_one()
        self.reserve(node.uuid)
        before = self.node(node.uuid)
        self.as_('admin-of-one')
        for field, value in (*_SETTINGS, ('protected', True),
                             ('a_field_of_a_later_release', 1)):
            self.assertEqual(_REQUIRED, self._patch(node, field, value),
                             field)
        self.assertEqual(_REQUIRED, self._patch(
            node, 'driver', 'fake-hardware', '?reset_interfaces=true'))
        for method, below, body in (
                ('PUT', '', {'traits': ['CUSTOM_A']}),
                ('PUT', '/CUSTOM_A', None), ('DELETE', '', None)):
            reply = self.send(method, f'/v1/nodes/{node.uuid}/traits{below}',
                              body)
            self.assert_needs_proof(reply, below)
        self.as_('the-system')
        self.assertEqual(before, self.node(node.uuid))

    def test_administrators_and_holders_change_settings(self) -> None:
        node = self.node_of_one()
        self.reserve(node.uuid)
        self._change_all(node)
        mine = self.node_of_one()
        self.as_('admin-of-one')
        self.reserve(mine.uuid)
        self._change_all(mine)

    def test_node_that_nobody_has_is_the_owners(self) -> None:
        node = self.node_of_one()
        self.as_('admin-of-one')
        self._change_all(node)

    def test_descriptions_are_the_owners(self) -> None:
        node = self.node_of_one()
        self.reserve(node.uuid)
        self.as_('one')
        for field, value in (('extra/rack', '7'), ('description', 'lent'),
                             ('name', f'{node.name}-lent')):
            self.assertEqual((200, None), self._patch(node, field, value),
                             field)

    def test_reset_of_interfaces_is_no_way_to_an_instance(self) -> None:
        node = self.node_of_one()
        self.assertEqual((403, 'guard.not_canonical'), self._patch(
            node, 'instance_uuid', node.uuid, '?reset_interfaces=true'))
        self.assertEqual((403, 'guard.not_canonical'), self._patch(
            node, 'driver', 'fake-hardware',
            f'?reset_interfaces=true&node_ident={node.uuid}'))

    def _change_all(self, node: enrolment.Enrolled) -> None:
        for field, value in _SETTINGS:
            self.assertEqual((200, None), self._patch(node, field, value),
                             field)
        self.assertEqual((200, None), self._patch(
            node, 'driver', 'fake-hardware', '?reset_interfaces=true'))
        reply = self.send('PUT', f'/v1/nodes/{node.uuid}/traits',
                          {'traits': ['CUSTOM_A']})
        self.assertEqual(204, reply.status, reply)

    def _patch(self, node: enrolment.Enrolled, field: str, value: Any,
               query: str = '') -> tuple[int, str | None]:
        reply = self.send('PATCH', f'/v1/nodes/{node.uuid}{query}', [
            {'op': 'add', 'path': f'/{field}', 'value': value}])
        return reply.status, reply.code
