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

"""Only the holder of a reserved node, or an administrator, acts on it."""

from typing import Any
import uuid

import sqlalchemy as sa

from ironic_reservations.engine import audit_trail
from ironic_reservations.guard import node_acts
from tests.inprocess.guard import act_spellings
from tests.inprocess.guard import acts
from tests.inprocess.guard import base
from tests.inprocess.guard import keystone_ironic
from tools import enrolment

_REQUIRED = 'reservation.proof_required'


class ProtectedActsTestCase(acts.ActsTestCase):

    def test_member_of_the_owner_does_nothing_to_what_others_hold(
            self) -> None:
        """The owner of a node is not its holder."""
        node = self.node_of_one()
        self.reserve(node.uuid)
        self.as_('one')
        before = self.node(node.uuid)
        for row in (*act_spellings.CANONICAL, *act_spellings.PATCHES):
            if 'allocation' in row.name:
                continue
            reply = self.ask(row, node)
            self.assert_needs_proof(reply, row.name)
        for row in act_spellings.OTHERS:
            if row.wire:
                self.assertTrue(400 <= self.ask(row, node).status < 500,
                                row.name)
        self.assertEqual(before, self.node(node.uuid))

    def test_owner_asks_for_no_state_of_what_others_hold(self) -> None:
        """A reader is refused, too, but may bring the node back."""
        node = self.node_of_one()
        proof = self.reserve(node.uuid)['uuid']
        for target in node_acts.OF_TARGETS:
            self.as_('one')
            self.assertEqual((403, _REQUIRED), self._asked(node, target),
                             target)
            self.assertEqual((403, 'reservation.proof_invalid'), self._asked(
                node, target, str(uuid.uuid4())), target)
            self.assertIsNone(self._asked(node, target, proof)[1], target)
            self.as_('reader-of-one')
            self.assertEqual((403, None), self._asked(node, target), target)
            self.as_('two')
            self.assertEqual((404, None), self._asked(node, target), target)
            for name in ('nova', 'the-system'):
                self.as_(name)
                self.assertIsNone(self._asked(node, target)[1], target)
        self.as_('one')
        self.assertIsNone(self._asked(node, 'provide')[1])

    def test_administrator_manages_what_has_failed(self) -> None:
        """The end of a lease waited for the administrator, who was refused."""
        node = self.node_of_one()
        # NOTE: Ironic ends a reservation once the node is seen being cleaned.
        self.make_lease(node.uuid, f'["==", "$node_uuid", "{node.uuid}"]')
        self.as_('the-system')
        self.assertEqual((403, _REQUIRED), self._asked(node, 'manage'))
        engine = sa.create_engine(self.ironic.database)
        self.addCleanup(engine.dispose)

        def becomes(state: str) -> None:
            with engine.begin() as connection:
                connection.execute(
                    sa.text('UPDATE nodes SET provision_state = :state '
                            'WHERE uuid = :uuid'),
                    {'state': state, 'uuid': node.uuid})

        # The node may be available again before Ironic is asked.
        becomes('cleaning')
        self.assertEqual((403, _REQUIRED), self._asked(node, 'manage'))
        becomes('clean failed')
        for name, refused in (('one', (403, _REQUIRED)),
                              ('reader-of-one', (403, None)),
                              ('two', (404, None))):
            self.as_(name)
            self.assertEqual(refused, self._asked(node, 'manage'), name)
        self.as_('the-system')
        self.assertEqual((403, 'reservation.proof_invalid'), self._asked(
            node, 'manage', str(uuid.uuid4())))
        self.assertEqual((202, None), self._asked(node, 'manage'))
        self.assertEqual('manageable',
                         self.node(node.uuid)['provision_state'])
        self.assertEqual((202, None), self._asked(node, 'provide'))
        self.wait_until(node.uuid, 'available')
        self.assertEqual((403, _REQUIRED), self._asked(node, 'manage'))

    def _asked(self, node: enrolment.Enrolled, target: str,
               proof: str | None = None) -> tuple[int, str | None]:
        reply = self.provision(node.name, target, **(
            {} if proof is None else {'reservation_uuid': proof}))
        return reply.status, reply.code

    def test_proof_opens_them(self) -> None:
        node = self.node_of_one()
        proof = self.reserve(node.uuid)['uuid']
        self.as_('one')
        for row in (*act_spellings.CANONICAL, *act_spellings.PATCHES):
            # A holder sets maintenance in one form only.
            if 'allocation' not in row.name and row.name not in (
                    'delete', 'patch_maintenance'):
                self.assertNotIn(self.ask(row, node, proof).code, (
                    _REQUIRED, 'reservation.proof_invalid',
                    'guard.not_canonical'), row.name)
        self.assertEqual('reservation.proof_invalid', self.ask(
            act_spellings.CANONICAL[0], node, str(uuid.uuid4())).code)

    def test_proof_of_what_is_over_opens_nothing(self) -> None:
        """What came after the end of a lease was put back by nobody."""
        node = self.node_of_one()
        proof = self.reserve(node.uuid)['uuid']
        self.assertEqual(204, self.send(
            'DELETE', f'/v1/reservations/{proof}', headers=base.OURS).status)
        self.as_('one')
        before = self.node(node.uuid)
        for row in (*act_spellings.CANONICAL, *act_spellings.PATCHES):
            if 'allocation' not in row.name:
                self.assertEqual('reservation.proof_invalid', self.ask(
                    row, node, proof).code, row.name)
        self.assertEqual(before, self.node(node.uuid))

    def test_project_that_holds_the_node_needs_no_header(self) -> None:
        node = self.node_of_one()
        self.as_('one')
        self.reserve(node.uuid)
        reply = self.send('PUT', f'/v1/nodes/{node.uuid}/maintenance')
        self.assertEqual(202, reply.status, reply)

    def test_maintenance_on_off(self) -> None:
        """A member of the owning project ended foreign reservations so."""
        node = self.node_of_one()
        reservation = self.reserve(node.uuid)
        path = f'/v1/nodes/{node.uuid}/maintenance'
        self.as_('one')
        for method in ('PUT', 'DELETE'):
            self.assertEqual(_REQUIRED, self.send(method, path).code)
        self.as_('the-system')
        for method in ('PUT', 'DELETE'):
            self.assertEqual(202, self.send(method, path).status)
        self.assertEqual(200, self.reservation(reservation['uuid']).status)

    def test_allocation_deleted(self) -> None:
        """The owner, without a proof, ended the reservation of the holder."""
        name = f'class-{uuid.uuid4().hex[:8]}'
        node = self.node_of_one(powered=True, resource_class=name)
        reservation = self.reserve(node.uuid)
        proof = {base.PROOF: reservation['uuid']}
        made = self.send('POST', '/v1/allocations', {
            'resource_class': name,
            'owner': keystone_ironic.PROJECTS['one']}, headers=proof)
        self.assertEqual(201, made.status, made)
        allocation = made.document['uuid']
        self.wait_for(lambda: self.node(node.uuid)['instance_uuid']
                      == allocation)
        self.as_('one')
        for path in (f'/v1/allocations/{allocation}',
                     f'/v1/nodes/{node.uuid}/allocation'):
            self.assertEqual(_REQUIRED, self.send('DELETE', path).code, path)
        self.as_('two')
        self.assertEqual(404, self.send(
            'DELETE', f'/v1/allocations/{allocation}').status)
        self.as_('the-system')
        self.assertEqual(allocation, self.node(node.uuid)['instance_uuid'])
        self.assertEqual(200, self.reservation(reservation['uuid']).status)
        self.as_('one')
        self.assertEqual(204, self.send(
            'DELETE', f'/v1/allocations/{allocation}',
            headers=proof).status)

    def test_who_may_only_look_is_refused_by_ironic(self) -> None:
        """The refusal does not say that the node is reserved, or until when.
        """
        node = self.node_of_one()
        self.reserve(node.uuid)
        self.as_('reader-of-one')
        for proof in (None, str(uuid.uuid4())):
            refused = self.deploy(node.uuid, proof)
            self.assert_says(403, None, refused)
            self.assertNotIn('reserved', str(refused.document))
        self.as_('one')
        self.assertEqual(_REQUIRED, self.deploy(node.uuid).code)
        self.assert_untouched(node.uuid)

    def test_odd_requests_of_who_may_only_look_keep_no_node(self) -> None:
        """Ironic failed on some requests before its policy judged the sender.

        The node, which was free, was then kept from everybody for minutes.
        """
        path, body = '/v1/nodes/%s/maintenance', b'{"reason": "smoke"}'
        odd: tuple[tuple[str, str, bytes | None, dict[str, Any]], ...] = (
            ('PUT', path, b'{}', {
                'content_type': 'application/json; charset=foo'}),
            ('PUT', path, b'{}', {
                'content_type': 'application/javascript; charset=foo'}),
            ('DELETE', path, b'', {'content_type': 'multipart/form-data'}),
            ('DELETE', '/v1/nodes/%s', b'{}', {
                'content_type': 'application/json; charset=foo'}),
            ('PUT', path, b'{"node_ident": "x"}', {}),
            ('DELETE', path, b'{"node_ident": "x"}', {}),
            ('DELETE', '/v1/nodes/%s', b'{"node_ident": "x"}', {}),
            ('PUT', path, b'[]', {}),
            ('PUT', path, b'{"reason": "x", "self": 1, "": {}}', {}),
            ('PUT', path + '?reason=%%ff', None, {}),
            ('PUT', path, body, {'version': '1.x'}),
            ('PUT', path, body, {'headers': {'Accept': ';;q=x'}}),
            ('PUT', path, body, {'headers': {'Forwarded': 'for=";'}}),
            ('PUT', '/v1/nodes/%s/states/provision', b'{"target": "active"}',
             {'headers': {'Accept': ';;q=x'}}),
            ('PUT', '/v1/nodes/%s/states/provision', b'{"target": "active"}',
             {'version': '99999.1'}),
            ('PATCH', '/v1/nodes/%s', b'[{"op": "add", "path": "/retired",'
             b' "value": {"a": []}}]', {'version': 'latest.1'}),
            ('POST', '/v1/allocations', b'{"resource_class": "x", "%s": 1}',
             {'headers': {'Accept': ';;q=x'}}))
        for method, where, raw, how in odd:
            node = self.node_of_one()
            self.as_('reader-of-one')
            refused = self.send(
                method, where % node.uuid if '%' in where else where,
                raw=raw, **how)
            self.assertIn(refused.status, range(400, 500), (where, raw, how))
            self.as_('the-system')
            self.assert_untouched(node.uuid)
            self.reserve(node.uuid)

    def test_use_and_refusal_are_written_down(self) -> None:
        node = self.node_of_one()
        self.as_('one')
        proof = self.reserve(node.uuid)['uuid']
        self.as_('the-system')
        self.assertEqual(_REQUIRED, self.deploy(node.uuid).code)
        self.assertEqual(202, self.deploy(node.uuid, proof).status)
        log = self.ironic.log_tail(400)
        self.assertIn('"action": "allow"', log)
        self.assertIn('"action": "deny"', log)
        self.assertIn(_REQUIRED, log)
        self.assertIn(audit_trail.digest(proof), log)
        self.assertNotIn(proof, log)

    def test_stranger_learns_nothing(self) -> None:
        node = self.node_of_one()
        self.reserve(node.uuid)
        self.as_('two')
        for row in act_spellings.CANONICAL:
            reply = self.ask(row, node)
            self.assert_says(404, None, reply, row.name)

    def test_node_that_nobody_holds_is_ironics(self) -> None:
        node = self.node_of_one()
        self.as_('one')
        for row in act_spellings.PATCHES:
            self.assertIsNone(self.ask(row, node).code, row.name)
        reply = self.send('PUT', f'/v1/nodes/{node.name}/states/power',
                          {'target': 'power on'})
        self.assertEqual(202, reply.status, reply)

    def test_proof_is_bound_to_its_project(self) -> None:
        """Anybody with a found proof deployed with it, from any project."""
        node = self.node_of_one(lessee=keystone_ironic.PROJECTS['two'])
        self.as_('one')
        reservation = self.reserve(node.uuid)
        self.as_('foreign-admin')
        self.assertEqual('reservation.proof_invalid', self.deploy(
            node.uuid, reservation['uuid']).code)
        self.assertEqual('reservation.proof_invalid', self.send(
            'POST', '/v1/allocations', {'resource_class': 'x'},
            headers={base.PROOF: reservation['uuid']}).code)
        self.identity = {
            **self.identity, 'OpenStack-Baremetal-Reservation-Project':
                keystone_ironic.PROJECTS['one']}
        self.assertEqual('reservation.proof_invalid', self.deploy(
            node.uuid, reservation['uuid']).code)
        self.as_('one')
        self.assertEqual(202, self.deploy(
            node.uuid, reservation['uuid']).status)


class AllocationsTestCase(acts.ActsTestCase):
    """The answers to allocations, and the nodes that they get."""

    def test_allocation_before_policy(self) -> None:
        """The owner got counts before Ironic's policy was applied."""
        name = f'class-{uuid.uuid4().hex[:8]}'
        node = self.node_of_one(powered=True, resource_class=name)
        self.reserve(node.uuid)
        self.as_('two')
        refused = self.send('POST', '/v1/allocations', {
            'resource_class': name,
            'owner': keystone_ironic.PROJECTS['one']})
        self.assert_says(403, None, refused)
        self.assertNotIn('reserved', str(refused.document))
        self.as_('reader-of-one')
        refused = self.send('POST', '/v1/allocations',
                            {'resource_class': name})
        self.assert_says(403, None, refused)
        self.as_('the-system')
        self.assertEqual([], [
            each for each in self.send(
                'GET', '/v1/allocations').document['allocations']
            if each['resource_class'] == name])

    def test_allocation_power(self) -> None:
        """The pick took a node that Ironic does not allocate."""
        name = f'class-{uuid.uuid4().hex[:8]}'
        dark = self.enroll(3, resource_class=name)
        refused = self.send('POST', '/v1/allocations',
                            {'resource_class': name})
        self.assert_says(403, 'reservation.allocation_refused', refused)
        proof = self.reserve(dark[0].uuid)['uuid']
        refused = self.send(
            'POST', '/v1/allocations', {'resource_class': name},
            headers={base.PROOF: proof})
        self.assert_says(403, 'reservation.allocation_refused', refused)
        self.assertIn('power state', str(refused.document))
        # The failed allocation does not keep the node busy.
        self.reserve(dark[1].uuid)
        lit, = self.enroll(powered=True, resource_class=name)
        made = self.send('POST', '/v1/allocations', {'resource_class': name})
        self.assertEqual(201, made.status, made)
        self.wait_for(lambda: self.node(lit.uuid)['instance_uuid']
                      == made.document['uuid'])


class RelaxedTestCase(acts.ActsTestCase):

    options = {'protected_acts': 'power', 'proof_of_any_project': True}

    def test_operator_opens_acts_one_by_one(self) -> None:
        node = self.node_of_one()
        self.reserve(node.uuid)
        self.as_('one')
        self.assertEqual(202, self.send(
            'PUT', f'/v1/nodes/{node.uuid}/maintenance').status)
        self.assertEqual(200, self.send('PATCH', f'/v1/nodes/{node.uuid}', [
            base.add('/instance_info/image_source', 'http://x/y')]).status)
        self.assertEqual(_REQUIRED, self.send(
            'PUT', f'/v1/nodes/{node.uuid}/states/power',
            {'target': 'reboot'}).code)
        for target in node_acts.OF_TARGETS:
            self.assertIsNone(self.provision(node.uuid, target).code, target)

    def test_proof_of_any_project(self) -> None:
        node = self.node_of_one(lessee=keystone_ironic.PROJECTS['two'])
        self.as_('one')
        reservation = self.reserve(node.uuid)
        self.as_('foreign-admin')
        self.assertEqual(202, self.deploy(
            node.uuid, reservation['uuid']).status)
