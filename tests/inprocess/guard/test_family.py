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

"""Ironic powers a node with its parent, and its children with it."""

import contextlib
import sqlite3
from typing import Any
import uuid

from tests.inprocess.guard import acts
from tests.inprocess.guard import base
from tests.inprocess.guard import keystone_ironic
from tools import enrolment

_INVALID = (403, 'reservation.proof_invalid')
_PART = 'part_of_node'


class FamilyTestCase(acts.ActsTestCase):

    def _give_parent(self, child: str, parent: str | None,
                     **more: Any) -> base.Reply:
        return self.send('PATCH', f'/v1/nodes/{child}', [
            base.remove('/parent_node') if parent is None else
            base.add('/parent_node', parent)], **more)

    def _pair(self) -> tuple[enrolment.Enrolled, enrolment.Enrolled]:
        """Return a node and its child, which the mirror knows."""
        parent = self.node_of_one()
        child = self.node_of_one()
        reply = self._give_parent(child.uuid, parent.uuid)
        self.assertEqual(200, reply.status, reply)
        return parent, child

    def _wait_until_mirrored(self, child: str, parent: str) -> None:
        def mirrored() -> bool:
            with contextlib.closing(sqlite3.connect(
                    self.ironic.folder / 'reservations.sqlite')) as database:
                return [(parent,)] == database.execute(
                    'SELECT parent_node FROM nodes WHERE uuid = ?',
                    (child,)).fetchall()
        self.wait_for(mirrored)

    def _power(self, node: str, target: str = 'power on',
               proof: str | None = None) -> base.Reply:
        return self.send('PUT', f'/v1/nodes/{node}/states/power',
                         {'target': target},
                         headers={} if proof is None else {base.PROOF: proof})

    def _new_child(self, parent: str, proof: str | None = None,
                   **more: Any) -> base.Reply:
        return self.send('POST', '/v1/nodes', {
            'driver': 'fake-hardware', 'parent_node': parent},
            headers={} if proof is None else {base.PROOF: proof}, **more)

    def _off(self, node: str) -> None:
        self.assertEqual(202, self._power(node, 'power off').status)
        self.wait_for(lambda: self.node(node)['power_state'] == 'power off')

    def test_child_is_not_reserved_on_its_own(self) -> None:
        """The holder of its parent powered it off for its own holder."""
        parent, child = self._pair()
        reply = self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [child.uuid]},
            headers=base.OURS)
        self.assertEqual(409, reply.status, reply)
        reason, = reply.document['errors'][0]['reasons']
        self.assertEqual((child.uuid, _PART), (
            reason['node_uuid'], reason['code']))
        self.assertIn(parent.uuid, reason['detail'])
        self.assertEqual(200, self._give_parent(child.uuid, None).status)
        self.reserve(child.uuid)

    def test_child_is_not_opened_as_a_host(self) -> None:
        parent, child = self._pair()
        reply = self.send('POST', '/v1/os-hosts', {'name': child.uuid},
                          headers=base.OURS)
        self.assertEqual(400, reply.status, reply)
        self.assertIn(parent.uuid, str(reply.document))

    def test_owner_makes_no_child_of_what_others_hold(self) -> None:
        """Its new child would be powered on, and the node with it."""
        parent = self.node_of_one(powered=True)
        other = self.node_of_one()
        self._off(parent.uuid)
        proof = self.reserve(parent.uuid)['uuid']
        self.as_('admin-of-one')
        for ident in (parent.uuid, parent.name, parent.uuid.upper(),
                      parent.uuid.replace('-', '')):
            for reply in (
                    self._new_child(ident),
                    self._new_child(ident, content_type=''),
                    self._give_parent(other.uuid, ident),
                    self.send('PATCH', f'/v1/nodes/{other.uuid}', [
                        base.add('/instance_uuid', str(uuid.uuid4())),
                        base.replace('/parent_node', ident)])):
                self.assert_needs_proof(reply, ident)
        self.assert_says(*_INVALID, self._new_child(parent.uuid,
                                                    str(uuid.uuid4())))
        self.assertIsNone(self.node(other.uuid).get('parent_node'))
        self.as_('the-system')
        reply = self.send('POST', '/v1/nodes', {
            'driver': 'fake-hardware', 'parent_node': parent.name,
            'owner': keystone_ironic.PROJECTS['one']})
        self.assertEqual(201, reply.status, reply)
        self.assertEqual(parent.uuid, reply.document['parent_node'])
        self.assertIsNotNone(proof)

    def test_owner_gave_a_parent_to_children_that_others_hold(self) -> None:
        """They are powered off with their new grandparent."""
        grandparent, parent, child = (self.node_of_one() for _ in range(3))
        self.make_lease(child.uuid, f'["==", "$node_uuid", "{child.uuid}"]')
        self._give_parent(child.uuid, parent.uuid)
        self._wait_until_mirrored(child.uuid, parent.uuid)
        self.as_('admin-of-one')
        for more in ((), (base.add('/instance_uuid', str(uuid.uuid4())),)):
            self.assert_needs_proof(self.send(
                'PATCH', f'/v1/nodes/{parent.uuid}',
                [base.add('/parent_node', grandparent.uuid), *more]))

    def test_proof_of_no_node_enrolled_a_child(self) -> None:
        parent = self.node_of_one()
        self.as_('admin-of-one')
        self.assert_says(*_INVALID, self._new_child(parent.uuid,
                                                    str(uuid.uuid4())))

    def test_escaped_key_names_a_parent(self) -> None:
        parent = self.node_of_one()
        self.reserve(parent.uuid)
        self.as_('admin-of-one')
        self.assert_needs_proof(self.send(
            'POST', '/v1/nodes', raw=b'{"driver": "fake-hardware", '
            b'"parent\\u005fnode": "%b"}' % parent.uuid.encode()))
        for encoding in ('utf-16', 'utf-7'):
            reply = self.send(
                'POST', '/v1/nodes', raw=(
                    '{"driver": "fake-hardware", "parent_node": "'
                    f'{parent.uuid}"}}').encode(encoding),
                content_type=f'application/json; charset={encoding}')
            self.assert_says(403, 'guard.not_canonical', reply, encoding)

    def test_child_powers_on_no_parent_that_others_hold(self) -> None:
        parent, child = self._pair()
        self._off(child.uuid)
        self._off(parent.uuid)
        grandchild = self.node_of_one()
        self.assertEqual(200, self._give_parent(grandchild.uuid,
                                                child.uuid).status)
        self._wait_until_mirrored(child.uuid, parent.uuid)
        self.reserve(parent.uuid)
        self.as_('admin-of-one')
        for node in (child, grandchild):
            for ident in (node.uuid, node.name):
                replies = [self._power(ident)] + [
                    self.provision(ident, target) for target in (
                        'manage', 'provide', 'active', 'clean', 'deleted')]
                for reply in replies:
                    self.assert_needs_proof(reply, reply)
        self.assertEqual('power off', self.node(parent.uuid)['power_state'])
        self.as_('reader-of-one')
        self.assert_says(403, None, self.provision(child.uuid, 'active'))

    def test_lessee_of_a_child_does_not_see_its_parent(self) -> None:
        """It is refused only while somebody else has the parent."""
        parent = self.node_of_one()
        child = self.node_of_one(lessee=keystone_ironic.PROJECTS['two'])
        self.assertEqual(200, self._give_parent(child.uuid,
                                                parent.uuid).status)
        self.as_('two')
        self.assertEqual(404, self.send(
            'GET', f'/v1/nodes/{parent.uuid}').status)
        self._off(child.uuid)
        self.as_('the-system')
        self._off(parent.uuid)
        self.reserve(parent.uuid)
        self.as_('two')
        self.assert_needs_proof(self._power(child.uuid))
        # Ironic's own policy lets no such member deploy.
        self.assert_says(403, None, self.provision(child.uuid, 'active'))

    def test_who_has_the_parent_acts_on_its_child(self) -> None:
        parent, child = self._pair()
        self._off(child.uuid)
        self._off(parent.uuid)
        proof = self.reserve(parent.uuid)['uuid']
        self.as_('admin-of-one')
        self.assertEqual(202, self._power(child.uuid, proof=proof).status)
        self.wait_for(
            lambda: self.node(child.uuid)['power_state'] == 'power on')
        self.assertEqual('power on', self.node(parent.uuid)['power_state'])
        self.assert_says(*_INVALID, self.provision(child.uuid, 'manage',
                                                   str(uuid.uuid4())))
        self.assertEqual(202, self.provision(child.uuid, 'manage',
                                             proof).status)
        self.wait_until(child.uuid, 'manageable')

    def test_family_that_nobody_has_is_free(self) -> None:
        parent, child = self._pair()
        self._off(parent.uuid)
        self.as_('admin-of-one')
        self.assertEqual(202, self._power(child.uuid).status)
        made = self._new_child(parent.uuid)
        self.assertEqual(201, made.status, made)
        for absent in (str(uuid.uuid4()), 'nobody'):
            self.assert_says(400, 'request.invalid_value',
                             self._new_child(absent), absent)
        self._wait_until_mirrored(made.document['uuid'], parent.uuid)
        reply = self.send('POST', '/v1/nodes', {
            'driver': 'fake-hardware', 'parent_node': None})
        self.assertEqual(400 if base.IS_OLDEST else 201, reply.status, reply)

    def test_child_was_enrolled_below_a_node_of_others(self) -> None:
        """The oldest Ironic does not look for a parent that has a UUID."""
        parent = self.node_of_one()
        self.reserve(parent.uuid)
        self.as_('foreign-admin')
        self.assert_says(400, 'request.invalid_value',
                         self._new_child(parent.uuid))

    def test_reservation_of_a_node_that_gets_a_parent_is_suspended(
            self) -> None:
        parent = self.node_of_one()
        child = self.node_of_one()
        proof = self.reserve(child.uuid)['uuid']
        self.as_('admin-of-one')
        self.assert_needs_proof(self._give_parent(child.uuid, parent.uuid))
        self.as_('the-system')
        self.assertEqual(200, self._give_parent(child.uuid,
                                                parent.uuid).status)

        def suspended() -> bool:
            reply = self.send('GET', f'/v1/reservations/{proof}',
                              headers=base.OURS)
            self.assertEqual(200, reply.status, reply)
            return bool(reply.document['reservation'][
                'suspended_reason'] == _PART)
        self.wait_for(suspended)
