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

"""At the end of a reservation, a node has its former state again."""

from typing import Any

from tests.inprocess.guard import base
from tests.inprocess.guard import handed_over
from tests.inprocess.guard import keystone_ironic
from tests.inprocess.guard import with_keystone
from tools import enrolment


class ReservedHandoverTestCase(handed_over.HandedOverTestCase):
    """The project one may act on nodes that it reserves."""

    @classmethod
    def make(cls, folder: str) -> with_keystone.WithKeystone:
        return with_keystone.make(folder, reservations={'min_ttl': 1})

    def _ready(self) -> tuple[enrolment.Enrolled, dict[str, Any]]:
        node = self.ready(lessee=keystone_ironic.PROJECTS['one'],
                          extra={'rack': '1'})
        return node, self.whole(node)

    def _acted(self, node: enrolment.Enrolled) -> str:
        """Reserve a node, and change it; return the proof."""
        self.as_(self.holder)
        proof = str(self.reserve(node.uuid)['uuid'])
        path = f'/v1/nodes/{node.uuid}'
        for field in ('extra/his', 'instance_info/configdrive'):
            self.granted('PATCH', path, [base.add(f'/{field}', 'his')],
                headers={base.PROOF: proof})
        self.granted('POST', '/v1/volume/targets', {
            'node_uuid': node.uuid, 'volume_type': 'iscsi',
            'volume_id': 'his', 'boot_index': 0})
        self.granted('PUT', f'{path}/states/power', {'target': 'power on'})
        return proof

    def _put_back(self, proof: str, node: enrolment.Enrolled,
                  before: dict[str, Any]) -> None:
        """Wait until the node of a reservation is put back and free."""
        self.as_(self.operator)
        self.wait_for(lambda: self.reservation(proof).status == 404)
        self.wait_for(lambda: self.whole(node) == before)
        self.wait_for(lambda: not self._leases(proof))
        self.assertEqual(before, self.whole(node))

    def _leases(self, proof: str) -> list[dict[str, Any]]:
        return [each for each in self.send(
            'GET', '/v1/leases', headers=base.OURS).document['leases']
            if each['name'].startswith(f'reservation-{proof}-')]

    def test_deleted_reservation(self) -> None:
        node, before = self._ready()
        proof = self._acted(node)
        self.assertEqual(204, self.send(
            'DELETE', f'/v1/reservations/{proof}', headers=base.OURS).status)
        self.assertEqual(404, self.reservation(proof).status)
        (lease,) = self._leases(proof)
        refused = self.send('POST', '/v1/reservations', {
            'instance_uuid': proof, 'node_uuid': [node.uuid]},
            headers=base.OURS)
        self.assertEqual(('DELETING', []), (lease['status'], lease['events']))
        self.assertEqual((409, 'leased'), (
            refused.status, refused.document['errors'][0]['reasons'][0]
            ['code']))
        self._put_back(proof, node, before)
        self.reserve(node.uuid)

    def test_expired_reservation(self) -> None:
        node, before = self._ready()
        proof = self._acted(node)
        self.granted('PATCH', f'/v1/reservations/{proof}', [
            base.replace('/ttl', 1)], headers=base.OURS)
        self._put_back(proof, node, before)

    def test_reservation_whose_node_was_deployed(self) -> None:
        node, before = self._ready()
        proof = self._acted(node)
        self.as_(self.holder)
        self.granted('PUT', f'/v1/nodes/{node.uuid}/states/provision',
                     {'target': 'active'}, headers={base.PROOF: proof})
        self.wait_until(node.uuid, 'active')
        self.wait_for(lambda: self.reservation(proof).document['reservation'][
            'state'] == 'in_use')
        self.assert_says(409, 'reservation.in_use', self.send(
            'DELETE', f'/v1/reservations/{proof}', headers=base.OURS))
        self.assertEqual(202, self.provision(node.uuid, 'deleted',
                                             proof).status)
        self._put_back(proof, node, before)

    def test_deploy_alone_is_cleaned_by_ironic(self) -> None:
        node, before = self._ready()
        self.as_(self.holder)
        proof = self.reserve(node.uuid)['uuid']
        self.assertEqual(202, self.deploy(node.uuid, proof).status)
        self.wait_until(node.uuid, 'active')
        self.assertEqual(202, self.provision(node.uuid, 'deleted',
                                             proof).status)
        self.wait_for(lambda: self.reservation(proof).status == 404)
        self.assertEqual([], self._leases(proof))
        self.reserve(node.uuid)
        self.assertEqual(before, self.whole(node))

    def test_node_that_its_holder_took_out_of_use(self) -> None:
        node, before = self._ready()
        self.as_(self.holder)
        proof = self.reserve(node.uuid)['uuid']
        self.assertEqual(202, self.provision(node.uuid, 'manage',
                                             proof).status)
        self.wait_until(node.uuid, 'manageable')
        self.wait_for(lambda: self.send(
            'DELETE', f'/v1/reservations/{proof}', headers=base.OURS
        ).status == 204)
        self._put_back(proof, node, before)
