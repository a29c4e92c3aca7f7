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


import uuid

from tests.inprocess.guard import base
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import with_keystone


class KeystoneTestCase(base.GuardTestCase):

    identity = with_keystone.token('the-system')

    @classmethod
    def make(cls, folder):
        return with_keystone.make(
            folder, guard={'instance_uuid_from_service': True})

    def _as(self, name):
        self.identity = with_keystone.token(name)

    def _owned(self, owner):
        return self.enroll(owner=keystone_ironic.PROJECTS[owner])[0]

    def test_nobody_gets_in_without_a_token(self):
        node, = self.enroll()
        self.reserve(node.uuid)
        self.identity = {}
        forged = {
            'X-Identity-Status': 'Confirmed', 'X-Roles': 'admin,service',
            'X-User-Id': 'x', 'X-Project-Id': 'x',
            'OpenStack-System-Scope': 'all'}
        for method, path, document in (
                ('GET', '/v1/reservations', None),
                ('GET', '/reservation/v1/reservations', None),
                ('POST', '/v1/reservations', {}),
                ('DELETE', f'/v1/reservations/{uuid.uuid4()}', None),
                ('PUT', f'/v1/nodes/{node.uuid}/states/provision',
                 {'target': 'active'}),
                ('PUT', f'/v1/nodes/{node.name}/states/provision',
                 {'target': 'active'}),
                ('PATCH', f'/v1/nodes/{node.uuid}',
                 [base.add('/instance_uuid', 'x')]),
                ('POST', '/v1/allocations', {'resource_class': 'a'}),
                ('GET', '/v1/nodes?reserved=true', None)):
            for headers in ({}, forged, {'X-Auth-Token': 'wrong'}):
                reply = self.send(method, path, document, headers=headers)
                self.assert_says(401, None, reply, (method, path, headers))

    def test_way_in_is_told_to_anybody(self):
        self.identity = {}
        for path in ('/reservation', '/reservation/', '/reservation/v1',
                     '/reservation/healthcheck', '/reservation/metrics'):
            self.assertIn(self.send('GET', path).status, (200, 300), path)

    def test_project_gets_no_further_than_its_own_nodes(self):
        mine, others = self._owned('one'), self._owned('two')
        self._as('one')
        refused = self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [others.uuid]},
            headers=base.OURS)
        self.assertEqual(409, refused.status)
        reservation = self.reserve(others.uuid, mine.uuid)
        self.assertEqual(mine.uuid, reservation['node_uuid'])
        self.assertEqual(keystone_ironic.PROJECTS['one'],
                         reservation['project_id'])
        self._as('two')
        self.assertEqual(404, self.reservation(reservation['uuid']).status)
        self.assertEqual([], self.send(
            'GET', '/v1/reservations').document['reservations'])

    def test_headers_of_the_client_say_nothing_about_it(self):
        mine = self._owned('one')
        self._as('one')
        reservation = self.reserve(mine.uuid)
        self._as('two')
        reply = self.send(
            'GET', f'/v1/reservations/{reservation["uuid"]}', headers={
                **base.OURS, 'X-Roles': 'admin',
                'X-Project-Id': keystone_ironic.PROJECTS['one'],
                'OpenStack-System-Scope': 'all'})
        self.assertEqual(404, reply.status)

    def test_guard_tells_a_stranger_nothing_about_a_node(self):
        node = self._owned('one')
        self.reserve(node.uuid)
        self._as('two')
        reply = self.deploy(node.uuid)
        self.assert_says(404, None, reply)

    def test_foreign_admin(self):
        """Roles of a project counted as roles of the cloud.

        Such admin and service users read proofs of others, and deleted and
        renamed their objects.
        """
        mine = self._owned('one')
        self._as('one')
        path = f'/v1/reservations/{self.reserve(mine.uuid)["uuid"]}'
        self._as('foreign-admin')
        for method, document in (
                ('GET', None), ('DELETE', None),
                ('PATCH', [base.replace('/ttl', 60)])):
            self.assertEqual(404, self.send(
                method, path, document, headers=base.OURS).status, method)
        self.assertEqual([], self.send(
            'GET', '/v1/reservations').document['reservations'])
        self.assertEqual(403, self.send(
            'POST', '/v1/os-hosts', {'name': mine.uuid}).status)
        self.assertEqual(409, self.send('POST', '/v1/reservations', {
            'instance_uuid': str(uuid.uuid4()), 'node_uuid': [mine.uuid],
        }).status)
        self.assertEqual(404, self.bind(mine.uuid, str(uuid.uuid4())).status)

    def test_service_is_vouched_for_by_the_instance(self):
        node, = self.enroll()
        reservation = self.reserve(node.uuid)
        instance = reservation['instance_uuid']
        # The role matters, not the instance alone.
        self.assert_needs_proof(self.bind(node.uuid, instance))
        self._as('nova')
        self.assertEqual('reservation.proof_required',
                         self.bind(node.uuid, str(uuid.uuid4())).code)
        self.assert_needs_proof(self.deploy(node.uuid))
        self.assertEqual(200, self.bind(node.uuid, instance).status)
        self.assertEqual(202, self.deploy(node.uuid).status)
        self.wait_until(node.uuid, 'active')
        self._as('the-system')
        self.assertEqual('in_use', self.reservation(
            reservation['uuid']).document['reservation']['state'])

    def test_reconciler_reads_nodes_with_a_user_of_its_own(self):
        node, proof = self.reserved()
        self.assertEqual(204, self.send(
            'DELETE', f'/v1/nodes/{node.uuid}').status)
        self.wait_for(lambda: self.reservation(proof).status == 404)


class BasicTestCase(base.WithUsers):

    def test_users_of_ironic_are_users_here(self):
        node, = self.enroll()
        reservation = self.reserve(node.uuid)
        self.assertEqual('alice', reservation['user_id'])
        self.assert_needs_proof(self.deploy(node.uuid))
        self.assertEqual(202, self.deploy(
            node.uuid, reservation['uuid']).status)

    def test_nobody_gets_in_without_a_password(self):
        node, = self.enroll()
        for wrong in ({}, {'Authorization': 'Basic eDp5'},
                      {'X-User': 'alice'}):
            self.identity = wrong
            for method, path, document in (
                    ('GET', '/v1/reservations', None),
                    ('POST', '/reservation/v1/reservations', {}),
                    ('PUT', f'/v1/nodes/{node.uuid}/states/provision',
                     {'target': 'active'}),
                    ('POST', '/v1/allocations', {'resource_class': 'a'})):
                self.assertEqual(401, self.send(
                    method, path, document).status, (method, path, wrong))
