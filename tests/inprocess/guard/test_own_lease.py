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

"""A client that does not know leases uses those of its project.

bifrost, metalsmith, Ansible's and Terraform's modules could not use a lease at
all: each deploy needed a header that they do not send.
"""

import uuid

from tests.inprocess.guard import base
from tests.inprocess.guard import handed_over
from tests.inprocess.guard import keystone_ironic

_NO_ALLOCATION = (403, 'reservation.allocation_refused')
_NOT_YOURS = ('is leased, but not by your project, whose members would need '
              'no proof.')
_TO_THE_HOLDER = ('is leased, and the request shows no proof. The holder '
                  'sends the id of the reservation of the lease in the header '
                  'OpenStack-Baremetal-Reservation.')


class OwnLeaseTestCase(handed_over.HandedOverTestCase):

    def test_project_deploys_its_leased_nodes_without_a_header(self) -> None:
        node = self.ready(owner=keystone_ironic.PROJECTS['two'])
        lease = self.lent(node)
        for name in ('foreign-admin', 'the-system', 'nova'):
            self.as_(name)
            for reply in (self.deploy(node.uuid),
                          self.bind(node.uuid, str(uuid.uuid4()))):
                self.assert_needs_proof(reply, name)
                told = reply.document['errors'][0]['detail']
                self.assertIn(_NOT_YOURS if name == 'foreign-admin'
                              else _TO_THE_HOLDER, told, name)
                self.assertIn('make a lease.', told)
                self.assertNotIn(lease['reservations'][0]['id'], told)
        self.as_('reader-of-one')
        self.assert_says(403, None, self.deploy(node.uuid))
        self.as_(self.holder)
        wrong = self.deploy(node.uuid, str(uuid.uuid4()))
        self.assertEqual('reservation.proof_invalid', wrong.code)
        self.assertIn('which is leased by your project. Send no proof, or the '
                      'id of the reservation of the lease.',
                      wrong.document['errors'][0]['detail'])
        self.granted('PUT', f'/v1/nodes/{node.uuid}/states/provision',
                     {'target': 'active'})
        self.wait_until(node.uuid, 'active')
        self.ended(lease)

    def test_reserved_nodes_need_the_header(self) -> None:
        node = self.node_of_one()
        self.as_(self.holder)
        proof = self.reserve(node.uuid)['uuid']
        refused = self.deploy(node.uuid)
        self.assert_needs_proof(refused)
        self.assertIn(' by your project, and the request shows no proof. The '
                      'policy has you show it: send the uuid of the '
                      'reservation in the header',
                      refused.document['errors'][0]['detail'])
        self.assertEqual(202, self.deploy(node.uuid, proof).status)

    def allocate(self, *candidates: str, **more: str) -> base.Reply:
        """Ask for one of some nodes, as metalsmith and Terraform do."""
        return self.send('POST', '/v1/allocations', {
            'candidate_nodes': list(candidates), **more})

    def test_allocation_that_names_leased_nodes_gets_one(self) -> None:
        """Without a header, allocations were refused the caller's own."""
        node = self.ready(owner=keystone_ironic.PROJECTS['two'])
        lease = self.lent(node)
        class_name = self.node(node.uuid)['resource_class']
        self.as_('foreign-admin')
        self.assert_says(*_NO_ALLOCATION, self.allocate(
            node.uuid, resource_class=class_name))
        self.as_(self.holder)
        self.assert_says(*_NO_ALLOCATION, self.send(
            'POST', '/v1/allocations', {'resource_class': class_name}))
        made = self.allocate(node.uuid, resource_class=class_name)
        self.assertEqual(201, made.status, made)
        self.wait_for(lambda: self.node(node.uuid)['instance_uuid']
                      == made.document['uuid'])
        self.assert_says(*_NO_ALLOCATION, self.allocate(
            node.uuid, resource_class=class_name))
        self.granted('PUT', f'/v1/nodes/{node.uuid}/states/provision',
                     {'target': 'active'})
        self.wait_until(node.uuid, 'active')
        self.ended(lease)

    def test_requests_of_the_provider_of_terraform(self) -> None:
        """They are those of ``ironic_deployment`` in its public source."""
        node = self.ready(owner=keystone_ironic.PROJECTS['two'])
        lease = self.lent(node)
        path = f'/v1/nodes/{node.uuid}'
        self.granted('PATCH', path, [base.add('/instance_info', {
            'image_source': 'http://images.invalid/debian.img',
            'image_checksum': 'd41d8cd98f00b204e9800998ecf8427e'})])
        self.granted('GET', path)
        self.granted('PUT', f'{path}/states/provision', {
            'target': 'active', 'configdrive': {
                'user_data': '', 'network_data': {}, 'meta_data': {}}})
        self.wait_until(node.uuid, 'active')
        self.granted('PUT', f'{path}/states/provision', {'target': 'deleted'})
        self.wait_until(node.uuid, 'available')
        self.ended(lease)
